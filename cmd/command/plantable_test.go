package command

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// sigma is the noise that plan prints, in the report or, where paper mode refuses, in
// the reason.
func sigma(t *testing.T, args ...string) float64 {
	t.Helper()
	code, out, errs := dyad(t, t.TempDir(), append([]string{"plan", "--json"}, args...)...)
	if code == exitOK {
		var r algorithms.Report
		must.Do(t, json.Unmarshal([]byte(out), &r))
		if r.Word("constants_origin") != "asserted by the user" ||
			!strings.Contains(strings.Join(r.Guarantee.Assumptions, " "), "asserted by the user") {
			t.Fatalf("plan %v does not say that the constants are asserted:\n%s", args, out)
		}
		return r.Number("sigma")
	}
	found := regexp.MustCompile(`never takes a step .* noise sigma = ([0-9.e+-]+)`).FindStringSubmatch(errs)
	if code != exitInput || found == nil {
		t.Fatalf("plan %v: exit %d\n%s", args, code, errs)
	}
	return must.Get(strconv.ParseFloat(strings.TrimSuffix(found[1], ";"), 64))(t)
}

// TestPlanTable: plan with explicit constants gives the table of docs/theory.md#offpair
// (G = L = 4, diameter 2, epsilon = 1, delta = 1/n) to three digits. The limit T = inf of
// gradient descent is reached by a million steps: 1 - eta alpha is at most 0.9997.
func TestPlanTable(t *testing.T) {
	rows := []struct {
		n       int
		alpha   float64
		columns [5]float64 // paper; equalising H=1 Dg=8, H=1 Dg=4, H=4 Dg=4; GD T=inf Dg=4
	}{
		{64, 1e-3, [5]float64{6156, .4329, .2164, .8657, 3.463}},
		{64, 1e-2, [5]float64{615.6, .4329, .2164, .8657, 3.463}},
		{64, .1, [5]float64{61.56, .4329, .2164, .8657, 2.164}},
		{64, 1, [5]float64{6.156, .4329, .2164, .8657, .2164}},
		{256, 1e-3, [5]float64{2354, .1359, .06794, .2717, 4.348}},
		{256, 1e-2, [5]float64{235.4, .1359, .06794, .2717, 4.348}},
		{256, .1, [5]float64{23.54, .1359, .06794, .2717, .6794}},
		{256, 1, [5]float64{2.354, .1359, .06794, .2717, .06794}},
		{1024, 1e-3, [5]float64{819.4, .04033, .02017, .08067, 5.163}},
		{1024, 1e-2, [5]float64{81.94, .04033, .02017, .08067, 2.017}},
		{1024, .1, [5]float64{8.194, .04033, .02017, .08067, .2017}},
		{1024, 1, [5]float64{.8194, .04033, .02017, .08067, .02017}},
		{65536, 1e-3, [5]float64{25.76, .0008874, .0004437, .001775, .4437}},
		{65536, 1e-2, [5]float64{2.576, .0008874, .0004437, .001775, .04437}},
		{65536, .1, [5]float64{.2576, .0008874, .0004437, .001775, .004437}},
		{65536, 1, [5]float64{.02576, .0008874, .0004437, .001775, .0004437}},
	}
	agree := func(got, want float64) bool { return math.Abs(got/want-1) < 1e-3 } // a table entry has four digits
	for i, r := range rows {
		if !sizes.Full() && (i+i/4)%2 == 0 { // every n and every alpha twice
			continue
		}
		if testing.Short() && r.n != 256 {
			continue // arithmetic on one goroutine
		}
		base := func(algorithm string, dg, alpha float64, more ...string) []string {
			return append([]string{"-n", fmt.Sprint(r.n), "-d", "8", "--algorithm", algorithm, "--epsilon", "1", "--delta",
				fmt.Sprint(1 / float64(r.n)),
				"--G", "4", "--L", "4", "--Dg", fmt.Sprint(dg), "--radius-diameter", "2", "--alpha", fmt.Sprint(alpha)}, more...)
		}
		limit := base("dpgdsc", 4, r.alpha, "--step-size", "0.3", "--steps", "1000000")
		got := [5]float64{
			sigma(t, base("offpairstrc", 8, r.alpha, "--mode", "paper")...),
			sigma(t, base("offpairc", 8, 0, "--H", "1")...), // the table's columns are of the schedule without alpha
			sigma(t, base("offpairc", 4, 0, "--H", "1")...),
			sigma(t, base("offpairc", 4, 0, "--H", "4")...),
			sigma(t, limit...),
		}
		for i := range got {
			if !agree(got[i], r.columns[i]) {
				t.Errorf("n = %d, alpha = %g, column %d: sigma %.5g, the table says %.4g", r.n, r.alpha, i+1, got[i], r.columns[i])
			}
		}
		// Control: another Dg and fewer steps are seen.
		if agree(sigma(t, base("offpairc", 4.04, 0, "--H", "1")...), r.columns[2]) {
			t.Error("the comparison does not see 1 % of Dg")
		}
		if r.alpha == .1 && r.n > 64 && agree(sigma(t, base("dpgdsc", 4, r.alpha, "--step-size", "0.3", "--steps", "150")...),
			r.columns[4]) {
			t.Error("the comparison does not see a finite number of steps")
		}
	}
}

