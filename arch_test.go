// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package carillon

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/carillon-dev/carillon/"

// ban forbids an import and says why, so that the failure teaches the rule.
type ban struct{ prefix, why string }

var (
	pure = []ban{
		{"context", "a decision that needs a context is shell: move the I/O to internal/controller"},
		{"os", "decisions see only their input: let the shell read it"},
		{"net", "decisions see only their input: let the shell ask for it"},
		{"math/rand", "decisions are deterministic: pass chance in as data"},
		{"crypto/rand", "decisions are deterministic: pass chance in as data"},
		{"log", "decisions are silent: return a note in the plan"},
		{"github.com/go-logr/", "decisions are silent: return a note in the plan"},
		{"k8s.io/klog/", "decisions are silent: return a note in the plan"},
		{"k8s.io/client-go/", "decisions have no client: the shell gathers and applies"},
		{"sigs.k8s.io/controller-runtime", "decisions have no client: the shell gathers and applies"},
	}
	library      = append([]ban{{"k8s.io/", "other programs import this package: what a Timetable asks for comes as plain values"}}, pure...)
	noKubernetes = ban{"k8s.io/kubernetes/", "only the control plane, the node and tests may link Kubernetes' internals: they are large and have no API promise"}
)

// layers lists our packages from the bottom up. A package may import packages of a lower layer and of its own subtree.
var layers = []struct {
	path  string
	level int
	bans  []ban
}{
	{path: "api", level: 0, bans: pure},
	{path: "deploy/crds", level: 0, bans: pure},
	{path: "deploy/timetable", level: 1, bans: pure},
	{path: "internal/version", level: 0},
	{path: "internal/descriptor", level: 0},
	{path: "internal/datadir", level: 0},
	{path: "internal/memory", level: 0},
	{path: "internal/mounts", level: 0},
	{path: "internal/privatedir", level: 1},
	{path: "schedule/timeset", level: 1, bans: library},
	{path: "schedule", level: 0, bans: library},
	{path: "internal/interval", level: 0, bans: pure},
	{path: "internal/expand", level: 0, bans: pure},
	{path: "internal/cron", level: 1, bans: pure},
	{path: "internal/job", level: 1, bans: pure},
	{path: "internal/ttl", level: 2, bans: pure},
	{path: "internal/othercontroller", level: 1, bans: pure},
	{path: "internal/outcome", level: 1, bans: pure},
	{path: "internal/image", level: 2, bans: []ban{{"k8s.io/", "images are below the runtime: what of Kubernetes they need to know comes as plain values"}}},
	{path: "internal/kind", level: 2},
	{path: "internal/kube", level: 2},
	{path: "internal/controller", level: 3},
	{path: "internal/controlplane", level: 3},
	{path: "internal/node", level: 3},
	{path: "internal/plan", level: 3, bans: pure},
	{path: "internal/manager", level: 4},
	{path: "internal/journal", level: 4},
	{path: "internal/recorder", level: 5},
	{path: "internal/standalone", level: 6},
	{path: "internal/backup", level: 6},
	{path: "internal/client", level: 6},
	{path: "internal/ui", level: 7},
	{path: "internal/cli", level: 8},
	{path: "cmd", level: 9},
	{path: "internal/testkit", level: 10},
	{path: "test", level: 11},
}

