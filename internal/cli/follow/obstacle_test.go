// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// A container that its manifest keeps from starting is told from one that only waits.
func TestNeverStarts(t *testing.T) {
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	ended := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, Message: message}}}}}
	}
	backOff := waiting("CrashLoopBackOff", "back-off 10s")
	backOff.ContainerStatuses[0].LastTerminationState = ended("StartError", "no such file").ContainerStatuses[0].State
	init := corev1.PodStatus{InitContainerStatuses: waiting("ErrImageNeverPull", "no image").ContainerStatuses}
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   string // reason
	}{
		"no command":                        {ended("StartError", `container "c" (image host) has no command`), "StartError"},
		"a program that is not there":       {ended("StartError", "no such file on this machine"), "StartError"},
		"it waits for the next try":         {backOff, "StartError"},
		"as containerd says it":             {ended("ContainerCannotRun", "exec format error"), "ContainerCannotRun"},
		"a user that is not there":          {waiting("CreateContainerError", `there is no user "x" on this machine`), "CreateContainerError"},
		"a ConfigMap that is not there":     {waiting("CreateContainerConfigError", `configmap "x" not found`), "CreateContainerConfigError"},
		"root where it must not be":         {waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"), "CreateContainerConfigError"},
		"an image's name that is none":      {waiting("InvalidImageName", "couldn't parse"), "InvalidImageName"},
		"an init container":                 {init, "ErrImageNeverPull"},
		"an ordinary user as root":          {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "NeedsRoot", Message: "runAsUser"}, "NeedsRoot"},
		"it is being made":                  {waiting("ContainerCreating", ""), ""},
		"an image that may yet come":        {waiting("ImagePullBackOff", "not found"), ""},
		"an image of no registry":           {waiting("ErrImagePull", pullError("NotFound", "index.docker.io does not have it")), "ErrImagePull"},
		"no network":                        {waiting("ImagePullBackOff", `Back-off pulling image "x": ErrImagePull: `+pullError("Unavailable", "lookup x: no such host")), "ErrImagePull"},
		"an image of others":                {waiting("ErrImagePull", pullError("PermissionDenied", "x wants other credentials")), "ErrImagePull"},
		"an image for other machines":       {waiting("ErrImagePull", pullError("FailedPrecondition", "no image for this platform")), "ErrImagePull"},
		"a registry that has a bad day":     {waiting("ErrImagePull", pullError("Unknown", "x answers 503")), ""},
		"another runtime's words":           {waiting("ErrImagePull", `rpc error: code = NotFound desc = failed to pull and unpack image "x": not found`), ""},
		"a runtime that is not there":       {waiting("ErrImagePull", `rpc error: code = Unavailable desc = connection error`), ""},
		"a cache that is not filled":        {waiting("CreateContainerConfigError", "failed to sync configmap cache: timed out waiting for the condition"), ""},
		"services are not known":            {waiting("CreateContainerConfigError", "services have not yet been read at least once, cannot construct envvars"), ""},
		"a busy runtime":                    {waiting("CreateContainerError", "context deadline exceeded"), ""},
		"a machine short of processes":      {ended("StartError", "fork/exec: resource temporarily unavailable"), ""},
		"it failed by itself":               {ended("Error", "exit code 1"), ""},
		"it ran":                            {ended("Completed", ""), ""},
		"a Pod that failed as Pods do":      {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}, ""},
		"a Pod of which nothing is known":   {corev1.PodStatus{}, ""},
		"a sandbox that is not there yet":   {waiting("PodInitializing", ""), ""},
		"a disk that is full for the while": {ended("StartError", "no space left on device"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Status: test.status}
			pod.Name = "p"
			why, stuck := podObstacle(pod)
			if stuck != (test.want != "") || why.Reason != test.want {
				t.Errorf("got %v %+v, want %q", stuck, why, test.want)
			}
		})
	}
}

// pullError is what the kubelet makes of our node's words.
func pullError(code, why string) string {
	return "rpc error: code = " + code + " desc = image x:latest cannot be pulled: " + why
}

// Why an image is not to be had is said once, in a sentence, without the wrapping of the messages that carry it.
func TestNoPull(t *testing.T) {
	event := warningOf("Pod", "p", `Failed to pull image "x:latest": `+pullError("Unavailable", "lookup x: no such host. Run it"), 1)
	event.Reason, event.InvolvedObject.FieldPath = "Failed", "spec.containers{main}"
	why, stuck := eventObstacle(event)
	if want := `container "main" of pod p cannot start: image x:latest cannot be pulled: lookup x: no such host. Run it`; !stuck || why.Error() != want {
		t.Errorf("%v %q, want %q", stuck, why, want)
	}
	if sentence, never := noPull(pullError("Unknown", "x answers 503")); never || sentence != "image x:latest cannot be pulled: x answers 503" {
		t.Errorf("%q, %v", sentence, never)
	}
	if sentence, _ := noPull(pullError("NotFound", "x does not have it")); !strings.HasSuffix(sentence, "x does not have it. Is the name right, and the tag? An image that no registry has comes from a file: carillon image import FILE") {
		t.Errorf("%q", sentence)
	}
	for _, message := range []string{"", "Error: ErrImagePull", "image x cannot be pulled", "rpc error: code = NotFound desc = image x"} {
		if sentence, never := noPull(message); sentence != "" || never {
			t.Errorf("%q: %q, %v", message, sentence, never)
		}
	}
}

