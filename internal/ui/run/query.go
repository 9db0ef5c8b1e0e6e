// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/url"
	"strconv"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// together, in place of a container's ID, asks for the output of all attempts as one.
const together = "all"

// query is what the address of a page asks for.
type query struct {
	// Attempt is the ID of a container, or together; "" leaves the choice to the page.
	Attempt string
	// Line is the first line that is shown, Skip how many of the last ones are left out; 0 shows the end.
	Line, Skip int
	// Find is what is searched for, as a regular expression if Expression.
	Find       string
	Expression bool
	Times      bool
	// Page of the attempts, from 1.
	Page int
}

func readQuery(v url.Values) (query, error) {
	q := query{Attempt: v.Get("attempt"), Find: v.Get("find"), Expression: v.Get("re") != "", Times: v.Get("times") != "", Page: 1}
	for name, to := range map[string]*int{"line": &q.Line, "skip": &q.Skip, "page": &q.Page} {
		text := v.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return query{}, page.BadInput("%s in the address is a number from 0 on, and not %q.", name, text)
		}
		*to = int(n) //nolint:gosec // it has 31 bits
	}
	q.Page, q.Skip = max(1, q.Page), min(q.Skip, mostSkipped)
	return q, nil
}

// mostSkipped bounds how many lines are held to leave them out.
const mostSkipped = 10_000

// values writes it as it is in an address.
func (q query) values(r *run.Run) url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	number := func(name string, n, without int) {
		if n != without {
			v.Set(name, strconv.Itoa(n))
		}
	}
	flag := func(name string, on bool) {
		if on {
			v.Set(name, "1")
		}
	}
	set("uid", string(r.UID))
	set("attempt", q.Attempt)
	number("line", q.Line, 0)
	number("skip", q.Skip, 0)
	set("find", q.Find)
	flag("re", q.Expression && q.Find != "")
	flag("times", q.Times)
	number("page", q.Page, 1)
	return v
}

// path is the address of a run without its query, and what lies below it.
func path(r *run.Run, below string) string {
	return "/run/" + url.PathEscape(r.Namespace) + "/" + url.PathEscape(r.Name) + below
}

// url is the address of the page that shows it, at the output.
func (q query) url(r *run.Run) string { return path(r, "") + "?" + q.values(r).Encode() + "#output" }

// end is the query for the end of an attempt.
func (q query) end() query { return query{Attempt: q.Attempt, Times: q.Times, Page: q.Page} }

func (q query) at(line int) query {
	q = q.end()
	q.Line = line
	return q
}
