// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// rememberAllowed and rememberRefused are how long an answer of the API server is good for. A refusal is forgotten
	// sooner, because somebody is waiting for the role that was just granted.
	rememberAllowed = time.Minute
	rememberRefused = 10 * time.Second
	// rememberTokens bounds the memory that strangers can make us use, and reviewsAtOnce the calls.
	rememberTokens = 1024
	reviewsAtOnce  = 4
	reviewTimeout  = 10 * time.Second
)

// access asks the API server who sends a request, by its bearer token, and whether they may send it. The filter of
// controller-runtime does the same, but links the authenticators of a whole API server, which nearly doubles the memory
// of an idle manager.
type access struct {
	tokens  authenticationclient.TokenReviewInterface
	reviews authorizationclient.SubjectAccessReviewInterface
	// answers are status codes by hash of token, verb and path.
	answers *cache.LRUExpireCache
	slots   chan struct{}
}

// withAccess is a provider of filters as controller-runtime wants it.
func withAccess(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	reviews, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	a := &access{tokens: tokens.TokenReviews(), reviews: reviews.SubjectAccessReviews(),
		answers: cache.NewLRUExpireCache(rememberTokens), slots: make(chan struct{}, reviewsAtOnce)}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) { return a.before(next, log), nil }, nil
}

// before lets through to next what the API server allows.
func (a *access) before(next http.Handler, log logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := a.ask(r)
		if err != nil {
			log.Error(err, "Cannot find out who may read this", "path", r.URL.Path)
		}
		switch status {
		case http.StatusOK:
			next.ServeHTTP(w, r)
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "Unauthorized: send the token of somebody whom the API server knows", status)
		case http.StatusForbidden:
			http.Error(w, fmt.Sprintf("Forbidden: may not %s %s; bind the ClusterRole carillon-metrics-reader", strings.ToLower(r.Method), r.URL.Path), status)
		default:
			http.Error(w, http.StatusText(status), status)
		}
	})
}

// ask gives the status code for a request. The error is why it could not be found out.
func (a *access) ask(r *http.Request) (status int, err error) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return http.StatusUnauthorized, nil
	}
	verb, path := strings.ToLower(r.Method), r.URL.Path
	key := sha256.Sum256([]byte(verb + "\x00" + path + "\x00" + token)) // tokens are not kept
	if answer, known := a.answers.Get(key); known {
		return answer.(int), nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return http.StatusServiceUnavailable, nil
	}
	if status, err = a.review(ctx, token, verb, path); err != nil {
		if r.Context().Err() != nil {
			err = nil // the client is gone
		}
		return http.StatusServiceUnavailable, err
	}
	remember := rememberRefused
	if status == http.StatusOK {
		remember = rememberAllowed
	}
	a.answers.Add(key, status, remember)
	return status, nil
}

func (a *access) review(ctx context.Context, token, verb, path string) (status int, err error) {
	who, err := a.tokens.Create(ctx, &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("reviewing a token: %w; the manager's role needs create on tokenreviews", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	extra := make(map[string]authorization.ExtraValue, len(who.Status.User.Extra))
	for name, values := range who.Status.User.Extra {
		extra[name] = authorization.ExtraValue(values)
	}
	may, err := a.reviews.Create(ctx, &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
		User: who.Status.User.Username, UID: who.Status.User.UID, Groups: who.Status.User.Groups, Extra: extra,
		NonResourceAttributes: &authorization.NonResourceAttributes{Path: path, Verb: verb},
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("reviewing the access of %s: %w; the manager's role needs create on subjectaccessreviews", who.Status.User.Username, err)
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
