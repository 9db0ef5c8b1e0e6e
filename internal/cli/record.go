// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/recorder"
	"github.com/carillon-dev/carillon/internal/standalone"
)

type recordOptions struct {
	streams       Streams
	journal       string
	cluster       cluster.Flags
	allNamespaces bool
	keep          standalone.Keep
}

func newRecord(streams Streams) *cobra.Command {
	o := recordOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "record --journal DIR",
		Short: "Keep a journal of a cluster's runs and their logs",
		Long: `Watches the Jobs of a cluster, and what Timetables and Volcano's CronJobs start, and writes each run, how
it ended, its containers and what they wrote to a journal in DIR, until it is stopped. So they are known
beyond the life of Jobs and Pods: carillon status, describe, history, logs and wait read the journal with
--journal DIR, also while it is written; with --context or --kubeconfig beside it they add what the
cluster has now.

It needs the cluster alone, and no controllers of Carillon's on it. It changes nothing there; what it has to
read is in deploy/recorder/rbac.yaml. When the API server goes away it waits for it. What ended and was
deleted while nothing recorded is known as far as its Pods were seen. A log is asked for as soon as its
container has ended: with ttlSecondsAfterFinished of some seconds at least it is there.

The Carillon of this machine (carillon up) keeps a journal of its own, and needs no other.

As a service, in a unit of systemd:
  [Service]
  ExecStart=/usr/local/bin/carillon record --journal /var/lib/carillon-record --kubeconfig /etc/carillon/kubeconfig
  User=carillon
  StateDirectory=carillon-record
  Restart=on-failure
or on the cluster itself, with a volume: deploy/recorder/statefulset.yaml.`,
		Example: `  carillon record --journal ~/staging-runs --context staging
  carillon record --journal ~/shop-runs --context staging -n shop      # with rights in one namespace
  carillon record --journal ~/staging-runs --keep-runs 365d --keep-logs 10GiB
  carillon history cronjob/backup -n shop --journal ~/staging-runs     # from another terminal
  carillon status -A --journal ~/staging-runs --context staging`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.run(cmd.Context())
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // it was stopped before it had begun
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.journal, "journal", "", "the directory of the journal; it is made, readable by you alone, if it is not there")
	_ = cmd.MarkFlagDirname("journal")
	flags.StringVar(&o.cluster.Kubeconfig, "kubeconfig", "", "the cluster of this kubeconfig")
	flags.StringVar(&o.cluster.Context, "context", "", "the cluster of this kubeconfig context")
	flags.StringVarP(&o.cluster.Namespace, "namespace", "n", "", "record the runs of this namespace alone")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "record the runs of all namespaces, as without -n")
	keepFlags(flags, &o.keep)
	flags.StringVar(&o.cluster.DataDir, "data-dir", "", "")
	_ = flags.MarkHidden("data-dir") // is there to be refused in words
	return cmd
}

func (o *recordOptions) run(ctx context.Context) error {
	switch {
	case o.cluster.DataDir != "":
		return usage("--data-dir names a Carillon of this machine, which keeps a journal of its own: carillon history --data-dir %s reads it", o.cluster.DataDir)
	case o.journal == "":
		return usage("--journal must name the directory of the journal (see carillon record --help)")
	case o.allNamespaces && o.cluster.Namespace != "":
		return usage("--all-namespaces and --namespace exclude each other")
	}
	dir, err := filepath.Abs(o.journal)
	if err != nil {
		return err
	}
	config, _, err := o.cluster.Config()
	if err != nil {
		return err
	}
	held, err := holdJournal(dir)
	if err != nil {
		return err
	}
	defer held.release()
	var writing sync.Mutex
	tell := func(text string) {
		writing.Lock()
		defer writing.Unlock()
		fmt.Fprintln(o.streams.Err, "carillon: "+console.EscapeControls(text))
	}
	if err := o.check(ctx, config, held, tell); err != nil {
		return err
	}
	return o.record(ctx, config, held.path, tell)
}

