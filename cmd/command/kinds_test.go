package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// guards are the tests that attack a kind of run, each with its folder unless it is this one. Kinds of With have theirs by being in it (kindtest.Check).
type guards struct {
	crash   string // it is killed, resumed, and its files are counted
	silence string // nothing but its release tells of the records
	verify  string // its file is verified with its ledger, or not covered
	audit   string // its guarantee is attacked on neighbours
}

// guarded are the kinds of run, by command. A new kind gets its row here, and with it its tests.
var guarded = map[string]guards{
	"dyad train":            {"TestCheckpointCrashMatrix", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused", "../../algorithms:TestBruteForceNeighboursStayWithinCertificates"},
	"dyad online":           {"TestOnlineCrashMatrix", "TestNothingButTheReleaseTellsOfTheRecords", "TestStreamModelsAreComparedWithTheirCharge", "TestAuditOfStreamsAndMetrics"},
	"dyad search":           {"TestKilledRunsAreResumed", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused", "../../algorithms/search:TestSearchOfNeighbours"},
	"dyad pairs train":      {"TestPairsCrashMatrix", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused", "../../algorithms/pairs:TestAuditOfEveryVariant"},
	"dyad cluster":          {"TestKilledRunsAreResumed", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused", "../../algorithms/cluster:TestClusterSumsOfNeighbours"},
	"dyad local simulate":   {"TestLocalSimulateCrashMatrix", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused", "../../algorithms/local/localaudit:TestAttackWithoutPowerSaysSo"},
	"dyad evaluate private": {"TestKilledRunsAreResumed", "TestHeldOutAndNeighbourFiguresTellNothingElse", "TestGenuineFilesAreNeverRefused", "../../algorithms/evaluate:TestEvaluationOfNeighbours"},
	"dyad evaluate compare": {"TestKilledRunsAreResumed", "TestHeldOutAndNeighbourFiguresTellNothingElse", "TestGenuineFilesAreNeverRefused", "../../algorithms/evaluate:TestEvaluationOfNeighbours"},
	"dyad baseline":         {"TestCheckpointCrashMatrix", "TestBaselineIsTheModeOfTrain", "TestGenuineFilesAreNeverRefused", "TestBaselineIsTheModeOfTrain"}, // it promises nothing
	"dyad threshold":        {"TestKilledRunsAreResumed", "TestThresholdIsAFunctionOfTheRelease", "TestGenuineFilesAreNeverRefused", "../../algorithms/evaluate:TestEvaluationOfNeighbours"},
	"dyad lab curve":        {"TestKilledRunsAreResumed", "TestNothingButTheReleaseTellsOfTheRecords", "TestGenuineFilesAreNeverRefused", "../../algorithms/curve:TestPrivateCurveOfNeighbours"},
}

// TestEveryKindIsGuarded: whatever takes --resume charges, and has a row. Every test that a row names is there, in the tables of sizes and
// among the commands of the search for silence, too.
func TestEveryKindIsGuarded(t *testing.T) {
	parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	kinds := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, level := range leaf.AllFlags(false) {
			for _, f := range level {
				if f.Name == "resume" {
					kinds[commandLine(leaf)] = true
				}
			}
		}
	}
	silent := map[string]bool{}
	for _, args := range silentRuns() {
		silent["dyad "+args[0]], silent["dyad "+args[0]+" "+args[1]] = true, true
	}
	for kind := range kinds {
		row, ok := guarded[kind]
		if !ok {
			t.Errorf("%s charges and has no row: name the tests that kill it, compare its output, verify its file and attack its guarantee", kind)
		}
		if everySize[kind] == "" {
			t.Errorf("%s charges and is not in the table of sizes", kind)
		}
		if row.silence == "TestNothingButTheReleaseTellsOfTheRecords" && !silent[kind] {
			t.Errorf("%s is not among the commands of the search for silence", kind)
		}
		if row.verify == "TestGenuineFilesAreNeverRefused" && !slices.ContainsFunc(writes[strings.TrimPrefix(kind, "dyad ")], func(w written) bool { return w.charge && !w.none }) {
			t.Errorf("%s has no file that was charged in the table of files", kind)
		}
		for _, name := range []string{row.crash, row.silence, row.verify, row.audit} {
			if ok && !hasTest(t, name) {
				t.Errorf("%s: there is no test %s", kind, name)
			}
		}
	}
	for kind := range guarded {
		if !kinds[kind] {
			t.Errorf("a row is of %s, which charges nothing", kind)
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
