package command

import (
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/account"
)

// --delta 0 asks for pure epsilon; without the flag delta is the default.
func TestDeltaZeroIsPure(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 300)
	base := []string{"--schema", "patients.yaml", "--epsilon", "0.5"}
	for _, c := range []struct {
		args []string
		code int
		want []string
		not  string
	}{
		{append([]string{"plan", "-n", "300"}, base...), exitOK, []string{"(0.5, 1e-05)-differentially private", "Gaussian"}, "pure"},
		{append([]string{"plan", "-n", "300", "--delta", "0"}, base...), exitOK, []string{"0.5-differentially private (pure: delta = 0)", "K-norm"}, "Gaussian"},
		{append([]string{"plan", "-n", "300", "--delta", "0", "--mode", "paper"}, base...), exitOK, []string{"Laplace", "claims epsilon 0.5"}, "sigma ="},
		{append([]string{"plan", "-n", "300", "--delta", "0", "--mode", "paper", "--algorithm", "offpairc"}, base...), exitInput, []string{"delta > 0"}, ""},
		{append([]string{"plan", "-n", "300", "--delta", "-0.5"}, base...), exitInput, []string{"delta"}, ""},
		{append([]string{"train", "--verbose", "--data", "patients.csv", "--delta", "0"}, base...), exitOK, []string{"(pure: delta = 0)", "charged to", "1 run,", "pure epsilon 0.5"}, "Gaussian"},
		{append([]string{"train", "--verbose", "--data", "patients.csv", "--delta", "0", "--out", "b.json", "--algorithm", "offpairstrc"}, base...), exitOK, []string{"2 runs", "pure epsilon 1"}, "sigma ="},
		{append([]string{"train", "--verbose", "--data", "patients.csv", "--out", "c.json"}, base...), exitOK, []string{"3 runs", "epsilon 1.42"}, "pure epsilon"},
	} {
		out, errs := ran(t, dir, c.args...).exits(c.code).texts()
		must.Contain(t, out+errs, c.want...)
		if c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("dyad %v: the output has %q:\n%s", c.args, c.not, out)
		}
	}
}

func TestAccountPure(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args                     []string
		noise                    string
		scale, norm, epsilon, mu float64
	}{
		{[]string{"--epsilon", "1", "--delta", "0", "--coordinates", "10"}, "K-norm", 1, math.Sqrt(110), 1, 0},
		{[]string{"--epsilon", "1", "--delta", "0", "--coordinates", "10", "--noise", "laplace"}, "Laplace", math.Sqrt(10), 10 * math.Sqrt2, 1, 0},
		{[]string{"--epsilon", "2", "--delta", "0", "--steps", "4", "--sensitivity", "0.1"}, "K-norm", 0.2, 0.2 * math.Sqrt2, 2, 0},
		{[]string{"--scale", "2", "--delta", "0", "--noise", "laplace", "--coordinates", "4", "--steps", "3"}, "Laplace", 2, 4 * math.Sqrt2, 3, 0},
		{[]string{"--scale", "5", "--delta", "0", "--coordinates", "400"}, "K-norm", 5, 5 * math.Sqrt(400*401), 0.2, 0},
		{[]string{"--sigma", "4"}, "Gaussian", 0, 0, 0.9266, 0.25},
	} {
		r := decoded[accountResult](t, dir, append([]string{"account", "--json"}, c.args...)...)
		near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-3*want }
		if r.Noise != c.noise || !near(r.Scale, c.scale) || !near(r.NoiseNorm, c.norm) || r.Epsilon == nil || !near(*r.Epsilon, c.epsilon) || !near(r.Mu, c.mu) {
			t.Errorf("dyad account %v: %+v, want %+v", c.args, r, c)
		}
	}
	for _, args := range [][]string{
		{"--delta", "0"}, {"--delta", "0", "--sigma", "1"}, {"--scale", "1"}, {"--delta", "0", "--epsilon", "1", "--scale", "1"},
		{"--delta", "0", "--scale", "-1"}, {"--delta", "0", "--epsilon", "1", "--coordinates", "0"}, {"--delta", "0", "--epsilon", "1", "--noise", "staircase"},
		{"--sigma", "1", "--rate", "2"}, {"--sigma", "1", "--batch", "3"}, {"--sigma", "1", "--batch", "3", "--records", "2"},
		{"--sigma", "1", "--batch", "3", "--records", "9", "--rate", "0.1"}, {"--sigma", "1", "--group", "0"}, {"--sigma", "1", "--epsilon", "1"},
		{"--sigma", "1", "--batch", "3", "--records", "9", "--relation", "add/remove"}, {"--noise", "knorm", "--scale", "1", "--rate", "0.1"},
	} {
		ran(t, dir, append([]string{"account"}, args...)...).exits(exitInput)
	}
}

