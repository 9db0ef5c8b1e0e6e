// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ended

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Container is a container that has ended.
type Container struct {
	// ID is the runtime's, without the name of the runtime ("carillon-process://") that a Pod's status has before it.
	ID  string `json:"id"`
	Pod Pod    `json:"pod"`
	// Name is that of the container in its Pod, Restart how many were there before it under the same name.
	Name    string `json:"name"`
	Restart int32  `json:"restart,omitempty"`
	// Started is when its command was started, or when that failed; Ended when it ended. UTC.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended"`
	// ExitCode is 128 and the signal if one ended it. Signal is that signal, or 0.
	ExitCode int32 `json:"exitCode"`
	Signal   int32 `json:"signal,omitempty"`
	// Reason is the runtime's word for the end (Completed, Error, OOMKilled, StartError, ContainerStatusUnknown),
	// Message a sentence, if there is one.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// CPU is the time its processes used, MemoryPeak the most memory in bytes they had at once, OutputBytes what they
	// wrote to standard output and error. 0 where nobody measured.
	CPU         time.Duration `json:"cpuNanoseconds,omitempty"`
	MemoryPeak  int64         `json:"memoryPeakBytes,omitempty"`
	OutputBytes int64         `json:"outputBytes,omitempty"`
	// Logs are the names of the files of its log that were linked, the oldest first. Add sets it; what it is before
	// does not matter.
	Logs []string `json:"logs,omitempty"`
}

// Pod is the Pod of a container. Labels are those of its labels that tell whose it is (see Add).
type Pod struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	UID       types.UID         `json:"uid"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// JobUID is the UID of the Job that the Pod belongs to, "" if its labels name none.
func (p *Pod) JobUID() types.UID {
	for _, key := range []string{"batch.kubernetes.io/controller-uid", "controller-uid"} {
		if uid := p.Labels[key]; uid != "" {
			return types.UID(uid)
		}
	}
	return ""
}

// JobName is the name of that Job.
func (p *Pod) JobName() string {
	for _, key := range []string{"batch.kubernetes.io/job-name", "job-name"} {
		if name := p.Labels[key]; name != "" {
			return name
		}
	}
	return ""
}

// Attempt is the container as an attempt of a run: of its Job, or, where it has none, of its Pod.
func (c *Container) Attempt() run.Attempt {
	a := run.Attempt{
		ContainerID: c.ID, RunUID: c.Pod.JobUID(), Namespace: c.Pod.Namespace, Pod: c.Pod.Name, PodUID: c.Pod.UID,
		Container: c.Name, Restart: c.Restart, Started: c.Started, Ended: c.Ended, ExitCode: c.ExitCode, Signal: c.Signal,
		Reason: c.Reason, CPU: c.CPU, MemoryPeak: c.MemoryPeak, OutputBytes: c.OutputBytes,
	}
	if a.RunUID == "" {
		a.RunUID = c.Pod.UID
	}
	return a
}

// maxRecord is more than a record ever has: names, and labels of at most 63 bytes.
const maxRecord = 64 << 10

// maxMessage is how much of a message is kept, in bytes.
const maxMessage = 4 << 10

// encode makes the record of a container.
func (c *Container) encode() ([]byte, error) {
	kept := *c
	if len(kept.Message) > maxMessage {
		kept.Message = strings.ToValidUTF8(kept.Message[:maxMessage], "")
	}
	b, err := json.Marshal(kept)
	if err == nil && len(b) > maxRecord {
		err = fmt.Errorf("the record of container %s has %d bytes, which it never should", c.ID, len(b))
	}
	return b, err
}

// parse reads the record of the container with the given ID.
func parse(b []byte, id string) (Container, error) {
	var c Container
	if err := json.Unmarshal(b, &c); err != nil {
		return Container{}, fmt.Errorf("its record cannot be read: %w", err)
	}
	switch {
	case c.ID != id:
		return Container{}, fmt.Errorf("its record is that of %q", c.ID)
	case c.Ended.IsZero():
		return Container{}, errors.New("its record does not tell when it ended")
	case c.CPU < 0 || c.MemoryPeak < 0 || c.OutputBytes < 0:
		return Container{}, errors.New("its record tells of less than nothing")
	}
	for _, name := range c.Logs {
		if !isLogName(name) {
			return Container{}, fmt.Errorf("its record names %q, which is no file of a log", name)
		}
	}
	c.Started, c.Ended = c.Started.UTC(), c.Ended.UTC()
	return c, nil
}

// validID keeps IDs from naming something else than an entry.
func validID(id string) bool {
	if id == "" || len(id) > 128 || id == damagedDir {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// naming are the labels that tell whose a Pod is, and prefixes of such.
var naming = []string{
	"batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-completion-index",
	"job-name", "controller-uid", "carillon.dev/", "volcano.sh/",
}

// namingLabels are those of the labels that tell whose a Pod is; nil if there are none.
func namingLabels(labels map[string]string) map[string]string {
	var kept map[string]string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		ours := slices.ContainsFunc(naming, func(n string) bool {
			return key == n || strings.HasSuffix(n, "/") && strings.HasPrefix(key, n)
		})
		if !ours || len(kept) == maxLabels {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = labels[key]
	}
	return kept
}

// maxLabels is how many labels are kept.
const maxLabels = 32
