package privacy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the type of a guarantee.
type Kind string

// The kinds of guarantee.
const (
	// None means that there is no privacy guarantee at all.
	None Kind = "none"
	// Public means that the data were declared public and nothing needs protection.
	Public Kind = "public data"
	// ApproxDP means (epsilon, delta)-differential privacy. Such a guarantee also states a mu of mu-GDP
	// unless batches or a number of runs are secret.
	ApproxDP Kind = "(epsilon, delta)-DP"
	// PureDP is epsilon-differential privacy with delta = 0.
	PureDP Kind = "epsilon-DP"
	// LocalDP means that the messages of every user are epsilon-locally private towards everybody else,
	// including the server.
	LocalDP Kind = "epsilon-local-DP"
	// LabelLDP means LocalDP for the labels alone. The features are public.
	LabelLDP Kind = "label-local-DP"
)

// Guarantee holds everything that may be printed about the privacy of a run (docs/theory.md#guarantee).
// If a run has no Guarantee, a report may state only "no privacy guarantee". No field contains private
// information.
type Guarantee struct {
	Kind    Kind    `json:"kind"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Mu      float64 `json:"mu,omitempty"` // Mu is the parameter of mu-GDP, or 0 if the guarantee states no mu.

	Unit     string `json:"unit,omitempty"`     // Unit names the protected data, e.g. "one record".
	Relation string `json:"relation,omitempty"` // Relation defines neighbouring data sets.
	Released string `json:"released,omitempty"` // Released describes the release that an adversary sees.

	Assumptions []string `json:"assumptions,omitempty"` // Assumptions are the conditions that the guarantee needs.
	Derivation  string   `json:"derivation,omitempty"`  // Derivation names the theorem and its numbers.
	Warnings    []string `json:"warnings,omitempty"`    // Warnings state what weakens or voids the guarantee.

	Claim *Claim `json:"paper_claim,omitempty"` // Claim is set in paper mode.
}

// Claim holds the privacy statement that a paper makes for its own noise. Reports print the claim next to the
// guarantee that is proved for this noise.
type Claim struct {
	Source  string  `json:"source"` // Source is the key of the paper and the theorem.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Sigma is the standard deviation of the paper's Gaussian noise, and Scale is the scale of its Laplace
	// noise, both per coordinate. At least one of the two is 0.
	Sigma float64 `json:"sigma,omitempty"`
	Scale float64 `json:"scale,omitempty"`
	Holds bool    `json:"holds"` // Holds reports whether the proved guarantee is at least as strong as the claim.
}

// Validate returns an error if the guarantee has an unknown kind or a number that does not fit its kind.
// This can happen, for example, if the guarantee was read from a file.
func (g Guarantee) Validate() error {
	known := []Kind{None, Public, ApproxDP, PureDP, LocalDP, LabelLDP}
	switch finite := func(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }; {
	case !slices.Contains(known, g.Kind):
		return fmt.Errorf("privacy: the kind of a guarantee must be one of %q, but is %.80q", known, g.Kind)
	case !finite(g.Epsilon) || !finite(g.Mu) || !(g.Delta >= 0 && g.Delta < 1) || g.Kind != ApproxDP && g.Delta != 0:
		return fmt.Errorf("privacy: a guarantee of kind %q cannot have epsilon %v, mu %v and delta %v", g.Kind,
			g.Epsilon, g.Mu, g.Delta)
	case g.Claim != nil && (!finite(g.Claim.Epsilon) || !(g.Claim.Delta >= 0 && g.Claim.Delta < 1) ||
		!finite(g.Claim.Sigma) || !finite(g.Claim.Scale)):
		return errors.New("privacy: the paper's claim needs finite numbers of at least 0, and a delta below 1")
	}
	return nil
}

// String returns the guarantee in one sentence.
func (g Guarantee) String() string {
	switch g.Kind {
	case ApproxDP:
		curve := ""
		if g.Mu > 0 {
			curve = " (" + FormatUp(g.Mu) + "-GDP)"
		}
		return fmt.Sprintf("(%s, %s)-differentially private%s for %s (neighbours: %s); released: %s", FormatUp(g.Epsilon),
			FormatUp(g.Delta), curve, g.Unit, g.Relation, g.Released)
	case PureDP:
		return fmt.Sprintf("%s-differentially private (pure: delta = 0) for %s (neighbours: %s); released: %s",
			FormatUp(g.Epsilon), g.Unit, g.Relation, g.Released)
	case LocalDP:
		return fmt.Sprintf("%s-locally differentially private for %s (neighbours: %s); released: %s", FormatUp(g.Epsilon),
			g.Unit, g.Relation, g.Released)
	case LabelLDP:
		return fmt.Sprintf("%s-locally differentially private for the LABEL of %s only (neighbours: %s); released: %s",
			FormatUp(g.Epsilon), g.Unit, g.Relation, g.Released)
	case Public:
		return "none: the data are declared public"
	}
	return "no privacy guarantee"
}

// LabelsOnly reports whether neighbouring data sets of a relation differ in labels alone, with public
// features. A guarantee under such a relation does not compose with guarantees for whole records, because
// it gives no finite epsilon for data sets that differ in features.
func LabelsOnly(relation string) bool {
	return strings.HasPrefix(relation, "same features, ") || strings.HasPrefix(relation, "the two labels ")
}

// Report returns the guarantee as lines of text.
func (g Guarantee) Report() string { return strings.Join(g.Lines(), "\n  ") + "\n" }

// Lines returns the lines of Report without their indentation.
func (g Guarantee) Lines() []string {
	lines := []string{g.String()}
	if g.Derivation != "" {
		lines = append(lines, "why: "+g.Derivation)
	}
	for _, a := range g.Assumptions {
		lines = append(lines, "assumes: "+a)
	}
	if c := g.Claim; c != nil {
		verdict := "the noise of the paper meets the claim"
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
		lines = append(lines, fmt.Sprintf("paper: %s claims %s; %s", c.Source, claim, verdict))
	}
	for _, w := range g.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return lines
}
