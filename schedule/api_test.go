// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "add new declarations to the lists of what is exported")

// Whoever imports these packages relies on what they export: it is kept. The lists grow, and nothing leaves them.
func TestAPIIsKept(t *testing.T) {
	for dir, list := range map[string]string{".": "testdata/api.txt", "timeset": "timeset/testdata/api.txt"} {
		got := exported(t, dir)
		text, err := os.ReadFile(list)
		if created := *update && os.IsNotExist(err); err != nil && !created {
			t.Fatal(err)
		}
		kept := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(text) == 0 {
			kept = nil
		}
		for _, line := range kept {
			if !slices.Contains(got, line) {
				t.Errorf("%s: this is gone or changed, and other programs use it:\n\t%s\nThe API of this library is kept: add, never change. "+
					"Write what is new beside it, under another name.", list, line)
			}
		}
		if t.Failed() {
			continue // -update does not take anything away
		}
		if *update {
			if err := os.MkdirAll(filepath.Dir(list), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(list, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, line := range got {
			if !slices.Contains(kept, line) {
				t.Errorf("%s: this is new, and will have to be kept as it is:\n\t%s\nIf it is worth that, run go test ./schedule -run TestAPIIsKept -update.", list, line)
			}
		}
	}
}

// exported gives what the package in a directory exports, a line for each name, field and method.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	files := token.NewFileSet()
	a := api{t: t, files: files}
	for _, file := range parsed(t, files, dir) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				a.function(d)
			case *ast.GenDecl:
				a.declaration(d)
			}
		}
	}
	slices.Sort(a.lines)
	return a.lines
}

// parsed gives the files of a package, without its tests.
func parsed(t *testing.T, files *token.FileSet, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file)
	}
	return all
}

// api collects the lines of a package.
type api struct {
	t     *testing.T
	files *token.FileSet
	lines []string
}

func (a *api) add(format string, args ...any) {
	a.lines = append(a.lines, fmt.Sprintf(format, args...))
}

// text is a piece of source in one line.
func (a *api) text(node any) string {
	var b strings.Builder
	if err := printer.Fprint(&b, a.files, node); err != nil {
		a.t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// types are those of parameters or results: their names may change.
func (a *api) types(list *ast.FieldList) string {
	var all []string
	if list != nil {
		for _, field := range list.List {
			for range max(1, len(field.Names)) {
				all = append(all, a.text(field.Type))
			}
		}
	}
	return strings.Join(all, ", ")
}

func (a *api) signature(f *ast.FuncType) string {
	text := "(" + a.types(f.Params) + ")"
	switch results := a.types(f.Results); {
	case strings.Contains(results, ","):
		text += " (" + results + ")"
	case results != "":
		text += " " + results
	}
	return text
}

func (a *api) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		a.add("func %s%s", d.Name, a.signature(d.Type))
		return
	}
	receiver := a.text(d.Recv.List[0].Type)
	if ast.IsExported(strings.TrimPrefix(receiver, "*")) {
		a.add("method (%s) %s%s", receiver, d.Name, a.signature(d.Type))
	}
}

func (a *api) declaration(d *ast.GenDecl) {
	var last *ast.ValueSpec // whose type and values those that have none repeat
	for n, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				a.typeOf(spec)
			}
		case *ast.ValueSpec:
			if len(spec.Values) > 0 || last == nil {
				last = spec
			}
			for i, name := range spec.Names {
				if name.IsExported() {
					a.value(d.Tok, name.Name, i, n, last)
				}
			}
		}
	}
}

// value is a constant or a variable: the i-th name of the n-th line of its group.
func (a *api) value(kind token.Token, name string, i, n int, spec *ast.ValueSpec) {
	line := kind.String() + " " + name
	if spec.Type != nil {
		line += " " + a.text(spec.Type)
	}
	if kind == token.CONST && i < len(spec.Values) {
		value := a.text(spec.Values[i])
		if value == "iota" {
			value = strconv.Itoa(n)
		}
		line += " = " + value
	}
	a.add("%s", line)
}

func (a *api) typeOf(spec *ast.TypeSpec) {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		a.add("type %s %s", spec.Name, a.text(spec.Type))
		return
	}
	a.add("type %s struct", spec.Name)
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			if name.IsExported() {
				a.add("type %s struct, %s %s", spec.Name, name, a.text(field.Type))
			}
		}
		if len(field.Names) == 0 {
			a.add("type %s struct, embedded %s", spec.Name, a.text(field.Type))
		}
	}
}

// Whatever a stranger meets on pkg.go.dev has a comment that he understands without the documents of Carillon.
func TestExportedHasDocs(t *testing.T) {
	for _, dir := range []string{".", "timeset"} {
		files := token.NewFileSet()
		for _, file := range parsed(t, files, dir) {
			checkDoc(t, files, file.Name, file.Doc, false)
			for _, d := range file.Decls {
				checkDeclarationDocs(t, files, d)
			}
		}
	}
}

func checkDeclarationDocs(t *testing.T, files *token.FileSet, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Name.Name != "Error" {
			checkDoc(t, files, d.Name, d.Doc, true)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				continue
			}
			checkDoc(t, files, spec.Name, d.Doc, true)
			if structure, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range structure.Fields.List {
					checkDoc(t, files, field, field.Doc, false)
				}
			}
		}
		for _, spec := range d.Specs {
			if spec, ok := spec.(*ast.ValueSpec); ok && slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) {
				checkDoc(t, files, d, d.Doc, true)
				break
			}
		}
	}
}

// checkDoc refuses a comment that names a paragraph of a document of ours, and one that is missing but wanted.
func checkDoc(t *testing.T, files *token.FileSet, at ast.Node, doc *ast.CommentGroup, wanted bool) {
	where := files.Position(at.Pos())
	if doc == nil {
		if wanted {
			t.Errorf("%s has no comment", where)
		}
		return
	}
	for _, word := range []string{"timetable.md", "cronjob.md"} {
		if strings.Contains(doc.Text(), word) {
			t.Errorf("%s: a stranger has not read %s: say it here", where, word)
		}
	}
}
