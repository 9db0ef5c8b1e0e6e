// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// namesKept is a journal that has names, and no runs.
type namesKept struct {
	Remembered
	names []string
	err   error
}

func (k *namesKept) Runs(context.Context, journal.Query) ([]run.Run, error) { return nil, nil }

func (k *namesKept) Names(context.Context, string, string, int) ([]string, error) {
	return k.names, k.err
}

// serverOf gives the API server that a handler is.
func serverOf(t *testing.T, h http.Handler) *cluster.Server {
	t.Helper()
	server, err := cluster.Flags{Kubeconfig: kubeconfigOf(t, h)}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// Names are those of the journal and those of the API server, and when one of them fails those of the other.
func TestNamesOf(t *testing.T) {
	p := &plane{}
	var made []string
	for n := range 4500 {
		made = append(made, fmt.Sprintf("made-%04d", n))
		p.jobs = append(p.jobs, batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: made[n]}})
	}
	there := serverOf(t, http.HandlerFunc(p.serve))
	broken := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/jobs") {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		p.serve(w, r)
	}))
	for name, test := range map[string]struct {
		journal namesKept
		server  *cluster.Server
		want    []string
		fails   bool
	}{
		"both":                {namesKept{names: []string{"gone", "made-0000"}}, there, append([]string{"gone"}, made...), false},
		"no API server":       {namesKept{names: []string{"gone"}}, nil, []string{"gone"}, false},
		"a broken API server": {namesKept{names: []string{"gone"}}, broken, []string{"gone"}, true},
		"a broken journal":    {namesKept{err: errors.New("damaged")}, there, made, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := NamesOf(t.Context(), &journalSource{reader: &test.journal}, test.server, "job", "shop")
			if !slices.Equal(got, test.want) || (err != nil) != test.fails {
				t.Errorf("%d names, want %d; %v", len(got), len(test.want), err)
			}
		})
	}
	if lists := len(p.asked); lists != 6 {
		t.Errorf("%d lists for three pages, twice", lists)
	}
}
