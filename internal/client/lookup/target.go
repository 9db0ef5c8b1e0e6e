// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
)

// Target is what the flags of a command name.
type Target struct {
	Cluster       cluster.Flags
	AllNamespaces bool
	// Journal is the directory of a journal, "" for that of the Carillon of this machine if one is meant.
	Journal string
	// Selector chooses by labels, "" all.
	Selector string
}

// AddFlags registers the flags that name where to look, and with selector -A and -l, for commands about many objects.
func (t *Target) AddFlags(cmd *cobra.Command, selector bool) {
	flags := cmd.Flags()
	t.Cluster.Add(flags)
	// It is refused for a flag that is not there only.
	_ = cmd.RegisterFlagCompletionFunc("namespace", t.CompleteNamespaces)
	flags.StringVar(&t.Journal, "journal", "", "read the journal in this directory, or in this data directory")
	if selector {
		flags.BoolVarP(&t.AllNamespaces, "all-namespaces", "A", false, "in all namespaces")
		flags.StringVarP(&t.Selector, "selector", "l", "", "only objects with these labels (team=billing,tier!=dev)")
	}
}

// Labels are what -l asks for.
func (t *Target) Labels() (labels.Selector, error) {
	chosen, err := labels.Parse(t.Selector)
	if err != nil {
		return nil, exitcode.UsageError("-l: %w", err)
	}
	return chosen, nil
}

// NamespaceOf is the namespace that is asked about, "" for all.
func (t *Target) NamespaceOf(server *cluster.Server) string {
	switch {
	case t.AllNamespaces:
		return ""
	case t.Cluster.Namespace != "":
		return t.Cluster.Namespace
	case server != nil:
		return server.Namespace
	}
	return "default"
}

// Open gives the Source for what the flags name, and the API server; server is nil if the Carillon of this machine does
// not run, or if a journal alone was named: it can be read all the same.
func (t *Target) Open(ctx context.Context) (Source, *cluster.Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if t.AllNamespaces && t.Cluster.Namespace != "" {
		return nil, nil, exitcode.UsageError("--all-namespaces and --namespace exclude each other")
	}
	if t.Journal != "" {
		return t.openNamed()
	}
	flags := t.Cluster.OrLocal()
	if flags.DataDir == "" {
		server, err := flags.Connect()
		if err != nil {
			return nil, nil, err
		}
		made, err := newAPI(server, t.NamespaceOf(server), "the cluster", "")
		return made, server, err
	}
	return t.openLocal(flags)
}

// openNamed opens the journal that a flag names, with the API server that another one may name.
func (t *Target) openNamed() (Source, *cluster.Server, error) {
	reader, err := evidence.OpenNamed(t.Journal)
	if err != nil {
		return nil, nil, err
	}
	made := &journalSource{reader: reader, name: "the journal in " + t.Journal}
	if !t.Cluster.Named() {
		return made, nil, nil
	}
	server, err := t.Cluster.Connect()
	if err == nil {
		err = made.connect(server)
	}
	if err != nil {
		_ = reader.Close() // the error before it matters
		return nil, nil, err
	}
	return made, server, nil
}

// openLocal opens the journal of the Carillon of this machine, whether it runs or not, or else its API server.
func (t *Target) openLocal(flags cluster.Flags) (Source, *cluster.Server, error) {
	dir, err := cluster.Absolute(flags.DataDir)
	if err != nil {
		return nil, nil, err
	}
	server, down := flags.Connect()
	if down != nil && !errors.Is(down, cluster.ErrNotRunning) {
		return nil, nil, down // it may run
	}
	reader, unread := journal.OpenReader(datadir.Journal(dir))
	if unread == nil {
		made := &journalSource{reader: reader, name: "the journal of the Carillon on " + dir, ended: datadir.EndedContainers(dir)}
		if down != nil {
			made.note, made.stopped = "that Carillon does not run now", dir
			return made, nil, nil
		}
		err := made.connect(server)
		if err == nil {
			made.objects, err = newAPI(server, t.NamespaceOf(server), "the Carillon on "+dir, "")
		}
		if err != nil {
			_ = reader.Close() // the error before it matters
			return nil, nil, err
		}
		made.lags = func() bool { return lags(datadir.Journal(dir), made.ended, time.Now()) }
		return made, server, nil
	}
	switch none := errors.Is(unread, journal.ErrNone); {
	case down != nil && none:
		return nil, nil, down
	case down != nil:
		// Not wrapped: of an error with an exit code in it only that is shown.
		return nil, nil, fmt.Errorf("%s; nor can what it remembers be read: %w", down.Error(), unread)
	case none:
		unread = errors.New("it keeps no journal")
	}
	made, err := newAPI(server, t.NamespaceOf(server), "the Carillon on "+dir, unread.Error())
	return made, server, err
}

// CheckNamespace is an error if the namespace that -n names does not exist, nor did while the journal remembers.
func (t *Target) CheckNamespace(ctx context.Context, s Source, server *cluster.Server) error {
	namespace := t.Cluster.Namespace
	if namespace == "" || server == nil {
		return nil
	}
	resource, err := server.Resource(corev1.SchemeGroupVersion.WithKind("Namespace"), "")
	if err != nil {
		return err
	}
	if _, err := resource.Get(ctx, namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return nil // it is there, or nobody may say
	}
	runs, err := s.Runs(ctx, journal.Query{Namespace: namespace, Limit: 1})
	if err != nil || len(runs) > 0 {
		return err
	}
	return exitcode.UsageError("there is no namespace %s (-A looks in all of them)", namespace)
}

// namespacesWithin bounds how long the completion of a namespace may take.
const namespacesWithin = 2 * time.Second

// CompleteNamespaces completes -n: with the namespaces of the API server, or, where none runs, those of remembered
// runs.
func (t *Target) CompleteNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), namespacesWithin)
	defer cancel()
	s, server, err := t.Open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp // a shell has no place for errors
	}
	defer func() { _ = s.Close() }() // it was only read
	var names []string
	if server != nil {
		all, err := server.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).List(ctx, metav1.ListOptions{})
		if err == nil {
			for i := range all.Items {
				names = append(names, all.Items[i].Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		}
	}
	runs, _ := s.Runs(ctx, journal.Query{Limit: 1000}) // without an answer nothing is completed
	for i := range runs {
		names = append(names, runs[i].Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// Names are those of objects that a reference with this word may mean. It is for reference.Completion.
func (t *Target) Names(ctx context.Context, word string) ([]string, error) {
	s, server, err := t.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it was only read
	return NamesOf(ctx, s, server, word, t.NamespaceOf(server))
}

// NamesOf gives the names of objects that a reference with this word may mean: those that a journal remembers, and
// those that are there; server is nil if that is not to be known. With an error they are those that could be read.
func NamesOf(ctx context.Context, s Source, server *cluster.Server, word, namespace string) ([]string, error) {
	var names []string
	var unread, unlisted error
	if remembering, ok := s.(interface {
		names(ctx context.Context, word, namespace string) ([]string, error)
	}); ok {
		names, unread = remembering.names(ctx, word, namespace)
	}
	if server != nil {
		var there []string
		there, unlisted = server.Names(ctx, reference.KindsOf(word))
		names = append(names, there...)
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(unread, unlisted)
}
