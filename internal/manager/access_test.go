// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Only a token that the API server knows, of somebody whom it allows this verb on this path, gets through; an API
// server that does not answer lets nobody in; and what it answered is not asked for again at once.
func TestAccess(t *testing.T) {
	client := fake.NewClientset()
	down := false
	client.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authentication.TokenReview).DeepCopy()
		name, known := strings.CutPrefix(review.Spec.Token, "of-")
		review.Status = authentication.TokenReviewStatus{Authenticated: known,
			User: authentication.UserInfo{Username: name, UID: "u", Groups: []string{"g"}, Extra: map[string]authentication.ExtraValue{"e": {"v"}}}}
		if down {
			return true, nil, errors.New("no answer")
		}
		return true, review, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorization.SubjectAccessReview).DeepCopy()
		s := review.Spec
		if s.UID != "u" || len(s.Groups) != 1 || s.Groups[0] != "g" || s.Extra["e"][0] != "v" || s.ResourceAttributes != nil {
			t.Errorf("asked for %+v", s)
		}
		review.Status.Allowed = s.User == "prometheus" && s.NonResourceAttributes.Verb == "get" && s.NonResourceAttributes.Path == "/metrics"
		return true, review, nil
	})
	a := &access{tokens: client.AuthenticationV1().TokenReviews(), reviews: client.AuthorizationV1().SubjectAccessReviews(),
		answers: cache.NewLRUExpireCache(rememberTokens), slots: make(chan struct{}, reviewsAtOnce)}
	handler := a.before(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), logr.Discard())
	for _, c := range []struct {
		name, method, path, header string
		down                       bool
		want, calls                int
	}{
		{name: "nobody", want: 401},
		{name: "a password", header: "Basic b2YtcHJvbWV0aGV1czp4", want: 401},
		{name: "an empty token", header: "Bearer ", want: 401},
		{name: "a token alone", header: "of-prometheus", want: 401},
		{name: "an unknown token", header: "Bearer forged", want: 401, calls: 1},
		{name: "the same again", header: "Bearer forged", want: 401},
		{name: "somebody who may not", header: "Bearer of-stranger", want: 403, calls: 2},
		{name: "no answer", header: "Bearer of-prometheus", down: true, want: 503, calls: 1},
		{name: "somebody who may", header: "Bearer of-prometheus", want: 418, calls: 2},
		{name: "the same again", header: "bearer of-prometheus", down: true, want: 418},
		{name: "another verb", method: "POST", header: "Bearer of-prometheus", want: 403, calls: 2},
		{name: "another path", path: "/debug", header: "Bearer of-prometheus", want: 403, calls: 2},
	} {
		down = c.down
		client.ClearActions()
		if c.path == "" {
			c.path = "/metrics"
		}
		if c.method == "" {
			c.method = http.MethodGet
		}
		r := httptest.NewRequest(c.method, c.path, nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.want || len(client.Actions()) != c.calls {
			t.Errorf("%s: status %d after %d calls, want %d after %d", c.name, w.Code, len(client.Actions()), c.want, c.calls)
		}
	}
}

// Clear text is for the machine itself.
func TestLoopback(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1:8080": true, "localhost:0": true, "[::1]:8080": true, "127.8.9.1:1": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "192.0.2.1:80": false, "example.org:80": false, "8080": false,
	} {
		if err := loopback(addr); (err == nil) != ok {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
