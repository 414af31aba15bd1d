package schema

import (
	"strconv"
	"strings"
)

// Bases of numeric columns (Schema.Basis, Column.Basis): docs/theory.md#public-basis.
const (
	// BasisAuto leaves the choice of the basis to training (dyad.Options.ChooseBasis), which knows the number of
	// records. An encoder never has BasisAuto.
	BasisAuto = "auto"
	BasisNone = "none" // one feature, the number scaled to [-1, 1]; this is the default
	// followed by K: K features cos(pi k u)/k, k = 1..K, where u in [0, 1] is the position of the number in its range
	basisCosine = "cosine:"
	basisCurve  = "curve:" // followed by K: like basisCosine with the line sqrt(1.5) (2u - 1) instead of the first cosine, so that every linear score can be represented
	// basisSpike is like basisCosine, except for a number with log1p whose range begins at 0. There the K features are
	// for numbers above 0, and one additional feature is for 0 itself, because most records may have the value 0.
	basisSpike = "spike:"
)

const (
	// A basis of one cosine would have as many features as BasisNone. A program that does not know bases would then
	// score a model of it without an error.
	minCosines = 2
	maxCosines = 32
	// maxBasisDim is the largest d of a schema with a basis. Up to this d, moment releases contain full second moments.
	maxBasisDim = 512
)

// cosines returns the kind and the number K of a valid basis. K is 0 if there is no basis.
func cosines(basis string) (kind string, k int, ok bool) {
	if basis == "" || basis == BasisNone {
		return "", 0, true
	}
	name, text, _ := strings.Cut(basis, ":")
	kind = name + ":"
	k, err := strconv.Atoi(text)
	known := kind == basisCosine || kind == basisCurve || kind == basisSpike
	return kind, k, known && err == nil && strconv.Itoa(k) == text && minCosines <= k && k <= maxCosines
}

// WithBasis returns a copy of s with another basis for the numeric features that have no basis of their own.
func (s *Schema) WithBasis(basis string) *Schema {
	out := *s
	out.Basis = basis
	return &out
}

// Decided returns s with BasisNone instead of BasisAuto, for uses that do not depend on the basis.
func (s *Schema) Decided() *Schema {
	if s.Basis == BasisAuto {
		return s.WithBasis(BasisNone)
	}
	return s
}
