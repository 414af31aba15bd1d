package command

import (
	"regexp"
	"strings"
	"testing"

	"dyad/internal/sizes"
)

// A flag that has no effect with moments, or with another algorithm, is refused and named.
func TestMomentsFlagsAreHonouredOrRefused(t *testing.T) {
	sizes.NotShort(t, "slow")
	for args, want := range map[string]string{
		"--algorithm moments --G 4":                            "does not take --G",
		"--algorithm moments --Dg 4":                           "does not take --G",
		"--algorithm moments --steps 21":                       "the number of steps is 21, but it must be 1 to 20",
		"--algorithm moments --steps 2 --delta 0":              "delta > 0",
		"--algorithm moments --steps 2 --l2 0.1":               "L2 term",
		"--algorithm moments --steps 2 --second-moments none":  "steps need second moments",
		"--algorithm moments --step-share 0.1":                 "steps",
		"--algorithm dpgdsc --step-share 0.1":                  "does not take --step-share",
		"--algorithm moments --step-size 0.1":                  "does not take --step-size",
		"--algorithm moments --H 2":                            "does not take --total-step",
		"--algorithm moments --batch-records 5":                "does not take --batch-records",
		"--algorithm moments --every 10":                       "--every",
		"--algorithm moments --task metric":                    "metric",
		"--algorithm moments --group-sizes 60,40 --steps 2":    "query groups",
		"--algorithm moments --loss hinge":                     "--loss",
		"--algorithm moments --mode paper":                     "no paper mode",
		"--algorithm moments --second-moments none --ridge 2":  "a ridge or an L2 term needs second moments",
		"--algorithm moments --second-moments none --l2 0.1":   "a ridge or an L2 term needs second moments",
		"--algorithm moments --clip-radius 1e-200":             "Radius",
		"--algorithm dpgdsc --class-balance 0.3":               "does not take --class-balance",
		"--algorithm moments --loss logistic":                  "--loss",
		"--algorithm moments --loss square --loss-param m=2":   "--loss",
		"--algorithm moments --loss-clip 2":                    "--loss",
		"--algorithm dpftrl --every 10 --clip-radius 1":        "does not take --clip-radius",
		"--algorithm onpairc --every 10 --second-moments full": "does not take --second-moments",
		"--algorithm moments --radius 2 --l2 0.1":              "",

		"--task metric --algorithm moment-metric --Dg 4":                                          "does not take --G",
		"--task metric --algorithm moment-metric --steps 5":                                       "does not take --steps",
		"--task metric --algorithm moment-metric --H 2":                                           "does not take --total-step",
		"--task metric --algorithm moment-metric --batch-records 5":                               "does not take --batch-records",
		"--task metric --algorithm moment-metric --every 10":                                      "--every",
		"--algorithm moment-metric":                                                               "--task metric",
		"--task metric --algorithm moment-metric --group-sizes 60,40":                             "query groups",
		"--task metric --algorithm moment-metric --loss hinge":                                    "minimises no loss",
		"--task metric --algorithm moment-metric --mode paper":                                    "no paper mode",
		"--task metric --algorithm moment-metric --mode nonprivate":                               "no nonprivate mode",
		"--task metric --algorithm moment-metric --delta 0":                                       "delta > 0",
		"--task metric --algorithm moment-metric --l2 0.1":                                        "L2 term",
		"--task metric --algorithm moment-metric --ridge 2":                                       "does not take --ridge",
		"--task metric --algorithm moment-metric --class-balance 0.3":                             "does not take --class-balance",
		"--task metric --algorithm moment-metric --second-moments none":                           "does not take --second-moments",
		"--task metric --algorithm moment-metric --precision fp32":                                "does not take a precision",
		"--task metric --algorithm moment-metric --clip-radius 3":                                 "at most 2 R",
		"--task metric --algorithm dpgdsc --clip-radius 1":                                        "does not take --clip-radius",
		"--task metric --algorithm moment-metric --radius 2 --l2 0":                               "",
		"--task metric --algorithm moment-metric --radius 2 --clip-radius 0.5 --centre-share 0.3": "",
	} {
		code, out, errs := dyad(t, t.TempDir(), append([]string{"plan", "-n", "100", "-d", "3"}, strings.Fields(args)...)...)
		if want == "" && code == exitOK && strings.Contains(out, "norm r = 2\n") &&
			(strings.Contains(args, "metric") || strings.Contains(out, "alpha = 0.1;")) &&
			strings.Contains(out, "clipped to norm 0.5 ") == strings.Contains(args, "--clip-radius") && shareOfCentre.MatchString(out) == strings.Contains(args, "--centre-share") {
			continue
		}
		if want == "" || code != exitInput || out != "" || !strings.Contains(errs, want) {
			t.Errorf("plan %s: exit %d, want 64 and %q\n%s", args, code, want, out+errs)
		}
	}
}

// shareOfCentre is the row of the centre with 0.3 of the budget.
var shareOfCentre = regexp.MustCompile(`(?m) sum of records \(centre\) +3 +1 +0\.3 `)

// The same for moments-descent, which takes a loss, its constants, steps and the options of
// moments.
func TestMomentsDescentFlagsAreHonouredOrRefused(t *testing.T) {
	sizes.NotShort(t, "slow")
	for args, want := range map[string]string{
		"--step-size 0.1":                 "does not take --step-size",
		"--total-step 2":                  "does not take --total-step",
		"--batch-records 5":               "does not take --batch-records",
		"--every 10":                      "--every",
		"--task metric":                   "metric",
		"--group-sizes 60,40":             "query groups",
		"--mode paper":                    "no paper mode",
		"--steps 21":                      "1 to 20 gradients",
		"--gradient-share 1":              "below 1",
		"--second-moments none --ridge 2": "a ridge or an L2 term needs second moments",
	} {
		ran(t, t.TempDir(), append([]string{"plan", "-n", "100", "-d", "3", "--algorithm", "moments-descent"},
			strings.Fields(args)...)...).exits(exitInput).warns(want).printsOnly("")
	}
	for args, want := range map[string]string{
		"--loss hinge --radius 2 --l2 0.1 --steps 7": "hinge|r = 2\n|alpha = 0.1;|7 mean gradients",
		"--G 50 --Dg 60":                                         "Dg = 60|asserted by the user",
		"--gradient-share 0.5 --steps 2":                         "mean gradient                  3        2      0.5 ",
		"--class-balance 0.3 --public-centre 0":                  "one pass|share of positives 0.3|origin centre",
		"--loss exponential --second-moments diagonal --delta 0": "K-norm|second moments: diagonal",
		"--json --delta 1e-5":                                    `"gradients": 3|"gradient_noise"`,
	} {
		ran(t, t.TempDir(), append([]string{"plan", "-n", "100", "-d", "3", "--algorithm", "moments-descent"},
			strings.Fields(args)...)...).exits(exitOK).prints(strings.Split(want, "|")...)
	}
	ends(t, t.TempDir(), exitInput, "moments-descent does", "plan", "-n", "100", "-d", "3", "--algorithm", "moments",
		"--gradient-share", "0.2")
}
