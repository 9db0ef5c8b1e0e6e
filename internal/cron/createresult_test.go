// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Only a refusal is a no. Whatever else goes wrong may have happened after the child was stored (A3, docs/adr/0010).
func TestCreateResultOf(t *testing.T) {
	status := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code}}
	}
	for name, c := range map[string]struct {
		err  error
		want cron.CreateOutcome
	}{
		"created":                       {nil, cron.CreateSucceeded},
		"the name is taken":             {apierrors.NewAlreadyExists(jobs, "tick-1"), cron.CreateNameTaken},
		"the namespace goes":            {goingOut, cron.CreateNamespaceTerminating},
		"a quota is full":               {quota, cron.CreateRefused},
		"no valid Job":                  {apierrors.NewBadRequest("no"), cron.CreateRefused},
		"too many requests":             {apierrors.NewTooManyRequests("later", 1), cron.CreateRefused},
		"408":                           {status(408), cron.CreateUnconfirmed},
		"a broken webhook or store":     {broken, cron.CreateUnconfirmed},
		"the server is slow":            {apierrors.NewServerTimeout(jobs, "create", 1), cron.CreateUnconfirmed},
		"the gateway is":                {apierrors.NewTimeoutError("slow", 1), cron.CreateUnconfirmed},
		"the server is away":            {apierrors.NewServiceUnavailable("away"), cron.CreateUnconfirmed},
		"a success that is an error":    {status(200), cron.CreateUnconfirmed},
		"the connection is reset":       {&url.Error{Op: "Post", URL: "https://api", Err: syscall.ECONNRESET}, cron.CreateUnconfirmed},
		"no answer in time":             {context.DeadlineExceeded, cron.CreateUnconfirmed},
		"the child cannot be read":      {errors.New("no such field"), cron.CreateUnconfirmed},
		"a refusal, wrapped":            {fmt.Errorf("creating: %w", quota), cron.CreateRefused},
		"the name is taken, wrapped":    {fmt.Errorf("creating: %w", apierrors.NewAlreadyExists(jobs, "tick-1")), cron.CreateNameTaken},
		"a namespace that is not there": {apierrors.NewNotFound(jobs, "batch"), cron.CreateRefused},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cron.CreateResultOf(&cron.Child{}, c.err); got.Outcome != c.want || (got.Child != nil) != (c.err == nil) || !errors.Is(got.Err, c.err) {
				t.Errorf("got %+v, want outcome %d", got, c.want)
			}
		})
	}
}
