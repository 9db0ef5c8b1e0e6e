// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Request is one call to the server, as it is sent.
type Request struct {
	By, Verb, Kind, Namespace, Name string
	// Number counts the requests of the sender's process, and of all processes
	// of its name before it.
	Number int
	// UID and Version are the preconditions that it carries.
	UID     types.UID
	Version string
}

func (r Request) String() string { return fmt.Sprintf("%s %s %s", r.Verb, r.Kind, r.Name) }

// Mishap is what becomes of a request.
type Mishap int

// The mishaps. Which of them the effect happened with, the caller cannot know.
const (
	None Mishap = iota
	// Refused: the server answers with an internal error; no effect.
	Refused
	// Unreachable: no connection; no effect.
	Unreachable
	// TimedOut: the server gave up before the effect.
	TimedOut
	// AnswerLost: the effect happened and the connection broke.
	AnswerLost
	// LateTimeout: the effect happened and the server said that it gave up.
	LateTimeout
	// Conflicted: the server says that somebody else was faster; no effect. Reads are Refused instead.
	Conflicted
	// Quota: a creation is forbidden. Others are Refused.
	Quota
	// Webhook: an admission webhook cannot be called. Reads are Refused.
	Webhook
	// DiesBefore: the process of the sender dies before the request is sent.
	DiesBefore
	// DiesAfter: it dies when the effect has happened, before the answer.
	DiesAfter
	// Slow: the answer takes half a minute.
	Slow
	mishaps
)

var mishapNames = [mishaps]string{"", "refused", "unreachable", "timed out", "done, but the answer is lost", "done, but told to have timed out",
	"told of a conflict", "over quota", "webhook fails", "the process dies before it", "the process dies after it", "done slowly"}

func (m Mishap) String() string { return mishapNames[m] }

// Mishaps are all of them.
func Mishaps() []Mishap {
	all := make([]Mishap, 0, mishaps-1)
	for m := Refused; m < mishaps; m++ {
		all = append(all, m)
	}
	return all
}

var errInjected = errors.New("injected")

func unreachable(r Request) error {
	return fmt.Errorf("%s: dial tcp: connection refused", r)
}

// lost is what a client gets when a connection breaks.
func lost(r Request) error { return fmt.Errorf("%s: unexpected EOF", r) }

// befall carries out a request with what is to become of it.
func (c *Client) befall(r Request, m Mishap, effect func() error) error {
	story, res := c.server.World.Story, resource(r.Kind)
	read := r.Verb == "get" || r.Verb == "list"
	if m != None {
		story.Tell(r.By, "%s: %s", r, m)
	}
	switch m {
	case Refused:
		return apierrors.NewInternalError(errInjected)
	case Unreachable:
		return unreachable(r)
	case TimedOut:
		return apierrors.NewTimeoutError("injected: not done", 1)
	case Conflicted:
		if read {
			return apierrors.NewInternalError(errInjected)
		}
		return apierrors.NewConflict(res, r.Name, errInjected)
	case Quota:
		if r.Verb == "create" {
			return apierrors.NewForbidden(res, r.Name, errors.New("exceeded quota"))
		}
		return apierrors.NewInternalError(errInjected)
	case Webhook:
		if read {
			return apierrors.NewInternalError(errInjected)
		}
		return apierrors.NewInternalError(errors.New("failed calling webhook: connection refused"))
	case DiesBefore:
		c.die()
		return context.Canceled
	}
	err := effect()
	switch m {
	case AnswerLost:
		return lost(r)
	case LateTimeout:
		return apierrors.NewTimeoutError("injected: done all the same", 1)
	case DiesAfter:
		c.die()
		return context.Canceled
	case Slow:
		c.server.World.Pass(30 * time.Second)
	}
	return err
}
