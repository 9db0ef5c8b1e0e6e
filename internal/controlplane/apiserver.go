// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/carillon-dev/carillon/internal/version"
)

const (
	// serviceRange holds the cluster IPs of Services. Nothing routes them here; the range has to exist.
	serviceRange = "10.0.0.0/24"
	// serviceIP is the address of the Service "kubernetes", which certificates must cover for clients that go by it.
	serviceIP = "10.0.0.1"
	// tokenIssuer signs service account tokens under this name, and is their audience.
	tokenIssuer = "https://kubernetes.default.svc"
	// shutdownTimeout bounds the wait of a stopping API server for its connections.
	shutdownTimeout = 2 * time.Second
	// requestGrace is what requests in progress at a stop get before their connections are cut.
	requestGrace = 300 * time.Millisecond
	// readyPoll is how often a starting API server is asked whether it is ready.
	readyPoll = 10 * time.Millisecond
)

// apisOff are groups that no controller of this plane serves and no part of it needs. Switching them off spares memory
// and start time.
var apisOff = []string{
	"autoscaling/v1", "autoscaling/v2",
	"certificates.k8s.io/v1",
	"flowcontrol.apiserver.k8s.io/v1",
}

// pluginsOff are admission plugins that need an API that is off, or a controller that does not run.
// TaintNodesByCondition would taint the node as not ready and wait for the node lifecycle controller to take that back.
var pluginsOff = []string{
	"TaintNodesByCondition",
	"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "ClusterTrustBundleAttest",
}

// apiServer is a running kube-apiserver.
type apiServer struct {
	// admin authenticates as a member of system:masters by a token that lives as long as the server.
	admin *rest.Config
	// tokens makes further ones.
	tokens *tokens
	conns  *connTracker
	cancel context.CancelFunc
	// defaults is closed when the default objects are there, or will not be any more.
	defaults chan struct{}
	// done yields the end of the server, once.
	done chan error
}

// apiServerFiles are the certificates and keys that an API server needs.
type apiServerFiles struct {
	ca, serving, kubeletClient, tokenKey string
}

// issueAPIServerFiles makes what is missing of an API server's certificates for a listener.
//
// The one with which the API server calls the kubelet is made anew at each start, for as long as the process can live:
// upstream's client closes all its connections, and with them every exec and log that is followed, when the file
// changes.
func issueAPIServerFiles(p *pki, listener *net.TCPAddr, now time.Time) (files apiServerFiles, err error) {
	files.ca = p.caFile()
	if files.tokenKey, err = p.signingKey("service-account"); err != nil {
		return files, err
	}
	if files.serving, err = p.issue("apiserver", subject{name: "kube-apiserver", hosts: servingHosts(listener)}, now); err != nil {
		return files, err
	}
	const kubeletClient = "apiserver-kubelet-client"
	files.kubeletClient = p.file(kubeletClient)
	return files, p.make(kubeletClient, subject{name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}}, now, processLife)
}

