// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster finds the API server that a command speaks to: that of a cluster, or of the Carillon of this machine.
//
//   - cluster.go  the flags that name it
//   - local.go    the Carillon that runs on a data directory
//   - server.go   reading from it
//   - patient.go  waiting for one that is started again
package cluster

import (
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
)

// Flags name an API server that runs already, and a namespace. "" is not named.
type Flags struct {
	Kubeconfig string
	Context    string
	// DataDir is the data directory of a Carillon of this machine.
	DataDir   string
	Namespace string
}

// Add registers the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Kubeconfig, "kubeconfig", "", "the cluster of this kubeconfig")
	flags.StringVar(&f.Context, "context", "", "the cluster of this kubeconfig context")
	flags.StringVar(&f.DataDir, "data-dir", "", "the Carillon of this machine that runs on this directory")
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "namespace of what names none")
}

// Named tells whether an API server was named.
func (f *Flags) Named() bool { return f.Kubeconfig != "" || f.Context != "" || f.DataDir != "" }

// OrLocal is f, or, if it names no API server, the same for the one that kubectl would speak to: that of $KUBECONFIG,
// or the Carillon of this machine on its usual directory.
func (f Flags) OrLocal() Flags {
	if !f.Named() && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		f.DataDir = datadir.Default()
	}
	return f
}

// Config tells how to speak to the API server, and the namespace of what names none. Errors are the user's to mend.
func (f *Flags) Config() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	fault := func(err error) (*rest.Config, string, error) {
		return nil, "", &exitcode.Error{Code: exitcode.Usage, Err: err}
	}
	if f.DataDir != "" {
		if f.Kubeconfig != "" || f.Context != "" {
			return nil, "", exitcode.UsageError("--data-dir names the Carillon of this machine; leave out --kubeconfig and --context")
		}
		dir, err := Absolute(f.DataDir)
		if err != nil {
			return nil, "", err
		}
		if rules.ExplicitPath, err = Kubeconfig(dir); err != nil {
			return fault(err)
		}
		if err := CheckListening(rules.ExplicitPath, dir); err != nil {
			return fault(err)
		}
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return fault(err)
	}
	config.QPS = -1
	namespace, _, err := loader.Namespace()
	if err != nil {
		return fault(err)
	}
	if f.Namespace != "" {
		namespace = f.Namespace
	}
	return config, namespace, nil
}
