// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import "context"

// decision is what a request says of the decision that it comes from. The zero value says nothing.
type decision struct {
	made bool
	at   Instant
	// final: the decision stays right however old it becomes.
	final bool
	// records: the request records what was done.
	records bool
}

type decisionKey struct{}

// WithDecision is a context for requests that start or end work: at is when the state that they were decided upon was
// read, by Now.
func WithDecision(ctx context.Context, at Instant) context.Context {
	return context.WithValue(ctx, decisionKey{}, decision{made: true, at: at})
}

// WithCleanup is a context for deletes of what has ended, each bound to the UID of its object. What has ended stays so:
// such a decision does not become old.
func WithCleanup(ctx context.Context) context.Context {
	return context.WithValue(ctx, decisionKey{}, decision{made: true, final: true})
}

// WithRecord is a context for patches that record what was done, each bound to the version of its object, which is why
// they do not become old. The rule is for them too: what a leader that was has found out may lack what the next one has
// started. Other patches are sent at any time.
func WithRecord(ctx context.Context) context.Context {
	return context.WithValue(ctx, decisionKey{}, decision{made: true, final: true, records: true})
}

// TooOld reports whether the decision that ctx tells of has become too old, so that whoever has many requests to send
// can stop and decide anew before one is refused. A context that tells of none is never too old.
func TooOld(ctx context.Context) bool { return tooOld(ctx, Now()) }

func tooOld(ctx context.Context, now Instant) bool {
	d := decisionOf(ctx)
	return d.made && !d.final && now.Sub(d.at) > MaxDecisionAge
}

func decisionOf(ctx context.Context) decision {
	d, _ := ctx.Value(decisionKey{}).(decision)
	return d
}
