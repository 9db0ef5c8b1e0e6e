// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import "github.com/carillon-dev/carillon/internal/cron"

// TemplateChecker is a Kind that has the create of what its objects start tried before it is due
// (cron.Plan.CheckTemplate).
type TemplateChecker interface {
	Kind
	// JudgeTemplate tells what the answer to a dry run of the create of a child says about the template of owner. answer
	// is the object that the server answered with; it is not looked at if err is not nil. strict is what the server said
	// to a dry run that allowed no field which it does not know, nil if there is no such field.
	JudgeTemplate(owner, answer Object, err, strict error) cron.TemplateCheckResult
}
