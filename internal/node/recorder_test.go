// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

// An event is left out when all that it says is that the kubelet has not taken
// note of a Pod's objects yet. Whatever else there is to say is said.
func TestQuietRecorder(t *testing.T) {
	const one = `MountVolume.SetUp failed for volume "words" : object "default"/"words" not registered`
	for name, tc := range map[string]struct {
		reason, message string
		told            bool
	}{
		"one object":                 {"FailedMount", one, false},
		"a list of objects":          {"FailedMount", `MountVolume.SetUp failed for volume "all" : [object "default"/"words" not registered, object "default"/"kube-root-ca.crt" not registered]`, false},
		"one object among others":    {"FailedMount", `MountVolume.SetUp failed for volume "all" : [object "default"/"words" not registered, configmap "more" not found]`, true},
		"what is missing in the API": {"FailedMount", `MountVolume.SetUp failed for volume "words" : configmap "words" not found`, true},
		"another reason":             {"FailedToRetrieveImagePullSecret", one, true},
		"a driver":                   {"FailedMount", `MountVolume.SetUp failed for volume "d" : driver name x not registered`, true},
	} {
		t.Run(name, func(t *testing.T) {
			fake := record.NewFakeRecorder(10)
			recorder := quietRecorder{fake}
			pod := &corev1.Pod{}
			recorder.Event(pod, corev1.EventTypeWarning, tc.reason, tc.message)
			recorder.Eventf(pod, corev1.EventTypeWarning, tc.reason, "%s", tc.message)
			recorder.AnnotatedEventf(pod, nil, corev1.EventTypeWarning, tc.reason, "%s", tc.message)
			want := 0
			if tc.told {
				want = 3
			}
			if len(fake.Events) != want {
				t.Fatalf("%d events, want %d", len(fake.Events), want)
			}
			for range want {
				if got := <-fake.Events; !strings.Contains(got, tc.message) {
					t.Errorf("said %q", got)
				}
			}
		})
	}
}
