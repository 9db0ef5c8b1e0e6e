// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func validOptions(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	pem := filepath.Join(dir, "pem")
	if err := os.WriteFile(pem, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{
		Name:        "here",
		DataDir:     filepath.Join(dir, "n"),
		Client:      &rest.Config{Host: "127.0.0.1:1"},
		ServingCert: pem, ServingKey: pem, ClientCA: pem,
	}
}

// New refuses what cannot work, says what and what to do, and leaves nothing
// on disk.
func TestNewChecksOptions(t *testing.T) {
	tests := map[string]struct {
		change func(*Options)
		want   string // part of the error; empty means no error
	}{
		"all right":                  {func(*Options) {}, ""},
		"no name":                    {func(o *Options) { o.Name = "" }, "node name"},
		"name with capitals":         {func(o *Options) { o.Name = "Here" }, "node name \"Here\""},
		"name too long for a label":  {func(o *Options) { o.Name = strings.Repeat("a", 64) }, "63"},
		"no data directory":          {func(o *Options) { o.DataDir = "" }, "not an absolute path"},
		"relative directory":         {func(o *Options) { o.DataDir = "x" }, "not an absolute path"},
		"unclean directory":          {func(o *Options) { o.DataDir = "/a/../b" }, "use \"/b\""},
		"umlaut in directory":        {func(o *Options) { o.DataDir = "/home/jürgen" }, "'ü'"},
		"directory too long":         {func(o *Options) { o.DataDir = "/" + strings.Repeat("d", 100) }, "characters too long"},
		"no client":                  {func(o *Options) { o.Client = nil }, "Options.Client"},
		"client with own dialer":     {func(o *Options) { o.Client = &rest.Config{Dial: newConnections().dial} }, "neither Dial nor Transport"},
		"no certificate":             {func(o *Options) { o.ServingCert = "" }, "ServingCert"},
		"missing key":                {func(o *Options) { o.ServingKey = "/does/not/exist" }, "ServingKey"},
		"no client authority":        {func(o *Options) { o.ClientCA = "" }, "ClientCA"},
		"listen without port":        {func(o *Options) { o.Listen = "127.0.0.1" }, "listen address"},
		"listen on a name":           {func(o *Options) { o.Listen = "localhost:1" }, "not an IP address"},
		"runtime over TCP":           {func(o *Options) { o.RuntimeEndpoint = "tcp://1.2.3.4:5" }, "unix:///path/to/socket"},
		"runtime on a relative path": {func(o *Options) { o.RuntimeEndpoint = "unix://run/x.sock" }, "unix:///path/to/socket"},
		"API server without port":    {func(o *Options) { o.APIServer = "127.0.0.1" }, "API server"},
		"end and keep":               {func(o *Options) { o.EndWithProcess, o.KeepContainers = true, true }, "outlive"},
		"negative pods":              {func(o *Options) { o.MaxPods = -1 }, "MaxPods"},
		"negative grace":             {func(o *Options) { o.StopGrace = -time.Second }, "StopGrace"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			options := validOptions(t)
			tt.change(&options)
			node, err := New(options)
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && err == nil:
				t.Fatalf("no error, want %q", tt.want)
			case err != nil && !strings.Contains(err.Error(), tt.want):
				t.Errorf("error %q does not say %q", err, tt.want)
			case err == nil && checkPort(node.Address()) != nil:
				t.Errorf("address %s is not free", node.Address())
			}
			if entries, _ := os.ReadDir(filepath.Join(options.DataDir)); len(entries) > 0 && tt.want == "" {
				t.Errorf("New left %v", entries)
			}
		})
	}
}

// A node that was never started can be closed, and is then of no more use.
func TestCloseBeforeStart(t *testing.T) {
	node, err := New(validOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := node.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := node.Start(t.Context()); err == nil {
		t.Error("a closed node started")
	}
}
