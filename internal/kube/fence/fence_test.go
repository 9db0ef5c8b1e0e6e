// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hands is a clock that tests set.
type hands struct{ at Instant }

func (h *hands) now() Instant         { return h.at }
func (h *hands) pass(d time.Duration) { h.at += Instant(d) }

// newHands begins late enough for all that lies in the past.
func newHands() *hands { return &hands{at: Instant(time.Hour)} }

// What may be sent: a decision of the last ten seconds, by a process that renewed its lease in the last five. Without
// leader election only the age of the decision counts, and for what has ended only the lease.
func TestRule(t *testing.T) {
	const held, notHeld, noElection = "held", "not held", "no election"
	made := func(age time.Duration) decision { return decision{made: true, at: newHands().at - Instant(age)} }
	cleanup := decision{made: true, final: true}
	for name, test := range map[string]struct {
		decision decision
		lease    string
		renewed  time.Duration // ago
		want     Reason
	}{
		"fresh and held":                          {decision: made(0), lease: held},
		"at both bounds":                          {decision: made(10 * time.Second), lease: held, renewed: 5 * time.Second},
		"decided too long ago":                    {decision: made(10*time.Second + 1), lease: held, want: DecisionTooOld},
		"renewed too long ago":                    {decision: made(0), lease: held, renewed: 5*time.Second + 1, want: LeaseNotRenewed},
		"both too long ago":                       {decision: made(time.Minute), lease: held, renewed: time.Minute, want: DecisionTooOld},
		"not held":                                {decision: made(0), lease: notHeld, want: LeaseNotHeld},
		"undecided":                               {lease: held, want: Undecided},
		"no election":                             {decision: made(10 * time.Second), lease: noElection},
		"no election, decided too long ago":       {decision: made(10*time.Second + 1), lease: noElection, want: DecisionTooOld},
		"no election, undecided":                  {lease: noElection, want: Undecided},
		"cleanup, however old its decision":       {decision: cleanup, lease: held, renewed: 5 * time.Second},
		"cleanup, renewed too long ago":           {decision: cleanup, lease: held, renewed: 5*time.Second + 1, want: LeaseNotRenewed},
		"cleanup, not held":                       {decision: cleanup, lease: notHeld, want: LeaseNotHeld},
		"cleanup, no election":                    {decision: cleanup, lease: noElection},
		"decided before the clock was read by us": {decision: made(-time.Second), lease: held},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newHands()
			f := New(clock.now)
			if test.lease != noElection {
				f.Lock(nil)
			}
			if test.lease == held {
				f.renew(clock.at - Instant(test.renewed))
			}
			got := Reason("")
			if refusal := f.check(test.decision); refusal != nil {
				got = refusal.Reason
				if said := refusal.Error(); !strings.HasPrefix(said, "not sent: ") {
					t.Errorf("it says %q", said)
				}
			}
			if got != test.want {
				t.Errorf("refused for %q, want %q", got, test.want)
			}
		})
	}
}

// The durations fit: who stops sending MaxRenewalAge after a renewal, and waits RequestTimeout for an answer, is done
// before others may lead, with time to spare for what S1 grants: five seconds between the check and the sending.
func TestDurationsFit(t *testing.T) {
	const granted = 5 * time.Second // S1
	if MaxRenewalAge+RequestTimeout >= LeaseDuration {
		t.Errorf("the last effect may come %s after the last renewal, the successor %s", MaxRenewalAge+RequestTimeout, LeaseDuration)
	}
	if MaxRenewalAge+granted+RequestTimeout > LeaseDuration {
		t.Error("S1 does not fit")
	}
	if RenewDeadline >= LeaseDuration || 2*RetryPeriod >= MaxRenewalAge {
		t.Error("a leader in good health would be refused")
	}
}

// Whatever is renewed, and fails to be renewed, and however the process stands still: under S1 nothing that passed the
// check has an effect after another process may lead. The oracle knows when renewals were carried out, which is what
// others count from.
func TestNoEffectUnderTheSuccessor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		upTo := func(most time.Duration, what string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, what))
		}
		clock := newHands()
		f := New(clock.now)
		l := &lock{Interface: identity("us"), fence: f}
		f.Lock(l)
		var carriedOut, lands Instant // the last renewal, the last effect
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			clock.pass(upTo(8*time.Second, "pause"))
			if lands > 0 && clock.at > carriedOut+Instant(LeaseDuration) {
				break // others lead
			}
			switch rapid.SampledFrom([]string{"renewal", "failed renewal", "effect"}).Draw(t, "step") {
			case "renewal", "failed renewal":
				err := l.write(record("us"), func() error {
					clock.pass(upTo(5*time.Second, "until it is carried out"))
					carriedOut = clock.at
					clock.pass(upTo(20*time.Second, "until it is answered"))
					if rapid.Bool().Draw(t, "lost") {
						return errLost
					}
					return nil
				})
				_ = err
			case "effect":
				if f.check(decision{made: true, at: clock.at}) == nil {
					lands = clock.at + Instant(upTo(5*time.Second, "between check and sending")+upTo(RequestTimeout, "on its way"))
					if lands > carriedOut+Instant(LeaseDuration) {
						t.Fatalf("lands %s after the last renewal", lands.Sub(carriedOut))
					}
				}
			}
		}
	})
}
