// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/klauspost/compress/s2"
	utiljson "k8s.io/apimachinery/pkg/util/json" // whole numbers are int64

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// specText is a spec, compressed: most of it is what all specs have in common. Before that it is JSON without
// template.spec, a line break, and template.spec as it came. It is never modified.
type specText []byte

func newSpecText(spec *v1alpha1.TimetableSpec) (specText, error) {
	rest := *spec
	rest.Template.Spec.Raw = nil
	text, err := json.Marshal(&rest)
	if err != nil {
		return nil, err
	}
	return compressed(append(append(text, '\n'), spec.Template.Spec.Raw...)), nil
}

// read gives the spec, and the length of what was compressed.
func (t specText) read() (spec *v1alpha1.TimetableSpec, length int, err error) {
	text, err := t.text()
	if err != nil {
		return nil, 0, err
	}
	rest, raw, _ := bytes.Cut(text, []byte("\n"))
	spec = &v1alpha1.TimetableSpec{}
	if err := utiljson.Unmarshal(rest, spec); err != nil {
		return nil, 0, err
	}
	if len(raw) > 0 {
		spec.Template.Spec.Raw = raw
	}
	return spec, len(text), nil
}

// scratch are buffers for what is only copied.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// compressed does not keep text.
func compressed(text []byte) specText {
	buffer := scratch.Get().(*[]byte)
	defer scratch.Put(buffer)
	if most := s2.MaxEncodedLen(len(text)); cap(*buffer) < most {
		*buffer = make([]byte, most)
	}
	return bytes.Clone(commonWords().Encode((*buffer)[:cap(*buffer)], text))
}

// text is what was compressed; it belongs to the caller.
func (t specText) text() ([]byte, error) { return commonWords().Decode(nil, t) }

// commonWords is what texts are compressed with. It is of this process alone: nothing that is compressed leaves it.
var commonWords = sync.OnceValue(func() *s2.Dict { return s2.MakeDict([]byte(commonSpec), nil) })

// commonSpec has what many specs have, keys in order.
const commonSpec = `` +
	`{"schedules":[{"name":"main","cron":"0 3 * * *","dayRule":"Both"}],"timeZone":"Etc/UTC","dst":{"gap":"Next","ove` +
	`rlap":"First"},"suspend":false,"concurrency":{"policy":"Forbid","limit":1,"queueLimit":10},"catchUp":{"policy":"` +
	`Latest","limit":10},"startingDeadline":"1h","onResume":"Skip","lateAfter":"10m","history":{"succeeded":{"limit":` +
	`3},"failed":{"limit":3},"ledger":20},"parameters":[{"name":"mode","default":"","pattern":""}],"retry":{"limit":3` +
	`,"delay":"10s","maxDelay":"10m"},"template":{"metadata":{"annotations":{},"labels":{"app.kubernetes.io/component` +
	`":"","app.kubernetes.io/instance":"","app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"","app.kube` +
	`rnetes.io/part-of":"","app.kubernetes.io/version":"1.0","helm.sh/chart":""}},"spec":{"activeDeadlineSeconds":360` +
	`0,"backoffLimit":0,"completions":1,"parallelism":1,"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditi` +
	`ons":[{"status":"True","type":"DisruptionTarget"}]}]},"template":{"metadata":{"annotations":{"checksum/config":"` +
	`","prometheus.io/scrape":"true"},"creationTimestamp":null,"labels":{"app":""}},"spec":{"affinity":{"nodeAffinity` +
	`":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernete` +
	`s.io/arch","operator":"In","values":["amd64"]}]}]}},"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringEx` +
	`ecution":[{"podAffinityTerm":{"labelSelector":{"matchLabels":{}},"topologyKey":"kubernetes.io/hostname"},"weight` +
	`":100}]}},"automountServiceAccountToken":false,"containers":[{"args":["/bin/sh","-c","echo $(carillon.scheduledT` +
	`ime) \u0026\u0026 date; sleep 10"],"command":["/bin/sh","-c"],"env":[{"name":"NAME","value":"https://"},{"name":` +
	`"PASSWORD","valueFrom":{"secretKeyRef":{"key":"password","name":"secret","optional":false}}},{"name":"CONFIG","v` +
	`alueFrom":{"configMapKeyRef":{"key":"config","name":"config"}}},{"name":"POD_NAME","valueFrom":{"fieldRef":{"api` +
	`Version":"v1","fieldPath":"metadata.name"}}}],"envFrom":[{"configMapRef":{"name":""}},{"secretRef":{"name":""}}]` +
	`,"image":"registry.example.com/image:latest","imagePullPolicy":"IfNotPresent","name":"main","ports":[{"container` +
	`Port":8080,"name":"http","protocol":"TCP"}],"resources":{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"c` +
	`pu":"100m","ephemeral-storage":"1Gi","memory":"128Mi"}},"securityContext":{"allowPrivilegeEscalation":false,"cap` +
	`abilities":{"drop":["ALL"]},"privileged":false,"readOnlyRootFilesystem":true,"runAsNonRoot":true,"runAsUser":100` +
	`0},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","volumeMounts":[{"mountPath` +
	`":"/etc/config","name":"config","readOnly":true,"subPath":""},{"mountPath":"/tmp","name":"tmp"}]}],"dnsPolicy":"` +
	`ClusterFirst","hostNetwork":false,"imagePullSecrets":[{"name":""}],"initContainers":[{"name":"init"}],"nodeSelec` +
	`tor":{"kubernetes.io/os":"linux"},"priorityClassName":"","restartPolicy":"Never","schedulerName":"default-schedu` +
	`ler","securityContext":{"fsGroup":1000,"runAsGroup":1000,"runAsNonRoot":true,"runAsUser":1000,"seccompProfile":{` +
	`"type":"RuntimeDefault"}},"serviceAccount":"default","serviceAccountName":"default","terminationGracePeriodSecon` +
	`ds":30,"tolerations":[{"effect":"NoSchedule","key":"dedicated","operator":"Equal","value":""}],"volumes":[{"conf` +
	`igMap":{"defaultMode":420,"name":"config"},"name":"config"},{"emptyDir":{},"name":"tmp"},{"hostPath":{"path":"/v` +
	`ar","type":"DirectoryOrCreate"},"name":"data"},{"name":"data","persistentVolumeClaim":{"claimName":"data"}},{"na` +
	`me":"secret","secret":{"defaultMode":420,"secretName":"secret"}}]}},"ttlSecondsAfterFinished":600}}}`
