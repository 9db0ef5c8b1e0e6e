// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ContextName is the name of the context, the cluster and the user in the kubeconfigs written here.
const ContextName = "carillon"

// NodeCredentials are what a node needs to work with this control plane.
type NodeCredentials struct {
	// Client is the identity system:node:<name> in the group system:nodes. It is for use in this process, until Close.
	Client *rest.Config
	// ServingCert and ServingKey are the paths of the PEM certificate and key with which the kubelet serves; they may
	// be one file. They are valid for the node's name and for loopback. The file is replaced by rename when the
	// certificate is renewed, long before its end.
	ServingCert, ServingKey string
	// ClientCA is the path of the PEM certificate that verifies who calls the kubelet.
	ClientCA string
}

// NodeCredentials issues, or finds, the credentials of the named node. It may be called from Start's return until
// Close.
func (c *ControlPlane) NodeCredentials(name string) (NodeCredentials, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil {
		return NodeCredentials{}, errors.New("control plane: node credentials asked for while it is not running")
	}
	identity, groups := "system:node:"+name, []string{"system:nodes"}
	serving, err := c.pki.issue("node-"+name+"-serving", subject{name: identity, groups: groups, hosts: []string{name, "localhost", "127.0.0.1", "::1"}}, time.Now())
	if err != nil {
		return NodeCredentials{}, fmt.Errorf("credentials of node %s: %w", name, err)
	}
	client := rest.CopyConfig(c.admin)
	client.BearerToken = c.tokens.issue(&user.DefaultInfo{Name: identity, Groups: groups})
	return NodeCredentials{Client: client, ServingCert: serving, ServingKey: serving, ClientCA: c.pki.caFile()}, nil
}

// ServingCertificate issues, or finds, a certificate with its key, both in the file whose path is returned, for another
// server of this process at the address host:port. It is renewed as those of a node are. It may be called from Start's
// return until Close.
func (c *ControlPlane) ServingCertificate(name, address string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil {
		return "", errors.New("control plane: a certificate asked for while it is not running")
	}
	listener, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return "", fmt.Errorf("certificate of %s: %w", name, err)
	}
	file, err := c.pki.issue(name+"-serving", subject{name: name, hosts: machineHosts(listener)}, time.Now())
	if err != nil {
		return "", fmt.Errorf("certificate of %s: %w", name, err)
	}
	return file, nil
}

// adminCertificate is the name of the administrator's certificate.
const adminCertificate = "admin"

// writeAdminKubeconfig writes the administrator's kubeconfig, by certificate so that it outlives this process.
func (c *ControlPlane) writeAdminKubeconfig(p *pki, now time.Time) error {
	file, err := p.issue(adminCertificate, subject{name: "carillon-admin", groups: []string{"system:masters"}}, now)
	if err != nil {
		return err
	}
	pair, err := readFile(file)
	if err != nil {
		return err
	}
	return writeKubeconfig(c.options.Kubeconfig, c.Address(), p.caPEM(), pair)
}

// writeKubeconfig writes a self-contained kubeconfig for the holder of a PEM pair of certificate and key.
func writeKubeconfig(path, address string, ca, pair []byte) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[ContextName] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthorityData: ca}
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
