// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ended

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rig is a Dir, what it warned of, and a place for logs beside it.
type rig struct {
	t        *testing.T
	base     string
	opts     Options
	dir      *Dir
	mu       sync.Mutex
	warnings []string
}

func newRig(t *testing.T, opts Options) *rig {
	t.Helper()
	r := &rig{t: t, base: t.TempDir(), opts: opts}
	r.opts.Warn = func(s string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.warnings = append(r.warnings, s)
	}
	if err := os.Mkdir(filepath.Join(r.base, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.reopen()
	return r
}

// reopen does what the next start of the program does.
func (r *rig) reopen() {
	r.t.Helper()
	if r.dir != nil {
		r.dir.Close()
	}
	d, err := Open(r.path(), r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { d.Close() })
	r.dir = d
}

func (r *rig) path(names ...string) string {
	return filepath.Join(append([]string{r.base, "ended"}, names...)...)
}

// log writes a file of a log and tells its path.
func (r *rig) log(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.base, "logs", name)
	b := []byte(content)
	if strings.HasSuffix(name, packedSuffix) {
		b = packed(b)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *rig) add(c Container, log string) {
	r.t.Helper()
	if err := r.dir.Add(c, log); err != nil {
		r.t.Fatal(err)
	}
}

// read reads a whole log.
func (r *rig) read(id string) string {
	r.t.Helper()
	l, err := r.dir.Log(id)
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Close()
	b, err := io.ReadAll(l)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// warned makes sure of how many warnings there were, each with one of the words.
func (r *rig) warned(words ...string) {
	r.t.Helper()
	if len(r.warnings) != len(words) {
		r.t.Fatalf("warnings: %q, want %d", r.warnings, len(words))
	}
	for i, w := range words {
		if !strings.Contains(r.warnings[i], w) {
			r.t.Errorf("warning %q does not tell of %q", r.warnings[i], w)
		}
	}
}

func container(id string, end time.Duration) Container {
	return Container{
		ID: id, Name: "main", Restart: 1, Started: noon, Ended: noon.Add(end), ExitCode: 137, Signal: 9, Reason: "OOMKilled",
		Message: "the container used more memory than its limit allows", CPU: time.Second, MemoryPeak: 1 << 20, OutputBytes: 12,
		Pod: Pod{Namespace: "default", Name: "nightly-1-abc", UID: "pod-1", Labels: map[string]string{
			"batch.kubernetes.io/job-name": "nightly-1", "batch.kubernetes.io/controller-uid": "job-1",
		}},
	}
}

func TestWhatWasAddedIsThereAfterItsOriginalIsGone(t *testing.T) {
	r := newRig(t, Options{})
	log := r.log("0.log", "a\n")
	c := container("c1", time.Minute)
	r.add(c, log)
	if err := os.RemoveAll(filepath.Dir(log)); err != nil {
		t.Fatal(err)
	}
	r.reopen()
	got, err := r.dir.Read("c1")
	if err != nil {
		t.Fatal(err)
	}
	c.Logs = []string{"0.log"}
	if !reflect.DeepEqual(got, c) {
		t.Errorf("got  %+v\nwant %+v", got, c)
	}
	if got := r.read("c1"); got != "a\n" {
		t.Errorf("log: %q", got)
	}
	a, err := r.dir.Attempt("c1")
	if err != nil {
		t.Fatal(err)
	}
	want := run.Attempt{
		ContainerID: "c1", RunUID: "job-1", Namespace: "default", Pod: "nightly-1-abc", PodUID: "pod-1", Container: "main", Restart: 1,
		Started: noon, Ended: noon.Add(time.Minute), ExitCode: 137, Signal: 9, Reason: "OOMKilled",
		CPU: time.Second, MemoryPeak: 1 << 20, OutputBytes: 12,
	}
	if a != want {
		t.Errorf("got  %+v\nwant %+v", a, want)
	}
	info, err := os.Stat(r.path())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	r.warned()
}

func TestLabels(t *testing.T) {
	for scenario, test := range map[string]struct {
		labels       map[string]string
		kept         int
		job, jobName string
		run          string
	}{
		"a Job's":              {map[string]string{"batch.kubernetes.io/controller-uid": "j", "batch.kubernetes.io/job-name": "n", "app": "x"}, 2, "j", "n", "j"},
		"a Job's of old":       {map[string]string{"controller-uid": "j", "job-name": "n"}, 2, "j", "n", "j"},
		"both":                 {map[string]string{"controller-uid": "old", "batch.kubernetes.io/controller-uid": "j"}, 2, "j", "", "j"},
		"a Timetable's":        {map[string]string{"carillon.dev/timetable-name": "t", "app": "x"}, 1, "", "", "pod"},
		"nobody's":             {map[string]string{"app": "x", "io.kubernetes.pod.name": "y"}, 0, "", "", "pod"},
		"one that begins like": {map[string]string{"job-name-of-mine": "x"}, 0, "", "", "pod"},
	} {
		t.Run(scenario, func(t *testing.T) {
			r := newRig(t, Options{})
			c := container("c", 0)
			c.Pod.UID, c.Pod.Labels = "pod", test.labels
			r.add(c, "")
			got, err := r.dir.Read("c")
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Pod.Labels) != test.kept || string(got.Pod.JobUID()) != test.job || got.Pod.JobName() != test.jobName {
				t.Errorf("got %v, %q, %q", got.Pod.Labels, got.Pod.JobUID(), got.Pod.JobName())
			}
			if uid := got.Attempt().RunUID; string(uid) != test.run {
				t.Errorf("an attempt of %q, want %q", uid, test.run)
			}
		})
	}
}

func TestAddAgainDoesNothing(t *testing.T) {
	r := newRig(t, Options{})
	log := r.log("0.log", "first\n")
	r.add(container("c1", time.Minute), log)
	for range 2 {
		other := container("c1", time.Hour)
		other.ExitCode = 1
		r.log("0.log.20260301-120000", "never\n")
		r.add(other, log)
		if got, err := r.dir.Read("c1"); err != nil || got.ExitCode != 137 {
			t.Errorf("%+v, %v", got, err)
		}
		if got := r.read("c1"); got != "first\n" {
			t.Errorf("log: %q", got)
		}
		r.reopen()
	}
	if ids := r.dir.List(); !slices.Equal(ids, []string{"c1"}) {
		t.Errorf("list: %v", ids)
	}
}

func TestAddOfTheSameAtOnce(t *testing.T) {
	r := newRig(t, Options{})
	log := r.log("0.log", "a\n")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if err := r.dir.Add(container(fmt.Sprint("c", i%5), time.Duration(i%5)), log); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if ids := r.dir.List(); !slices.Equal(ids, []string{"c0", "c1", "c2", "c3", "c4"}) {
		t.Errorf("list: %v", ids)
	}
	if got := r.dir.bytes; got != 10 {
		t.Errorf("%d bytes on account", got)
	}
	list, err := os.ReadDir(r.path())
	if err != nil || len(list) != 5 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestListIsInTheOrderOfEnds(t *testing.T) {
	r := newRig(t, Options{})
	for i, id := range []string{"b", "d", "a", "c"} {
		r.add(container(id, time.Duration(10-i)*time.Second), "")
	}
	want := []string{"c", "a", "d", "b"}
	if got := r.dir.List(); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	r.reopen()
	if got := r.dir.List(); !slices.Equal(got, want) {
		t.Errorf("after another start: %v", got)
	}
}

func TestLog(t *testing.T) {
	for scenario, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"one file":      {map[string]string{"0.log": "a\nb\n"}, "a\nb\n"},
		"an empty one":  {map[string]string{"0.log": ""}, ""},
		"no line end":   {map[string]string{"0.log": "a\nb"}, "a\nb\n"},
		"rotated":       {map[string]string{"0.log": "c\n", "0.log.20260301-120000": "b\n", "0.log.20260301-110000": "a\n"}, "a\nb\nc\n"},
		"packed":        {map[string]string{"0.log": "c\n", "0.log.20260301-120000": "b\n", "0.log.20260301-110000.gz": "a\n"}, "a\nb\nc\n"},
		"cut in middle": {map[string]string{"0.log": "c\n", "0.log.20260301-120000": "b", "0.log.20260301-110000.gz": "a"}, "a\nb\nc\n"},
		"empty ones":    {map[string]string{"0.log": "", "0.log.20260301-120000": "b\n", "0.log.20260301-110000.gz": ""}, "b\n"},
		"while packed": {map[string]string{
			"0.log": "c\n", "0.log.20260301-110000": "a\n", "0.log.20260301-110000.gz": "a\n", "0.log.20260301-120000.tmp": "half",
		}, "a\nc\n"},
		"others' logs":    {map[string]string{"0.log": "a\n", "1.log": "other\n", "10.log": "x\n", "0.logs": "x\n"}, "a\n"},
		"just rotated":    {map[string]string{"0.log.20260301-120000": "a\n"}, "a\n"},
		"longer than one": {map[string]string{"0.log": strings.Repeat("x", 1<<20)}, strings.Repeat("x", 1<<20) + "\n"},
	} {
		t.Run(scenario, func(t *testing.T) {
			r := newRig(t, Options{})
			for name, content := range test.files {
				r.log(name, content)
			}
			r.add(container("c1", 0), filepath.Join(r.base, "logs", "0.log"))
			if err := os.RemoveAll(filepath.Join(r.base, "logs")); err != nil {
				t.Fatal(err)
			}
			if got := r.read("c1"); got != test.want {
				t.Errorf("got %.60q, want %.60q", got, test.want)
			}
			r.warned()
		})
	}
}

// The kubelet may rotate and pack a log at the moment at which its container ends.
func TestLogThatIsRotatedMeanwhile(t *testing.T) {
	r := newRig(t, Options{})
	for round := range 200 {
		id := fmt.Sprint("c", round)
		dir := filepath.Join("logs", id)
		if err := os.Mkdir(filepath.Join(r.base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		want := ""
		file := func(name, content string) string {
			want += content
			return r.log(filepath.Join("..", dir, name), content)
		}
		rotated := []string{file("0.log.20260301-110000", "a\n"), file("0.log.20260301-120000", "b\n")}
		log := file("0.log", "c\n")

		done := make(chan error, 1)
		go func() {
			err := os.Rename(log, log+".20260301-130000")
			for _, path := range append(rotated, log+".20260301-130000") {
				err = errors.Join(err, pack(path))
			}
			done <- err
		}()
		r.add(container(id, time.Duration(round)), log)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := r.read(id); got != want {
			c, err := r.dir.Read(id)
			t.Fatalf("round %d: got %q of %q (%v)", round, got, c.Logs, err)
		}
	}
}

// pack does with a file of a log what the kubelet does.
func pack(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path+packingSuffix, packed(content), 0o600), os.Rename(path+packingSuffix, path+packedSuffix), os.Remove(path))
}

func packed(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestLogThatIsNotThere(t *testing.T) {
	r := newRig(t, Options{})
	r.add(container("none", 0), "")
	r.add(container("removed", 0), filepath.Join(r.base, "gone", "0.log"))
	for _, id := range []string{"none", "removed", "unknown", "../logs"} {
		if l, err := r.dir.Log(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", id, l, err)
		}
	}
	r.warned()
}

func TestPartOfALogThatCannotBeReadIsLeftOut(t *testing.T) {
	for scenario, spoil := range map[string]func(b []byte) []byte{
		"cut off":    func(b []byte) []byte { return b[:len(b)-9] },
		"not packed": func([]byte) []byte { return []byte("plain text\n") },
	} {
		t.Run(scenario, func(t *testing.T) {
			r := newRig(t, Options{})
			packed := r.log("0.log.20260301-110000.gz", strings.Repeat("a\n", 100))
			b, err := os.ReadFile(packed)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(packed, spoil(b), 0o600); err != nil {
				t.Fatal(err)
			}
			r.add(container("c1", 0), r.log("0.log", "b\n"))
			if got := r.read("c1"); !strings.HasSuffix(got, "b\n") || strings.Trim(got, "ab\n") != "" {
				t.Errorf("log: %q", got)
			}
			r.warned("0.log.20260301-110000.gz")
		})
	}
}

func TestALogMayBeReadWhileItIsRemoved(t *testing.T) {
	r := newRig(t, Options{})
	r.log("0.log.20260301-110000", "a\n")
	r.add(container("c1", 0), r.log("0.log", "b\n"))
	l, err := r.dir.Log("c1")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := r.dir.Remove("c1"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(l); err != nil || string(b) != "a\nb\n" {
		t.Errorf("%q, %v", b, err)
	}
	r.warned()
}

func TestRemove(t *testing.T) {
	r := newRig(t, Options{})
	log := r.log("0.log", "a\n")
	r.add(container("c1", 0), log)
	r.add(container("c2", 0), log)
	for _, id := range []string{"c1", "c1", "unknown", "../logs", "damaged"} {
		if err := r.dir.Remove(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if got := r.dir.List(); !slices.Equal(got, []string{"c2"}) {
		t.Errorf("list: %v", got)
	}
	if list, err := os.ReadDir(r.path()); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := os.Stat(log); err != nil {
		t.Error(err)
	}
	if _, err := r.dir.Read("c1"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if r.dir.bytes != 2 {
		t.Errorf("%d bytes on account", r.dir.bytes)
	}
}

func TestAddedHasATokenForWhatIsThere(t *testing.T) {
	r := newRig(t, Options{})
	token := func() bool {
		select {
		case <-r.dir.Added():
			return true
		default:
			return false
		}
	}
	if token() {
		t.Error("a token for nothing")
	}
	r.add(container("c1", 0), "")
	r.add(container("c2", 0), "")
	if !token() || token() {
		t.Error("not one token for two entries")
	}
	r.reopen()
	if !token() {
		t.Error("no token for what was there")
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t, Options{})
	never := container("c1", 0)
	never.Ended = time.Time{}
	for scenario, c := range map[string]Container{
		"no ID":                container("", 0),
		"a path":               container("../c", 0),
		"hidden":               container(".c", 0),
		"the damaged ones'":    container("damaged", 0),
		"with the runtime":     container("carillon-process://c", 0),
		"one that did not end": never,
	} {
		if err := r.dir.Add(c, ""); err == nil {
			t.Errorf("%s: added", scenario)
		}
	}
	if list, err := os.ReadDir(r.path()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	r.warned()
	if err := r.dir.Add(container("c1", 0), filepath.Join(r.base, "logs", "record.json")); err == nil {
		t.Error("record.json counts as a log")
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	r := newRig(t, Options{})
	secret := filepath.Join(r.base, "secret")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(r.base, "logs", "0.log")
	if err := os.Symlink(secret, log); err != nil {
		t.Fatal(err)
	}
	r.log("0.log.20260301-110000", "a\n")
	r.add(container("c1", 0), log)
	if got := r.read("c1"); got != "a\n" {
		t.Errorf("log: %q", got)
	}
	if err := os.Symlink(secret, r.path("c1", "1.log")); err != nil {
		t.Fatal(err)
	}
	if f, _, err := r.dir.open("c1", "1.log"); err == nil {
		t.Errorf("%s was opened", f.Name())
	}
}

func TestDirectoryOfSomebodyElse(t *testing.T) {
	base := t.TempDir()
	if err := os.Symlink(base, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(open, "theirs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	if _, err := Open(open, Options{}); !errors.As(err, new(*privatedir.NotOursError)) {
		t.Errorf("one that others may write to: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	theirs := filepath.Join(base, "theirs")
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(theirs, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(theirs, Options{}); !errors.As(err, new(*privatedir.NotOursError)) {
		t.Errorf("one that is somebody else's: %v", err)
	}
}

func TestDamagedEntriesAreSetAsideOnce(t *testing.T) {
	good := container("good", 0)
	for scenario, test := range map[string]struct {
		damage func(r *rig) error
		root   bool
		word   string
	}{
		"empty, as after a loss of power": {damage: func(r *rig) error { return os.Truncate(r.path("bad", recordFile), 0) }, word: "cannot be read"},
		"cut off":                         {damage: func(r *rig) error { return os.Truncate(r.path("bad", recordFile), 20) }, word: "cannot be read"},
		"without a record":                {damage: func(r *rig) error { return os.Remove(r.path("bad", recordFile)) }, word: "has no record.json"},
		"another's record":                {damage: func(r *rig) error { return os.WriteFile(r.path("bad", recordFile), mustEncode(good), 0o600) }, word: "good"},
		"too long":                        {damage: func(r *rig) error { return os.Truncate(r.path("bad", recordFile), maxRecord+1) }, word: "never should"},
		"a link in place of its record": {damage: func(r *rig) error {
			return errors.Join(os.Remove(r.path("bad", recordFile)), os.Symlink("/etc/passwd", r.path("bad", recordFile)))
		}, word: "not a file of ours"},
		"a file in its place": {damage: func(r *rig) error {
			return errors.Join(os.RemoveAll(r.path("bad")), os.WriteFile(r.path("bad"), nil, 0o600))
		}, word: "no directory"},
		"a strange name":         {damage: func(r *rig) error { return os.Rename(r.path("bad"), r.path("bad one")) }, word: "bad one"},
		"another user's":         {damage: func(r *rig) error { return os.Chown(r.path("bad"), 12345, 12345) }, root: true, word: "another user"},
		"another user's record":  {damage: func(r *rig) error { return os.Chown(r.path("bad", recordFile), 12345, 12345) }, root: true, word: "not a file of ours"},
		"names what is not ours": {damage: func(r *rig) error { return os.WriteFile(r.path("bad", recordFile), evilRecord, 0o600) }, word: "no file of a log"},
	} {
		t.Run(scenario, func(t *testing.T) {
			if test.root && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			r := newRig(t, Options{})
			log := r.log("0.log", "a\n")
			r.add(good, log)
			r.add(container("bad", 0), log)
			if err := test.damage(r); err != nil {
				t.Fatal(err)
			}
			r.reopen()
			r.warned(test.word)
			if got := r.dir.List(); !slices.Equal(got, []string{"good"}) {
				t.Errorf("list: %v", got)
			}
			if list, err := os.ReadDir(r.path(damagedDir)); err != nil || len(list) != 1 {
				t.Errorf("set aside: %v, %v", list, err)
			}
			r.reopen()
			r.warned(test.word)
			r.add(container("bad", 0), log)
			if got := r.read("bad"); got != "a\n" {
				t.Errorf("log: %q", got)
			}
		})
	}
}

var evilRecord = []byte(`{"id":"bad","ended":"2026-03-01T12:00:00Z","exitCode":0,"logs":["../good/0.log"]}`)

func mustEncode(c Container) []byte {
	b, err := c.encode()
	if err != nil {
		panic(err)
	}
	return b
}

func TestDamageThatIsFoundLater(t *testing.T) {
	r := newRig(t, Options{})
	r.add(container("bad", 0), r.log("0.log", "a\n"))
	if err := os.Truncate(r.path("bad", recordFile), 0); err != nil {
		t.Fatal(err)
	}
	_, err := r.dir.Read("bad")
	if err == nil {
		t.Fatal("read")
	}
	r.dir.SetAside("bad", err)
	r.dir.SetAside("bad", err)
	r.warned("bad")
	if got := r.dir.List(); len(got) != 0 || r.dir.bytes != 0 {
		t.Errorf("list: %v, %d bytes", got, r.dir.bytes)
	}
}

func TestDamagedEntriesDoNotGrowForEver(t *testing.T) {
	r := newRig(t, Options{})
	for i := range maxDamaged + 5 {
		if err := os.MkdirAll(r.path(damagedDir, fmt.Sprint("c", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.reopen()
	if list, err := os.ReadDir(r.path(damagedDir)); err != nil || len(list) != maxDamaged {
		t.Errorf("%d, %v", len(list), err)
	}
}

func TestBoundsByDefault(t *testing.T) {
	for scenario, test := range map[string]struct {
		disk int64
		o    Options
		want Options
	}{
		"a large disk":  {1 << 40, Options{}, Options{LogBytes: DefaultLogBytes, Entries: DefaultEntries}},
		"a small disk":  {400 << 20, Options{}, Options{LogBytes: 25 << 20, Entries: DefaultEntries}},
		"none":          {1 << 40, Options{LogBytes: -1, Entries: -1}, Options{LogBytes: -1, Entries: -1}},
		"those of ours": {400 << 20, Options{LogBytes: 1 << 30, Entries: 3}, Options{LogBytes: 1 << 30, Entries: 3}},
	} {
		t.Run(scenario, func(t *testing.T) {
			if got := test.o.complete(test.disk); got.LogBytes != test.want.LogBytes || got.Entries != test.want.Entries {
				t.Errorf("got %d bytes, %d entries", got.LogBytes, got.Entries)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	r := newRig(t, Options{LogBytes: 10, Entries: 4})
	for i := range 3 {
		r.add(container(fmt.Sprint("c", i), time.Duration(i)), r.log("0.log", "abc\n"))
		if err := os.Remove(filepath.Join(r.base, "logs", "0.log")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.dir.Log("c0"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the oldest log is there: %v", err)
	}
	if _, err := r.dir.Read("c0"); err != nil {
		t.Errorf("its record is not: %v", err)
	}
	if r.read("c1")+r.read("c2") != "abc\nabc\n" || r.dir.bytes != 8 {
		t.Errorf("others are gone, too, or count wrongly: %d", r.dir.bytes)
	}
	for i := 3; i < 7; i++ {
		r.add(container(fmt.Sprint("c", i), time.Duration(i)), "")
	}
	if got := r.dir.List(); !slices.Equal(got, []string{"c3", "c4", "c5", "c6"}) || r.dir.bytes != 0 {
		t.Errorf("list: %v, %d bytes", got, r.dir.bytes)
	}
	r.warned("have more than 10 bytes")
	r.opts.Entries = 2
	r.reopen()
	if got := r.dir.List(); !slices.Equal(got, []string{"c5", "c6"}) {
		t.Errorf("with a lower bound: %v", got)
	}
}

// Logs that are being taken away have as much room as the disk has to spare, and are bounded again when they are not.
func TestLogsInAQueueAreBoundedByTheDisk(t *testing.T) {
	free, draining := int64(20), true
	r := newRig(t, Options{LogBytes: 10, Draining: func() bool { return draining }, free: func(string) int64 { return free }})
	add := func(i int) {
		r.add(container(fmt.Sprint("c", i), time.Duration(i)), r.log("0.log", "abc\n"))
		if err := os.Remove(filepath.Join(r.base, "logs", "0.log")); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		add(i)
	}
	if r.dir.bytes != 20 {
		t.Errorf("logs were dropped that were about to be taken away: %d bytes are left", r.dir.bytes)
	}
	free = 4
	add(5) // half of 4 + 24
	if r.dir.bytes != 12 {
		t.Errorf("on a disk that is short there are %d bytes", r.dir.bytes)
	}
	free, draining = 1<<30, false
	add(6)
	if r.dir.bytes != 8 {
		t.Errorf("while nobody takes them away there are %d bytes", r.dir.bytes)
	}
	r.warned("the oldest are dropped")
}

// The end of the process at each step of Add leaves the whole entry or none, and nothing else after the next Open.
func TestKilledInTheMiddle(t *testing.T) {
	if dir := os.Getenv("ENDED_TEST_DIR"); dir != "" {
		stage = func(at string) {
			if at == os.Getenv("ENDED_TEST_STAGE") {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		d, err := Open(filepath.Join(dir, "ended"), Options{})
		if err == nil {
			err = d.Add(container("c1", 0), filepath.Join(dir, "logs", "0.log"))
		}
		t.Fatalf("not killed: %v", err)
	}
	for at, there := range map[string]bool{"begun": false, "linked": false, "recorded": false, "named": true} {
		t.Run(at, func(t *testing.T) {
			r := newRig(t, Options{})
			log := r.log("0.log", "a\n")
			r.dir.Close()
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledInTheMiddle$") //nolint:gosec // ourselves
			cmd.Env = append(os.Environ(), "ENDED_TEST_DIR="+r.base, "ENDED_TEST_STAGE="+at)
			out, err := cmd.CombinedOutput()
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("%v: %s", err, out)
			}
			r.reopen()
			r.warned()
			if got := len(r.dir.List()); (got == 1) != there {
				t.Errorf("%d entries", got)
			}
			list, err := os.ReadDir(r.path())
			if err != nil || len(list) != len(r.dir.List()) {
				t.Errorf("left: %v, %v", list, err)
			}
			r.add(container("c1", 0), log)
			if got := r.read("c1"); got != "a\n" {
				t.Errorf("log: %q", got)
			}
		})
	}
}

func TestLongRecordsAreCut(t *testing.T) {
	r := newRig(t, Options{})
	c := container("c1", 0)
	c.Message = strings.Repeat("ä", maxMessage)
	for i := range 1000 {
		c.Pod.Labels[fmt.Sprint("carillon.dev/x", i)] = strings.Repeat("x", 63)
	}
	r.add(c, "")
	got, err := r.dir.Read("c1")
	if err != nil || len(got.Message) > maxMessage || len(got.Pod.Labels) != maxLabels || got.Pod.JobUID() != "job-1" {
		t.Errorf("%d bytes, %d labels, %v", len(got.Message), len(got.Pod.Labels), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(mustEncode(container("c1", 0)))
	f.Add(evilRecord)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parse(b, "c1")
		if err != nil {
			return
		}
		if c.ID != "c1" || c.Ended.IsZero() {
			t.Errorf("read %+v", c)
		}
		for _, name := range c.Logs {
			if strings.ContainsAny(name, "/\x00") || name == recordFile {
				t.Errorf("a log named %q", name)
			}
		}
		again, err := c.encode()
		if err != nil {
			return // longer than a record may be
		}
		if d, err := parse(again, "c1"); err == nil && d.ID != c.ID {
			t.Errorf("%+v, %v", d, err)
		} else if err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	base := b.TempDir()
	d, err := Open(filepath.Join(base, "ended"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	log := filepath.Join(base, "0.log")
	if err := os.WriteFile(log, []byte("a\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if err := d.Add(container(fmt.Sprint("c", i), time.Duration(i)), log); err != nil {
			b.Fatal(err)
		}
	}
}

// Who has not the directory open can read a log, and changes nothing.
func TestOpenLog(t *testing.T) {
	r := newRig(t, Options{})
	c := Container{ID: "abc", Pod: Pod{Namespace: "n", Name: "p", UID: "u"}, Name: "main", Ended: noon}
	if err := r.dir.Add(c, r.log("0.log", "2026-03-01T12:00:00Z stdout F hello\n")); err != nil {
		t.Fatal(err)
	}
	log, err := OpenLog(r.path(), "abc")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.dir.Remove("abc"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(log); err != nil || string(got) != "2026-03-01T12:00:00Z stdout F hello\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"abc", "../x", ""} {
		if _, err := OpenLog(r.path(), id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := OpenLog(r.path("none"), "abc"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Chmod(r.path(), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(r.path(), "abc"); err == nil {
		t.Error("a directory that others can write in was read")
	}
}
