// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package interval_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/interval"
)

// JOB-208: the writer is canonical, and both readers read back what it writes.
func TestString(t *testing.T) {
	cases := map[string]struct {
		indexes []int
		want    string
	}{
		"empty":               {nil, ""},
		"one":                 {[]int{0}, "0"},
		"two in a row":        {[]int{0, 1}, "0,1"},
		"three in a row":      {[]int{3, 4, 5}, "3-5"},
		"mixed":               {[]int{1, 3, 4, 5, 7}, "1,3-5,7"},
		"two runs of two":     {[]int{2, 3, 5, 6}, "2,3,5,6"},
		"out of order, twice": {[]int{7, 5, 4, 4, 3, 1}, "1,3-5,7"},
		"negative":            {[]int{-4, 2}, "2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := interval.Of(tc.indexes...)
			if got := s.String(); got != tc.want {
				t.Errorf("String = %q, want %q", got, tc.want)
			}
			if got := interval.Parse(tc.want, 100); !got.Equal(s) {
				t.Errorf("Parse(%q) = %v", tc.want, got)
			}
			if got, err := interval.ParseStrict(tc.want, 100); err != nil || !got.Equal(s) {
				t.Errorf("ParseStrict(%q) = %v, %v", tc.want, got, err)
			}
		})
	}
}

// JOB-208: the lenient reader keeps what can be read, and what is below the number
// of completions.
func TestParse(t *testing.T) {
	cases := map[string]struct {
		text  string
		bound int
		want  string
	}{
		"empty":                        {"", 5, ""},
		"a part that is no number":     {"0,1-foo,bar", 10, "0"},
		"good parts after a bad one":   {"0,x,3-5", 10, "0,3-5"},
		"within the completions":       {"0-5,8-10", 11, "0-5,8-10"},
		"cut at the completions":       {"0-5,8-10", 10, "0-5,8,9"},
		"ends at the completions":      {"0-5,8-10", 8, "0-5"},
		"stops at the first beyond":    {"0,9,1", 5, "0"},
		"two-number run":               {"0-1", 5, "0,1"},
		"parts that touch":             {"0-1,2,3-4", 9, "0-4"},
		"parts that overlap":           {"0-4,2-6", 9, "0-6"},
		"out of order":                 {"5,0-1", 9, "0,1,5"},
		"a third number is ignored":    {"1-3-7", 9, "1-3"},
		"backwards":                    {"4-2,6", 9, "6"},
		"negative":                     {"-3,4", 9, "4"},
		"blanks are no number":         {" 1,2", 9, "2"},
		"only commas":                  {",,", 9, ""},
		"too large for an int":         {"99999999999999999999,2", 9, "2"},
		"end too large for an int":     {"2-99999999999999999999,4", 9, "4"},
		"no completions":               {"0", 0, ""},
		"a negative number of them":    {"0", -1, ""},
		"plus sign, as the server has": {"+1", 9, "1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := interval.Parse(tc.text, tc.bound).String(); got != tc.want {
				t.Errorf("Parse(%q, %d) = %q, want %q", tc.text, tc.bound, got, tc.want)
			}
		})
	}
}

// INV-12, INV-13: the strict reader takes what the API server takes and says what is
// wrong with the rest.
func TestParseStrict(t *testing.T) {
	cases := map[string]struct {
		text, want, problem string
	}{
		"empty":                   {"", "", ""},
		"canonical":               {"0,3-5,7", "0,3-5,7", ""},
		"two-number run":          {"0-1", "0,1", ""},
		"parts that touch":        {"0-1,2,3-4", "0-4", ""},
		"last below completions":  {"9", "9", ""},
		"at completions":          {"10", "", "10 is not below 10"},
		"interval to completions": {"8-10", "", "10 is not below 10"},
		"no number":               {"1,foo", "", `"foo" is not a number`},
		"no end":                  {"1-", "", `"" is not a number`},
		"negative":                {"-1", "", `"" is not a number`},
		"three numbers":           {"1-2-3", "", `"2-3" is not a number`},
		"an interval of one":      {"3-3", "", "3 is not greater than 3"},
		"backwards":               {"5-3", "", "3 is not greater than 5"},
		"repeated":                {"3,3", "", "3 comes after 3"},
		"descending":              {"3-5,4", "", "4 comes after 5"},
		"blank":                   {"1, 2", "", `" 2" is not a number`},
		"empty part":              {"1,,2", "", `"" is not a number`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := interval.ParseStrict(tc.text, 10)
			if tc.problem == "" {
				if err != nil || got.String() != tc.want {
					t.Fatalf("= %q, %v, want %q", got, err, tc.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.problem) || !got.Empty() {
				t.Fatalf("= %q, %v, want an error with %q", got, err, tc.problem)
			}
		})
	}
}

// Writing and reading give the same set.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawSet(t, "s")
		strict, err := interval.ParseStrict(s.String(), 41)
		if err != nil || !strict.Equal(s) || !interval.Parse(s.String(), 41).Equal(s) {
			t.Fatalf("%q reads back as %q, %v and %q", s, strict, err, interval.Parse(s.String(), 41))
		}
	})
}

// No text does harm: the readers agree where the strict one is content, and what is
// read is below the bound and reads back.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "0", "1,3-5,7", "0-1", "0,1-foo,bar", "5,0-1", "4-2", "1-2-3", "-1", "+1", "99999999999999999999", ",,", "0-99", "1, 2"} {
		f.Add(text, 10)
	}
	f.Add("0-9223372036854775806", int(^uint(0)>>1))
	f.Fuzz(func(t *testing.T, text string, bound int) {
		lenient := interval.Parse(text, bound)
		behind := -1
		for first, last := range lenient.Spans() {
			if first <= behind || last < first || last >= bound {
				t.Fatalf("Parse(%q, %d) = %s", text, bound, lenient)
			}
			behind = last + 1
		}
		if again := interval.Parse(lenient.String(), bound); !again.Equal(lenient) {
			t.Fatalf("%s reads back as %s", lenient, again)
		}
		strict, err := interval.ParseStrict(text, bound)
		if err == nil && !strict.Equal(lenient) {
			t.Fatalf("ParseStrict(%q, %d) = %s, Parse = %s", text, bound, strict, lenient)
		}
		if _, err := interval.ParseStrict(lenient.String(), bound); err != nil {
			t.Fatalf("the canonical form is refused: %v", err)
		}
	})
}