func layerOf(pkg string) (path string, level int, bans []ban, known bool) {
	for _, l := range layers {
		if pkg == l.path || strings.HasPrefix(pkg, l.path+"/") {
			return l.path, l.level, l.bans, true
		}
	}
	return "", 0, nil, false
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list output: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// Other programs import the schedule engine, so it brings them nothing: its packages need the standard library and each
// other. Their tests may use more.
func TestLibraryNeedsOnlyTheStandardLibrary(t *testing.T) {
	packages := list(t, "./schedule/...")
	if len(packages) < 2 {
		t.Fatalf("%d packages were found", len(packages))
	}
	for _, p := range packages {
		for _, dep := range p.Deps {
			first, _, _ := strings.Cut(dep, "/")
			if strings.Contains(first, ".") && dep != module+"schedule" && !strings.HasPrefix(dep, module+"schedule/") {
				t.Errorf("%s needs %s: whoever imports it would need that, too; do without", p.ImportPath, dep)
			}
		}
	}
}

// An import goes only downwards, and what a layer must not see it does not import.
func TestArrows(t *testing.T) {
	kinds, used := map[string][]string{}, map[string]bool{}
	var served []string
	for _, p := range list(t, "./...") {
		pkg := strings.TrimPrefix(p.ImportPath, module)
		own, level, bans, known := layerOf(pkg)
		if !known {
			if pkg+"/" != module {
				t.Errorf("%s is in no layer: add it to the list in arch_test.go, above all that it imports", pkg)
			}
			continue
		}
		used[own] = true
		for _, imp := range p.Imports {
			for _, b := range bans {
				if imp == strings.TrimSuffix(b.prefix, "/") || strings.HasPrefix(imp, strings.TrimSuffix(b.prefix, "/")+"/") {
					t.Errorf("%s imports %s: %s", pkg, imp, b.why)
				}
			}
			if strings.HasPrefix(imp, noKubernetes.prefix) && own != "internal/controlplane" && own != "internal/node" && own != "test" {
				t.Errorf("%s imports %s: %s", pkg, imp, noKubernetes.why)
			}
			theirs, ok := strings.CutPrefix(imp, module)
			if !ok {
				continue
			}
			to, toLevel, _, _ := layerOf(theirs)
			if to != own && toLevel >= level {
				t.Errorf("%s imports %s: arrows go down only (layer %d to layer %d)", pkg, theirs, level, toLevel)
			}
		}
		switch {
		case pkg == "internal/kind":
			served = p.Imports
		case strings.HasPrefix(pkg, "internal/kind/") && pkg != "internal/kind/adapter" && pkg != "internal/kind/kindtest":
			kinds[p.ImportPath] = p.Imports
		}
	}
	for _, l := range layers {
		if !used[l.path] {
			t.Errorf("there is no package %s: take it off the list in arch_test.go", l.path)
		}
	}
	checkKinds(t, kinds, served)
}

// kindsToCome are kinds whose adapter is being built: nothing serves them yet.
var kindsToCome []string

// One kind does not know another, and each folder of internal/kind that holds one is served.
func checkKinds(t *testing.T, kinds map[string][]string, served []string) {
	t.Helper()
	for pkg, imports := range kinds {
		switch isServed, isToCome := slices.Contains(served, pkg), slices.Contains(kindsToCome, pkg); {
		case isServed && isToCome:
			t.Errorf("%s is served: take it off kindsToCome", pkg)
		case !isServed && !isToCome:
			t.Errorf("%s is no kind that is served: add it to All in internal/kind", pkg)
		}
		for _, imp := range imports {
			if _, ok := kinds[imp]; ok {
				t.Errorf("%s imports %s: what two kinds share belongs to internal/kind/adapter or internal/cron", pkg, imp)
			}
		}
	}
}

// Whoever imports the API imports apimachinery with it, and nothing else that apimachinery does not need.
func TestAPIStandsAlone(t *testing.T) {
	for _, p := range list(t, "./api/...") {
		for _, imp := range p.Imports {
			first, _, _ := strings.Cut(imp, "/")
			if strings.Contains(first, ".") && !strings.HasPrefix(imp, "k8s.io/apimachinery/") {
				t.Errorf("%s imports %s: other programs import this package, so it needs apimachinery alone", p.ImportPath, imp)
			}
		}
	}
}

// The manager's image holds the controllers alone.
func TestManagerDoesNotLinkThePlane(t *testing.T) {
	for _, p := range list(t, "./cmd/carillon-manager") {
		for _, d := range p.Deps {
			switch {
			case strings.HasPrefix(d, noKubernetes.prefix):
				t.Errorf("cmd/carillon-manager links %s: %s", d, noKubernetes.why)
			case strings.HasPrefix(d, module+"internal/controlplane"), strings.HasPrefix(d, module+"internal/node"):
				t.Errorf("cmd/carillon-manager links %s: the manager runs on clusters that have these already", d)
			}
		}
	}
}

// Every Go file names its licence, every package opens with a tour, and no decision reads the clock.
func TestSources(t *testing.T) {
	toured := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.Contains(string(src[:min(len(src), 400)]), "SPDX-License-Identifier: Apache-2.0") {
			t.Errorf("%s does not name its licence: begin it with the two lines that other files have", path)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if !strings.HasSuffix(path, "_test.go") {
			toured[dir] = toured[dir] || file.Doc != nil
			if _, _, bans, ok := layerOf(dir); ok && slices.Contains(bans, pure[0]) {
				checkClock(t, path, file)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, ok := range toured {
		if !ok && dir != "." {
			t.Errorf("package %s has no package comment: open it with a short tour", dir)
		}
	}
}

func checkClock(t *testing.T, path string, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && (sel.Sel.Name == "Now" || sel.Sel.Name == "Since" || sel.Sel.Name == "Until" || sel.Sel.Name == "Sleep") {
			t.Errorf("%s uses time.%s: one Now per pass, given in the input", path, sel.Sel.Name)
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "metav1" && sel.Sel.Name == "Now" {
			t.Errorf("%s uses metav1.Now: one Now per pass, given in the input", path)
		}
		return true
	})
}
