// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// answer is what the registry behind a wrapper answers.
func answer(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// pass sends an answer on, with another body.
func pass(w http.ResponseWriter, a *httptest.ResponseRecorder, body []byte) {
	for key, values := range a.Header() {
		w.Header()[key] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.Code)
	_, _ = w.Write(body) // whoever reads it knows how long it is
}

// blobs puts what f does in front of the registry for the contents of blobs, and only there.
func blobAnswers(f func(w http.ResponseWriter, r *http.Request, a *httptest.ResponseRecorder)) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
				h.ServeHTTP(w, r)
				return
			}
			f(w, r, answer(h, r))
		})
	}
}

// one pushes an image with a layer of so many bytes.
func one(t testing.TB, reg *testRegistry, size int) testImage {
	t.Helper()
	i := newImage(t, here, gzipped(t, files(t, "f", noise(1, size))))
	reg.push(t, "app", "latest", i)
	return i
}

// A download that is cut goes on where it was cut, as often as it brings something; without ranges it begins anew.
func TestPullCutBodies(t *testing.T) {
	for name, ranges := range map[string]bool{"ranges": true, "no ranges": false} {
		t.Run(name, func(t *testing.T) {
			reg, s := newRegistry(t), newStore(t)
			i := one(t, reg, 100_000)
			var sent atomic.Int64
			cuts := 0
			reg.through(func(h http.Handler) http.Handler { return cutter{h, &sent, ranges, &cuts} })
			img, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
			must(t, err)
			if img.ID != i.id() || content(t, s, img.ID, "f") != noise(1, 100_000) {
				t.Error("the image is another one")
			}
			size := int64(len(i.layers[0].blob) + len(i.config))
			if ranges && (sent.Load() > size || reg.asked("/blobs/", "bytes=") < 9) {
				t.Errorf("%d bytes were sent, of %d; %d requests for parts", sent.Load(), size, reg.asked("bytes="))
			}
			clean(t, s)
		})
	}
}

// cutter ends the connection after 10000 bytes of a blob. Without ranges it does so for the first three times.
type cutter struct {
	http.Handler
	sent   *atomic.Int64
	ranges bool
	cuts   *int
}

