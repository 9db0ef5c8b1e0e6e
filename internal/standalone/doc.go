// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standalone is a whole Carillon in this process: a control plane, a node that runs Pods on this machine, and
// Carillon's controllers, as one value with a life.
//
//	s, err := standalone.New(standalone.Options{DataDir: dir})
//	err = s.Start(ctx)   // the API can be used: apply manifests with s.RESTConfig()
//	<-s.Ready()          // Pods run, Jobs and CronJobs are looked after
//	err = s.Close(ctx)
//
// A tour:
//
//   - options.go     what a caller may choose
//   - standalone.go  the life, and what starts after what; standalone_unsupported.go where no Pods can be run
//   - parts.go       the node, the recorder and the controllers: how each is made, when all are ready, when one fails
//   - close.go       what stops before what
//   - definitions.go the kinds of our own that the API server serves, and who may write them
//   - ephemeral.go   throw-away directories
//   - sweep.go       what throw-away planes that were killed left behind
//   - nodename.go    the node's name, the same at every start
//   - keep.go        how much is remembered of runs; journal.go has it recorded, and latejournal.go opens
//     the journal meanwhile
//   - metrics.go     where metrics are served; those of the store
//
// The data directory holds
//
//	lock            held by the process that uses the directory, with its pid
//	kubeconfig      the administrator's, mode 0600
//	log/            what all parts log
//	control-plane/  the store, keys and certificates
//	journal/        what is remembered of runs, and what waits to be written there (packages journal and journal/ended)
//	node/           Pods: volumes, logs, and what is needed to find them again
//
// The kubelet can be started once in a process, and so can a Standalone.
package standalone
