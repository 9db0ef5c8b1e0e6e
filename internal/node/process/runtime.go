// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// Runtime is the CRI server. Make it with New; its methods may be called from
// any goroutine.
type Runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	opts Options
	log  logr.Logger

	ready     chan struct{}
	errs      chan error
	done      chan struct{} // closed by Close; ends every goroutine of the Runtime
	closeOnce sync.Once
	wg        sync.WaitGroup

	ownerPipe    *os.File // whose end of file ends the containers; nil without Options.EndWithProcess
	ownerPipeEnd *os.File // its other end, open as long as this process lives
	lock         *os.File // flock on RootDir, held while the Runtime lives
	server       *grpc.Server
	http         *http.Server
	stream       streaming.Server

	streamCert *x509.Certificate // see StreamCertificate

	view    view    // what the kernel allows, found by Start
	cgroups cgroups // where limits are set
	seccomp seccompFilters

	mu           sync.Mutex
	started      bool
	closing      bool // Close was called: no goroutine is started any more
	paused       bool // by Pause, until Resume
	draining     bool // StopAll was called: nothing new starts
	sandboxes    map[string]*sandbox
	containers   map[string]*container
	images       map[string]string // image ID to the name it was asked for
	mountPoints  []string          // mount points to remove, see removeMountPoints
	unidentified []string          // directories of containers that run and are not known, see unreadable.go

	events events
	usage  usage
}

// New checks the options and prepares a Runtime; it touches nothing yet.
func New(opts Options) (*Runtime, error) {
	if opts.RootDir == "" {
		return nil, errors.New("process runtime: RootDir is empty: say where the state of containers is kept")
	}
	root, err := filepath.Abs(opts.RootDir)
	if err != nil {
		return nil, fmt.Errorf("process runtime: RootDir: %w", err)
	}
	opts.RootDir = root
	if opts.Socket == "" {
		opts.Socket = filepath.Join(root, "cri.sock")
	}
	if opts.Socket, err = filepath.Abs(opts.Socket); err != nil {
		return nil, fmt.Errorf("process runtime: Socket: %w", err)
	}
	// A unix address holds 108 bytes with the final zero.
	if len(opts.Socket) > 107 {
		return nil, fmt.Errorf("process runtime: the socket path %q has %d bytes, the kernel takes at most 107: use a shorter data directory", opts.Socket, len(opts.Socket))
	}
	if opts.APIServer != "" {
		if _, _, err := net.SplitHostPort(opts.APIServer); err != nil {
			return nil, fmt.Errorf("process runtime: APIServer %q is not host:port: %w", opts.APIServer, err)
		}
	}
	if opts.PodIP == "" {
		opts.PodIP = "127.0.0.1"
	}
	if net.ParseIP(opts.PodIP) == nil {
		return nil, fmt.Errorf("process runtime: PodIP %q is not an IP address", opts.PodIP)
	}
	if opts.CgroupName == "" {
		sum := sha256.Sum256([]byte(root))
		opts.CgroupName = cgroupPrefix + hex.EncodeToString(sum[:4])
	}
	r := &Runtime{
		opts:       opts,
		log:        opts.Logger,
		ready:      make(chan struct{}),
		errs:       make(chan error, 2),
		done:       make(chan struct{}),
		sandboxes:  map[string]*sandbox{},
		containers: map[string]*container{},
		images:     map[string]string{},
	}
	return r, nil
}

// Endpoint is the address for the kubelet's container runtime endpoint,
// unix:// and an absolute path.
func (r *Runtime) Endpoint() string { return "unix://" + r.opts.Socket }

// Known is how many sandboxes and containers there are, ended ones too.
func (r *Runtime) Known() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sandboxes) + len(r.containers)
}

// Ready is closed when the socket answers and the state of an earlier run has
// been read back.
func (r *Runtime) Ready() <-chan struct{} { return r.ready }

// Err delivers what ended the Runtime other than Close. It is never closed.
func (r *Runtime) Err() <-chan error { return r.errs }

