// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/carillon-dev/carillon/internal/version"
)

// repository is a repository at one endpoint, with which we have agreed on who we are.
type repository struct {
	client *http.Client
	host   string
	url    string            // of the repository, with a slash at its end
	unread *credentialsError // why we are perhaps nobody there, or nil
}

// dial agrees with an endpoint on who we are.
func (s *Store) dial(ctx context.Context, e endpoint, n Name, auth Keychain) (*repository, error) {
	path := n.Path()
	if e.prefix != "" {
		path = e.prefix + "/" + path
	}
	if e.mirror {
		auth = DefaultKeychain() // a Pod's credentials are for the registry
	}
	who, err := auth.Resolve(e.registry.Repo(path))
	var unread *credentialsError
	if err != nil && !errors.As(err, &unread) {
		return nil, fmt.Errorf("credentials for %s: %w", e.host(), err)
	}
	rt := http.RoundTripper(&retrying{inner: &guarded{inner: s.transport, plain: map[string]bool{}}, backOff: s.backOff})
	if e.http {
		rt = &retrying{inner: &guarded{inner: s.transport, plain: map[string]bool{e.host(): true}}, backOff: s.backOff}
	}
	rt = transport.NewUserAgent(rt, "carillon/"+version.String())
	rt, err = transport.NewWithContext(ctx, e.registry, who, rt, []string{"repository:" + path + ":pull"})
	if err != nil {
		return nil, withoutLogin(err, unread)
	}
	client := &http.Client{Transport: rt, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		// The transport adds credentials again where they belong.
		r.Header.Del("Authorization")
		if len(via) >= 10 {
			return errors.New("it redirects without end")
		}
		return nil
	}}
	return &repository{client: client, host: e.host(), url: "https://" + e.host() + "/v2/" + path + "/", unread: unread}, nil
}

// do makes a request, and makes an error of every answer but 200 and 206.
func (r *repository) do(ctx context.Context, method, path string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, nil)
	if err != nil {
		return nil, err
	}
	for key, values := range header {
		req.Header[key] = values
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := transport.CheckError(resp, http.StatusOK, http.StatusPartialContent); err != nil {
		resp.Body.Close()
		return nil, withoutLogin(err, r.unread)
	}
	return resp, nil
}

// withoutLogin adds to a refusal why there were no credentials.
func withoutLogin(err error, unread *credentialsError) error {
	if unread == nil {
		return err
	}
	return &noLoginError{error: err, unread: unread}
}

// noLoginError is an error of somebody whose credentials could not be read.
type noLoginError struct {
	error

	unread *credentialsError
}

func (e *noLoginError) Unwrap() error { return e.error }

// manifestTypes are the manifests that we can read, and the one that we can explain.
var manifestTypes = []string{
	string(types.OCIImageIndex), string(types.DockerManifestList), string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
	string(types.DockerManifestSchema1Signed),
}

// manifest is a manifest or an index as it came.
type manifest struct {
	data      []byte
	digest    string
	mediaType types.MediaType
}

// head asks which digest a tag has by now, without a pull being counted. It is empty if the registry does not say, or
// says no: then the answer to the real request tells why.
func (r *repository) head(ctx context.Context, target string) (string, error) {
	resp, err := r.do(ctx, http.MethodHead, "manifests/"+target, http.Header{"Accept": {strings.Join(manifestTypes, ", ")}})
	var refused *transport.Error
	if errors.As(err, &refused) && refused.StatusCode/100 == 4 && refused.StatusCode != http.StatusTooManyRequests {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	if d := resp.Header.Get("Docker-Content-Digest"); isDigest(d) {
		return d, nil
	}
	return "", nil
}

// manifest gets a manifest by tag or by digest. What comes by digest has it.
func (r *repository) manifest(ctx context.Context, target string) (*manifest, error) {
	resp, err := r.do(ctx, http.MethodGet, "manifests/"+target, http.Header{"Accept": {strings.Join(manifestTypes, ", ")}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := readBounded(resp.Body, maxRecord)
	if err != nil {
		return nil, err
	}
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	m := newManifest(data, strings.TrimSpace(mediaType))
	if isDigest(target) && m.digest != target {
		return nil, &corruptError{what: "manifest", want: target, got: m.digest}
	}
	if said := resp.Header.Get("Docker-Content-Digest"); isDigest(said) && m.digest != said && !m.mediaType.IsSchema1() {
		return nil, &corruptError{what: "manifest", want: said, got: m.digest}
	}
	return m, nil
}

// newManifest knows a manifest by what it says of itself; where it says nothing, by what came with it.
func newManifest(data []byte, mediaType string) *manifest {
	sum := sha256.Sum256(data)
	m := &manifest{data: data, digest: "sha256:" + hex.EncodeToString(sum[:]), mediaType: types.MediaType(mediaType)}
	var says struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     json.RawMessage `json:"manifests"`
		Layers        json.RawMessage `json:"layers"`
	}
	if err := json.Unmarshal(data, &says); err != nil {
		return m // whoever parses it says so
	}
	switch {
	case says.MediaType != "":
		m.mediaType = says.MediaType
	case says.SchemaVersion == 1:
		m.mediaType = types.DockerManifestSchema1
	case m.mediaType.IsIndex() || m.mediaType.IsImage():
	case says.Manifests != nil:
		m.mediaType = types.OCIImageIndex
	case says.Layers != nil:
		m.mediaType = types.OCIManifestSchema1
	}
	return m
}

// blob opens a blob of so many bytes from an offset on. from is where the answer begins, which is the start if the
// registry does not give parts.
func (r *repository) blob(ctx context.Context, digest string, offset, size int64) (body io.ReadCloser, from int64, err error) {
	header := http.Header{}
	if offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, size-1))
	}
	resp, err := r.do(context.WithValue(ctx, blobRequest{}, true), http.MethodGet, "blobs/"+digest, header)
	if err != nil {
		return nil, 0, err
	}
	if resp.StatusCode != http.StatusPartialContent {
		return resp.Body, 0, nil
	}
	if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &from); err != nil || from != offset {
		resp.Body.Close()
		return nil, 0, fmt.Errorf("%s gives another part than the one asked for: %q", r.host, printable(resp.Header.Get("Content-Range")))
	}
	return resp.Body, from, nil
}

// corruptError says that content is not what its digest says.
type corruptError struct{ what, want, got string }

func (e *corruptError) Error() string {
	return fmt.Sprintf("the %s is damaged: it should be %s and is %s", e.what, e.want, e.got)
}
