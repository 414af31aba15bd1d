package tree

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// merged are tests of internal/tree/testdata/names.txt that have another name today.
var merged = map[string]string{
	"TestCUDAOnTheHost":                  "TestHost", // one framework in engine/cuda, run by make host
	"TestClustersAreAudited":             "TestKindsAreAudited",
	"TestEvaluationIsAudited":            "TestKindsAreAudited",
	"TestEvaluationOfNeighbours":         "TestKindsOfEverySize", // one table of neighbours by kind of run
	"TestClustersOfEverySize":            "TestKindsOfEverySize",
	"TestCurvesOfEverySize":              "TestKindsOfEverySize",
	"TestFiguresOfEverySize":             "TestKindsOfEverySize",
	"TestThresholdsOfEverySize":          "TestKindsOfEverySize",
	"TestRandomStoppingOfEverySize":      "TestKindsOfEverySize",
	"TestHoeffdingCoverage":              "TestIntervalValues",                  // there is one method of intervals
	"TestLabelGapDoesNotCancel":          "TestRankingAccuracyEqualsDefinition", // pairs have one weight
	"TestLabelGapOutlier":                "TestRankingAccuracyEqualsDefinition",
	"TestKilledCurvesAreResumed":         "TestKilledRunsAreResumed",
	"TestFullBatchRecursions":            "TestRecursions", // of passes and baselines, too
	"TestOffGIGAIsTheRecursion":          "TestRecursions",
	"TestParticipationLeakIsCaught":      "TestParticipationLeakIsCaught", // of the audit of messages; the other one had bounds of its own
	"TestKilledClusteringsAreResumed":    "TestKilledRunsAreResumed",      // one table for every kind
	"TestKilledEvaluationsAreResumed":    "TestKilledRunsAreResumed",
	"TestKilledSearchesAreResumed":       "TestKilledRunsAreResumed",
	"TestKilledSearchOfPersonsIsResumed": "TestKilledRunsAreResumed",
	"TestRequestsInWorkKeepTheirPlace":   "TestRequestsInWorkKeepTheirShare",
	"TestSearchOfNeighbours":             "TestKindsOfEverySize",
	"TestSearchOfReplacedPersons":        "TestKindsOfEverySize",
	"TestUnchargedRunIsCaught":           "TestUnchargedRunIsCaught", // of package algorithms, for every promise of a run
	"TestWgmmaIsChosen":                  "TestVariantsAreRefused",
	"TestA7aIsSparse":                    "TestRealData",
	"TestBasisIsAMapOfOneRecord":         "TestInteractionsAreAMapOfOneRecord",
}

var testName = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w+)\(`)

// lost returns the names that stand more often in want than in have, and names of today that are not there.
func lost(want []string, have map[string]int) (out []string) {
	left := maps.Clone(have)
	for _, name := range want {
		if today := merged[name]; today != "" { // several may be one today
			if have[today] < 1 {
				out = append(out, today)
			}
		} else if left[name]--; left[name] < 0 {
			out = append(out, name)
		}
	}
	return out
}

// TestNoTestIsLost: every test, fuzz target and example that the project had before tests were made faster is still there, in any
// package of either module.
func TestNoTestIsLost(t *testing.T) {
	t.Chdir("../..")
	have := map[string]int{}
	for _, s := range everything(t) {
		for _, m := range testName.FindAllStringSubmatch(s.text, -1) {
			if s.test {
				have[m[1]]++
			}
		}
	}
	text := must.Get(os.ReadFile(filepath.FromSlash("internal/tree/testdata/names.txt")))(t)
	names := strings.Fields(string(text))
	if len(names) < 1700 {
		t.Fatalf("names.txt has %d names", len(names))
	}
	for _, name := range lost(names, have) {
		t.Errorf("%s is gone; if another test does what it did, name that test in merged", name)
	}
	if len(lost([]string{"TestThatIsGone"}, have)) != 1 {
		t.Error("a lost test is not noticed")
	}
}