// Start takes the root directory, reads the state of an earlier run (adopting
// containers that still live, learning how others ended), finds out which view
// of the filesystem the kernel allows, and serves. It returns once serving;
// ctx bounds only the start. A Runtime is started once.
func (r *Runtime) Start(ctx context.Context) (err error) {
	r.mu.Lock()
	if r.started {
		r.mu.Unlock()
		return errors.New("process runtime: already started")
	}
	r.started = true
	r.mu.Unlock()

	for _, dir := range []string{r.opts.RootDir, r.sandboxesDir(), r.containersDir()} {
		made, err := privatedir.Make(dir)
		if err != nil {
			return fmt.Errorf("process runtime: %w", err)
		}
		made.Close()
	}
	if err := r.takeRoot(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.shutdown(ctx)
		}
	}()
	if r.opts.EndWithProcess {
		if r.ownerPipe, r.ownerPipeEnd, err = os.Pipe(); err != nil {
			return fmt.Errorf("process runtime: %w", err)
		}
	}
	if r.view, err = findView(ctx, r.opts.RootDir); err != nil {
		return err
	}
	cgs, warning := findCgroups(r.opts.CgroupName)
	r.cgroups = cgs
	if warning != "" {
		r.view.warnings = append(r.view.warnings, warning)
	}
	for _, w := range r.view.warnings {
		r.log.Info(w)
	}
	r.load()
	// A Runtime that was killed while it paused them left them stopped.
	r.signalRunning(unix.SIGCONT)
	r.adopt(ctx)

	loop, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("process runtime: streaming (exec, attach, port-forward): %w", err)
	}
	// Never in clear text: whoever may open a packet socket on this machine, as
	// a container with NET_RAW may, sees all of the loopback interface.
	certificate, err := streamCertificate(net.IPv4(127, 0, 0, 1))
	if err != nil {
		loop.Close()
		return fmt.Errorf("process runtime: %w", err)
	}
	r.streamCert = certificate.Leaf
	config := streaming.DefaultConfig
	config.Addr = loop.Addr().String()
	config.BaseURL = &url.URL{Scheme: "https", Host: config.Addr}
	if r.stream, err = streaming.NewServer(config, streams{r}); err != nil {
		loop.Close()
		return fmt.Errorf("process runtime: streaming: %w", err)
	}
	r.http = &http.Server{
		Handler: r.stream, ReadHeaderTimeout: 30 * time.Second,
		// Streams take the connection over, which HTTP/2 has no way for.
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{certificate}},
		// Attempts in clear text are not worth a log line.
		ErrorLog: log.New(io.Discard, "", 0),
	}

	socket, err := listenUnix(r.opts.Socket)
	if err != nil {
		loop.Close()
		return fmt.Errorf("process runtime: %w", err)
	}
	r.server = grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	runtimeapi.RegisterRuntimeServiceServer(r.server, r)
	runtimeapi.RegisterImageServiceServer(r.server, imageService{r: r})

	r.spawn(func() { r.failed("streaming", r.http.ServeTLS(loop, "", "")) })
	r.spawn(func() { r.failed("CRI socket", r.server.Serve(socket)) })
	close(r.ready)
	return nil
}

// maxMessage is the limit of the kubelet's own client.
const maxMessage = 16 << 20

// failed reports the end of a server that Close did not ask for.
func (r *Runtime) failed(what string, err error) {
	select {
	case <-r.done:
		return
	default:
	}
	if err == nil {
		err = errors.New("stopped serving")
	}
	select {
	case r.errs <- fmt.Errorf("process runtime: %s: %w", what, err):
	default:
	}
}

// Close stops serving and leaves containers running, unless Options.EndWithProcess; the
// next Runtime on the same RootDir adopts them. It waits for calls in progress until ctx ends.
// Closing twice, or what was never started, does nothing.
func (r *Runtime) Close(ctx context.Context) error {
	r.shutdown(ctx)
	return nil
}

