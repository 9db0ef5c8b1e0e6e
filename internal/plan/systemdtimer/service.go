// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/document"
)

// understood are the settings of a service that become something, or that make no difference.
var understood = []string{
	"Service.Type", "Service.ExecStart", "Service.ExecStartPre", "Service.ExecStartPost", "Service.User", "Service.Environment",
	"Service.WorkingDirectory", "Service.TimeoutStartSec", "Service.TimeoutSec", "Service.RuntimeMaxSec", "Service.EnvironmentFile",
	"Service.SyslogIdentifier", "Service.StandardOutput", "Service.StandardError", "Service.RemainAfterExit", "Service.TimeoutStopSec",
	"Service.KillMode", "Service.Group", "Service.Restart",
}

// understoodOfAll are settings of any unit that make no difference.
var understoodOfAll = []string{
	"Unit.Description", "Unit.Documentation", "Unit.SourcePath", "Install.WantedBy", "Install.Also", "Install.Alias", "Install.RequiredBy",
	"Unit.After", "Unit.Wants", "Unit.DefaultDependencies",
}

// what reads the service: the Pod, and what stands beside it in the Job.
func (c *converter) what(file unitFile) (pod *yaml.Node, job []any, err error) {
	switch kind := file.last("Service.Type"); kind {
	case "", "oneshot", "simple", "exec", "idle":
	default:
		c.note(c.service.File, "Type=%s is not kept: a run ends when its program does, so it must stay in the foreground", kind)
	}
	environment, err := c.environment(file)
	if err != nil {
		return nil, nil, err
	}
	command, err := c.command(file)
	if err != nil {
		return nil, nil, err
	}
	job, err = c.limits(file)
	if err != nil {
		return nil, nil, err
	}
	security, who, err := c.user(file)
	if err != nil {
		return nil, nil, err
	}
	workingDir, err := c.directory(file, who.home)
	if err != nil {
		return nil, nil, err
	}
	environment = who.with(environment)
	var env any
	if list := document.List(); len(environment) > 0 {
		for _, e := range environment {
			list.Content = append(list.Content, document.Map("name", e.name, "value", document.Quoted(strings.ReplaceAll(e.value, "$", "$$"))))
		}
		env = list
	}
	c.rest(c.service.File, file, understood)
	return document.Map(
		"runtimeClassName", "host",
		"restartPolicy", "Never",
		"securityContext", security,
		"containers", document.List(document.Map(
			"name", c.name,
			"image", "host",
			"command", command,
			"workingDir", workingDir,
			"env", env,
		)),
	), job, nil
}

type variable struct{ name, value string }

var validVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment reads Environment=.
func (c *converter) environment(file unitFile) ([]variable, error) {
	var all []variable
	for _, line := range file.values["Service.Environment"] {
		words, err := splitWords(line)
		if err != nil {
			return nil, fmt.Errorf("Environment=: %w", err)
		}
		for _, word := range words {
			text, err := specifiers(c.service.Name).expand(word.text)
			if err != nil {
				return nil, fmt.Errorf("Environment=: %w", err)
			}
			name, value, ok := strings.Cut(text, "=")
			if !ok || !validVariable.MatchString(name) {
				return nil, fmt.Errorf("Environment=: %q is not NAME=value", text)
			}
			all = slices.DeleteFunc(all, func(v variable) bool { return v.name == name })
			all = append(all, variable{name, value})
		}
	}
	for _, path := range file.values["Service.EnvironmentFile"] {
		c.note(c.service.File, "EnvironmentFile=%s is not read: write its lines under env, or keep it in a Secret and name that under envFrom", path)
	}
	return all, nil
}

// command makes one command of all that the service runs.
func (c *converter) command(file unitFile) (*yaml.Node, error) {
	var all []execution
	for _, name := range []string{"ExecStartPre", "ExecStart", "ExecStartPost"} {
		for _, line := range file.values["Service."+name] {
			e, err := readExecution(line, specifiers(c.service.Name))
			if err != nil {
				return nil, fmt.Errorf("%s=: %w", name, err)
			}
			if e.privileged {
				c.note(c.service.File, "%s= begins with + or !, which gives it more than the service has; here it runs like the rest", name)
			}
			all = append(all, e)
		}
	}
	if len(file.values["Service.ExecStart"]) == 0 {
		return nil, fmt.Errorf("there is no ExecStart= in [Service]")
	}
	command := document.List()
	if len(all) == 1 && !all[0].mayFail && !all[0].needsShell() {
		for _, word := range all[0].words {
			command.Content = append(command.Content, document.Value(literally(word)))
		}
		return command, nil
	}
	lines := []string{"set -ef"}
	if len(all) == 1 {
		lines = []string{"set -f"} // systemd looks for no files behind a *
	}
	for n, e := range all {
		line := e.shellLine()
		if n == len(all)-1 && !e.mayFail {
			line = "exec " + line
		}
		lines = append(lines, line)
	}
	script := literally(strings.Join(lines, "\n"))
	command.Content = append(command.Content, document.Value("/bin/sh"), document.Value("-c"), document.Value(script))
	return command, nil
}