func (c cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !c.ranges {
		r.Header.Del("Range")
	}
	blobAnswers(func(w http.ResponseWriter, _ *http.Request, a *httptest.ResponseRecorder) {
		const most = 10_000
		body := a.Body.Bytes()
		if len(body) <= most || !c.ranges && *c.cuts == 3 {
			c.sent.Add(int64(len(body)))
			pass(w, a, body)
			return
		}
		*c.cuts++
		for key, values := range a.Header() {
			w.Header()[key] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(a.Code)
		_, _ = w.Write(body[:most])
		_ = http.NewResponseController(w).Flush() // or nothing of it is sent
		c.sent.Add(most)
		panic(http.ErrAbortHandler)
	})(c.Handler).ServeHTTP(w, r)
}

// What another process downloaded before it was killed is not downloaded again, and what is damaged in it is noticed.
func TestPullResumesParts(t *testing.T) {
	for name, damaged := range map[string]bool{"good": false, "damaged": true} {
		t.Run(name, func(t *testing.T) {
			reg, s := newRegistry(t), newStore(t)
			i := one(t, reg, 50_000)
			blob := i.layers[0].blob
			part := bytes.Clone(blob[:30_000])
			if damaged {
				part[100] ^= 1
			}
			must(t, os.WriteFile(filepath.Join(s.dir, "blobs", partName(digestOf(blob))), part, 0o600))
			_, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
			must(t, err)
			resumed, whole := reg.asked(digestOf(blob), "bytes=30000-"), reg.asked("GET", digestOf(blob))
			if resumed != 1 || damaged != (whole == 2) {
				t.Errorf("asked for %q", reg.requests)
			}
			clean(t, s)
		})
	}
}

// A bit that turns on the way is noticed before anything is made of it. Once may be chance.
func TestPullFlippedBits(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	i := one(t, reg, 20_000)
	times := 1
	reg.through(blobAnswers(func(w http.ResponseWriter, r *http.Request, a *httptest.ResponseRecorder) {
		body := bytes.Clone(a.Body.Bytes())
		if strings.Contains(r.URL.Path, digestOf(i.layers[0].blob)) && times > 0 {
			body[len(body)/2] ^= 4
			times--
		}
		pass(w, a, body)
	}))
	_, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
	must(t, s.Remove(i.id()))

	times = 2
	_, err = s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	var damaged *corruptError
	if !errors.As(err, &damaged) || damaged.want != digestOf(i.layers[0].blob) {
		t.Errorf("got %v", err)
	}
	if numbers, err := s.layerNumbers(); err != nil || len(numbers) != 0 {
		t.Errorf("layers %v, %v", numbers, err)
	}
	_, err = s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
}

// Manifests are what their digest says, or refused.
func TestPullOtherManifest(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	i := one(t, reg, 100)
	evil := newImage(t, here, gzipped(t, files(t, "f", "evil")))
	reg.push(t, "app", "evil", evil)
	reg.through(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, digestOf(i.manifest)) && r.Method == http.MethodGet {
				pass(w, answer(h, r), evil.manifest)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	if _, err := s.Pull(t.Context(), reg.name(t, "app@"+digestOf(i.manifest)), nil, nil); !errors.As(err, new(*corruptError)) {
		t.Errorf("got %v", err)
	}
}

// A registry that is busy is asked again, when it says and not for ever.
func TestPullBusyRegistry(t *testing.T) {
	for _, tt := range []struct {
		code  int
		after string
		times int
		want  string
	}{
		{code: 429, after: "0", times: 3},
		{code: 503, after: "", times: 4},
		{code: 500, after: "nonsense", times: 2},
		{code: 502, after: "", times: 100, want: " answers 502 Bad Gateway"},
		{code: 429, after: "3600", times: 100, want: " has had too many requests: wait, log in, or name a mirror with --registry-mirror"},
	} {
		t.Run(fmt.Sprint(tt.code, tt.after), func(t *testing.T) {
			reg, s := newRegistry(t), newStore(t)
			one(t, reg, 100)
			var mu sync.Mutex
			left := map[string]int{}
			requests := 0
			reg.through(func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					key := r.Method + r.URL.Path
					left[key]++
					requests++
					busy := left[key] <= tt.times
					mu.Unlock()
					if !busy {
						h.ServeHTTP(w, r)
						return
					}
					w.Header().Set("Retry-After", tt.after)
					w.WriteHeader(tt.code)
				})
			})
			_, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
			if tt.want == "" {
				must(t, err)
				return
			}
			want := "image " + reg.host() + "/app:latest cannot be pulled: " + reg.host() + tt.want
			if err == nil || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
			if tt.after == "3600" && requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

// tokens is a registry that wants a token, which it gives to who has the right password.
type tokens struct {
	http.Handler
	user, password, identity string
	token                    string
}

func (k *tokens) behind(h http.Handler) http.Handler {
	k.Handler = h
	return k
}

func (k *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		_ = r.ParseForm()
		user, password, _ := r.BasicAuth()
		basic := k.user != "" && user == k.user && password == k.password
		identity := k.identity != "" && r.PostForm.Get("refresh_token") == k.identity
		if r.Form.Get("scope") != "repository:app:pull" || !basic && !identity && k.user+k.identity != "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"token":%q}`, k.token)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+k.token {
		w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="s",scope="repository:app:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
		return
	}
	k.Handler.ServeHTTP(w, r)
}

// Credentials of each kind open a registry that wants a token; without, the error says what to do.
func TestPullWithToken(t *testing.T) {
	for name, tt := range map[string]struct {
		wants tokens
		has   Credentials
		ok    bool
	}{
		"nobody asks":    {tokens{}, Credentials{}, true},
		"password":       {tokens{user: "u", password: "p"}, Credentials{Username: "u", Password: "p"}, true},
		"auth":           {tokens{user: "u", password: "p:q"}, Credentials{Auth: "dTpwOnE="}, true},
		"identity token": {tokens{identity: "i"}, Credentials{IdentityToken: "i"}, true},
		"registry token": {tokens{user: "nobody"}, Credentials{RegistryToken: "the token"}, true},
		"none":           {tokens{user: "u", password: "p"}, Credentials{}, false},
		"wrong":          {tokens{user: "u", password: "p"}, Credentials{Username: "u", Password: "q"}, false},
		"wrong token":    {tokens{user: "u"}, Credentials{RegistryToken: "old"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			reg, s := newRegistry(t), newStore(t)
			one(t, reg, 100)
			wants := &tt.wants
			wants.token = "the token"
			reg.through(wants.behind)
			_, err := s.Pull(t.Context(), reg.name(t, "app"), tt.has.Keychain(), nil)
			if tt.ok {
				must(t, err)
				return
			}
			if !errors.Is(err, ErrUnauthorized) || !strings.Contains(err.Error(), "imagePullSecrets") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A registry with names and passwords instead of tokens.
func TestPullWithPassword(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	one(t, reg, 100)
	reg.through(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
				w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	if _, err := s.Pull(t.Context(), reg.name(t, "app"), Credentials{}.Keychain(), nil); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
	_, err := s.Pull(t.Context(), reg.name(t, "app"), Credentials{Username: "u", Password: "p"}.Keychain(), nil)
	must(t, err)
	// Images that are here do not open to who has no right to them.
	if _, err := s.Pull(t.Context(), reg.name(t, "app"), Credentials{}.Keychain(), nil); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
}

// Where blobs are elsewhere, they are fetched there without our credentials.
func TestPullRedirect(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	i := one(t, reg, 1000)
	var leaked, served atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			leaked.Add(1)
		}
		served.Add(1)
		reg.inner.ServeHTTP(w, r)
	}))
	defer elsewhere.Close()
	wants := &tokens{user: "u", password: "p", token: "secret"}
	reg.through(func(h http.Handler) http.Handler {
		wants.Handler = blobAnswers(func(w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		})(h)
		return wants
	})
	img, err := s.Pull(t.Context(), reg.name(t, "app"), Credentials{Username: "u", Password: "p"}.Keychain(), nil)
	must(t, err)
	if img.ID != i.id() || served.Load() != 2 || leaked.Load() != 0 {
		t.Errorf("%d blobs came from elsewhere, %d requests with credentials", served.Load(), leaked.Load())
	}
}

// Blobs have the size that the manifest says.
func TestPullWrongSize(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"longer":  func(b []byte) []byte { return append(bytes.Clone(b), 'x') },
		"shorter": func(b []byte) []byte { return b[:len(b)-1] },
		"empty":   func([]byte) []byte { return nil },
		"endless": func(b []byte) []byte { return append(bytes.Clone(b), make([]byte, 1<<20)...) },
	} {
		t.Run(name, func(t *testing.T) {
			reg, s := newRegistry(t), newStore(t)
			i := one(t, reg, 1000)
			reg.through(blobAnswers(func(w http.ResponseWriter, r *http.Request, a *httptest.ResponseRecorder) {
				if strings.Contains(r.URL.Path, digestOf(i.layers[0].blob)) && a.Code == http.StatusOK {
					pass(w, a, change(a.Body.Bytes()))
					return
				}
				pass(w, a, a.Body.Bytes())
			}))
			if name == "shorter" {
				// The registry gives the last byte when asked for it.
				_, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
				must(t, err)
				return
			}
			if _, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil); err == nil {
				t.Error("pulled")
			}
		})
	}
}

// What is not an image for this machine is refused, with the reason.
func TestPullRefused(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	layer := gzipped(t, files(t, "f", "x"))
	good := newImage(t, here, layer)
	reg.push(t, "app", "good", good)
	arm := newImage(t, v1.Platform{OS: "linux", Architecture: "s390x"}, layer)
	reg.push(t, "app", "other", arm)
	change := func(tag string, f func(*v1.Manifest)) {
		var m v1.Manifest
		must(t, json.Unmarshal(good.manifest, &m))
		f(&m)
		data, err := json.Marshal(m)
		must(t, err)
		reg.putManifest(t, "app", tag, m.MediaType, data)
	}
	change("foreign", func(m *v1.Manifest) { m.Layers[0].MediaType = types.DockerForeignLayer })
	change("urls", func(m *v1.Manifest) { m.Layers[0].URLs = []string{"https://elsewhere.example/l"} })
	change("chart", func(m *v1.Manifest) { m.Layers[0].MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip" })
	change("none", func(m *v1.Manifest) { m.Layers = nil })
	change("more", func(m *v1.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) })
	change("large", func(m *v1.Manifest) { m.Config.Size = 1 << 40 })
	change("negative", func(m *v1.Manifest) { m.Layers[0].Size = -1 })
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.DockerManifestList, Manifests: []v1.Descriptor{
		{MediaType: types.DockerManifestSchema2, Size: 1, Digest: hashOf(arm.manifest), Platform: &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v9"}},
		{MediaType: types.DockerManifestSchema2, Size: 1, Digest: hashOf(arm.manifest), Platform: &v1.Platform{OS: "windows", Architecture: "amd64", OSVersion: "10"}},
		{MediaType: types.DockerManifestSchema2, Size: 1, Digest: hashOf(arm.manifest), Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}},
	}})
	must(t, err)
	reg.putManifest(t, "app", "index", types.DockerManifestList, index)
	reg.putManifest(t, "app", "old", types.DockerManifestSchema1, []byte(`{"schemaVersion":1,"name":"app"}`))
	reg.putManifest(t, "app", "nonsense", types.OCIManifestSchema1, []byte(`{"schemaVersion":2,"layers":{}}`))

	for tag, want := range map[string]string{
		"other":    "no image for this platform: this machine is " + here.OS + "/" + here.Architecture + ", and the image is for linux/s390x",
		"index":    "and the image is for linux/arm/v9, windows/amd64",
		"old":      "push it again",
		"foreign":  "layer 1 is not in the registry",
		"urls":     "layer 1 is not in the registry",
		"chart":    "helm.chart",
		"none":     "0 layers",
		"more":     "its config names 1 layers, and its manifest 2",
		"large":    "its config has 1099511627776 bytes",
		"negative": "layer 1 has -1 bytes",
		"nonsense": "its manifest cannot be read",
		"missing":  reg.host() + " does not have it",
	} {
		_, err := s.Pull(t.Context(), reg.name(t, "app:"+tag), nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "image "+reg.host()+"/app:"+tag+" cannot be pulled: ") {
			t.Errorf("%s: got %v, want %s", tag, err, want)
		}
		if errors.Is(err, ErrNoPlatform) != (tag == "other" || tag == "index") || errors.Is(err, ErrNotFound) != (tag == "missing") {
			t.Errorf("%s: the kind of %v", tag, err)
		}
	}
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	clean(t, s)
}