// TestPlanRefusesInconsistentConstants names the flags by what they contradict.
func TestPlanRefusesInconsistentConstants(t *testing.T) {
	sizes.NotShort(t, "slow")
	for args, want := range map[string]string{
		"--G 1 --Dg 3": "Dg = 3 exceeds 2 G = 2",
		"--Dg 9":       "exceeds 2 G",
		"--G=-1":       "G is -1",
		"--G 0":        "G is 0",
		"--G NaN":      "G is NaN",
		"--G Inf":      "G is +Inf",
		"--L=-1":       "L is -1",
		"--L Inf":      "L is +Inf",
		"--Dg 0":       "Dg is 0",
		"--alpha=-1":   "L2 weight is -1",
		"--alpha NaN":  "L2 weight is NaN",
		"--H 0":        "--H is 0",
		"--total-step 1 --steps 10 --step-size 0.1":           "leave one of the three out",
		"--total-step 1 --mode paper":                         "only dpgdc takes --total-step",
		"--total-step 1 --mode paper --algorithm offpairstrc": "only dpgdc takes --total-step",
		"--H 1 --total-step 1":                                "leave one out",
		"--radius-diameter 0":                                 "--radius-diameter is 0",
		"--radius-diameter 2 --radius 1":                      "leave one out",
		"--compare --algorithm dpgdsc":                        "dyad plan train has it",
		"--compare --mode paper":                              "dyad plan train has it",
		"--compare --delta 0 --total-step 1 --l2 0":           "",
	} {
		code, out, errs := dyad(t, t.TempDir(), append([]string{"plan", "-n", "100", "-d", "3"}, strings.Fields(args)...)...)
		if want == "" && code == exitOK {
			continue
		}
		if want == "" || code != exitInput || out != "" || !strings.Contains(errs, want) {
			t.Errorf("plan %s: exit %d, want 64 and %q\n%s", args, code, want, out+errs)
		}
	}
	// A stated G alone drops the Dg of the loss, which belongs to its own G.
	ends(t, t.TempDir(), exitOK, "G = 1, L = 4, Dg = 2 (asserted by the user)", "plan", "-n", "100", "-d", "3", "--G", "1")
	ran(t, t.TempDir(), "train", "--G", "1").exits(exitInput)
}

// The ranking is the same as JSON and as text, needs no data, and follows the flags.
func TestCompareJSON(t *testing.T) {
	sizes.NotShort(t, "slow")
	ranking := func(args ...string) (c algorithms.Comparison) {
		t.Helper()
		ran(t, t.TempDir(), append([]string{"--json", "plan", "compare", "-n", "400", "-d", "5"},
			args...)...).exits(exitOK).decode(&c)
		return c
	}
	c := ranking()
	all := len(algorithms.Catalog()) + len(algorithms.StreamCatalog())
	if len(c.Rows)+len(c.Excluded) != all || c.Recommended == "" {
		t.Errorf("%d ranked, %d not, of %d; recommended %q", len(c.Rows), len(c.Excluded), all, c.Recommended)
	}
	_, text, _ := dyad(t, t.TempDir(), "plan", "compare", "-n", "400", "-d", "5")
	for _, r := range c.Rows {
		if !strings.Contains(text, fmt.Sprintf("%s ", r.Algorithm)) ||
			!strings.Contains(text, fmt.Sprintf(" %.3g ", r.Noise)) {
			t.Errorf("the text lacks %s with noise %.3g", r.Algorithm, r.Noise)
		}
	}
	metric := ranking("--task", "metric", "--epsilon", "4")
	asserted := ranking("--G", "4", "--Dg", "8", "--radius", "1")
	if metric.Loss == c.Loss || metric.Epsilon != 4 || asserted.Origin != "asserted by the user" ||
		asserted.Diameter != 8 {
		t.Errorf("flags are ignored: %+v, %+v", metric, asserted)
	}
}