var forKubernetes = regexp.MustCompile(`\$+\(|\$\$+`)

// literally writes a text so that Kubernetes puts in no variables and takes no "$" away.
func literally(text string) string {
	return forKubernetes.ReplaceAllStringFunc(text, func(match string) string {
		dollars := strings.TrimSuffix(match, "(")
		return strings.Repeat("$", 2*len(dollars)) + match[len(dollars):]
	})
}

// limits reads what ends a run that takes too long.
func (c *converter) limits(file unitFile) ([]any, error) {
	var job []any
	names := []string{"RuntimeMaxSec"}
	if file.last("Service.Type") == "oneshot" {
		names = []string{"TimeoutStartSec", "TimeoutSec"}
	}
	for _, name := range names {
		text := file.last("Service." + name)
		if text == "" {
			continue
		}
		length, infinite, err := readSpan(text)
		if err != nil {
			return nil, fmt.Errorf("%s=: %w", name, err)
		}
		if !infinite && length >= time.Second {
			job = append(job, "activeDeadlineSeconds", int64(length/time.Second))
			break
		}
	}
	if restart := file.last("Service.Restart"); restart != "" && restart != "no" {
		c.note(c.service.File, "Restart=%s is not kept; backoffLimit says how often a run that failed is tried again", restart)
	}
	return append(job, "backoffLimit", 0), nil
}

// directory reads WorkingDirectory=, of which a "-" in front says that it need not be there; nil if there is none.
func (c *converter) directory(file unitFile, home string) (any, error) {
	text, mayMiss := strings.CutPrefix(file.last("Service.WorkingDirectory"), "-")
	directory, err := specifiers(c.service.Name).expand(text)
	if err != nil {
		return nil, fmt.Errorf("WorkingDirectory=: %w", err)
	}
	if directory == "~" {
		directory = home
	}
	switch {
	case !strings.HasPrefix(directory, "/"):
		return nil, nil
	case c.options.IsDirectory == nil || c.options.IsDirectory(directory):
		return directory, nil
	case mayMiss:
		c.note(c.service.File, "there is no directory %s here, so the command begins in /; if there will be, write it as workingDir", directory)
		return "/", nil
	}
	c.note(c.service.File, "there is no directory %s here, and without it each run fails, as it does under systemd", directory)
	return directory, nil
}

// An owner is as whom a service runs; what is not known is "".
type owner struct{ name, home string }

// with gives an environment with what systemd sets for a service with User=, in front of what it sets itself.
func (o owner) with(environment []variable) []variable {
	var own []variable
	if o.name != "" {
		for _, v := range []variable{{"HOME", o.home}, {"LOGNAME", o.name}, {"USER", o.name}} {
			if v.value != "" && !slices.ContainsFunc(environment, func(other variable) bool { return other.name == v.name }) {
				own = append(own, v)
			}
		}
	}
	return append(own, environment...)
}

// user reads User=, as whom it runs and where he is at home.
func (c *converter) user(file unitFile) (security any, who owner, err error) {
	name, err := specifiers(c.service.Name).expand(file.last("Service.User"))
	if err != nil {
		return nil, owner{}, fmt.Errorf("User=: %w", err)
	}
	if group := file.last("Service.Group"); group != "" {
		c.note(c.service.File, "Group=%s is not kept: add runAsGroup with its number to securityContext", group)
	}
	if name == "" {
		c.note(c.service.File, "a service without User= runs as root: for that carillon up must be started by root; else take securityContext out")
		return document.Map("runAsUser", 0), owner{home: "/root"}, nil
	}
	uid, err := strconv.ParseInt(name, 10, 64)
	if err != nil || uid < 0 {
		who.name = name
		known := false
		if c.options.Account != nil {
			account, ok := c.options.Account(name)
			uid, who.home, known = account.UID, account.Home, ok
		}
		if !known {
			c.note(c.service.File, "it ran as %s, whom this machine does not know: it runs as whoever starts carillon up, unless you add securityContext: {runAsUser: NUMBER}", name)
			return nil, who, nil
		}
	}
	if uid != 0 {
		c.note(c.service.File, "it runs as %s (%d); for that carillon up must be started by root, or by him", name, uid)
	}
	return document.Map("runAsUser", uid), who, nil
}

// rest tells of what has no counterpart in a file.
func (c *converter) rest(path string, file unitFile, known []string) {
	var left []string
	for _, name := range file.order {
		if file.values[name] == nil || slices.Contains(known, name) || slices.Contains(understoodOfAll, name) || strings.HasPrefix(name, "X-") {
			continue
		}
		if _, short, _ := strings.Cut(name, "."); !slices.Contains(left, short+"=") {
			left = append(left, short+"=")
		}
	}
	if len(left) > 0 {
		c.note(path, "not kept: %s", strings.Join(left, ", "))
	}
}
