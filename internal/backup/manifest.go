// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apiversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/carillon-dev/carillon/internal/version"
)

const (
	// formatName is what a manifest says that it is one of.
	formatName = "carillon-backup"
	// formatVersion counts the changes of the format that an older program could not read.
	formatVersion = 1
)

// Manifest is what a backup says of itself: its first part.
type Manifest struct {
	Format        string `json:"format"`
	FormatVersion int    `json:"formatVersion"`
	// Carillon and Kubernetes are the versions that wrote the backup.
	Carillon   string `json:"carillonVersion"`
	Kubernetes string `json:"kubernetesVersion"`
	// Created is the moment that the backup shows. UTC.
	Created time.Time `json:"created"`
	// Node is the name of the node, empty if it was never started.
	Node string `json:"nodeName"`
	// Revision is that of the store.
	Revision int64   `json:"storeRevision"`
	Objects  Objects `json:"objects"`
	// Runs, Attempts and Omissions count what is in the journal, EndedContainers what was on its way there.
	Runs            int64 `json:"runs"`
	Attempts        int64 `json:"attempts"`
	Omissions       int64 `json:"omissions"`
	EndedContainers int   `json:"endedContainers"`
	// JournalDamage is why the journal is not in the backup, which has everything else; empty if it is, or there was
	// none.
	JournalDamage string `json:"journalDamage,omitempty"`
	// Bytes is how large the parts between the manifest and the checksums are together.
	Bytes int64 `json:"bytes"`
}

// Objects counts what is in the store. Total is without events and leases, which live for an hour or less.
type Objects struct {
	Total      int `json:"total"`
	CronJobs   int `json:"cronJobs"`
	Timetables int `json:"timetables"`
	Jobs       int `json:"jobs"`
	Pods       int `json:"pods"`
}

// errNotOurs: what was read is no backup.
var errNotOurs = errors.New("it is no backup of Carillon (carillon backup makes one)")

// laterError says that a later program wrote a backup.
type laterError struct{ what, have, own string }

// Error implements error.
func (e *laterError) Error() string {
	return fmt.Sprintf("it was made by a later Carillon (%s %s, and this one has %s): restore it with that version or a newer one", e.what, e.have, e.own)
}

// check tells why this program cannot read what the manifest belongs to.
func (m *Manifest) check() error {
	switch {
	case m.Format != formatName || m.FormatVersion < 1:
		return errNotOurs
	case m.FormatVersion > formatVersion:
		return &laterError{"format", fmt.Sprint(m.FormatVersion), fmt.Sprint(formatVersion)}
	case laterMinor(m.Kubernetes, version.Kubernetes):
		return &laterError{"Kubernetes", m.Kubernetes, version.Kubernetes}
	case later(m.Carillon, version.String()):
		return &laterError{"version", m.Carillon, version.String()}
	case m.Bytes < 0 || m.Bytes > maxBytes || m.Created.IsZero():
		return errors.New("its manifest does not make sense")
	case !validNodeName(m.Node):
		return fmt.Errorf("its manifest names the node %q, which is no name of one", m.Node)
	}
	return nil
}

// later tells whether a is a later release than b. What is no release, such as a build of a developer, is not compared.
func later(a, b string) bool {
	own, err := apiversion.ParseSemantic(b)
	if err != nil {
		return false
	}
	other, err := apiversion.ParseSemantic(a)
	return err == nil && own.LessThan(other)
}

// laterMinor compares releases without their patches, which do not change how objects are stored.
func laterMinor(a, b string) bool {
	own, err := apiversion.ParseGeneric(b)
	if err != nil {
		return false
	}
	other, err := apiversion.ParseGeneric(a)
	return err == nil && (other.Major() > own.Major() || other.Major() == own.Major() && other.Minor() > own.Minor())
}

// validNodeName tells whether a name is empty or a label of DNS, as node names are here.
func validNodeName(name string) bool {
	return len(name) <= 63 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
