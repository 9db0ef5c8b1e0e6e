// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
)

// logins is a home with files.
func logins(t *testing.T, files map[string]string) string {
	t.Helper()
	home := t.TempDir()
	for path, text := range files {
		path = filepath.Join(home, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o700))
	}
	t.Setenv("HOME", home)
	for _, variable := range []string{"REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DOCKER_AUTH_CONFIG"} {
		t.Setenv(variable, "")
	}
	t.Setenv("PATH", home+"/bin:"+os.Getenv("PATH"))
	return home
}

func auths(entries ...string) string {
	var list []string
	for i := 0; i < len(entries); i += 2 {
		list = append(list, `"`+entries[i]+`":{"username":"`+entries[i+1]+`","password":"p"}`)
	}
	return `{"auths":{` + strings.Join(list, ",") + `}}`
}

// user is who the default keychain thinks we are.
func user(t *testing.T, image string) string {
	t.Helper()
	n, err := ParseName(image)
	must(t, err)
	r, err := name.NewRegistry(n.Registry())
	must(t, err)
	who, err := DefaultKeychain().Resolve(r.Repo(n.Path()))
	if err != nil && !errors.As(err, new(*credentialsError)) {
		t.Fatal(err)
	}
	c, cerr := who.Authorization()
	must(t, cerr)
	text := c.Username + c.IdentityToken
	if err != nil {
		text += " (" + err.Error() + ")"
	}
	return text
}

// Logins of docker and podman are found where they are stored, as they are stored.
func TestDefaultKeychain(t *testing.T) {
	home := logins(t, map[string]string{
		".docker/config.json": `{"auths":{"https://index.docker.io/v1/":{"auth":"aHViOnA="},"https://a.example/v2/":{"username":"url","password":"p"},"b.example":{"identitytoken":"id"}},
			"credHelpers":{"h.example":"test","missing.example":"not-there"}}`,
		".config/containers/auth.json": auths("c.example/team", "team", "c.example", "all", "docker.io/me", "podman"),
		"run/containers/auth.json":     auths("c.example/team/app", "run"),
		"file.json":                    auths("a.example", "file"),
		"store/config.json":            `{"credsStore":"test"}`,
		"broken/config.json":           `{"auths":`,
		"bin/docker-credential-test":   "#!/bin/sh\nread server\necho '{\"ServerURL\":\"\",\"Username\":\"helper of '$server'\",\"Secret\":\"s\"}'\n",
	})
	check := func(image, want string) {
		t.Helper()
		if got := user(t, image); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
	check("busybox", "hub")
	check("me/app", "hub")
	check("a.example/x", "url")
	check("b.example/x", "id")
	check("c.example/x", "all")
	check("c.example/team/app", "team")
	check("c.example/teams/app", "all")
	check("d.example/x", "")
	check("h.example/x", "helper of h.example")
	check("missing.example/x", " ("+home+"/.docker/config.json: error getting credentials")
	t.Setenv("XDG_RUNTIME_DIR", home+"/run")
	check("c.example/team/app", "run")
	t.Setenv("REGISTRY_AUTH_FILE", home+"/file.json")
	check("a.example/x", "file")
	check("busybox", "hub")
	t.Setenv("DOCKER_CONFIG", home+"/store")
	check("busybox", "helper of https://index.docker.io/v1/")
	check("a.example/x", "file")
	t.Setenv("DOCKER_CONFIG", home+"/broken")
	check("me/app", "podman")
	check("d.example/x", " ("+home+"/broken/config.json: ")
	t.Setenv("DOCKER_CONFIG", home+"/none")
	check("d.example/x", "")
}

// A login that cannot be read is told of when the registry wants one, and only then.
func TestBrokenLogin(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	home := logins(t, map[string]string{".docker/config.json": `{"credHelpers":{"` + reg.host() + `":"not-there"}}`})
	one(t, reg, 100)
	_, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
	wants := &tokens{user: "u", password: "p", token: "t"}
	reg.through(wants.behind)
	if _, err = s.Pull(t.Context(), reg.name(t, "app"), nil, nil); !errors.Is(err, ErrUnauthorized) || !strings.Contains(err.Error(), home+"/.docker/config.json") {
		t.Errorf("got %v", err)
	}
	must(t, os.WriteFile(home+"/.docker/config.json", []byte(auths(reg.host(), "u")), 0o600))
	_, err = s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
}
