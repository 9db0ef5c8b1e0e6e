// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// The kinds of reasons why an image cannot be had, for errors.Is. PullError matches the kind of its cause.
var (
	// ErrUnresolved is that the registry's host name is not known here, as without a network.
	ErrUnresolved = errors.New("host name cannot be resolved")
	// ErrUnauthorized is that the registry wants credentials, or other ones.
	ErrUnauthorized = errors.New("not authorized")
	// ErrNotFound is that the registry, or the store, does not have it.
	ErrNotFound = errors.New("not found")
	// ErrNoPlatform is that the image is for other machines only.
	ErrNoPlatform = errors.New("no image for this platform")
	// ErrInUse is that a container uses the image.
	ErrInUse = errors.New("in use")
)

// NameError says that a text is not the name of an image.
type NameError struct {
	Text string
	Why  string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("%q is not the name of an image: %s", e.Text, e.Why)
}

// PullError says why an image cannot be pulled. Its text names the image, and the host and the cause once.
type PullError struct {
	Name Name
	Host string // the registry or mirror that was asked last
	Kind error  // one of the kinds above, or nil
	Err  error
	// Mirrors are the errors of the mirrors that were asked before, in order. Kind and Err are not theirs.
	Mirrors []*PullError
}

func (e *PullError) Error() string {
	text := fmt.Sprintf("image %s cannot be pulled: %v", e.Name.Short(), e.Err)
	for _, m := range e.Mirrors {
		text += fmt.Sprintf("; nor from the mirror %s: %v", m.Host, m.Err)
	}
	return text
}

// Unwrap gives the cause and its kind.
func (e *PullError) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// NotFoundError says that the store has no such image.
type NotFoundError struct {
	Ref string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no image %s here", e.Ref) }

// Is makes the error one of kind ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// AmbiguousError says that a short form of an ID means several images.
type AmbiguousError struct {
	Ref string
	IDs []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s may be any of %s: give more of the ID", e.Ref, strings.Join(e.IDs, ", "))
}

// InUseError says that an image was not removed, because a container uses it.
type InUseError struct {
	Image Image
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("image %s is in use by a container: stop it first", e.Image.title())
}

// Is makes the error one of kind ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// title is how a message names the image.
func (i Image) title() string {
	if len(i.Names) > 0 {
		if n, err := ParseName(i.Names[0]); err == nil {
			return n.Short()
		}
	}
	return i.ID
}

// explain makes one sentence of what went wrong at an endpoint: the host and the cause once, and what to do.
func explain(name Name, e endpoint, err error) *PullError {
	p := &PullError{Name: name, Host: e.host()}
	p.Kind, p.Err = cause(e.host(), err)
	var nobody *noLoginError
	if errors.Is(p.Kind, ErrUnauthorized) && errors.As(err, &nobody) {
		p.Err = fmt.Errorf("%w; the login cannot be read: %w", p.Err, nobody.unread)
	}
	return p
}

func cause(host string, err error) (kind, short error) {
	var (
		lookup    *net.DNSError
		refused   *transport.Error
		plain     *plainHTTPError
		authority x509.UnknownAuthorityError
		untrusted *tls.CertificateVerificationError
		op        *net.OpError
		timeout   net.Error
		request   *url.Error
	)
	switch {
	case errors.Is(err, ErrNoPlatform):
		return ErrNoPlatform, err
	case errors.As(err, &lookup):
		return ErrUnresolved, fmt.Errorf("lookup %s: %s", lookup.Name, lookup.Err)
	case errors.As(err, &plain) && errors.Is(err, http.ErrSchemeMismatch):
		return nil, plain
	case errors.As(err, &authority):
		return nil, fmt.Errorf("%s shows a certificate of an authority that is unknown here: name its certificate in SSL_CERT_FILE", host)
	case errors.As(err, &untrusted):
		return nil, fmt.Errorf("%s shows a certificate that is not trusted: %w", host, untrusted.Err)
	case errors.As(err, &refused):
		return refusal(host, refused)
	case errors.Is(err, http.ErrSchemeMismatch):
		return nil, fmt.Errorf("%s answers https by plain http", host)
	case errors.As(err, &plain) && !errors.As(err, &op):
		return nil, plain
	case errors.As(err, &op):
		return nil, fmt.Errorf("%s: %w", host, op.Err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, fmt.Errorf("%s does not answer", host)
	case errors.As(err, &request):
		return nil, fmt.Errorf("%s: %w", host, request.Err)
	}
	return nil, err
}

// refusal explains an answer with an error.
func refusal(host string, e *transport.Error) (kind, short error) {
	said := ""
	if len(e.Errors) > 0 && e.Errors[0].Message != "" {
		said = " (" + printable(e.Errors[0].Message) + ")"
	}
	const cure = "log in with docker login or podman login, or give the Pod imagePullSecrets"
	switch e.StatusCode {
	case http.StatusUnauthorized:
		return ErrUnauthorized, fmt.Errorf("%s wants other credentials, or has no such image%s: %s", host, said, cure)
	case http.StatusForbidden:
		return ErrUnauthorized, fmt.Errorf("%s refuses%s: %s", host, said, cure)
	case http.StatusNotFound:
		return ErrNotFound, fmt.Errorf("%s does not have it%s", host, said)
	case http.StatusTooManyRequests:
		return nil, fmt.Errorf("%s has had too many requests%s: wait, log in, or name a mirror with --registry-mirror", host, said)
	}
	return nil, fmt.Errorf("%s answers %d %s%s", host, e.StatusCode, http.StatusText(e.StatusCode), said)
}
