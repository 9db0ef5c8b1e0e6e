// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import "time"

// Facts are what is known of the parts that runs depend on. What is nil or empty was not asked for.
type Facts struct {
	// Carillon is that of this machine; nil for a cluster.
	Carillon *Carillon
	// API is the API server; nil if none answers and none was expected.
	API *API
	// Nodes are the nodes; NodesUnread says why they are not known.
	Nodes       []Node
	NodesUnread string
	// Leases are those by which controllers of a cluster agree on one that works.
	Leases  []Lease
	Journal *Journal
}

// Carillon is a Carillon of this machine.
type Carillon struct {
	DataDir string
	Running bool
	// LastSign is when one that does not run wrote something last; zero if that is not known.
	LastSign time.Time
	// StoreBytes is the size of its store's file, DiskFree the free space of the disk that it is on; -1: not known.
	StoreBytes, DiskFree int64
}

// API is an API server.
type API struct {
	// Version is what it calls itself; "" if it does not tell.
	Version string
	// Failing are those of its own checks that fail. Error says in words why it could not be asked.
	Failing []string
	Error   string
}

// Node is a node that runs Pods.
type Node struct {
	Name string
	// Ready is its condition; Reason and Message say why it is not.
	Ready           bool
	Reason, Message string
	// Since is since when it is so.
	Since time.Time
	// Pressures are what it is short of: "disk", "memory", "PIDs".
	Pressures []string
	// Cordoned: nothing new is placed on it.
	Cordoned bool
}

// Lease is what a controller holds while it works.
type Lease struct {
	// Component is the controller's name, and that of the lease; Namespace is where the lease is.
	Component, Namespace string
	// Holder is who works, "" if nobody holds it. Renewed is when it said so last, Seconds for how long that counts.
	Holder  string
	Renewed time.Time
	Seconds int64
	// Missing: there is no such lease. Unread says why it is not known.
	Missing bool
	Unread  string
}

// Journal is where runs are remembered.
type Journal struct {
	// Dir is its directory.
	Dir string
	// None: there is none. Error says why it cannot be read.
	None  bool
	Error string
	// Runs is how many it has, Oldest the end of the oldest. LogBytes is what logs take, DiskBytes what all of it does.
	Runs                int64
	Oldest              time.Time
	LogBytes, DiskBytes int64
	// Waiting is how many containers that have ended wait to be taken into it, OldestWaiting since when the first of
	// them.
	Waiting       int
	OldestWaiting time.Time
}
