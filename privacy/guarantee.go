package privacy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the form of a guarantee.
type Kind string

// The kinds of guarantee.
const (
	// None: no privacy guarantee at all.
	None Kind = "none"
	// Public: the data were declared public; nothing needs protection.
	Public Kind = "public data"
	// ApproxDP: (epsilon, delta)-differential privacy, with a mu-GDP curve behind it
	// unless batches were drawn in secret.
	ApproxDP Kind = "(epsilon, delta)-DP"
	// PureDP: epsilon-differential privacy, delta = 0.
	PureDP Kind = "epsilon-DP"
	// LocalDP: the messages of every user are epsilon-locally private, towards
	// everybody else including the server.
	LocalDP Kind = "epsilon-local-DP"
	// LabelLDP: as LocalDP for the label alone; the features are public.
	LabelLDP Kind = "label-local-DP"
)

// Guarantee holds all that may be printed about the privacy of a run
// (docs/theory.md#guarantee). Without one, the only true sentence is "no privacy
// guarantee". Fields are public numbers.
type Guarantee struct {
	Kind    Kind    `json:"kind"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Mu      float64 `json:"mu,omitempty"` // of mu-GDP, 0 if none

	Unit     string `json:"unit,omitempty"`     // whose data is protected, e.g. "one record"
	Relation string `json:"relation,omitempty"` // of neighbouring data sets
	Released string `json:"released,omitempty"` // what an adversary sees

	Assumptions []string `json:"assumptions,omitempty"` // each one is needed
	Derivation  string   `json:"derivation,omitempty"`  // theorem and numbers
	Warnings    []string `json:"warnings,omitempty"`    // what weakens or voids it

	Claim *Claim `json:"paper_claim,omitempty"` // in paper mode
}

// Claim holds a paper's statement for its own noise, next to the guarantee that this
// noise provably gives.
type Claim struct {
	Source  string  `json:"source"` // paper key and theorem
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Sigma is the standard deviation of the paper's Gaussian noise, Scale the
	// scale of its Laplace noise, per coordinate; one of them is 0.
	Sigma float64 `json:"sigma,omitempty"`
	Scale float64 `json:"scale,omitempty"`
	Holds bool    `json:"holds"` // the proved guarantee is at least as strong
}

// Validate refuses a guarantee, as of a file, of an unknown kind or with a number that is not one of its kind.
func (g Guarantee) Validate() error {
	known := []Kind{None, Public, ApproxDP, PureDP, LocalDP, LabelLDP}
	switch finite := func(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }; {
	case !slices.Contains(known, g.Kind):
		return fmt.Errorf("privacy: a guarantee is one of %q, not %.80q", known, g.Kind)
	case !finite(g.Epsilon) || !finite(g.Mu) || !(g.Delta >= 0 && g.Delta < 1) || g.Kind != ApproxDP && g.Delta != 0:
		return fmt.Errorf("privacy: a guarantee of kind %q has epsilon %v, mu %v and delta %v", g.Kind, g.Epsilon, g.Mu, g.Delta)
	case g.Claim != nil && (!finite(g.Claim.Epsilon) || !(g.Claim.Delta >= 0 && g.Claim.Delta < 1) || !finite(g.Claim.Sigma) || !finite(g.Claim.Scale)):
		return errors.New("privacy: the claim of a paper has a number that is negative, not finite, or a delta of 1 or more")
	}
	return nil
}

// String is the guarantee in one sentence.
func (g Guarantee) String() string {
	switch g.Kind {
	case ApproxDP:
		curve := ""
		if g.Mu > 0 {
			curve = " (" + FormatUp(g.Mu) + "-GDP)"
		}
		return fmt.Sprintf("(%s, %s)-differentially private%s for %s (neighbours: %s); released: %s", FormatUp(g.Epsilon), FormatUp(g.Delta), curve, g.Unit, g.Relation, g.Released)
	case PureDP:
		return fmt.Sprintf("%s-differentially private (pure: delta = 0) for %s (neighbours: %s); released: %s", FormatUp(g.Epsilon), g.Unit, g.Relation, g.Released)
	case LocalDP:
		return fmt.Sprintf("%s-locally differentially private for %s (neighbours: %s); released: %s", FormatUp(g.Epsilon), g.Unit, g.Relation, g.Released)
	case LabelLDP:
		return fmt.Sprintf("%s-locally differentially private for the LABEL of %s only (neighbours: %s); released: %s", FormatUp(g.Epsilon), g.Unit, g.Relation, g.Released)
	case Public:
		return "none: the data are declared public"
	}
	return "no privacy guarantee"
}

// LabelsOnly reports whether neighbours of a relation differ in labels alone, their features being public. Such a guarantee adds up with none
// of whole records: neighbours whose features differ have no finite epsilon.
func LabelsOnly(relation string) bool {
	return strings.HasPrefix(relation, "same features, ") || strings.HasPrefix(relation, "the two labels ")
}

// Report is the guarantee as lines of text.
func (g Guarantee) Report() string {
	var b strings.Builder
	fmt.Fprintln(&b, g.String())
	if g.Derivation != "" {
		fmt.Fprintln(&b, "  why:", g.Derivation)
	}
	for _, a := range g.Assumptions {
		fmt.Fprintln(&b, "  assumes:", a)
	}
	if c := g.Claim; c != nil {
		verdict := "the noise of the paper gives at least what it claims"
		if !c.Holds {
			verdict = "THE CLAIM IS NOT MET by the noise of the paper"
		}
		claim := fmt.Sprintf("(%.6g, %.6g) with sigma %.6g", c.Epsilon, c.Delta, c.Sigma)
		switch {
		case c.Delta == 0 && c.Sigma == 0 && c.Scale == 0: // neither kind of noise
			claim = fmt.Sprintf("epsilon %.6g", c.Epsilon)
		case c.Delta == 0:
			claim = fmt.Sprintf("epsilon %.6g with Laplace scale %.6g", c.Epsilon, c.Scale)
		}
		fmt.Fprintf(&b, "  paper: %s claims %s; %s\n", c.Source, claim, verdict)
	}
	for _, w := range g.Warnings {
		fmt.Fprintln(&b, "  warning:", w)
	}
	return b.String()
}
