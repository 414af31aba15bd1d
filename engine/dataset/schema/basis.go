package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"dyad/engine/dataset/parse"
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

// DimWith returns the number of features with another basis. ok is false if there is no encoder with this basis.
func (s *Schema) DimWith(basis string) (d int, ok bool) {
	e, err := NewEncoder(s.WithBasis(basis))
	if err != nil {
		return 0, false
	}
	return e.Dim(), true
}

// Decided returns s with BasisNone instead of BasisAuto, for uses that do not depend on the basis.
func (s *Schema) Decided() *Schema {
	if s.Basis == BasisAuto {
		return s.WithBasis(BasisNone)
	}
	return s
}

// basis checks the value of one basis key.
func (v *validator) basis(where, basis string) {
	switch _, _, ok := cosines(basis); {
	case basis == BasisAuto && where == "" && !v.s.ByIndex():
	case basis == BasisAuto && where != "":
		v.addf("%sbasis: %s is for the whole schema; a column has %s, %sK, %sK or %sK", where, BasisAuto, BasisNone,
			basisCurve, basisCosine, basisSpike)
	case !ok && basis != BasisAuto:
		v.addf("%sbasis is %q, want %s, %s, %sK, %sK or %sK with K from %d to %d, such as %s6", where, basis, BasisAuto,
			BasisNone, basisCurve, basisCosine, basisSpike, minCosines, maxCosines, basisCurve)
	case basis != "" && v.s.ByIndex():
		v.addf("%sbasis is for columns with names; the features of this format have numbers: leave it out, or convert the "+
			"file to CSV (dyad data convert)", where)
	}
}

// basisDim refuses a basis that leads to more than maxBasisDim features. The schema must be valid otherwise.
func (v *validator) basisDim() {
	dim, curved := 0, len(v.s.Interactions) > 0 || v.s.ChooseInteractions != 0
	columns := map[string]Feature{}
	for i := range v.s.Columns {
		if c := &v.s.Columns[i]; c.RoleOf() == RoleFeature {
			f := v.s.featureEncoder(c, map[*Missing]*parse.Set{})
			dim, curved = dim+f.Width, curved || f.Cosines > 0
			columns[c.Name] = f
		}
	}
	products := v.s.products(columns)
	v.choice(columns, dim+products)
	switch {
	case curved && dim > maxBasisDim:
		v.addf("the basis or the columns of interactions make %d features, but at most %d are allowed; choose a smaller K, "+
			"basis: %s for some columns, or fewer categories", dim, maxBasisDim, BasisNone)
	case dim+products > maxBasisDim && products > 0:
		v.addf("the products of interactions make more than the %d features that are left of %d; name fewer pairs, columns "+
			"with fewer categories, or a smaller K", maxBasisDim-dim, maxBasisDim)
	}
}

// setCosines sets the basis of a numeric column. The mean square norm of the block over u in [0, 1] is 1, as large as
// for a category. In the sum, each cos^2(pi k u) has the mean 1/2, and the square of the line has the same mean. With a
// spike, the mean square norm is 2, equal to the square of the spike. The reason is that numbers above 0 are rare, and
// shorter blocks would be lost in the noise.
func (f *Feature) setCosines(k int, kind string) {
	f.Cosines, f.Width, f.Line = k, k, kind == basisCurve
	f.Shrink = math.Sqrt(2 / squares(k))
	if f.Spike = kind == basisSpike && f.Transform == TransformLog1p && f.Lo == 0; f.Spike {
		f.Width, f.Shrink = k+1, math.Sqrt2*f.Shrink
	}
}

// squares returns the sum of 1/j^2 for j = 1 to k.
func squares(k int) (sum float64) {
	for j := k; j >= 1; j-- {
		sum += 1 / float64(j*j)
	}
	return sum
}

// encodeScaled writes the outputs of the finite number v.
func (f *Feature) encodeScaled(v float64, dst []float64) {
	if f.Cosines == 0 {
		dst[0] = f.Scale(v)
		return
	}
	// u = (1 + s)/2, so cos(pi u) = -sin(pi s/2), which is 0 in the middle of the range. The other cosines are
	// Chebyshev polynomials of this number: cos(pi (k+1) u) = 2 cos(pi u) cos(pi k u) - cos(pi (k-1) u).
	s := f.place(v)
	if f.Spike {
		clear(dst[:f.Width])
		if v <= f.Lo {
			dst[f.Cosines] = math.Sqrt2 * f.Factor
			return
		}
	}
	c := -math.Sin(math.Pi / 2 * s)
	before, now := 1.0, c
	for k := range f.Cosines {
		dst[k] = now * (f.Shrink * f.Factor / float64(k+1))
		before, now = now, min(max(2*c*now-before, -1), 1)
	}
	if f.Line {
		dst[0] = s * (math.Sqrt(1.5) * f.Shrink * f.Factor)
	}
}

// names returns the names of the outputs of a numeric column.
func (f *Feature) names(column string) []string {
	if f.Cosines == 0 {
		return []string{column}
	}
	all := make([]string, f.Cosines, f.Width)
	for k := range all {
		all[k] = fmt.Sprintf("%s~%d", column, k+1)
	}
	if f.Spike {
		all = append(all, column+"=0")
	}
	return all
}