// What ends a run is its last words and no warning beside; where the Job may go on, it is one.
func TestNoPullIsToldOnce(t *testing.T) {
	for code, want := range map[string]string{"NotFound": "", "Unknown": "image x:latest cannot be pulled: why"} {
		p := &page{}
		out := console.New(p, console.Options{Format: console.JSON})
		var ended []Obstacle
		f := New(Options{Console: out, Job: Target{"batch", "default", "j"}, OnObstacle: func(why Obstacle) { ended = append(ended, why) }})
		e := warningOf("Pod", "j-1", `Failed to pull image "x:latest": `+pullError(code, "why"), 1)
		e.Reason = "Failed"
		f.event(e)
		if err := out.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var told string
		for _, line := range p.lines(t) {
			told += line.Message
		}
		if told != want || (len(ended) == 1) != (want == "") {
			t.Errorf("%s: told %q, and %v", code, told, ended)
		}
	}
}

// The kubelet's word for what it has just said in full is left out.
func TestEcho(t *testing.T) {
	for message, want := range map[string]bool{
		"Failed Error: ErrImagePull": true, "Failed Error: ImagePullBackOff": true, "Failed Error: no such file": false, "Failed Failed to pull": false, "BackOff Error: x": false,
	} {
		e := warningOf("Pod", "p", "", 1)
		e.Reason, e.Message, _ = strings.Cut(message, " ")
		if isEcho(e) != want {
			t.Errorf("%q: %v", message, !want)
		}
	}
}

// What the kubelet says of a Pod tells what can never be there from what is late.
func TestNeverComes(t *testing.T) {
	for message, want := range map[string]bool{
		`FailedMount MountVolume.SetUp failed for volume "v" : configmap "nope" not found`:                                                 true,
		`FailedMount MountVolume.SetUp failed for volume "v" : secret "nope" not found`:                                                    true,
		`FailedMount MountVolume.SetUp failed for volume "v" : references non-existent config key: k`:                                      true,
		`FailedMount MountVolume.SetUp failed for volume "h" : hostPath type check failed: /x is not a directory`:                          true,
		`FailedMount MountVolume.SetUp failed for volume "v" : object "default"/"c" not registered`:                                        false,
		`FailedMount MountVolume.SetUp failed for volume "v" : failed to sync configmap cache: timed out waiting for the condition`:        false,
		`FailedMount Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[]: timed out waiting for the condition`: false,
		`FailedMount MountVolume.SetUp failed for volume "t" : failed to fetch token: serviceaccounts "default" is forbidden`:              false,
		`Failed Error: configmap "nope" not found`:                                                                                         true,
		`Failed Error: container has runAsNonRoot and image will run as root`:                                                              true,
		`Failed Error: exec "/no/such": no such file on this machine`:                                                                      true,
		`Failed Error: services have not yet been read at least once`:                                                                      false,
		`Failed Error: context deadline exceeded`:                                                                                          false,
		`Failed Error: ErrImagePull`:                                                             false,
		`Failed Error: ImagePullBackOff`:                                                         false,
		`Failed Failed to pull image "x": not found`:                                             false,
		`Failed Failed to pull image "x": ` + pullError("NotFound", "x does not have it"):        true,
		`Failed Failed to pull image "x": ` + pullError("Unknown", "x answers 503"):              false,
		`InspectFailed Failed to apply default image tag "A B": couldn't parse image name "A B"`: true,
		`InspectFailed Failed to inspect image "x": rpc error`:                                   false,
		`ErrImageNeverPull Container image "x" is not present with pull policy of Never`:         true,
		`BackOff Back-off restarting failed container`:                                           false,
		`FailedScheduling 0/1 nodes are available`:                                               false,
	} {
		reason, rest, _ := strings.Cut(message, " ")
		e := warningOf("Pod", "p", rest, 1)
		e.Reason, e.InvolvedObject.FieldPath = reason, "spec.initContainers{first}"
		why, stuck := eventObstacle(e)
		if stuck != want || stuck && why.Container != "first" {
			t.Errorf("%q: %v %+v, want %v", message, stuck, why, want)
		}
		e.InvolvedObject.Kind = "Job"
		if _, stuck := eventObstacle(e); stuck {
			t.Errorf("%q of a Job keeps a Pod from starting", message)
		}
	}
}
