// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/credentials"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Keychain finds credentials for a registry.
type Keychain = authn.Keychain

// Credentials are what somebody gave for one pull, as a Pod's imagePullSecrets: a user name and password, or Auth,
// which is both in base64 with a colon between, or a token. The zero Credentials are none.
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

// DefaultKeychain finds what "docker login" or "podman login" stored: in $REGISTRY_AUTH_FILE, in docker's config.json
// with its credential helpers ($DOCKER_CONFIG or ~/.docker), in podman's auth.json ($XDG_RUNTIME_DIR or ~/.config). The
// first of them that has something for the repository, or for its registry, counts.
func DefaultKeychain() Keychain { return loginKeychain{} }

// credentialsError says that a login that may be there cannot be read. The pull goes on without; most images need none.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }

type loginKeychain struct{}

// Resolve looks for credentials, nearest first: podman stores them also for a part of a registry.
func (loginKeychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	var problem error
	for _, path := range loginFiles() {
		found, err := lookUp(path, target)
		if err != nil && problem == nil {
			problem = &credentialsError{fmt.Errorf("%s: %w", path, err)}
		}
		if found != (Credentials{}) {
			return found.Resolve(target)
		}
	}
	return authn.Anonymous, problem
}

// loginFiles are the files where logins may be.
func loginFiles() []string {
	var files []string
	if path := os.Getenv("REGISTRY_AUTH_FILE"); path != "" {
		files = append(files, path)
	}
	home, err := os.UserHomeDir()
	switch dir := os.Getenv("DOCKER_CONFIG"); {
	case dir != "":
		files = append(files, filepath.Join(dir, "config.json"))
	case err == nil:
		files = append(files, filepath.Join(home, ".docker", "config.json"))
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	return files
}

// lookUp looks in one file; one that is not there has nothing.
func lookUp(path string, target authn.Resource) (Credentials, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Credentials{}, nil
	}
	if err != nil {
		return Credentials{}, errors.Unwrap(err)
	}
	defer f.Close()
	file, err := config.LoadFromReader(io.LimitReader(f, maxRecord))
	if err != nil {
		return Credentials{}, err
	}
	host := target.RegistryStr()
	if _, ok := file.CredentialHelpers[serverName(host)]; ok {
		return ask(file, serverName(host))
	}
	for at := strings.TrimSuffix(target.String(), "/"); at != ""; {
		if c := stored(file, at); c != (Credentials{}) {
			return c, nil
		}
		up := strings.LastIndexByte(at, '/')
		if up < 0 {
			break
		}
		at = at[:up]
	}
	if file.CredentialsStore != "" {
		return ask(file, serverName(host))
	}
	return Credentials{}, nil
}

// stored is what a file has for a registry or a part of it. Docker writes registries as URLs too.
func stored(file *configfile.ConfigFile, at string) Credentials {
	host, path, inside := strings.Cut(at, "/")
	if inside {
		path = "/" + path
	}
	for key, c := range file.AuthConfigs {
		if !inside && strings.Contains(key, "://") {
			key = credentials.ConvertToHostname(key)
		}
		if key == at || host == name.DefaultRegistry && key == "docker.io"+path {
			if found := fromDocker(c); found != (Credentials{}) {
				return found
			}
		}
	}
	return Credentials{}
}

// serverName is by what credential helpers know a registry.
func serverName(host string) string {
	if host == name.DefaultRegistry {
		return authn.DefaultAuthKey
	}
	return host
}

// ask runs the credential helper that a file names for a registry.
func ask(file *configfile.ConfigFile, server string) (Credentials, error) {
	c, err := file.GetAuthConfig(server)
	return fromDocker(c), err
}

func fromDocker(c types.AuthConfig) Credentials {
	return Credentials{Username: c.Username, Password: c.Password, Auth: c.Auth, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken}
}
