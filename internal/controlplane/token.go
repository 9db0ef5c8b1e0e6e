// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// tokens are those of the clients in this process. They are in no file and end with the process, so they need no
// renewal, and no connection has to be made anew because a certificate ends.
type tokens struct {
	mu    sync.Mutex
	users map[[sha256.Size]byte]user.Info // by the digest, so that a look-up takes as long for a near guess as for any
}

// issue makes a token by which the API server knows the user.
func (t *tokens) issue(u user.Info) string {
	token := rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == nil {
		t.users = map[[sha256.Size]byte]user.Info{}
	}
	t.users[sha256.Sum256([]byte(token))] = u
	return token
}

// AuthenticateToken implements authenticator.Token.
func (t *tokens) AuthenticateToken(_ context.Context, token string) (*authenticator.Response, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, ok := t.users[sha256.Sum256([]byte(token))]
	if !ok {
		return nil, false, nil
	}
	return &authenticator.Response{User: u}, true, nil
}

// accept makes an API server that is not built yet know the tokens, in each of the three servers that it consists of.
func (t *tokens) accept(config *app.Config) {
	for _, authentication := range []*authenticator.Request{
		&config.KubeAPIs.ControlPlane.Generic.Authentication.Authenticator,
		&config.ApiExtensions.GenericConfig.Authentication.Authenticator,
		&config.Aggregator.GenericConfig.Authentication.Authenticator,
	} {
		*authentication = union.New(group.NewAuthenticatedGroupAdder(bearertoken.New(t)), *authentication)
	}
}
