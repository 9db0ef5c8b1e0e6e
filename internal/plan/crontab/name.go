// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Names are the names that objects have already, each with the last number that was put behind it.
type Names map[string]int

// longest is how long the name of a CronJob may be.
const longest = 52

// Take gives a name like the wanted one that nobody has yet.
func (n Names) Take(wanted string) string {
	name := wanted
	for n[name] > 0 {
		n[wanted]++
		suffix := fmt.Sprintf("-%d", n[wanted])
		name = strings.TrimRight(wanted[:min(len(wanted), longest-len(suffix))], "-") + suffix
	}
	n[name] = 1
	return name
}

// nameOf makes a name of a command: that of the program or script that does the work.
func nameOf(command string) string {
	for _, part := range parts(words(command)) {
		if name := label(worker(part, 0)); name != "" {
			return name
		}
	}
	all := parts(words(command))
	slices.Reverse(all)
	for _, part := range all { // the last of what only prepares or tells
		for _, word := range part {
			if name := label(path.Base(word)); name != "" {
				return name
			}
		}
	}
	return "job"
}

var notInLabels = regexp.MustCompile(`[^a-z0-9]+`)

func label(text string) string {
	text = strings.Trim(notInLabels.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.TrimRight(text[:min(len(text), longest)], "-")
}

// words splits a command at blanks that stand in no quotes; what separates commands is a word.
func words(command string) []string {
	var all []string
	var word strings.Builder
	has := false
	end := func() {
		if has {
			all = append(all, word.String())
		}
		word.Reset()
		has = false
	}
	for n := 0; n < len(command); n++ {
		switch c := command[n]; {
		case c == '\'' || c == '"':
			closing := strings.IndexByte(command[n+1:], c)
			if closing < 0 {
				closing = len(command) - n - 1
			}
			word.WriteString(command[n+1 : n+1+closing])
			n += closing + 1
			has = true
		case c == ' ' || c == '\t' || c == '\n':
			end()
		case c == '(' && n > 0 && strings.IndexByte("$<>", command[n-1]) >= 0:
			inside := untilClosing(command[n:])
			word.WriteString(inside)
			n += len(inside) - 1
		case c == '&' && n > 0 && command[n-1] == '>', c == '&' && n+1 < len(command) && command[n+1] == '>':
			word.WriteByte(c) // of 2>&1 and &>
			has = true
		case c == '{' && n > 0 && command[n-1] == '$' && strings.IndexByte(command[n:], '}') > 0:
			inside := command[n : n+strings.IndexByte(command[n:], '}')+1]
			word.WriteString(inside)
			n += len(inside) - 1
		case strings.IndexByte(";|&(){}", c) >= 0:
			end()
			all = append(all, string(c))
		default:
			word.WriteByte(c)
			has = true
		}
	}
	end()
	return all
}

// untilClosing is what stands from a parenthesis to the one that closes it.
func untilClosing(text string) string {
	depth := 0
	for n := range len(text) {
		switch text[n] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[:n+1]
			}
		}
	}
	return text
}

// parts splits words at what separates commands.
func parts(all []string) [][]string {
	var split [][]string
	var part []string
	for _, word := range append(all, ";") {
		if len(word) == 1 && strings.Contains(";|&(){}", word) {
			if part != nil {
				split = append(split, part)
			}
			part = nil
			continue
		}
		part = append(part, word)
	}
	return split
}

