// Command home changes the path of the module in place:
//
//	go run ./internal/home example.org/team/dyad
//
// It rewrites go.mod, the imports and the comments of Go files, and the package paths in documents and scripts.
// It does not change other uses of the words of the old path, such as the name of the program and of its
// folders. A second run can set yet another path.
//
// With -proxy it writes the module to a folder that GOPROXY=file://FOLDER serves:
//
//	go run ./internal/home -proxy FOLDER -version v0.1.0
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	dir := flag.String("C", ".", "folder of the module")
	proxy := flag.String("proxy", "", "write the module, with its own name, to this module proxy folder")
	version := flag.String("version", "v0.1.0", "version for -proxy")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: home [-C DIR] MODULE\n       home [-C DIR] -proxy DIR [-version V]")
		flag.PrintDefaults()
	}
	flag.Parse()
	var err error
	switch {
	case *proxy != "" && flag.NArg() == 0:
		err = publish(*dir, *proxy, *version)
	case *proxy == "" && flag.NArg() == 1:
		err = move(*dir, flag.Arg(0))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "home:", err)
		os.Exit(1)
	}
}

// readModule returns the parsed go.mod of dir.
func readModule(dir string) (*modfile.File, error) {
	name := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, text, nil)
}

// move renames the module in dir.
func move(dir, to string) error {
	// The go command accepts a path without a dot, such as ours until it is hosted, but a proxy does not.
	if err := module.CheckPath(to); err != nil {
		return fmt.Errorf("%w; give the module a path that a proxy can serve, such as example.org/team/dyad", err)
	}
	mod, err := readModule(dir)
	if err != nil {
		return err
	}
	files, packages, err := sources(dir, mod.Module.Mod.Path)
	if err != nil {
		return err
	}
	r := newRewriter(mod.Module.Mod.Path, to, packages)
	changed := make(map[string][]byte)
	for _, name := range files { // everything is read before anything is written
		old, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		text := old
		switch {
		case strings.HasSuffix(name, ".go"):
			text, err = r.goFile(name, old)
		case filepath.Base(name) == "go.mod":
			text, err = r.user(name, old)
		default:
			text = []byte(r.text(string(old)))
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(text, old) {
			changed[name] = text
		}
	}
	if err := mod.AddModuleStmt(to); err != nil {
		return err
	}
	if changed["go.mod"], err = mod.Format(); err != nil {
		return err
	}
	for name, text := range changed {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { // keeps the mode of a file that exists
			return err
		}
	}
	fmt.Printf("%s is now %s: %d files changed\n", r.from, to, len(changed))
	return nil
}

// sources lists the files of dir that may contain the path of the module, and the packages, with "" for the
// package in dir itself. Raw results are left out. Other modules are left out unless they use the module, such
// as examples.
func sources(dir, module string) (files []string, packages map[string]bool, err error) {
	packages = make(map[string]bool)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if e.IsDir() {
			other, err := readModule(path)
			apart := err == nil && !requires(other, module)
			base := e.Name()
			if name != "." && (apart || base == "testdata" || base == "results" ||
				base != ".ci" && strings.HasPrefix(base, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".go":
			packages[strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), ".")] = true
		case ".md", ".sh":
		default:
			if name != "Makefile" && !strings.HasPrefix(name, ".ci/") && filepath.Base(name) != "go.mod" {
				return nil
			}
		}
		files = append(files, name)
		return nil
	})
	return files, packages, err
}

// requires reports whether a module uses another module.
func requires(mod *modfile.File, other string) bool {
	return slices.ContainsFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == other })
}

// user returns the text of go.mod, with the new path, for a module that uses the moved module.
func (r *rewriter) user(name string, text []byte) ([]byte, error) {
	mod, err := modfile.Parse(name, text, nil)
	if err != nil || !requires(mod, r.from) {
		return text, err
	}
	var all []*modfile.Require
	for _, q := range mod.Require {
		if q.Mod.Path == r.from {
			q = &modfile.Require{Mod: module.Version{Path: r.to, Version: q.Mod.Version}}
		}
		all = append(all, q)
	}
	mod.SetRequireSeparateIndirect(all) // r.from goes, and r.to is where "go mod tidy" has it
	for _, q := range mod.Replace {
		if q.Old.Path == r.from {
			err = errors.Join(err, mod.AddReplace(r.to, q.Old.Version, q.New.Path, q.New.Version),
				mod.DropReplace(r.from, q.Old.Version))
		}
	}
	if below, ok := strings.CutPrefix(mod.Module.Mod.Path, r.from+"/"); ok { // the laboratory
		err = errors.Join(err, mod.AddModuleStmt(r.to+"/"+below))
	}
	if err != nil {
		return nil, err
	}
	mod.SortBlocks()
	mod.Cleanup()
	return mod.Format()
}

