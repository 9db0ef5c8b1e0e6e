// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/deploy/crds"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// What a field of a Timetable takes its definition takes, and what it refuses the definition refuses, too; but that
// alone knows no expressions and no zones.
func TestSettingsAgreeWithTheDefinition(t *testing.T) {
	_, text, found := crds.Find("timetables.batch.carillon.dev")
	if !found {
		t.Fatal("there is no definition")
	}
	definition := kindtest.ParseCRDs(t, text)[0]
	texts := []string{"0", "1", "-1", "10", "11", "100", "101", "1000", "1001", "9223372036854775808", "many", "0s", "1s", "24h", "24h1s", "25h", "1d", "1m1h", "1h30m", "-5m",
		"Allow", "Forbid", "Queue", "Replace", "None", "Latest", "All", "Skip", "CatchUp", "allow", "true", "false", "perhaps",
		"2027-03-01T14:00:00Z", "2027-03-01T14:00:00+01:00", "2027-03-01T14:00:00,5Z", "2027-03-01T14:00:00.123456789Z", "2027-03-01T14:00:00+25:00", "2027-03-01", "2027-02-30T10:00:00Z",
		"Europe/Berlin", "UTC", "Local", "Mars/Base", "../x", "Etc/GMT+5"}
	bare := vectors.Timetable(t)
	for _, group := range timetableSections(bare) {
		for _, s := range group.Settings {
			if strings.HasPrefix(s.Name, "schedules.") {
				continue // FuzzSchemaAgreesWithReaders of the API looks at those
			}
			for _, text := range texts {
				object := runtime.DeepCopyJSON(bare)
				if s.Name == "concurrency.queueLimit" { // which has rules with other fields
					object["spec"].(map[string]any)["concurrency"] = map[string]any{"policy": "Queue"}
				}
				if s.Name == "retry.delay" || s.Name == "retry.maxDelay" {
					object["spec"].(map[string]any)["retry"] = map[string]any{"limit": int64(1), "delay": "0s", "maxDelay": "99999h"}
				}
				before := runtime.DeepCopyJSON(object)
				own := s.write(object, text)
				if own == nil {
					own = s.wrong(before, object)
				}
				if s.text(object) != text { // its number cannot be written
					if !s.number {
						t.Errorf("%s: %q is written as %q", s.Name, text, s.text(object))
					}
					continue
				}
				errs := definition.Admit(t, object)
				if own == nil && len(errs) > 0 {
					t.Errorf("%s takes %q, and the definition does not: %v", s.Name, text, errs)
				}
				if own != nil && len(errs) == 0 && s.Name != "timeZone" {
					t.Errorf("%s refuses %q, and the definition takes it: %v", s.Name, text, own)
				}
			}
		}
	}
}
