// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// BenchmarkContainer runs containers one after the other, from the creation of
// the sandbox to the removal, and reports how long the steps take.
func BenchmarkContainer(b *testing.B) {
	config := shell("")
	config.Command = []string{"true"}
	benchmark(b, Options{LocalFiles: true}, config)
}

// What a container of an image costs; its end has the start of a larger program in it.
func BenchmarkImageContainer(b *testing.B) {
	images := &fakeImages{dir: b.TempDir(), images: map[string]fakeImage{}}
	images.add(b, "app", probeConfig, layer(b, files{"etc/x": "x"}), probeLayer(b), layer(b, files{"etc/passwd": "root:x:0:0::/root:/\n"}))
	benchmark(b, Options{Images: images}, probeContainer("app"))
}

func benchmark(b *testing.B, opts Options, config *runtimeapi.ContainerConfig) {
	dir := b.TempDir()
	opts.RootDir = dir
	run, err := New(opts)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	if err := run.Start(ctx); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = run.Close(ctx) }()
	var create, start, end, remove time.Duration
	n := 0
	for b.Loop() {
		n++
		t0 := time.Now()
		sb, err := run.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
			Metadata: &runtimeapi.PodSandboxMetadata{Name: "p", Uid: fmt.Sprint(n), Namespace: "default"}, Hostname: "p", LogDirectory: filepath.Join(dir, "logs", fmt.Sprint(n)),
		}})
		if err != nil {
			b.Fatal(err)
		}
		c, err := run.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sb.PodSandboxId, Config: config})
		if err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		if _, err := run.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
			b.Fatal(err)
		}
		t2 := time.Now()
		<-run.containers[c.ContainerId].exited
		t3 := time.Now()
		if _, err := run.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb.PodSandboxId}); err != nil {
			b.Fatal(err)
		}
		create, start, end, remove = create+t1.Sub(t0), start+t2.Sub(t1), end+t3.Sub(t2), remove+time.Since(t3)
	}
	for name, d := range map[string]time.Duration{"create": create, "start": start, "end": end, "remove": remove} {
		b.ReportMetric(float64(d.Microseconds())/1000/float64(n), "ms/"+name)
	}
}
