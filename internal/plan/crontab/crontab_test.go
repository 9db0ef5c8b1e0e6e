// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/crontab"
	"github.com/carillon-dev/carillon/internal/plan/document"
)

// cronJobs are the CronJobs of a manifest, and their comments.
func cronJobs(t *testing.T, got crontab.Result) []*batchv1.CronJob {
	t.Helper()
	var all []*batchv1.CronJob
	for _, s := range load(t, write(t, got)).Scheduled {
		job, ok := s.Typed.(*batchv1.CronJob)
		if !ok {
			t.Fatalf("%s is a %T", s, s.Typed)
		}
		all = append(all, job)
	}
	return all
}

// What a command becomes: with its shell, its input and what Kubernetes would put in.
func TestCommand(t *testing.T) {
	tests := map[string]struct {
		lines string
		want  []string
	}{
		"as it is":                   {"* * * * * echo hello | wc -c", []string{"/bin/sh", "-c", "echo hello | wc -c"}},
		"a shell":                    {"SHELL=/bin/bash\n* * * * * x", []string{"/bin/bash", "-c", "x"}},
		"input":                      {"* * * * * cat%a%b", []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\na\nb\nEND\n", "/bin/sh", "cat"}},
		"empty input":                {"* * * * * cat%", []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\nEND\n", "/bin/sh", "cat"}},
		"input of an empty line":     {"* * * * * cat%%", []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\n\nEND\n", "/bin/sh", "cat"}},
		"input that ends a line":     {"* * * * * cat%a%", []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\na\nEND\n", "/bin/sh", "cat"}},
		"the word that ends input":   {"* * * * * cat%END%END2", []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END3'\nEND\nEND2\nEND3\n", "/bin/sh", "cat"}},
		"input of another shell":     {"SHELL=/usr/bin/fish\n* * * * * cat%a", []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\na\nEND\n", "/usr/bin/fish", "cat"}},
		"a here-document and input":  {"* * * * * cat <<X%one%X", []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\none\nX\nEND\n", "/bin/sh", "cat <<X"}},
		"a backslash, then input":    {`* * * * * echo \\%foo`, []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\nfoo\nEND\n", "/bin/sh", `echo \\`}},
		"three backslashes":          {`* * * * * echo \\\%foo`, []string{"/bin/sh", "-c", `echo \\%foo`}},
		"backslashes in input":       {`* * * * * cat%\\%\x\`, []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\n\\%\\x\\\nEND\n", "/bin/sh", "cat"}},
		"a percent sign":             {`* * * * * date +\%F-\%H`, []string{"/bin/sh", "-c", "date +%F-%H"}},
		"a percent sign in input":    {`* * * * * cat%50\% off`, []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'END'\n50% off\nEND\n", "/bin/sh", "cat"}},
		"a process number":           {"* * * * * echo $$ >x", []string{"/bin/sh", "-c", "echo $$$$ >x"}},
		"a command in a command":     {"* * * * * echo $(date) ${HOME} $(uname -a)", []string{"/bin/sh", "-c", "echo $(date) ${HOME} $(uname -a)"}},
		"one named like a variable":  {"date=1\n* * * * * echo $(date) $(HOST)", []string{"/bin/sh", "-c", "echo $$(date) $$(HOST)"}},
		"flags":                      {"* * * * * -n echo", []string{"/bin/sh", "-c", "echo"}},
		"not to be logged":           {"-* * * * * echo", []string{"/bin/sh", "-c", "echo"}},
		"blanks around, tabs inside": {" \t*\t*  * * *\t echo  'a  b' \t", []string{"/bin/sh", "-c", "echo  'a  b'"}},
		"after a mark of byte order": {"\ufeff* * * * * echo", []string{"/bin/sh", "-c", "echo"}},
		"written on Windows":         {"* * * * * echo\r\n", []string{"/bin/sh", "-c", "echo"}},
		"a comment is no comment":    {"* * * * * echo # 1", []string{"/bin/sh", "-c", "echo # 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := crontab.Convert(test.lines, options("crontab"))
			if len(got.Faults) > 0 {
				t.Fatal(got.Faults)
			}
			jobs := cronJobs(t, got)
			if len(jobs) != 1 {
				t.Fatalf("%d objects", len(jobs))
			}
			if command := jobs[0].Spec.JobTemplate.Spec.Template.Spec.Containers[0].Command; !slices.Equal(command, test.want) {
				t.Errorf("got %q, want %q", command, test.want)
			}
		})
	}
}

// Settings count for the lines below them, quotes are taken off, and what is cron's own is no variable.
func TestEnvironment(t *testing.T) {
	text := "A=1\nB = two words  \n\"C D\"=no\n"
	if got := crontab.Convert(text, options("crontab")); len(got.Faults) != 1 || !strings.Contains(got.Faults[0].Error(), `crontab:3: "C D" is no name`) {
		t.Errorf("got %v", got.Faults)
	}
	text = "A=1\nB = two words  \n'C' = ' kept '\nD=\"it's\"\nE=\nF=a#b # c\nMAILTO=me\nLOGNAME=me\nUSER=me\nHOME=/srv\n* * * * * x\nA=$(B)$$\n* * * * * y\n"
	jobs := cronJobs(t, crontab.Convert(text, options("crontab")))
	var got []string
	for _, job := range jobs {
		container := job.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
		line := container.WorkingDir
		for _, env := range container.Env {
			line += fmt.Sprintf(" %s=[%s]", env.Name, env.Value)
		}
		got = append(got, line)
	}
	want := []string{
		"/srv SHELL=[/bin/sh] PATH=[/usr/bin:/bin] LOGNAME=[ines] USER=[ines] A=[1] B=[two words] C=[ kept ] D=[it's] E=[] F=[a#b # c] HOME=[/srv]",
		"/srv SHELL=[/bin/sh] PATH=[/usr/bin:/bin] LOGNAME=[ines] USER=[ines] B=[two words] C=[ kept ] D=[it's] E=[] F=[a#b # c] HOME=[/srv] A=[$$(B)$$$$]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// Each line that cannot be read is named, with the cure; the others are converted.
func TestFaults(t *testing.T) {
	tests := map[string]struct{ line, want string }{
		"too few fields":        {"* * * echo", "five fields"},
		"no command":            {"* * * * *", "no command"},
		"no command after user": {"* * * * * root", ""},
		"only input":            {"* * * * * %x", "no command"},
		"out of range":          {"61 * * * * x", "from 0 to 59"},
		"hour 24":               {"0 24 * * * x", `hour "24" is out of range`},
		"day 0":                 {"0 0 0 * * x", "from 1 to 31"},
		"a word":                {"0 0 * * monday x", "name of three letters such as mon"},
		"backwards":             {"0 22-2 * * * x", "write 22-23,0-2"},
		"a step of a number":    {"5/15 * * * * x", "write 5-59/15, or 5 alone"},
		"a step of 0":           {"*/0 * * * * x", "a step that is no number"},
		"a step without number": {"*/ * * * * x", "a step that is no number"},
		"an empty item":         {"1,,2 * * * * x", "empty part"},
		"a negative number":     {"-1 * * * * x", ""},
		"two steps":             {"*/2/3 * * * * x", "a step that is no number"},
		"six fields":            {"0 */5 * * * * x", "sixth field"},
		"seconds":               {"*/10 * * * * * x", "sixth field"},
		"a word that is none":   {"@fortnightly x", "@hourly, @daily"},
		"every":                 {"@every 5m x", "*/5 * * * *"},
		"an anacrontab":         {"7\t10\tcron.weekly\tnice run-parts /etc/cron.weekly", "anacrontab"},
		"one by the month":      {"@monthly 45 cron.monthly nice run-parts /etc/cron.monthly", "anacrontab"},
		"last day":              {"0 0 L * * x", "Timetable"},
		"no UTF-8":              {"* * * * * echo \xe4", "UTF-8"},
		"an open quote":         {"A=\"b", "closing"},
		"after a quote":         {"A=\"b\" c", "closing quote"},
		"a zone":                {"CRON_TZ=Mars/Olympus", "no time zone"},
		"a local zone":          {"CRON_TZ=Local", "no time zone"},
		"a delay":               {"RANDOM_DELAY=soon", "minutes"},
		"random backwards":      {"30~10 * * * * x", "backwards"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := crontab.Convert("0 1 * * * before\n"+test.line+"\n0 2 * * * after\n", options("my/crontab"))
			if test.want == "" {
				if len(got.Faults) != 0 {
					t.Errorf("refused: %v", got.Faults)
				}
				return
			}
			if len(got.Faults) != 1 || !strings.HasPrefix(got.Faults[0].Error(), "my/crontab:2: ") || !strings.Contains(got.Faults[0].Error(), test.want) {
				t.Errorf("got %v, want one fault with %q", got.Faults, test.want)
			}
			if len(got.Documents) != 2 || !strings.Contains(strings.Join(got.Documents[1].Comments, "\n"), "Not converted: ") {
				t.Errorf("%d objects, comments %q", len(got.Documents), got.Documents[len(got.Documents)-1].Comments)
			}
		})
	}
}

// A crontab of the system is known by what stands in it.
func TestForm(t *testing.T) {
	tests := map[string]struct {
		text string
		form crontab.Form
		want string // the command of the first object
	}{
		"told alone":                     {"* * * * * root x -y\n", crontab.UserUnlessTold, "root x -y"},
		"told":                           {"# minute hour dom month dow user\n* * * * * root x -y\n", crontab.UserUnlessTold, "x -y"},
		"a program with flags":           {"* * * * * mail -s hello x\n* * * * * backup --all\n", crontab.Detect, "mail -s hello x"},
		"users":                          {"* * * * * root x -y\n@daily www-data z\n", crontab.Detect, "x -y"},
		"a column":                       {"# m h dom mon dow user command\n* * * * * somebody x\n", crontab.Detect, "x"},
		"one line has none":              {"* * * * * backup x\n* * * * * /bin/y\n", crontab.Detect, "backup x"},
		"a program named like a user":    {"* * * * * backup\n", crontab.Detect, "backup"},
		"the user says that it is his":   {"* * * * * root x\n", crontab.User, "root x"},
		"and that it is the system's":    {"* * * * * somebody x\n", crontab.System, "x"},
		"with a group and a login class": {"* * * * * root:wheel/daemon x\n", crontab.System, "x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options("crontab")
			o.Form = test.form
			jobs := cronJobs(t, crontab.Convert(test.text, o))
			if got := jobs[0].Spec.JobTemplate.Spec.Template.Spec.Containers[0].Command[2]; got != test.want {
				t.Errorf("the command is %q, want %q", got, test.want)
			}
		})
	}
	o := options("crontab")
	o.Form = crontab.System
	if got := crontab.Convert("* * * * * */5 x\n", o); len(got.Faults) != 1 || !strings.Contains(got.Faults[0].Text, "--user") {
		t.Errorf("got %v", got.Faults)
	}
}

// What cron sets for each command is set, unless the crontab sets it.
func TestSetByCron(t *testing.T) {
	tests := map[string]struct {
		text   string
		change func(*crontab.Options)
		want   string
		notes  string // a part of what is told
	}{
		"a user's": {"* * * * * x", func(*crontab.Options) {},
			"/home/ines SHELL=/bin/sh PATH=/usr/bin:/bin HOME=/home/ines LOGNAME=ines USER=ines", ""},
		"some of the crontab's own": {"SHELL=/bin/bash\nPATH=/opt/bin\nUSER=mallory\nHOME=/srv\n* * * * * x", func(*crontab.Options) {},
			"/srv LOGNAME=ines USER=ines SHELL=/bin/bash PATH=/opt/bin HOME=/srv", "cron sets USER itself"},
		"of the system": {"* * * * * www-data x", func(o *crontab.Options) { o.Form = crontab.System },
			"/var/www SHELL=/bin/sh PATH=/usr/bin:/bin HOME=/var/www LOGNAME=www-data USER=www-data", ""},
		"of a group, too": {"* * * * * www-data:adm x", func(o *crontab.Options) { o.Form = crontab.System },
			"/var/www SHELL=/bin/sh PATH=/usr/bin:/bin HOME=/var/www LOGNAME=www-data USER=www-data", "the group adm is not kept"},
		"of nobody known": {"* * * * * x", func(o *crontab.Options) { o.User = "" },
			"/home/ines SHELL=/bin/sh PATH=/usr/bin:/bin HOME=/home/ines", "LOGNAME and USER are not set"},
		"a home that is not there": {"* * * * * x", func(o *crontab.Options) { o.IsDirectory = func(string) bool { return false } },
			"/ SHELL=/bin/sh PATH=/usr/bin:/bin HOME=/home/ines LOGNAME=ines USER=ines", "there is no directory /home/ines here"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options("crontab")
			test.change(&o)
			result := crontab.Convert(test.text, o)
			container := cronJobs(t, result)[0].Spec.JobTemplate.Spec.Template.Spec.Containers[0]
			got := container.WorkingDir
			for _, env := range container.Env {
				got += " " + env.Name + "=" + env.Value
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			told := ""
			for _, note := range result.Notes {
				told += note.Text + "\n"
			}
			if !strings.Contains(told, test.notes) {
				t.Errorf("told %q, want %q", told, test.notes)
			}
		})
	}
}

// A user whom the machine knows runs it, one that it does not know is told of.
func TestUsers(t *testing.T) {
	o := options("crontab")
	o.Form = crontab.System
	jobs := cronJobs(t, crontab.Convert("* * * * * www-data x\n* * * * * root y\n* * * * * stranger z\n", o))
	for n, want := range []string{"33 /var/www", "0 /root", "- "} {
		pod, got := jobs[n].Spec.JobTemplate.Spec.Template.Spec, "- "
		if pod.SecurityContext != nil && pod.SecurityContext.RunAsUser != nil {
			got = fmt.Sprint(*pod.SecurityContext.RunAsUser) + " "
		}
		if got += pod.Containers[0].WorkingDir; got != want {
			t.Errorf("%s runs as %q, want %q", jobs[n].Name, got, want)
		}
	}
}

// Names are those of the work, of no other, and valid.
func TestNames(t *testing.T) {
	tests := map[string]string{
		"/usr/local/bin/backup.sh --all":                "backup",
		"cd /srv && ./run.sh":                           "run",
		"test -x /bin/x && /bin/x":                      "x",
		"sudo -u bob nice -n 19 /opt/a_b.py":            "a-b",
		"flock -n /tmp/l timeout -k 5 10 /bin/y":        "y",
		"flock /tmp/l -c 'cd /x; ./y'":                  "y",
		"sh -c 'exec z'":                                "z",
		"python3 -m pkg.tool":                           "pkg-tool",
		"A=1 B='2 3' env C=4 prog":                      "prog",
		"docker exec -u 33 web php artisan queue:prune": "artisan-queue-prune",
		"systemctl restart x":                           "systemctl-restart",
		"if [ -x /a ]; then /a; fi":                     "a",
		"[ $(date +%d) -le 7 ] && /bin/first":           "first",
		"'/opt/my tools/run it.sh'":                     "run-it",
		"éàü":                                           "job",
		"su - app -c 'tick --fast'":                     "tick",
		"(echo a; echo b) | tee x":                      "tee",
		"su":                                            "su",
		"run-parts":                                     "run-parts",
		"sh -c":                                         "sh",
		"flock":                                         "flock",
		strings.Repeat("long-", 30):                     "long-long-long-long-long-long-long-long-long-long-lo",
	}
	for command, want := range tests {
		jobs := cronJobs(t, crontab.Convert("* * * * * "+strings.ReplaceAll(command, "%", `\%`), options("crontab")))
		if jobs[0].Name != want {
			t.Errorf("%s: name %q, want %q", command, jobs[0].Name, want)
		}
	}
	long := "* * * * * " + strings.Repeat("long-", 30) + "\n"
	jobs := cronJobs(t, crontab.Convert("* * * * * a\n* * * * * a\n* * * * * a-2\n"+long+long, options("crontab")))
	var names []string
	for _, job := range jobs {
		names = append(names, job.Name)
	}
	if got := strings.Join(names, " "); !strings.HasPrefix(got, "a a-2 a-2-2 ") || names[3] == names[4] || len(names[4]) > 52 {
		t.Errorf("names %q", names)
	}
}

// Thousands of entries of one name get theirs in a moment, and none twice.
func TestManyNames(t *testing.T) {
	names, seen := crontab.Names{}, map[string]bool{}
	for range 50_000 {
		seen[names.Take("backup")] = true
	}
	if len(seen) != 50_000 || !seen["backup"] || !seen["backup-50000"] {
		t.Errorf("%d names", len(seen))
	}
	if got := names.Take("backup-7"); seen[got] {
		t.Errorf("%s is taken", got)
	}
}

// Comments stay, where they stood, and what is switched off stays so.
func TestComments(t *testing.T) {
	got := crontab.Convert("# the head\n\n# of a\n0 1 * * * a\n\n# alone\n\n# of b\n#0 4 * * * old\n0 5 * * * b\n# the end\n", options("dir/crontab"))
	if got := strings.Join(got.Head, "|"); got != "the head" {
		t.Errorf("head %q", got)
	}
	var comments []string
	for _, d := range got.Documents {
		comments = append(comments, strings.Join(d.Comments, "|"))
	}
	want := []string{
		"of a|crontab:4: 0 1 * * * a",
		"alone||of b|0 4 * * * old|Note: this entry is switched off by a #, and stays a comment|crontab:10: 0 5 * * * b",
	}
	if !slices.Equal(comments, want) {
		t.Errorf("got\n%q, want\n%q", comments, want)
	}
	if got := strings.Join(got.Tail, "|"); got != "the end" {
		t.Errorf("tail %q", got)
	}
}

// Timetables keep what CronJobs cannot.
func TestTimetables(t *testing.T) {
	o := options("crontab")
	o.Kind = crontab.Timetable
	got := crontab.Convert("RANDOM_DELAY=5\n30 2 * * * a\n*/10 2 * * * b\n0 * * * * -s c\n", o)
	all := load(t, write(t, got))
	var lines []string
	for _, s := range all.Scheduled {
		spec := s.Timetable().Spec
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s %s", spec.Schedules[0].Cron, spec.DST.Gap, spec.DST.Overlap, *spec.Jitter, spec.Concurrency.Policy, *spec.StartingDeadline))
	}
	want := []string{"30 2 * * *   5m Allow 60s", "*/10 2 * * * Skip Both 5m Allow 60s", "0 * * * *   5m  60s"}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%q, want\n%q", lines, want)
	}
}

// On the days on which the clock changes a CronJob is not like cron, which is told of those entries alone for which it
// is so.
func TestClockChange(t *testing.T) {
	for line, want := range map[string]string{
		"30 2 * * *":      "does not run on 2027-03-28",
		"30 2 1-31/7 * *": "runs twice on 2028-10-29",
		"30 2 * 10 *":     "runs twice on 2027-10-31",
		"*/30 2 * * *":    "",
		"30 * * * *":      "",
		"30 4 * * *":      "",
		"0 3 * * *":       "",
		"0 2-4 * * 0":     "runs twice on 2027-10-31",
	} {
		got := crontab.Convert(line+" x\n", options("crontab"))
		told := ""
		for _, note := range got.Notes {
			told += note.Text
		}
		if strings.Contains(told, "clocks") != (want != "") || !strings.Contains(told, want) {
			t.Errorf("%s: told %q, want %q", line, told, want)
		}
	}
}

// No text makes it panic, and what it writes can always be read: each entry is an object, or told of.
func FuzzConvert(f *testing.F) {
	files, err := filepath.Glob("testdata/*.[us]*r*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && len(text) < 700 {
			f.Add(string(text), false)
		}
	}
	for _, line := range []string{"* * * * * a%b\\%c%\n", "* * * * * \x1b[2J\n", "A='\u2028'\n* * * * * x\u2028y", "@daily root \"", "~ H(3-1) * * * x", "# ---\n* * * * *  - : x"} {
		f.Add(line, true)
	}
	f.Fuzz(func(t *testing.T, text string, timetable bool) {
		if len(text) > 1000 {
			return
		}
		o := options("crontab")
		if timetable {
			o.Kind = crontab.Timetable
		}
		got := crontab.Convert(text, o)
		written, err := document.Write(got.Head, got.Documents, got.Tail)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Documents) == 0 {
			return
		}
		all := load(t, written)
		if len(all.Scheduled) != len(got.Documents) || len(all.Others) > 0 {
			t.Fatalf("%d objects were written, %d are read of\n%s", len(got.Documents), len(all.Scheduled), written)
		}
		for n, s := range all.Scheduled {
			if _, ok := s.Kind.(kind.Timetable); ok == (s.Timetable() == nil) {
				t.Errorf("object %d is of kind %T", n, s.Kind)
			}
		}
	})
}
