// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// The command probe is the only program of the images that tests make. It does what its arguments say, one after the
// other: a verb, and after a colon what to do it with.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	for _, arg := range os.Args[1:] {
		verb, value, _ := strings.Cut(arg, ":")
		out, err := do(verb, value)
		if err != nil {
			out = "error: " + err.Error()
		}
		fmt.Println(out)
	}
}

func do(verb, value string) (out string, err error) {
	switch verb {
	case "echo":
		return value, nil
	case "complain":
		_, err = fmt.Fprintln(os.Stderr, value)
		return "complained", err
	case "id":
		return fmt.Sprint(os.Getuid(), " ", os.Getgid()), nil
	case "env":
		return os.Getenv(value), nil
	case "pwd":
		return os.Getwd()
	case "cat":
		b, err := os.ReadFile(value)
		return strings.TrimSpace(string(b)), err
	case "ls":
		entries, err := os.ReadDir(value)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " "), err
	case "write":
		return "wrote", os.WriteFile(value, []byte("written\n"), 0o644)
	case "append":
		f, err := os.OpenFile(value, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = f.WriteString("start\n")
		return "appended", err
	case "await": // a file
		for {
			if _, err := os.Stat(value); err == nil {
				return "found", nil
			}
			time.Sleep(20 * time.Millisecond)
		}
	case "wait": // for the signal to stop
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		return (<-stop).String(), nil
	case "exit":
		code, err := strconv.Atoi(value)
		if err == nil {
			os.Exit(code)
		}
		return "", err
	}
	return "", fmt.Errorf("no verb %q", verb)
}