// servingHosts are the names under which clients may reach the API server: those of the machine and the in-cluster
// ones.
func servingHosts(listener *net.TCPAddr) []string {
	return append(machineHosts(listener),
		serviceIP, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
}

// machineHosts are the names under which a listener is reached: loopback always, and each address that it takes.
func machineHosts(listener *net.TCPAddr) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if !listener.IP.IsUnspecified() {
		hosts = append(hosts, listener.IP.String())
	} else {
		if name, err := os.Hostname(); err == nil {
			hosts = append(hosts, name)
		}
		addresses, _ := net.InterfaceAddrs()
		for _, a := range addresses {
			if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
				hosts = append(hosts, ip.IP.String())
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// startAPIServer runs a kube-apiserver on the listener, which it owns from now on, and waits until it is ready for
// clients that need no default roles. The server is stopped by close; ctx bounds the start alone.
func startAPIServer(ctx context.Context, o Options, listener net.Listener, storeURL string, files apiServerFiles) (_ *apiServer, err error) {
	conns := trackConns(listener)
	server := &apiServer{conns: conns, tokens: &tokens{}, defaults: make(chan struct{}), done: make(chan error, 1)}
	defer func() {
		if err != nil {
			conns.Listener.Close()
		}
	}()

	if err := setFeatureGates(o.FeatureGates); err != nil {
		return nil, err
	}
	options := apiServerOptions(conns, storeURL, files)
	options.EventTTL = o.EventTTL
	if err := options.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}

	runCtx, cancel := context.WithCancel(context.Background())
	server.cancel = cancel
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	completed, err := options.Complete(runCtx)
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("configure the API server: %w", utilerrors.NewAggregate(errs))
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	if o.KubeletAddress != nil {
		config.KubeAPIs.Extra.KubeletClientConfig.Lookup = func(egressselector.NetworkContext) (utilnet.DialFunc, error) {
			return dialKubelet(o.KubeletAddress), nil
		}
	}
	makeDefaults, err := leaveOutDefaults(config.KubeAPIs.ControlPlane.Generic.DisabledPostStartHooks)
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	server.tokens.accept(config)
	// Upstream's own client trusts a certificate that is made at the start and never renewed; this one trusts the
	// authority.
	server.admin = clientConfig(listener, files.ca, config.KubeAPIs.ControlPlane.Generic.LoopbackClientConfig.BearerToken)
	done, err := config.Complete()
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	chain, err := app.CreateServerChain(done)
	if err != nil {
		return nil, fmt.Errorf("build the API server: %w", err)
	}
	chain.GenericAPIServer.ShutdownTimeout = shutdownTimeout
	prepared, err := chain.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("build the API server: %w", err)
	}
	go func() { server.done <- prepared.Run(runCtx) }()

	if err := server.waitReady(ctx); err != nil {
		_ = server.close(ctx.Done()) // err is the cause
		return nil, err
	}
	go func() {
		defer close(server.defaults)
		makeDefaults(runCtx, rest.CopyConfig(server.admin))
	}()
	return server, nil
}

// setFeatureGates sets the process's gates. A name that is none is refused here: upstream keeps it, and with it fails
// every later start in the process.
func setFeatureGates(gates map[string]bool) error {
	known := utilfeature.DefaultMutableFeatureGate.GetAll()
	for name := range gates {
		if _, ok := known[featuregate.Feature(name)]; !ok {
			return fmt.Errorf("there is no feature gate %q in Kubernetes %s", name, version.Kubernetes)
		}
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	return nil
}

func apiServerOptions(listener net.Listener, storeURL string, files apiServerFiles) *apiserveroptions.ServerRunOptions {
	o := apiserveroptions.NewServerRunOptions()
	address := listener.Addr().(*net.TCPAddr)

	o.Etcd.StorageConfig.Transport.ServerList = []string{storeURL}
	o.SecureServing.Listener = listener
	o.SecureServing.BindAddress = address.IP
	o.SecureServing.BindPort = address.Port
	o.SecureServing.ServerCert.CertKey.CertFile = files.serving
	o.SecureServing.ServerCert.CertKey.KeyFile = files.serving
	// Nothing is advertised, but the address must be of the family of the Services' addresses.
	o.GenericServerRunOptions.AdvertiseAddress = net.IPv4(127, 0, 0, 1)
	// The Service "kubernetes" would get an Endpoints object with a loopback address, which is invalid.
	o.EndpointReconcilerType = "none"
	o.ServiceClusterIPRanges = serviceRange
	o.AllowPrivileged = true

	o.Authentication.Anonymous.Allow = false
	o.Authentication.ClientCert.ClientCA = files.ca
	o.Authentication.ServiceAccounts.Issuers = []string{tokenIssuer}
	o.Authentication.ServiceAccounts.KeyFiles = []string{files.tokenKey}
	o.ServiceAccountSigningKeyFile = files.tokenKey
	o.Authorization.Modes = []string{"Node", "RBAC"}

	o.Admission.GenericAdmission.EnablePlugins = []string{"NodeRestriction"}
	o.Admission.GenericAdmission.DisablePlugins = pluginsOff
	o.APIEnablement.RuntimeConfig = map[string]string{}
	for _, api := range apisOff {
		o.APIEnablement.RuntimeConfig[api] = "false"
	}
	o.Features.EnablePriorityAndFairness = false
	o.Features.EnableProfiling = false

	o.KubeletConfig.TLSClientConfig.CAFile = files.ca
	o.KubeletConfig.TLSClientConfig.CertFile = files.kubeletClient
	o.KubeletConfig.TLSClientConfig.KeyFile = files.kubeletClient
	o.KubeletConfig.PreferredAddressTypes = []string{"Hostname", "InternalIP"}
	return o
}

func dialKubelet(address func() string) utilnet.DialFunc {
	return func(ctx context.Context, network, asked string) (net.Conn, error) {
		to := address()
		if to == "" {
			return nil, errors.New("the node is not running yet; try again in a moment")
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", to)
	}
}

// clientConfig is that of a client in this process. It has no limits of its own: the server's do.
func clientConfig(listener net.Listener, caFile, token string) *rest.Config {
	return &rest.Config{
		Host:            "https://" + dialable(listener.Addr().(*net.TCPAddr)),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: caFile},
		QPS:             -1, Burst: -1,
	}
}

// waitReady waits until the API server has done every step of its start.
func (s *apiServer) waitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.admin)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	var last error
	for {
		if last = client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); last == nil {
			return nil
		}
		select {
		case err := <-s.done:
			s.done <- err // for close
			return fmt.Errorf("the API server ended while it started: %w", orUnknown(err))
		case <-ctx.Done():
			return fmt.Errorf("the API server did not become ready (%w): %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// close stops the server within requestGrace and a little, and gives up after shutdownTimeout, or at once when a part
// of the plane is broken: then requests hang, and the end of the process ends them. Clients see their watches end and,
// on anything new, a refused connection.
func (s *apiServer) close(broken <-chan struct{}) error {
	s.cancel()
	cut := time.AfterFunc(requestGrace, s.conns.closeConns)
	defer cut.Stop()
	defer s.conns.closeConns()
	overdue := time.NewTimer(shutdownTimeout)
	defer overdue.Stop()
	select {
	case err := <-s.done:
		return err
	case <-broken:
		return nil
	case <-overdue.C:
		return errors.New("the API server did not stop in time")
	}
}

// orUnknown gives an end without an error a text.
func orUnknown(err error) error {
	if err == nil {
		return errors.New("no reason given; see the log")
	}
	return err
}
