// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// pack gives the form in which the database has a name made for machines: the 16 bytes of a UUID; of "scheme://" and a
// long hexadecimal number the length of what is before the number, that, and the number's bytes, 17 or more; and any
// other text as it is.
func pack(s string) any {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		if b, ok := fromHex(strings.ReplaceAll(s, "-", "")); ok && len(b) == 16 {
			return b
		}
	}
	prefix := 0
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		prefix = i + 1
	}
	if b, ok := fromHex(s[prefix:]); ok && len(b) >= 16 && prefix < 128 {
		return slices.Concat([]byte{byte(prefix)}, []byte(s[:prefix]), b)
	}
	return s
}

// fromHex reads a hexadecimal number in small letters: no other text gives the same bytes.
func fromHex(s string) ([]byte, bool) {
	b, err := hex.DecodeString(s)
	return b, err == nil && hex.EncodeToString(b) == s
}

// unpack gives the text that pack was given.
func unpack(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		if len(v) == 16 {
			h := hex.EncodeToString(v)
			return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
		}
		if len(v) > 0 && int(v[0]) < len(v) {
			n := 1 + int(v[0])
			return string(v[1:n]) + hex.EncodeToString(v[n:])
		}
	}
	return ""
}

// hash is a number for a text, of 6 bytes, for indexes: what it finds is compared.
func hash(s string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return int64(h.Sum64() >> 17) //nolint:gosec // 47 bits
}

// The times that the database can have.
var earliest, latest = time.Unix(0, math.MinInt64+1), time.Unix(0, math.MaxInt64)

// nanos is the form in which the database has a time: NULL is none.
func nanos(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return bound(t)
}

func bound(t time.Time) int64 {
	switch {
	case t.Before(earliest):
		return math.MinInt64 + 1
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// ofNanos gives the time back.
func ofNanos(v any) time.Time {
	if n, ok := v.(int64); ok {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

// outcomes has the numbers of the outcomes in the database. They stay.
var outcomes = []run.Outcome{run.Active, run.Succeeded, run.Failed, run.Cancelled, run.Unknown}

// hidden is the number of a run that is known from its attempts alone.
const hidden = -1

// active is the number of run.Active.
const active = 0

func outcomeNumber(o run.Outcome) int64 {
	if o == "" {
		return active
	}
	if i := slices.Index(outcomes, o); i >= 0 {
		return int64(i)
	}
	return int64(slices.Index(outcomes, run.Unknown))
}

func outcomeOf(n int64) run.Outcome {
	if n < 0 || n >= int64(len(outcomes)) {
		return run.Unknown
	}
	return outcomes[n]
}

// What the dictionary of words may have, so that it stays small whatever comes; what it does not take stands in the
// rows.
const (
	mostWords   = 10_000
	longestWord = 128
)

// repeats tells whether a text is of the kind that comes again: one with digits has the name or number of something.
func repeats(s string) bool {
	return s != "" && len(s) <= longestWord && !strings.ContainsAny(s, "0123456789")
}

// unknownWord is the text of a number that the dictionary does not have, as in a damaged file.
func unknownWord(id int64) string { return fmt.Sprintf("(word %d is missing)", id) }