const (
	// recordRetry is how often a cluster that does not answer is asked at first.
	recordRetry = 2 * time.Second
	// recordLook is how often kinds are looked for that the cluster does not serve yet.
	recordLook = 5 * time.Minute
	// recordAsk bounds one such question.
	recordAsk = 30 * time.Second
)

// check asks the cluster, until it answers, whether it is the one of the journal and lets its Jobs be read.
func (o *recordOptions) check(ctx context.Context, config *rest.Config, held *heldJournal, tell func(string)) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return usage("%w", err)
	}
	for told := false; ; told = true {
		err := o.ask(ctx, clients, config.Host, held)
		var status apierrors.APIStatus
		var own *recordError
		if err == nil || errors.As(err, &own) || errors.As(err, &status) && !apierrors.IsServiceUnavailable(err) {
			return err
		}
		if !told && ctx.Err() == nil {
			tell(fmt.Sprintf("the cluster at %s cannot be reached, and is tried again until it can: %v", config.Host, err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(recordRetry):
		}
	}
}

// recordError is what no further try changes.
type recordError struct{ error }

// Unwrap gives the cause.
func (e *recordError) Unwrap() error { return e.error }

func (o *recordOptions) ask(ctx context.Context, clients kubernetes.Interface, host string, held *heldJournal) error {
	ctx, cancel := context.WithTimeout(ctx, recordAsk)
	defer cancel()
	namespace := o.cluster.Namespace
	_, err := clients.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsForbidden(err) && namespace == "":
		return fmt.Errorf("the Jobs of all namespaces may not be read, so there is nothing to record: bind the ClusterRole carillon-recorder"+
			" of deploy/recorder/rbac.yaml to this user, or name a namespace of which he may read them with -n: %w", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the Jobs of the namespace %s may not be read, so there is nothing to record: bind the ClusterRole carillon-recorder"+
			" of deploy/recorder/rbac.yaml to this user there, with a RoleBinding: %w", namespace, err)
	case err != nil:
		return err
	}
	system, err := clients.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return nil // it cannot be told from others
	case err != nil:
		return err
	}
	if err := held.of(string(system.UID), host); err != nil {
		return &recordError{err}
	}
	return nil
}

// record records until ctx ends.
func (o *recordOptions) record(ctx context.Context, config *rest.Config, dir string, tell func(string)) (err error) {
	log := logr.FromSlogHandler(slog.NewTextHandler(o.streams.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	klog.SetLogger(logr.Discard()) // what clients say of each failed try is told once, below
	written, err := journal.Open(dir, journal.Options{KeepRuns: o.keep.Runs, KeepLogs: o.keep.Logs, Warn: tell, Logger: log})
	if err != nil {
		return fmt.Errorf("--journal: %w", err)
	}
	past := recorder.NewJournalPast(dir)
	defer func() {
		if closed := errors.Join(past.Close(), written.Close()); closed != nil && err == nil {
			err = fmt.Errorf("close the journal: %w", closed)
		}
	}()
	client, err := recorder.NewClient(config)
	if err != nil {
		return err
	}
	logs, err := recorder.Logs(config)
	if err != nil {
		return err
	}
	r, err := recorder.New(recorder.Options{
		Client: client, Journal: written, Past: past, LogsThroughAPI: logs, Namespace: o.cluster.Namespace,
		LookForKinds: recordLook, Logger: log, Warn: tell,
		Reached: func(err error) {
			if err == nil {
				tell("the cluster is reached again, and runs are recorded")
				return
			}
			tell(fmt.Sprintf("the cluster at %s cannot be reached, and is tried again until it can: %v", config.Host, err))
		},
	})
	if err != nil {
		return err
	}
	of := "all namespaces"
	if o.cluster.Namespace != "" {
		of = "the namespace " + o.cluster.Namespace
	}
	tell(fmt.Sprintf("recording the runs of %s of %s in %s: %s", of, config.Host, dir, keepMessage(o.keep)))
	r.Run(ctx)
	return nil
}
