// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
)

// namesJournal is a journal that remembers nothing but names.
type namesJournal struct {
	stoppedJournal
	names []string
}

func (j namesJournal) Names(context.Context, string, string, int) ([]string, error) {
	return j.names, nil
}

// Advice about a wrong name knows what the journal alone remembers.
func TestDidYouMean(t *testing.T) {
	memory := namesJournal{stoppedJournal{&runMemory{}}, []string{"backup"}}
	ref := reference.Reference{Kind: "job", Name: "bakcup"}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, code := any(metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}), http.StatusNotFound
		switch r.URL.Path {
		case "/apis":
			version := metav1.GroupVersionForDiscovery{GroupVersion: "batch/v1", Version: "v1"}
			answer, code = metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "batch", Versions: []metav1.GroupVersionForDiscovery{version}}}}, http.StatusOK
		case "/apis/batch/v1":
			answer, code = metav1.APIResourceList{GroupVersion: "batch/v1", APIResources: []metav1.APIResource{{Name: "jobs", Kind: "Job", Namespaced: true}}}, http.StatusOK
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(answer) // a client that is gone sees nothing
	})
	there, err := cluster.Flags{Kubeconfig: kubeconfigOf(t, h)}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]*cluster.Server{"an API server": there, "none": nil} {
		t.Run(name, func(t *testing.T) {
			_, err := findSubject(t.Context(), lookup.NewJournal(memory, "the journal", ""), server, ref, "shop")
			if err == nil || !strings.Contains(err.Error(), "did you mean job/backup?") {
				t.Error(err)
			}
		})
	}
}
