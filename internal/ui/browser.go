// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/ui/guard"
)

// OpenBrowser opens an address in the user's browser, and waits for nothing. The address is for all users of the
// machine to see: it must have a ticket in it, and no token.
func OpenBrowser(address string) error {
	program := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		program = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return errors.New("there is no graphical desktop here ($DISPLAY and $WAYLAND_DISPLAY are not set)")
	}
	browser := exec.Command(program, address) //nolint:gosec // the address is ours
	if err := browser.Start(); err != nil {
		return err
	}
	go func() { _ = browser.Wait() }() // it tells the user itself what is wrong
	return nil
}

// AskTicket asks the page at an address with a token for an address with a ticket.
func AskTicket(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	token := u.Query().Get("token")
	u.RawQuery = ""
	to := *u
	to.Path = guard.TicketPath
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the page answers %s", answer.Status)
	}
	u.RawQuery = strings.TrimSpace(string(text))
	return u.String(), err
}
