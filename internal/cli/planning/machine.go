// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/crontab"
)

// A machine is what an import asks the computer that it runs on.
type machine struct {
	now      func() time.Time
	getenv   func(string) string
	readFile func(string) ([]byte, error)
	readLink func(string) (string, error)
	account  func(string) (crontab.Account, bool)
	// isDirectory tells whether there is a directory, as far as it can be seen.
	isDirectory func(string) bool
	// user and home are those of who runs the command; "" if they are not known.
	user, home string
}

func thisMachine() machine {
	home, _ := os.UserHomeDir()
	m := machine{
		now: time.Now, getenv: os.Getenv, readFile: os.ReadFile, readLink: os.Readlink, account: lookUpAccount, isDirectory: isDirectory, home: home,
	}
	if who, err := user.Current(); err == nil {
		m.user = who.Username
	}
	return m
}

// isDirectory takes what may not be looked at to be there.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return errors.Is(err, fs.ErrPermission)
	}
	return info.IsDir()
}

func lookUpAccount(name string) (crontab.Account, bool) {
	found, err := user.Lookup(name)
	if err != nil {
		return crontab.Account{}, false
	}
	uid, err := strconv.ParseInt(found.Uid, 10, 64)
	if err != nil {
		return crontab.Account{}, false
	}
	return crontab.Account{UID: uid, Home: found.HomeDir}, true
}

// zone is the name of the machine's time zone and where it stands; "" if it is nowhere.
func (m machine) zone() (name, source string) {
	if name := strings.TrimPrefix(m.getenv("TZ"), ":"); name != "" && !strings.HasPrefix(name, "/") {
		return name, "TZ"
	}
	if link, err := m.readLink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(link, "zoneinfo/"); ok {
			return name, "/etc/localtime"
		}
	}
	if text, err := m.readFile("/etc/timezone"); err == nil {
		if name := strings.TrimSpace(string(text)); name != "" {
			return name, "/etc/timezone"
		}
	}
	return "", ""
}