func (r *Runtime) shutdown(ctx context.Context) {
	r.closeOnce.Do(func() {
		r.mu.Lock()
		r.closing = true
		r.mu.Unlock()
		close(r.done)
		r.Resume()
		if r.server != nil {
			stopped := make(chan struct{})
			go func() { r.server.GracefulStop(); close(stopped) }()
			select {
			case <-stopped:
			case <-ctx.Done():
				r.server.Stop()
				<-stopped
			}
			_ = os.Remove(r.opts.Socket) // gone with its listener, as a rule
		}
		if r.http != nil {
			_ = r.http.Close() // ends the streams too
		}
		r.wg.Wait()
		for _, s := range r.sandboxes {
			s.closeIPC()
		}
		if r.ownerPipeEnd != nil {
			r.ownerPipeEnd.Close()
			r.ownerPipe.Close()
		}
		r.cgroups.removeEmpty()
		if r.lock != nil { // last: the next Runtime may start now
			r.lock.Close()
		}
	})
}

// lockTimeout is how long Start waits for the directory.
const lockTimeout = time.Second

// spawn runs f in a goroutine that Close waits for, and reports whether it
// does: after Close nothing is started.
func (r *Runtime) spawn(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spawnLocked(f)
}

func (r *Runtime) spawnLocked(f func()) bool {
	if r.closing {
		return false
	}
	r.wg.Go(f)
	return true
}

// takeRoot makes sure that no other Runtime works on the same state.
func (r *Runtime) takeRoot(ctx context.Context) error {
	dir, err := privatedir.Open(r.opts.RootDir)
	if err != nil {
		return fmt.Errorf("process runtime: %w", err)
	}
	defer dir.Close()
	f, err := dir.OpenFile("lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("process runtime: %w", err)
	}
	// A process that was being started when an earlier Runtime was killed holds
	// the lock for a moment more, until it has become a shim.
	for end := time.Now().Add(lockTimeout); ; {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("process runtime: %s is in use by another process: stop it or use another directory", r.opts.RootDir)
	}
	r.lock = f
	return nil
}

// listenUnix listens on path for this user only, replacing what a dead server
// left. The caller holds the lock of the root directory, so nobody living
// listens there.
func listenUnix(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Version says which version of the CRI is served.
func (r *Runtime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{
		Version:           "0.1.0", // version of the kubelet's runtime API contract, fixed by Kubernetes
		RuntimeName:       RuntimeName,
		RuntimeVersion:    "1.0.0",
		RuntimeApiVersion: "v1",
	}, nil
}

// Status is always ready once the socket answers: there is no daemon behind.
func (r *Runtime) Status(_ context.Context, req *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	features := &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: r.view.root != rootNone}
	resp := &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true},
			{Type: runtimeapi.NetworkReady, Status: true},
		}},
		RuntimeHandlers: []*runtimeapi.RuntimeHandler{
			{Name: "", Features: features},
			{Name: HandlerProcess, Features: features},
			{Name: HandlerHost, Features: features},
		},
		Features: &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}
	if req.GetVerbose() {
		resp.Info = verboseInfo(map[string]any{"rootDir": r.opts.RootDir, "view": r.view.root, "warnings": r.view.warnings})
	}
	return resp, nil
}

// verboseInfo is what a verbose answer has more. Each value is JSON.
func verboseInfo(values map[string]any) map[string]string {
	info := map[string]string{}
	for key, v := range values {
		if text, err := json.Marshal(v); err == nil { // plain data of ours
			info[key] = string(text)
		}
	}
	return info
}

// RuntimeConfig names the cgroup driver; this runtime makes cgroups itself and
// ignores parents chosen by the kubelet.
func (r *Runtime) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS}}, nil
}

// UpdateRuntimeConfig is told the Pod CIDR, which is of no use here.
func (r *Runtime) UpdateRuntimeConfig(context.Context, *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}