// The accountants stand side by side, the guarantee is the smallest, and it
// converts to groups and other relations where that holds.
func TestAccountSideBySide(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	dir := t.TempDir()
	convert := func(args ...string) accountResult {
		r := decoded[accountResult](t, dir, append([]string{"account", "--json"}, args...)...)
		if r.Epsilon == nil {
			t.Fatalf("%+v", r)
		}
		return r
	}
	gauss := convert("--sigma", "20", "--steps", "10", "--group", "3", "--padded")
	for _, b := range gauss.Bounds {
		if b.Epsilon == nil || *b.Epsilon < *gauss.Epsilon || *b.Epsilon > 1.5**gauss.Epsilon {
			t.Errorf("%s says %+v, the smallest is %g", b.Accountant, b, *gauss.Epsilon)
		}
	}
	if len(gauss.Converted) != 2 || gauss.Converted[0].Epsilon <= 2.9**gauss.Epsilon || gauss.Converted[1].Epsilon != *gauss.Epsilon {
		t.Errorf("conversions of epsilon %g: %+v", *gauss.Epsilon, gauss.Converted)
	}
	if open := convert("--sigma", "20"); open.Converted[0].Refused == "" {
		t.Errorf("replace-one was converted to add/remove without padding: %+v", open.Converted)
	}
	sampled := convert("--sigma", "1", "--steps", "1000", "--rate", "0.01", "--relation", "add/remove")
	if *sampled.Epsilon < 1 || *sampled.Epsilon > 4 || sampled.Bounds[0].Epsilon != nil {
		t.Errorf("1000 sampled releases: %+v", sampled)
	}
	// Replacing a record costs less than removing and adding one, and several records of one
	// person less than several persons, where the law of a batch is known.
	if c := sampled.Converted[0]; c.Delta != 1e-5 || c.Epsilon <= *sampled.Epsilon || c.Epsilon >= 1.9**sampled.Epsilon {
		t.Errorf("1000 sampled releases, replace-one: %+v", c)
	}
	group := func(args ...string) (one float64, all accountConversion) {
		r := convert(append(args, "--steps", "500", "--rate", "0.01", "--group", "4")...)
		return *r.Epsilon, r.Converted[0]
	}
	e := account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 2}, Rate: 0.01, Relation: account.ReplaceOne, Group: 4}, 500)
	var total account.Total
	must.Do(t, total.Compose(e))
	if one, all := group("--sigma", "2"); all.Delta != 1e-5 || all.Epsilon < total.Epsilon(1e-5)*(1-1e-9) || all.Epsilon <= one {
		t.Errorf("4 sampled records of one person: %+v, one record %g, the ledger would count %g", all, one, total.Epsilon(1e-5))
	}
	if one, all := group("--noise", "laplace", "--scale", "2"); all.Delta <= 1e-5 || all.Epsilon < 4*one {
		t.Errorf("4 sampled records of one person, Laplace noise: %+v, one record %g", all, one)
	}
	if many := convert("--sigma", "2", "--steps", "500", "--rate", "0.01", "--group", "257").Converted[0]; many.Refused == "" || many.Padded {
		t.Errorf("more records of one person than are accounted for: %+v", many)
	}
	target := convert("--epsilon", "1", "--steps", "100", "--batch", "50", "--records", "1000")
	if *target.Epsilon > 1 || *target.Epsilon < 0.999 {
		t.Errorf("noise for epsilon 1 gives %g", *target.Epsilon)
	}
}
