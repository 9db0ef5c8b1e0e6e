// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// clients are the kubelet's connections to the API server.
type clients struct {
	kube        kubernetes.Interface
	heartbeat   kubernetes.Interface
	events      kubernetes.Interface
	connections *connections
}

// heartbeatTimeout bounds one node status or lease update, so that one which
// hangs does not keep the next from being tried.
const heartbeatTimeout = 10 * time.Second

// newClients makes the kubelet's clients from one configuration. They are not
// rate limited: the API server is in this process and guards itself. With
// listed, the kubelet gets its Pods when that is closed, see podSource.
func newClients(config *rest.Config, listed <-chan struct{}) (*clients, error) {
	cut := newConnections()
	config = rest.CopyConfig(config)
	config.Dial = cut.dial
	config.QPS = -1
	config.UserAgent = "kubelet"
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

	made := &clients{connections: cut}
	kube, heartbeat := rest.CopyConfig(config), rest.CopyConfig(config)
	if listed != nil {
		kube.Wrap(func(next http.RoundTripper) http.RoundTripper { return &podSource{next, listed} })
	}
	heartbeat.Timeout = heartbeatTimeout
	for _, each := range []struct {
		config *rest.Config
		client *kubernetes.Interface
	}{
		{kube, &made.kube},
		{heartbeat, &made.heartbeat},
		{config, &made.events},
	} {
		client, err := kubernetes.NewForConfig(each.config)
		if err != nil {
			return nil, fmt.Errorf("API client of the kubelet: %w", err)
		}
		*each.client = client
	}
	return made, nil
}

// connections are those of the kubelet. The kubelet cannot be told
// to close its watches, and an API server that stops waits for them; cutting
// the line ends them all.
type connections struct {
	dialer *connrotation.Dialer

	mu     sync.Mutex
	closed bool
}

var errConnectionsClosed = errors.New("the node is closed: its connections to the API server are cut")

func newConnections() *connections {
	plain := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &connections{dialer: connrotation.NewDialer(plain.DialContext)}
}

func (l *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l.isClosed() {
		return nil, errConnectionsClosed
	}
	conn, err := l.dialer.DialContext(ctx, network, address)
	if err == nil && l.isClosed() {
		// close ran between the two looks and did not know this connection.
		conn.Close()
		return nil, errConnectionsClosed
	}
	return conn, err
}

func (l *connections) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// close ends every connection and refuses new ones.
func (l *connections) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.dialer.CloseAll()
}
