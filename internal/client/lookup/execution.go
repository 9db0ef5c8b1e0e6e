// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Execution reads what one execution of a container writes, while it does. The API can be asked for the log of the
// current execution and of the one before it only, by no more than that; which one a log is of is found out before and
// after it is opened. It is for one goroutine.
type Execution struct {
	Client  kubernetes.Interface
	Attempt run.Attempt
	// From is how far it has been read.
	From crilog.Mark
}

// How often a log is asked for that is not there yet: the node may have none when the status already says "running".
const (
	openAgain = 500 * time.Millisecond
	openTries = 20
)

// errBusy: it may be had later.
var errBusy = errors.New("the log cannot be had now")

// Read passes on what is written until the execution has ended; complete tells that all of it was. Otherwise what is
// left of the log is gone, or cannot be had. An error is that of pass, or of ctx.
func (e *Execution) Read(ctx context.Context, pass func(crilog.Piece) error) (complete bool, err error) {
	for tries := 0; tries < openTries; {
		stream, ended, err := e.open(ctx)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			tries++
		default:
			tries = 0
			whole, err := e.pass(stream, pass)
			_ = stream.Close() // it was only read
			if err != nil || whole && ended {
				return err == nil, err
			}
		}
		timer := time.NewTimer(openAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false, ctx.Err()
		case <-timer.C:
		}
	}
	return false, nil
}

// pass passes on what is new of a stream. whole: it was read to its end.
func (e *Execution) pass(stream io.Reader, pass func(crilog.Piece) error) (whole bool, err error) {
	reader, rest := crilog.NewReader(stream), crilog.Resumed{From: e.From}
	for {
		p, err := reader.Next()
		if err != nil {
			return errors.Is(err, io.EOF), nil
		}
		p, fresh := rest.Rest(p)
		if !fresh {
			continue
		}
		e.From = e.From.After(p)
		if err := pass(p); err != nil {
			return false, err
		}
	}
}

// open opens the log of the execution; ended tells that it had ended before, so that the log is all of it.
func (e *Execution) open(ctx context.Context) (stream io.ReadCloser, ended bool, err error) {
	previous, ended, err := e.find(ctx)
	if err != nil {
		return nil, false, err
	}
	options := &corev1.PodLogOptions{Container: e.Attempt.Container, Timestamps: true, Previous: previous, Follow: !ended}
	if !e.From.At.IsZero() {
		options.SinceTime = &metav1.Time{Time: e.From.At.Truncate(time.Second)}
	}
	raw, err := e.Client.CoreV1().Pods(e.Attempt.Namespace).GetLogs(e.Attempt.Pod, options).Stream(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errBusy, err)
	}
	log := newCRIReader(raw)
	if after, _, err := e.find(ctx); err != nil || after != previous {
		_ = raw.Close() // it may be another execution's
		if err == nil {
			err = errBusy
		}
		return nil, false, err
	}
	if ended && log.Lost() {
		_ = raw.Close() // nothing was read that matters
		return nil, false, fs.ErrNotExist
	}
	return log, ended, nil
}

// find tells whether the execution is the one before the current one, and whether it has ended; fs.ErrNotExist if it is
// neither.
func (e *Execution) find(ctx context.Context) (previous, ended bool, err error) {
	pod, err := e.Client.CoreV1().Pods(e.Attempt.Namespace).Get(ctx, e.Attempt.Pod, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && pod.UID != e.Attempt.PodUID:
		return false, false, fs.ErrNotExist
	case err != nil:
		return false, false, fmt.Errorf("%w: %w", errBusy, err)
	}
	executions := slices.DeleteFunc(run.AttemptsOf(pod), func(a run.Attempt) bool { return a.Container != e.Attempt.Container })
	i := slices.IndexFunc(executions, func(a run.Attempt) bool { return a.ContainerID == e.Attempt.ContainerID })
	if i < 0 {
		return false, false, fs.ErrNotExist
	}
	return i+1 < len(executions), !executions[i].Ended.IsZero(), nil
}