var (
	// preparing are commands that are not the work.
	preparing = words(": [ [[ test cd export . source true false set umask ulimit sleep command which type echo mkdir exit date hash printf pgrep pidof logger")
	// leading are words after which a command begins.
	leading = words("if then else elif ! do while until time exec nohup setsid chronic cronic unbuffer env builtin stdbuf caffeinate")
	// wrapping are programs that run another, with how many words of their own they take before it.
	wrapping = map[string]int{
		"sudo": 0, "doas": 0, "nice": 0, "ionice": 0, "flock": 1, "lckdo": 1, "timeout": 1, "chpst": 0, "setlock": 1, "runuser": 0,
		"systemd-run": 0, "cpulimit": 0, "softlimit": 0, "proxychains": 0, "lockf": 1, "solo": 0, "cronlock": 0, "systemd-cat": 0,
	}
	// valued are options of these programs whose value is a word of its own.
	valued = words("-u -g -U -n -c -p -w -t -k -s -E -o -e -m -l --user --group --wait --timeout --kill-after --signal --unit --slice --port")
	// unvalued are those that have none, of the same letters.
	unvalued = map[string][]string{"flock": words("-n -e -s -o -u"), "sudo": words("-n -E -H -i -s -k"), "timeout": words("-p"),
		"systemd-run": words("-t"), "lockf": words("-s -k -n"), "setlock": words("-n")}
	interpreters = words("sh bash dash ash ksh zsh python python2 python3 perl php ruby node java Rscript lua deno bun pypy3 tclsh pwsh")
	// speaking are programs whose first argument says what they do.
	speaking = words("certbot restic borg borgmatic docker podman systemctl git apt-get apt dnf yum kopia aws gcloud kubectl rake npm yarn snap flatpak " +
		"zpool zfs service rclone gitlab-rake drush wp composer pg_ctlcluster btrfs sa1 nextcloud etckeeper freshclam occ artisan manage rails docker-compose mdadm")
)

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// worker is what names the work of a command without separators; "" if it is none.
func worker(part []string, depth int) string {
	const deepest = 8
	for depth < deepest && len(part) > 0 {
		program := path.Base(part[0])
		own, wraps := wrapping[program]
		switch {
		case assignment.MatchString(part[0]) || slices.Contains(leading, program):
			part = part[1:]
		case strings.HasPrefix(part[0], "-") || strings.ContainsAny(part[0], "<>"):
			part = part[1:]
		case wraps:
			part = afterOptions(program, part[1:])
			part = part[min(own, len(part)):]
			if program == "flock" && len(part) > 1 && part[0] == "-c" {
				return inner(part[1], depth)
			}
		case program == "su":
			for n, word := range part[:len(part)-1] {
				if word == "-c" {
					return inner(part[n+1], depth)
				}
			}
			return program
		case program == "run-parts":
			return path.Base(part[len(part)-1])
		case slices.Contains(interpreters, strings.TrimRight(program, "0123456789.")) || slices.Contains(interpreters, program):
			return script(program, part[1:], depth)
		case slices.Contains(preparing, program):
			return ""
		case program == "bundle" && len(part) > 2 && part[1] == "exec":
			part = part[2:]
		case (program == "docker" || program == "podman" || program == "kubectl") && slices.Contains(part[:len(part)-1], "exec"):
			return worker(afterExec(part[slices.Index(part, "exec")+1:]), depth+1)
		case slices.Contains(speaking, strings.TrimSuffix(program, path.Ext(program))):
			return program + said(part[1:])
		default:
			return strings.TrimSuffix(program, path.Ext(program))
		}
	}
	return ""
}

// inner names the work of a command that another has as one word.
func inner(command string, depth int) string {
	for _, part := range parts(words(command)) {
		if name := worker(part, depth+1); name != "" {
			return name
		}
	}
	return ""
}

// afterOptions leaves out the options of a program that runs another.
func afterOptions(program string, part []string) []string {
	for len(part) > 0 && (strings.HasPrefix(part[0], "-") || assignment.MatchString(part[0])) {
		option := part[0]
		if program == "flock" && option == "-c" {
			return part
		}
		part = part[1:]
		if slices.Contains(valued, option) && !slices.Contains(unvalued[program], option) && len(part) > 0 {
			part = part[1:]
		}
		if option == "--" {
			break
		}
	}
	return part
}

// afterExec leaves out the options of "docker exec" and the name of the container.
func afterExec(part []string) []string {
	for len(part) > 0 && strings.HasPrefix(part[0], "-") {
		takes := slices.Contains([]string{"-u", "-e", "-w", "-n", "-c", "--user", "--env", "--workdir"}, part[0])
		part = part[1:]
		if takes && len(part) > 0 {
			part = part[1:]
		}
	}
	part = part[min(1, len(part)):]
	if len(part) > 0 && part[0] == "--" {
		part = part[1:]
	}
	return part
}

// script names what an interpreter runs.
func script(program string, part []string, depth int) string {
	for n := range part {
		word := part[n]
		switch {
		case (word == "-c" || word == "-lc" || word == "-ec" || word == "-xc") && n+1 < len(part) && strings.HasSuffix(program, "sh"):
			return inner(part[n+1], depth)
		case word == "-m" && n+1 < len(part):
			return part[n+1]
		case word == "-jar" && n+1 < len(part):
			return strings.TrimSuffix(path.Base(part[n+1]), ".jar")
		case word == "-c" || word == "-e" || word == "-r":
			return "" // a few words of a program, which may only wait
		case strings.HasPrefix(word, "-") || strings.ContainsAny(word, "<>"):
		default:
			base := strings.TrimSuffix(path.Base(word), path.Ext(word))
			if slices.Contains(speaking, base) {
				return base + said(part[n+1:])
			}
			return base
		}
	}
	return program
}

var plainWord = regexp.MustCompile(`^[a-z][a-z0-9:_-]{1,24}$`)

// said is the first argument if it is a word, as the end of a name.
func said(arguments []string) string {
	for _, word := range arguments {
		if plainWord.MatchString(word) {
			return "-" + word
		}
		if !strings.HasPrefix(word, "-") {
			break
		}
	}
	return ""
}