// failing is a network on which nobody is reached.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// Without a network the error names the host and the cause, each once.
func TestPullUnreachable(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		image string
		err   error
		want  string
		kind  error
	}{
		{"python:3.12", dial(&net.DNSError{Err: "no such host", Name: "index.docker.io", Server: "10.0.0.1:53", IsNotFound: true}), "image python:3.12 cannot be pulled: lookup index.docker.io: no such host", ErrUnresolved},
		{"127.0.0.1:1/a", dial(errors.New("connect: connection refused")), "image 127.0.0.1:1/a:latest cannot be pulled: 127.0.0.1:1: connect: connection refused", nil},
		{"10.1.2.3/a", dial(errors.New("connect: no route to host")), "image 10.1.2.3/a:latest cannot be pulled: 10.1.2.3: connect: no route to host", nil},
		{"a.example/b", errors.New("something"), "image a.example/b:latest cannot be pulled: a.example: something", nil},
	} {
		o := testOptions(filepath.Join(private(t), "images"))
		o.transport = failing{tt.err}
		s := open(t, o)
		n, err := ParseName(tt.image)
		must(t, err)
		_, err = s.Pull(t.Context(), n, nil, nil)
		if err == nil || err.Error() != tt.want || tt.kind != nil && !errors.Is(err, tt.kind) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// toHost leads all names to one server.
type toHost struct{ addr string }

func (h toHost) transport() *http.Transport {
	t := newTransport()
	t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, h.addr)
	}
	return t
}

