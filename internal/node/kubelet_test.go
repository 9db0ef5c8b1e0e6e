// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
)

// The configuration is one that the kubelet accepts, listens where it was told
// and nowhere else, and asks everybody who they are.
func TestKubeletServer(t *testing.T) {
	for name, endpoint := range map[string]string{"built-in runtime": "", "other runtime": "unix:///run/other.sock"} {
		t.Run(name, func(t *testing.T) {
			o := validOptions(t)
			o.RuntimeEndpoint = endpoint
			if err := o.complete(); err != nil {
				t.Fatal(err)
			}
			server, err := kubeletServer(&o, "127.0.0.1:10299", "unix:///x.sock", usesEvents(799))
			if err != nil {
				t.Fatal(err)
			}
			if err := options.ValidateKubeletServer(server); err != nil {
				t.Error(err)
			}
			if server.Address != "127.0.0.1" || server.Port != 10299 || server.ReadOnlyPort != 0 || server.HealthzPort != 0 {
				t.Errorf("listens on %s:%d, %d, %d", server.Address, server.Port, server.ReadOnlyPort, server.HealthzPort)
			}
			if server.Authentication.Anonymous.Enabled || server.Authorization.Mode != "Webhook" {
				t.Errorf("authentication %+v, authorization %+v", server.Authentication, server.Authorization)
			}
			if handlers := server.FeatureGates["RuntimeClassInImageCriApi"]; handlers != (endpoint == "") {
				t.Errorf("the handler in questions about images: %v", handlers)
			}
			if events := server.FeatureGates["EventedPLEG"]; events != (endpoint == "") {
				t.Errorf("container events used: %v", events)
			}
		})
	}
}

// What the kubelet finds at its start must fit into its queue of events; else it starts without container events.
func TestContainerEventsNeedRoom(t *testing.T) {
	o := Options{}
	for found, want := range map[int]bool{0: true, 799: true, 800: false, 5000: false} {
		server, err := kubeletServer(&o, "127.0.0.1:10299", "unix:///x.sock", usesEvents(found))
		if err != nil {
			t.Fatal(err)
		}
		if got := server.FeatureGates["EventedPLEG"]; got != want {
			t.Errorf("with %d containers and sandboxes: %v", found, got)
		}
	}
}

// Pods get the machine's name servers, and one in any case.
func TestNameServers(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"two":         {"# x\nnameserver 192.0.2.1\nsearch a b\nnameserver 2001:db8::1\n", []string{"192.0.2.1", "2001:db8::1"}},
		"four":        {"nameserver 1.1.1.1\nnameserver 1.1.1.2\nnameserver 1.1.1.3\nnameserver 1.1.1.4\n", []string{"1.1.1.1", "1.1.1.2", "1.1.1.3"}},
		"none":        {"search a\n", []string{"127.0.0.1"}},
		"with a zone": {"nameserver fe80::1%eth0\nnameserver\n", []string{"127.0.0.1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "resolv.conf")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, file := nameServers(path)
			if diff := cmp.Diff(tt.want, got); diff != "" || file != path {
				t.Errorf("file %s, -want +got:\n%s", file, diff)
			}
			for _, server := range got {
				if net.ParseIP(server) == nil {
					t.Errorf("%q is no address", server)
				}
			}
		})
	}
	if got, file := nameServers("/does/not/exist"); len(got) != 1 || file != "" {
		t.Errorf("no file: %v, %q", got, file)
	}
}

// The kubelet's recorder is the real one once it asks for its own tracer, and
// not before.
func TestSkipKernelLog(t *testing.T) {
	var deps kubelet.Dependencies
	real := record.NewFakeRecorder(1)
	skipKernelLog(&deps, real)
	deps.TracerProvider.Tracer("somebody/else").Start(t.Context(), "x")
	if deps.Recorder == record.EventRecorderLogger(real) {
		t.Error("the recorder is in place too early")
	}
	deps.TracerProvider.Tracer(kubeletTracer)
	if deps.Recorder != record.EventRecorderLogger(real) {
		t.Error("the recorder is not in place")
	}
}

// Links to logs are not made, and what lies elsewhere is left to the system.
func TestQuietOS(t *testing.T) {
	dir := t.TempDir()
	var quiet quietOS
	if err := quiet.Symlink("/x", "/var/log/containers/carillon-test.log"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat("/var/log/containers/carillon-test.log"); !os.IsNotExist(err) {
		t.Errorf("a link was made: %v", err)
	}
	if err := quiet.Remove("/var/log/containers/../containers/x.log"); err != nil {
		t.Error(err)
	}
	if found, err := quiet.Glob("/var/log/containers/*.log"); err != nil || found != nil {
		t.Errorf("found %v, %v", found, err)
	}
	link := filepath.Join(dir, "link")
	if err := quiet.Symlink("/x", link); err != nil {
		t.Error(err)
	}
	if found, err := quiet.Glob(filepath.Join(dir, "*")); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	if err := quiet.Remove(link); err != nil {
		t.Error(err)
	}
}
