// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ContextName is the name of the context, the cluster and the user in the kubeconfigs written here.
const ContextName = "carillon"

// NodeCredentials are what a node needs to work with this control plane.
type NodeCredentials struct {
	// Client is the identity system:node:<name> in the group system:nodes.
	Client *rest.Config
	// Kubeconfig is the path of a kubeconfig with the same identity, mode 0600.
	Kubeconfig string
	// ServingCert and ServingKey are the paths of the PEM certificate and key with which the kubelet serves; they may
	// be one file. They are valid for the node's name and for loopback.
	ServingCert, ServingKey string
	// ClientCA is the path of the PEM certificate that verifies who calls the kubelet.
	ClientCA string
}

// NodeCredentials issues, or finds, the credentials of the named node. It may be called from Start's return until
// Close.
func (c *ControlPlane) NodeCredentials(name string) (NodeCredentials, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pki == nil {
		return NodeCredentials{}, errors.New("control plane: node credentials asked for while it is not running")
	}
	client, err := c.pki.issue("node-"+name+"-client", subject{name: "system:node:" + name, groups: []string{"system:nodes"}})
	if err != nil {
		return NodeCredentials{}, fmt.Errorf("credentials of node %s: %w", name, err)
	}
	serving, err := c.pki.issue("node-"+name+"-serving", subject{
		name: "system:node:" + name, groups: []string{"system:nodes"}, hosts: []string{name, "localhost", "127.0.0.1", "::1"},
	})
	if err != nil {
		return NodeCredentials{}, fmt.Errorf("credentials of node %s: %w", name, err)
	}
	pair, err := os.ReadFile(client)
	if err != nil {
		return NodeCredentials{}, fmt.Errorf("credentials of node %s: %w", name, err)
	}
	kubeconfig := filepath.Join(filepath.Dir(client), "node-"+name+".kubeconfig")
	if err := c.writeKubeconfig(kubeconfig, pair); err != nil {
		return NodeCredentials{}, fmt.Errorf("credentials of node %s: %w", name, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return NodeCredentials{}, fmt.Errorf("credentials of node %s: %w", name, err)
	}
	return NodeCredentials{
		Client: config, Kubeconfig: kubeconfig,
		ServingCert: serving, ServingKey: serving, ClientCA: c.pki.caFile(),
	}, nil
}

// writeAdminKubeconfig writes the administrator's kubeconfig, by certificate so that it outlives this process.
func (c *ControlPlane) writeAdminKubeconfig() error {
	file, err := c.pki.issue("admin", subject{name: "carillon-admin", groups: []string{"system:masters"}})
	if err != nil {
		return err
	}
	pair, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return c.writeKubeconfig(c.options.Kubeconfig, pair)
}

// writeKubeconfig writes a self-contained kubeconfig for the holder of a PEM pair of certificate and key.
func (c *ControlPlane) writeKubeconfig(path string, pair []byte) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[ContextName] = &clientcmdapi.Cluster{Server: "https://" + c.address, CertificateAuthorityData: c.pki.caPEM()}
	config.AuthInfos[ContextName] = &clientcmdapi.AuthInfo{ClientCertificateData: pair, ClientKeyData: pair}
	config.Contexts[ContextName] = &clientcmdapi.Context{Cluster: ContextName, AuthInfo: ContextName}
	config.CurrentContext = ContextName
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the kubeconfig %s: %w", path, err)
	}
	if err := writeFile(path, data); err != nil {
		return unusableDir(filepath.Dir(path), err)
	}
	return nil
}