// Plain http is for this machine alone, or for mirrors that are given so.
func TestPlainHTTP(t *testing.T) {
	reg := newRegistry(t)
	i := one(t, reg, 100)
	o := testOptions(filepath.Join(private(t), "images"))
	o.transport = toHost{reg.host()}.transport()
	s := open(t, o)
	for _, text := range []string{"10.1.2.3:5000/app", "my.local/app", "a.example/app"} {
		n, err := ParseName(text)
		must(t, err)
		if _, err := s.Pull(t.Context(), n, nil, nil); err == nil || strings.Count(err.Error(), "http:") > 1 {
			t.Errorf("%s: got %v", text, err)
		} else if text[0] == '1' && !strings.Contains(err.Error(), "--registry-mirror 10.1.2.3:5000=http://10.1.2.3:5000") {
			t.Errorf("%s: no cure in %v", text, err)
		}
	}
	if n := reg.asked(""); n != 0 {
		t.Errorf("%d requests", n)
	}
	o.Dir, o.Mirrors = filepath.Join(private(t), "images"), map[string][]string{"a.example": {"http://a.example"}}
	s = open(t, o)
	n, err := ParseName("a.example/app")
	must(t, err)
	img, err := s.Pull(t.Context(), n, nil, nil)
	must(t, err)
	if img.ID != i.id() || img.Names[0] != "a.example/app:latest" {
		t.Errorf("%+v", img)
	}
}