// rewriter replaces the module path from by to.
type rewriter struct {
	from, to string
	packages map[string]bool
	path     *regexp.Regexp // from/ and what may be a package
	root     *regexp.Regexp // from in an import declaration
}

func newRewriter(from, to string, packages map[string]bool) *rewriter {
	quoted := regexp.QuoteMeta(from)
	return &rewriter{from, to, packages,
		regexp.MustCompile(`(^|[^\w/.~$}-])` + quoted + `/(\.\.\.|\w+(?:/\w+)*)`),
		regexp.MustCompile(`(?m)^((?://)?\s*(?:import\s+)?(?:\w+\s+)?)"` + quoted + `"$`),
	}
}

// text rewrites the package paths and the imports that prose, a script or a comment names.
func (r *rewriter) text(s string) string {
	if before, rest, ok := strings.Cut(s, unhosted); ok {
		s = before + "```sh\ngo get " + r.to + "\n```\n" + rest
	}
	s = r.root.ReplaceAllString(s, `${1}"`+r.to+`"`)
	return r.path.ReplaceAllStringFunc(s, func(match string) string {
		m := r.path.FindStringSubmatch(match)
		for p := m[2]; p != "."; p = path.Dir(p) {
			if p == "..." || r.packages[p] {
				return m[1] + r.to + "/" + m[2]
			}
		}
		return match
	})
}

// unhosted is the text in docs/library.md as long as the module has no path that go get finds.
const unhosted = "The module is called `dyad` until it is hosted. In another module:\n\n```\nrequire dyad " +
	"v0.0.0\nreplace dyad => ../dyad\n```\n\n`make home MODULE=example.org/team/dyad` gives it the path that it will be " +
	"fetched by.\n"

// goFile rewrites the imports and the comments of a Go file, and no other string of it.
func (r *rewriter) goFile(name string, text []byte) ([]byte, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	type edit struct {
		at, end int
		text    string
	}
	var edits []edit
	replace := func(n ast.Node, with string) {
		at, end := files.Position(n.Pos()).Offset, files.Position(n.End()).Offset
		if string(text[at:end]) != with {
			edits = append(edits, edit{at, end, with})
		}
	}
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(path, r.from); ok && (rest == "" || rest[0] == '/') {
			replace(i.Path, strconv.Quote(r.to+rest))
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			replace(c, r.text(c.Text))
		}
	}
	if edits == nil {
		return text, nil
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.at - a.at })
	out := slices.Clone(text)
	for _, e := range edits {
		out = slices.Replace(out, e.at, e.end, []byte(e.text)...)
	}
	return format.Source(out) // imports are sorted
}

// publish writes the module in dir to the folder proxy, as the protocol of module
// proxies lays it out (go.dev/ref/mod#goproxy-protocol).
func publish(dir, proxy, version string) error {
	mod, err := readModule(dir)
	if err != nil {
		return err
	}
	m := module.Version{Path: mod.Module.Mod.Path, Version: version}
	if err := module.Check(m.Path, m.Version); err != nil {
		return fmt.Errorf("%w; first give the module a path that a proxy can serve", err)
	}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	text, err := mod.Format()
	if err != nil {
		return err
	}
	z, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	info := fmt.Sprintf("{\"Version\":%q,\"Time\":%q}\n", version, time.Now().UTC().Format(time.RFC3339))
	return errors.Join(
		zip.CreateFromDir(z, m, dir),
		z.Close(),
		os.WriteFile(filepath.Join(at, version+".mod"), text, 0o644),
		os.WriteFile(filepath.Join(at, version+".info"), []byte(info), 0o644),
		os.WriteFile(filepath.Join(at, "list"), []byte(version+"\n"), 0o644),
	)
}
