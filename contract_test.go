// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package carillon

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// scenarioID is the id of a scenario or rule of docs/contract; a second one after
// "to" or a dash names a range, as in JOB-072 to JOB-079.
var scenarioID = regexp.MustCompile(`\b(CJ|JOB|TTL|TT|OPT|CP)-(\d{2,3})(?:(?: to |–|\.\.)(?:(?:CJ|JOB|TTL|TT|OPT|CP)-)?(\d{2,3}))?\b`)

// scenarioDefinition is where docs/contract defines an id: in the first cell of a table row, or in bold in a list.
var scenarioDefinition = regexp.MustCompile(`^\| ?\**((?:CJ|JOB|TTL|TT|OPT|CP)-\d{2,3})\b|\*\*((?:CJ|JOB|TTL|TT|OPT|CP)-\d{2,3})\*\*`)

// withoutTest are the ids that no test names, each with the reason.
var withoutTest = map[string]string{
	"CJ-139": notServed, "CJ-140": notServed, "CJ-141": notServed, "CJ-142": notServed,
	"OPT-06": forSpeed, "OPT-07": forSpeed, "OPT-10": forSpeed, "OPT-11": forSpeed,
	"OPT-12": forSpeed, "OPT-13": forSpeed, "OPT-16": forSpeed,
}

// secondPart is where docs/contract lists the scenarios of what of Timetables is not built yet. Some of them have a
// test all the same, of the rest of what they say.
var secondPart = regexp.MustCompile(`Scenarios of the second part: ([^;]*);`)

const (
	notServed = "about the controller of Kubernetes 1.19 (kind L), which is described for comparison and not built"
	forSpeed  = "a way to be faster without a behaviour of its own; the benchmarks show what it gives"
)

// TestContractIDs holds the code to its contract: whatever id the code, the tests and the documents cite is defined
// in docs/contract, once, and every id that is defined there has a test that names it, or stands in withoutTest, or
// is about something that is not built.
func TestContractIDs(t *testing.T) {
	defined := definedIDs(t)
	cited, tested := citedIDs(t)
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		if defined[id] == "" {
			t.Errorf("%s cites %s, which docs/contract does not define", cited[id], id)
		}
	}
	toCome := idsToCome(t)
	notBuilt := 0
	for _, id := range slices.Sorted(maps.Keys(defined)) {
		reason, excused := withoutTest[id]
		switch {
		case tested[id] == "" && slices.Contains(toCome, id):
			notBuilt++
		case tested[id] == "" && !excused:
			t.Errorf("%s (%s) has no test that names it", id, defined[id])
		case tested[id] != "" && excused:
			t.Errorf("%s has a test now (%s); take it out of withoutTest", id, tested[id])
		case excused:
			t.Logf("%s has no test: %s", id, reason)
		}
	}
	t.Logf("%d scenarios have no test, because what they are about is not built", notBuilt)
	for _, id := range slices.Concat(slices.Sorted(maps.Keys(withoutTest)), toCome) {
		if defined[id] == "" {
			t.Errorf("%s needs no test, and docs/contract does not define it", id)
		}
	}
}

// idsToCome gives the ids of what is not built.
func idsToCome(t *testing.T) []string {
	t.Helper()
	contract, err := os.ReadFile("docs/contract/timetable.md")
	if err != nil {
		t.Fatal(err)
	}
	list := secondPart.FindSubmatch(contract)
	if list == nil {
		t.Fatal("docs/contract/timetable.md does not list the scenarios of its second part")
	}
	return idsIn(string(list[1]))
}

// definedIDs gives the ids that docs/contract defines, with the place of each.
func definedIDs(t *testing.T) map[string]string {
	t.Helper()
	defined := map[string]string{}
	files, err := filepath.Glob("docs/contract/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no contract in docs/contract: %v", err)
	}
	for _, file := range files {
		for number, line := range lines(t, file) {
			if !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "- ") {
				continue
			}
			place := fmt.Sprintf("%s:%d", file, number+1)
			for _, definition := range scenarioDefinition.FindAllStringSubmatch(line, -1) {
				id := definition[1] + definition[2]
				if earlier := defined[id]; earlier != "" {
					t.Errorf("%s defines %s again; it stands at %s", place, id, earlier)
				}
				defined[id] = place
			}
		}
	}
	return defined
}

// citedIDs gives the ids that Go files and documents outside docs/contract cite, and those that tests cite, each with
// one place.
func citedIDs(t *testing.T) (cited, tested map[string]string) {
	t.Helper()
	cited, tested = map[string]string{}, map[string]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == filepath.Join("docs", "contract") || path == ".git" || path == "bin"):
			return filepath.SkipDir
		case entry.IsDir() || path == "contract_test.go":
			return nil
		case !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".md"):
			return nil
		}
		for number, line := range lines(t, path) {
			for _, id := range idsIn(line) {
				place := fmt.Sprintf("%s:%d", path, number+1)
				cited[id] = place
				if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "kindtest") {
					tested[id] = place
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cited, tested
}

// idsIn gives the ids that a line cites, ranges written out.
func idsIn(line string) []string {
	var ids []string
	for _, match := range scenarioID.FindAllStringSubmatch(line, -1) {
		first, _ := strconv.Atoi(match[2])
		last := first
		if match[3] != "" {
			last, _ = strconv.Atoi(match[3])
		}
		for n := first; n <= last; n++ {
			ids = append(ids, fmt.Sprintf("%s-%0*d", match[1], len(match[2]), n))
		}
	}
	return ids
}

// lines gives the lines of a file.
func lines(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(content), "\n")
}
