package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms/attack/kinds"
	"dyad/internal/must"
)

// guards are the tests of this package that attack a kind of run; its guarantee is attacked on the neighbours of a row of kinds.Table. Kinds of With
// have theirs by being in it (kindtest.Check).
type guards struct {
	crash   string // it is killed, resumed, and its files are counted
	silence string // nothing but its release tells of the records
	verify  string // its file is verified with its ledger, or not covered
}

// guarded are the kinds of run, by command. A new kind gets its row here, and with it its tests.
var guarded = map[string]guards{
	"dyad train":            {"TestCheckpointCrashMatrix", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused"},
	"dyad online":           {"TestOnlineCrashMatrix", "TestNothingButTheReleaseTellsOfTheRecords", "TestStreamModelsAreComparedWithTheirCharge"},
	"dyad search":           {"TestKilledRunsAreResumed", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused"},
	"dyad pairs train":      {"TestPairsCrashMatrix", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused"},
	"dyad cluster":          {"TestKilledRunsAreResumed", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused"},
	"dyad local simulate":   {"TestLocalSimulateCrashMatrix", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused"},
	"dyad evaluate private": {"TestKilledRunsAreResumed", "TestHeldOutAndNeighbourFiguresTellNothingElse", "TestGenuineFilesAreNeverRefused"},
	"dyad evaluate compare": {"TestKilledRunsAreResumed", "TestHeldOutAndNeighbourFiguresTellNothingElse", "TestGenuineFilesAreNeverRefused"},
	"dyad baseline":         {"TestCheckpointCrashMatrix", "TestBaselineIsTheModeOfTrain", "TestGenuineFilesAreNeverRefused"}, // it promises nothing
	"dyad threshold":        {"TestKilledRunsAreResumed", "TestThresholdIsAFunctionOfTheRelease", "TestGenuineFilesAreNeverRefused"},
	"dyad lab curve":        {"TestKilledRunsAreResumed", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused"},
}

// TestEveryKindIsGuarded: whatever takes --resume charges, and has a row. Every test that a row names is there, in the tables of sizes and
// among the commands of the search for silence, too.
func TestEveryKindIsGuarded(t *testing.T) {
	parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	charging := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, level := range leaf.AllFlags(false) {
			for _, f := range level {
				if f.Name == "resume" {
					charging[leaf.FullPath()] = true
				}
			}
		}
	}
	silent := map[string]bool{}
	for _, args := range silentRuns() {
		silent["dyad "+args[0]], silent["dyad "+args[0]+" "+args[1]] = true, true
	}
	pinned := maps.Clone(silent)
	for _, args := range pinnedRuns(t) {
		pinned["dyad "+args[0]], pinned["dyad "+args[0]+" "+args[1]] = true, true
	}
	for kind := range charging {
		row, ok := guarded[kind]
		if !ok {
			t.Errorf("%s charges and has no row: name the tests that kill it, compare its output and verify its file", kind)
		}
		if everySize[kind] == "" {
			t.Errorf("%s charges and is not in the table of sizes", kind)
		}
		if row.silence == "TestNothingButTheReleaseTellsOfTheRecords" && !silent[kind] {
			t.Errorf("%s is not among the commands of the search for silence", kind)
		}
		if kind != "dyad baseline" && !pinned[kind] {
			t.Errorf("%s is not among the commands whose bytes are compared", kind)
		}
		if row.verify == "TestGenuineFilesAreNeverRefused" && !slices.ContainsFunc(writes[strings.TrimPrefix(kind, "dyad ")], func(w written) bool { return w.charge && !w.none }) {
			t.Errorf("%s has no file that was charged in the table of files", kind)
		}
		if !slices.ContainsFunc(kinds.Table(), func(r kinds.Row) bool { return slices.Contains(r.Commands, kind) }) {
			t.Errorf("%s charges and has no row of neighbours in package kinds: draw them, or name their test, or why there is no claim to attack", kind)
		}
		for _, name := range []string{row.crash, row.silence, row.verify} {
			if ok && !hasTest(t, name) {
				t.Errorf("%s: there is no test %s", kind, name)
			}
		}
	}
	for kind := range guarded {
		if !charging[kind] {
			t.Errorf("a row is of %s, which charges nothing", kind)
		}
	}
	for _, r := range kinds.Table() {
		for _, kind := range r.Commands {
			if !charging[kind] {
				t.Errorf("the row %s is of %s, which charges nothing", r.Name, kind)
			}
		}
		if r.Test != "" && !hasTest(t, "../../"+r.Test) {
			t.Errorf("the row %s: there is no test %s", r.Name, r.Test)
		}
	}
	if hasTest(t, "TestThatIsNotThere") || hasTest(t, "../../algorithms/search:TestVerify") {
		t.Error("a test that is not there is found")
	}
}

// hasTest reports whether a folder, "." without one, has a test.
func hasTest(t *testing.T, name string) bool {
	t.Helper()
	folder, test, ok := strings.Cut(name, ":")
	if !ok {
		folder, test = ".", name
	}
	files := must.Get(filepath.Glob(filepath.Join(folder, "*_test.go")))(t)
	for _, file := range files {
		f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == test {
				return true
			}
		}
	}
	return false
}
