// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import "github.com/google/go-containerregistry/pkg/authn"

// Keychain finds credentials for a registry.
type Keychain = authn.Keychain

// Credentials are what somebody gave for one pull, as a Pod's imagePullSecrets: a user name and password, or Auth, which
// is both in base64 with a colon between, or a token. The zero Credentials are none.
type Credentials struct {
	Username      string
	Password      string
	Auth          string
	IdentityToken string
	RegistryToken string
}

// Keychain makes the credentials a Keychain for Pull, which gives them to the registry of the image's name alone, never
// to a mirror. Without any credentials in it, it is the Keychain of nobody.
func (c Credentials) Keychain() Keychain {
	return c
}

// Resolve gives the credentials.
func (c Credentials) Resolve(authn.Resource) (authn.Authenticator, error) {
	if c == (Credentials{}) {
		return authn.Anonymous, nil
	}
	return authn.FromConfig(authn.AuthConfig{
		Username: c.Username, Password: c.Password, Auth: c.Auth, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
	}), nil
}

// DefaultKeychain finds what "docker login" or "podman login" stored: in $REGISTRY_AUTH_FILE, docker's config.json with
// its credential helpers, podman's auth.json.
func DefaultKeychain() Keychain { return authn.DefaultKeychain }
