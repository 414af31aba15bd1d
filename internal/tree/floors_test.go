package tree

import (
	"fmt"
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// mostUpward is the largest number of files of a package that may use a declaration of a file above them.
// It may only get smaller.
const mostUpward = 12

// uses maps a file to the files of its package whose names it uses.
type uses map[string]map[string]bool

// arrowsOf returns the uses of the files of one package. A name counts if it is declared at the top level and is not
// the name of a field or method.
func arrowsOf(files map[string]*ast.File) uses {
	declared := map[string]string{}
	for file, f := range files {
		for name := range f.Scope.Objects { //nolint:staticcheck // the parser resolves names within a file without types
			declared[name] = file
		}
	}
	all := uses{}
	for file, f := range files {
		all[file] = map[string]bool{}
		for _, id := range f.Unresolved { //nolint:staticcheck // as above
			if of, ok := declared[id.Name]; ok && of != file {
				all[file][of] = true
			}
		}
	}
	return all
}

// upward returns the files that use a file above them when the files stand on floors, each above the files that it
// uses as far as possible. The floors are found by moving one file at a time while that leaves fewer such uses.
func upward(all uses) (files []string) {
	floors := slices.Sorted(maps.Keys(all)) // from the top down
	wrong := func() (n int) {
		for i, upper := range floors {
			for _, lower := range floors[i+1:] {
				if all[lower][upper] {
					n++
				}
			}
		}
		return n
	}
	for best := wrong(); ; {
		before := best
		for _, file := range slices.Clone(floors) {
			from := slices.Index(floors, file)
			rest := slices.Delete(slices.Clone(floors), from, from+1)
			place, least, now := 0, 0, 0 // of the uses between this file and the others, relative to the top floor
			for i, other := range rest {
				if all[other][file] {
					now--
				}
				if all[file][other] {
					now++
				}
				if now < least {
					place, least = i+1, now
				}
			}
			floors = slices.Insert(rest, place, file)
		}
		if best = wrong(); best >= before {
			break
		}
	}
	for i, lower := range floors {
		if slices.ContainsFunc(floors[:i], func(upper string) bool { return all[lower][upper] }) {
			files = append(files, lower)
		}
	}
	return files
}

// TestFilesStandOnFloors: in every package at most mostUpward files use a file above them.
func TestFilesStandOnFloors(t *testing.T) {
	t.Chdir("../..")
	packages := map[string]map[string]*ast.File{}
	for s := range sources(t) {
		if packages[s.room] == nil {
			packages[s.room] = map[string]*ast.File{}
		}
		packages[s.room][s.name] = s.file
	}
	for dir, files := range packages {
		if up := upward(arrowsOf(files)); len(up) > mostUpward {
			t.Errorf("%s: %d files use a declaration of a file above them, want at most %d: %s\nmove the declaration to a file "+
				"below, or split the package", dir, len(up), mostUpward, strings.Join(up, " "))
		}
	}
}

// Files that all use each other have no floors, and files that use each other in one direction have. A file uses
// another by the name of a declaration, and not by the names of fields and methods.
func TestFloorsAreFound(t *testing.T) {
	t.Chdir("../..")
	circle, chain := uses{}, uses{}
	for i := range 30 {
		name := fmt.Sprint("f", i)
		circle[name], chain[name] = map[string]bool{}, map[string]bool{}
		for j := range 30 {
			circle[name][fmt.Sprint("f", j)] = j != i
			chain[name][fmt.Sprint("f", j)] = (j*7+3)%30 < (i*7+3)%30
		}
	}
	if up := upward(circle); len(up) != 29 {
		t.Errorf("a circle of 30 files has %d that look upward", len(up))
	}
	if up := upward(chain); len(up) != 0 {
		t.Errorf("files that use each other in one direction look upward: %s", up)
	}
	files := map[string]*ast.File{}
	for name, text := range map[string]string{
		"upper.go": "package x\n\nvar v = value{Upper: 1}\n\nfunc Upper() { v.method() }\n",
		"lower.go": "package x\n\ntype value struct{ Upper, v int }\n\nfunc (x value) method() { x.Upper = x.v }\n",
	} {
		files[name] = made(t, name, text).file
	}
	want := uses{"upper.go": {"lower.go": true}, "lower.go": {}}
	if got := arrowsOf(files); !reflect.DeepEqual(got, want) {
		t.Errorf("the uses are %v, want %v", got, want)
	}
}