// A mirror is asked first and may fail; it never sees the credentials of a Pod, and names are those of the registry.
func TestMirror(t *testing.T) {
	reg, mirror := newRegistry(t), newRegistry(t)
	one(t, reg, 100)
	i := newImage(t, here, gzipped(t, files(t, "f", "of the mirror")))
	mirror.push(t, "proxy/app", "latest", i)
	leaked := false
	mirror.through(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			leaked = leaked || r.Header.Get("Authorization") != ""
			h.ServeHTTP(w, r)
		})
	})
	o := testOptions(filepath.Join(private(t), "images"))
	o.Mirrors = map[string][]string{reg.host(): {"http://" + mirror.host() + "/proxy/"}}
	s := open(t, o)
	secret := Credentials{Username: "u", Password: "p"}.Keychain()
	img, err := s.Pull(t.Context(), reg.name(t, "app"), secret, nil)
	must(t, err)
	if img.ID != i.id() || img.Names[0] != reg.host()+"/app:latest" || reg.asked("") != 0 || leaked {
		t.Errorf("%+v, %d requests to the registry, credentials leaked: %v", img, reg.asked(""), leaked)
	}
	mirror.Close()
	if img, err = s.Pull(t.Context(), reg.name(t, "app"), secret, nil); err != nil || img.ID == i.id() {
		t.Errorf("without the mirror: %v, %v", img.ID, err)
	}
	reg.Close()
	var failed *PullError
	if _, err = s.Pull(t.Context(), reg.name(t, "gone"), secret, nil); !errors.As(err, &failed) || failed.Host != reg.host() || len(failed.Mirrors) != 1 ||
		!strings.Contains(err.Error(), "; nor from the mirror "+mirror.host()+": ") || strings.Count(err.Error(), "cannot be pulled") != 1 {
		t.Errorf("without both: %v", err)
	}
}

func TestParseMirror(t *testing.T) {
	for text, want := range map[string][2]string{
		"https://m.example":                {"docker.io", "https://m.example"},
		"http://10.0.0.1:5000":             {"docker.io", "http://10.0.0.1:5000"},
		"docker.io=https://m.example/path": {"docker.io", "https://m.example/path"},
		"index.docker.io=https://m":        {"docker.io", "https://m"},
		"quay.io=https://m.example/v2/":    {"quay.io", "https://m.example/v2/"},
		"localhost:5000=http://m":          {"localhost:5000", "http://m"},
		"m.example":                        {}, "": {}, "=": {}, "a=b": {}, "ftp://m": {}, "https://u:p@m": {}, "https://m?q": {}, "a b.c=https://m": {}, "quay=https://m": {},
	} {
		registry, endpoint, err := ParseMirror(text)
		if [2]string{registry, endpoint} != want || (err == nil) != (want[0] != "") {
			t.Errorf("%q: %q, %q, %v", text, registry, endpoint, err)
		}
	}
	if e, err := parseEndpoint("https://m.example/v2/"); err != nil || e.prefix != "" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A certificate of an authority of one's own is refused with the cure. That SSL_CERT_FILE is one is in TestChild…
func TestPullUnknownAuthority(t *testing.T) {
	reg := &testRegistry{inner: newRegistryHandler()}
	reg.Server = httptest.NewTLSServer(reg)
	t.Cleanup(reg.Close)
	reg.Config.ErrorLog = nil
	one(t, reg, 100)
	s := newStore(t)
	_, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Errorf("got %v", err)
	}
}

// A pull that is given up ends soon and leaves what it has to the next.
func TestPullCancelled(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	i := one(t, reg, 200_000)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("no more interest")
	reg.through(blobAnswers(func(w http.ResponseWriter, r *http.Request, a *httptest.ResponseRecorder) {
		if !strings.Contains(r.URL.Path, digestOf(i.layers[0].blob)) {
			pass(w, a, a.Body.Bytes())
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()))
		_, _ = w.Write(a.Body.Bytes()[:150_000])
		_ = http.NewResponseController(w).Flush()
		cancel(reason)
		<-r.Context().Done()
	}))
	if _, err := s.Pull(ctx, reg.name(t, "app"), nil, nil); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
	reg.through(nil)
	_, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
	if content(t, s, i.id(), "f") != noise(1, 200_000) {
		t.Error("another content")
	}
	clean(t, s)
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": -1, "x": -1, "-1": -1, "0": 0, "7": 7 * time.Second, "Sun, 22 Nov 2026 06:01:00 GMT": time.Minute, "Sun, 22 Nov 2026 05:01:00 GMT": 0,
		"99999999999999999999": -1,
	} {
		got, ok := retryAfter(text, now)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
