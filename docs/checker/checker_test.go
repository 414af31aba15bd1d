package checker

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// An expert reads all of it: at most 580 lines besides comments and blank lines, the program included, and 321 more for runs
// whose rows state their numbers and for what files say, and 133 for networks.
func TestCheckerIsShort(t *testing.T) {
	lines := map[string]int{}
	for _, name := range []string{"checker.go", "theorems.go", "numbers.go", "check/main.go", "kinds.go", "networks.go"} {
		text := must.Get(os.ReadFile(name))(t)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines[map[string]string{"kinds.go": "kinds", "networks.go": "networks"}[name]]++
			}
		}
		if strings.Contains(string(text), `"dyad/`) && name != "check/main.go" {
			t.Errorf("%s imports code of the program", name)
		}
	}
	if lines[""] > 580 || lines["kinds"] > 321 || lines["networks"] > 133 {
		t.Errorf("the checker has %d lines, %d in kinds.go and %d in networks.go", lines[""], lines["kinds"], lines["networks"])
	}
}

// sources are the files of the checker.
func sources(t *testing.T) (names []string) {
	t.Helper()
	all, err := filepath.Glob("*.go")
	if err != nil || len(all) < 4 {
		t.Fatal(all, err)
	}
	for _, name := range all {
		if !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}
	return names
}

// The sections that the checker names are in docs/theory.md with these titles.
func TestSectionsAreThoseOfTheTheory(t *testing.T) {
	text := must.Get(os.ReadFile("../theory.md"))(t)
	for number, title := range map[string]string{
		"2.2": "Losses of a score difference", "2.3": "Losses of a Mahalanobis distance", "2.4": "The diameter of Mahalanobis losses", "2.5": "Symmetric coordinates",
		"3.2": "One mean gradient", "3.3": "Steps that do not expand", "3.4": "Descent: the last iterate", "3.5": "Descent: averages", "3.6": "Output perturbation",
		"3.7": "Noise on every gradient", "3.9": "Hidden iterates", "3.10": "Persons", "4.1": "Where rounding enters", "5.1": "Gaussian noise", "5.2": "Laplace noise", "5.3": "K-norm noise",
		"6.1": "Events and adaptive composition", "6.2": "Gaussian differential privacy", "6.3": "Pure epsilon", "7.14": "Moments start and preconditioned gradients",
		"8.3": "What a record moves in a stream", "9.2": "Disjoint batches", "9.8": "Tuples", "9.11": "Moments of pairs", "11.16": "Clusters",
		"13.2": "Sums over pairs of classes", "13.3": "Cells and classifiers", "13.4": "Where the scores lie", "13.5": "One budget",
		"11.2": "Counts and sums by class", "11.3": "Signed sums", "11.4": "Second moments", "11.5": "A signed sum and second moments in one release",
		"11.6": "Moments of both classes in one release", "11.7": "A centre, a count and weights that were released", "11.13": "A metric from the moments of both classes", "11.14": "Moments of persons",
	} {
		must.Contain(t, string(text), fmt.Sprintf("\n### %s %s\n", number, title))
	}
	for _, name := range sources(t) {
		code := must.Get(os.ReadFile(name))(t)
		for _, m := range regexp.MustCompile(`[sS]ections? ([0-9]+\.[0-9]+)`).FindAllSubmatch(code, -1) {
			must.Contain(t, string(text), "\n### "+string(m[1])+" ")
		}
	}
}

// delta(epsilon), computed in multiple precision, is what the accountant computes and never above it.
func TestGaussianDelta(t *testing.T) {
	for _, mu := range []float64{0.01, 0.3, 1, 4.5} {
		for _, epsilon := range []float64{0.05, 0.5, 1, 3, 8} {
			if epsilon/mu > 25 {
				continue
			}
			mine, _ := gaussianDelta(real(epsilon), real(mu)).Float64()
			if other := account.GDPDelta(epsilon, mu); !(mine <= other) || !(other <= mine*(1+1e-9)) {
				t.Errorf("mu %v, epsilon %v: delta %v, the accountant has %v", mu, epsilon, mine, other)
			}
		}
	}
	for x, want := range map[float64]float64{0: 1, 1: math.E, -3.5: math.Exp(-3.5), 700: math.Exp(700)} {
		if got, _ := exp(real(x)).Float64(); math.Abs(got/want-1) > 1e-13 {
			t.Errorf("exp(%v) = %v", x, got)
		}
	}
}

// The mu of a choice is right to 2^-300, so that a file cannot state less, and at most what the accountant computes.
func TestPureMu(t *testing.T) {
	for _, epsilon := range []float64{1e-9, 0.01, 0.7, 3, 15} {
		mu := pureMu(epsilon)
		if off := sub(normal(quo(mu, real(2))), sigmoid(real(epsilon))); off.Sign() != 0 && off.MantExp(nil) > -300 {
			t.Errorf("epsilon %v: mu is off by 2^%d", epsilon, off.MantExp(nil))
		}
		if mine, _ := mu.Float64(); !(mine <= account.PureGDPMu(epsilon)) || !(mine*(1+1e-10) >= account.PureGDPMu(epsilon)) {
			t.Errorf("epsilon %v: mu %v, the accountant has %v", epsilon, mine, account.PureGDPMu(epsilon))
		}
	}
}

// The cover of the cube proves 5.039 at unit bounds, where a difference of 5.013 is attained (section 2.3),
// and does not prove less than that.
func TestSpread(t *testing.T) {
	h := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	proved := func(dg float64) bool {
		return spreadAtMost(dg/4, 4, h, [3]float64{0, 0, math.Pi / 4}, [3]float64{1.5708, 1.5708, 0.7854}, 0)
	}
	if !proved(5.039) || proved(5.012) {
		t.Errorf("5.039 is proved: %v, 5.012: %v", proved(5.039), proved(5.012))
	}
}

// Documents that are no models are refused and end no program.
func TestHostileFiles(t *testing.T) {
	for _, text := range []string{"", "{", "null", "[]", `"x"`, "{}", `{"format":"dyad-model/1"}`, `{"format":"dyad-model/1","plan":{}}`, `{"format":"dyad-model/1","plan":[1],"checksum":3}`, strings.Repeat("[", 1e6)} {
		if v := Check([]byte(text)); v.Verdict == Verified || v.Why == "" {
			t.Errorf("%.30q: %+v", text, v)
		}
	}
}
