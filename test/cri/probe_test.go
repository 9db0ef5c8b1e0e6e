// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The images of the specs have one program: this test binary under another name. Its arguments are steps, each a verb
// and, behind a colon, what it is about; each step prints a line.
const (
	probeName = "probe"
	probePath = "/bin/" + probeName
)

// steps are what the program can do, as far as it fits on a line.
var steps = map[string]func(value string) (any, error){
	"echo":     func(v string) (any, error) { return v, nil },
	"env":      func(v string) (any, error) { return os.Getenv(v), nil },
	"pwd":      func(string) (any, error) { return os.Getwd() },
	"hostname": func(string) (any, error) { return os.Hostname() },
	"namespace": func(v string) (any, error) {
		return os.Readlink("/proc/self/ns/" + v)
	},
	"cat": func(v string) (any, error) {
		b, err := os.ReadFile(v)
		return strings.TrimSpace(string(b)), err
	},
	"ls": func(v string) (any, error) {
		entries, err := os.ReadDir(v)
		names := []string{}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names, err
	},
	"write": func(v string) (any, error) {
		return "wrote", os.WriteFile(v, []byte("written in the container\n"), 0o644)
	},
	"open":      openForWriting,
	"ids":       ids,
	"owner":     owner,
	"status":    statusLine,
	"caps":      capabilityNumbers,
	"others":    otherProcesses,
	"effective": func(string) (any, error) { return fmt.Sprint("Effective uid: ", os.Geteuid()), nil },
	"mkdir":     func(v string) (any, error) { return "made", os.Mkdir(v, 0o755) },
}

// probe does the steps; an error is printed as its reason. It returns an exit code.
func probe(args []string) int {
	for _, arg := range args {
		verb, value, _ := strings.Cut(arg, ":")
		if f, ok := steps[verb]; ok {
			out, err := f(value)
			if err != nil {
				out = "error: " + reason(err)
			}
			fmt.Println(out)
			continue
		}
		if code := longStep(verb, value, args); code >= 0 {
			return code
		}
	}
	return 0
}

// longStep does what takes its time, ends the program or prints in another way. Less than 0 is to go on.
func longStep(verb, value string, args []string) int {
	switch verb {
	case "exit":
		code, _ := strconv.Atoi(value)
		return code
	case "args":
		fmt.Printf("%q\n", append([]string{os.Args[0]}, args...))
	case "error":
		fmt.Fprintln(os.Stderr, value)
	case "print":
		fmt.Print(value)
	case "repeat":
		n, _ := strconv.Atoi(value)
		fmt.Println(strings.Repeat("0123456789abcdef", n/16))
	case "wait":
		fmt.Println(awaitSignal(func() { fmt.Println("waiting") }))
		return 0
	case "ignore":
		signal.Ignore(unix.SIGTERM)
		fmt.Println("ignoring")
		untilKilled()
	case "forever":
		untilKilled()
	case "count":
		for i := 0; ; i++ {
			fmt.Println(i)
			<-time.After(5 * time.Millisecond)
		}
	case "spin":
		for used := time.Duration(0); used < 50*time.Millisecond; {
			var u unix.Rusage
			if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
				return 1
			}
			used = time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	case "take":
		return takeMemory(value)
	case "input":
		n, err := io.Copy(os.Stdout, os.Stdin)
		fmt.Println("input ended", n > 0, err)
	case "lines":
		for in := bufio.NewScanner(os.Stdin); in.Scan() && in.Text() != "end"; {
			fmt.Println("got " + in.Text())
		}
	case "terminal":
		return terminal()
	case "listen":
		return answerConnections()
	default:
		fmt.Fprintf(os.Stderr, "no step %q\n", verb)
		return 99
	}
	return -1
}

// untilKilled never returns. A program that waits for nothing at all would be ended by Go.
func untilKilled() {
	for range time.Tick(time.Hour) {
		continue
	}
}

// reason is the bare reason of an error, without paths.
func reason(err error) string {
	var no unix.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return err.Error()
}

// awaitSignal returns the first signal of those that end programs or are for their own use.
func awaitSignal(ready func()) os.Signal {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
	ready()
	return <-ch
}

// openForWriting opens what exists, and changes nothing.
func openForWriting(path string) (any, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return "opened", f.Close()
}

// ids are the user, the group, and the other groups.
func ids(string) (any, error) {
	groups, err := os.Getgroups()
	slices.Sort(groups)
	// Whether the first group is among the others is up to the runtime; 65534 stands for groups that are not mapped.
	groups = slices.DeleteFunc(groups, func(g int) bool { return g == os.Getgid() || g == 65534 })
	return fmt.Sprint(os.Getuid(), " ", os.Getgid(), " ", slices.Compact(groups)), err
}

// owner is who a file belongs to, and its permissions.
func owner(path string) (any, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return fmt.Sprintf("%d %d %o", st.Uid, st.Gid, st.Mode&0o7777), err
}

// statusLine is a line of /proc/self/status.
func statusLine(name string) (any, error) {
	b, err := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v), nil
		}
	}
	return "none", err
}

// capabilityNumbers are the members of a set of capabilities, CapEff for example.
func capabilityNumbers(set string) (any, error) {
	text, err := statusLine(set)
	if err != nil {
		return nil, err
	}
	bits, err := strconv.ParseUint(fmt.Sprint(text), 16, 64)
	numbers := []int{}
	for n := range 64 {
		if bits&(1<<n) != 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers, err
}

// otherProcesses says whether a process is to be seen whose command line has a text.
func otherProcesses(text string) (any, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	own := fmt.Sprintf("/proc/%d/cmdline", os.Getpid())
	for _, f := range files {
		if b, rerr := os.ReadFile(f); rerr == nil && f != own && strings.Contains(string(b), text) {
			return "seen", nil
		}
	}
	return "not seen", err
}

// held is memory that is not given back.
var held [][]byte

// takeMemory uses so many MiB.
func takeMemory(mib string) int {
	n, _ := strconv.Atoi(mib)
	for range n {
		part := make([]byte, 1<<20)
		for i := 0; i < len(part); i += 4096 {
			part[i] = 1
		}
		held = append(held, part)
	}
	fmt.Println("took", len(held))
	return -1
}

// terminal tells of the terminal that is the input, of each change of its size, and repeats lines until one says end.
func terminal() int {
	print := func() {
		size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		if err != nil {
			fmt.Println("no terminal:", reason(err))
			return
		}
		fmt.Println("size", size.Col, size.Row)
	}
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	print()
	text := make(chan string)
	go func() {
		defer close(text)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			text <- in.Text()
		}
	}()
	for {
		select {
		case <-changed:
			print()
		case line, ok := <-text:
			if !ok || line == "end" {
				return 7
			}
			fmt.Println("got", line)
		}
	}
}

// answerConnections repeats in capitals what comes by connections to a port that it prints.
func answerConnections() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("port", l.Addr().(*net.TCPAddr).Port)
	for {
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		go func() {
			defer conn.Close()
			for in := bufio.NewScanner(conn); in.Scan(); {
				fmt.Fprintln(conn, strings.ToUpper(in.Text()))
			}
		}()
	}
}
