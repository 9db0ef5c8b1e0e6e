// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a Kubernetes control plane inside this process: etcd, the real kube-apiserver, the
// kube-scheduler and those upstream controllers without which Jobs and CronJobs cannot live (garbage collection,
// Pod garbage collection, namespaces, service accounts, the root CA publisher, resource quotas, ClusterRole
// aggregation). It knows no controller of Carillon's: those are clients like any other.
//
// A tour, in the order of a start:
//
//   - options.go       what a caller may choose
//   - controlplane.go  the value with a life: New, Start, Ready, Err, Close
//   - lock.go          one process per data directory
//   - version.go       which Kubernetes this says it is
//   - exit.go          components that would end the process end alone
//   - logs.go          where klog and etcd write (never the terminal)
//   - authority.go     the certificate authority, which is made once
//   - pki.go           what it signs
//   - renew.go         certificates are replaced long before they end
//   - token.go         what clients in this process are known by
//   - listen.go        the port, and remembering it
//   - etcd.go          the store, on a unix socket
//   - offline.go       the store without the rest, for backups; a store made of a snapshot
//   - maintenance.go   when to compact and defragment it, and when to tell the user (decisions alone)
//   - maintainer.go    doing so
//   - contents.go      what fills it
//   - apiserver.go     the API server, taken apart so that it starts and stops within seconds
//   - defaults.go      default roles and priority classes, beside the start
//   - conns.go         its connections, so that a stop need not wait for open watches
//   - controllers.go   the upstream controllers
//   - scheduler.go     the upstream scheduler
//   - kubeconfig.go    credentials for people and for the node
//
// Everything that it keeps lies in one directory of mode 0700. It can be killed at any moment: every file is replaced
// atomically, etcd recovers from its write-ahead log, and sockets and locks left by a dead process are taken over.
package controlplane
