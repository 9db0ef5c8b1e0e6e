// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

// childRemarks reports what people should know of how the children were read, each remark once for a generation of the
// object.
func (s *syncState) childRemarks() (events []Event) {
	for i := range s.children {
		if r := s.children[i].Remark; r != nil {
			events = append(events, r.event(s.in))
		}
	}
	return events
}
