// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

// What these find is found by suppressionFindings.

var suppressionWithoutReason = &Rule{
	ID: "suppression-without-reason", Level: Warning, Kinds: "all",
	Summary: "a finding is suppressed without saying why",
	Reason:  "Whoever comes next cannot tell whether it still holds. A suppression without a reason has no effect.",
	Cure:    `Write the reason behind the rule: "no-time-zone: the cluster runs in UTC".`,
}

var suppressionOfUnknownRule = &Rule{
	ID: "suppression-of-unknown-rule", Level: Warning, Kinds: "all",
	Summary: "a rule is suppressed that does not exist",
	Reason:  "It suppresses nothing: the name is misspelled, or the rule is one of another program.",
	Cure:    "Write the id of a rule; carillon lint --rules lists them.",
}

var suppressionUnused = &Rule{
	ID: "suppression-unused", Level: Info, Kinds: "all",
	Summary: "a suppression has nothing to suppress",
	Reason:  "What it was about has been mended. Left there, it hides the next mistake of that sort.",
	Cure:    "Take the suppression out.",
}
