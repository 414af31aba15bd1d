package schema

import (
	"context"
	"math"
	"runtime"
	"slices"

	"dyad/internal/tasks"
)

// lowFrequencies is the number of features of a number with a basis that an interaction multiplies. They are the
// features with the lowest frequencies.
const lowFrequencies = 3

// Interaction is the block of products of two columns that Schema.Interactions names (docs/theory.md#interactions). It
// is the outer product of the outputs of the two columns before the projection: output Offset + i*WidthB + j is Scale
// times output i of A times output j of B. For a number with a basis, only the first lowFrequencies outputs are used.
type Interaction struct {
	A, B           int // indices in Inputs
	Offset         int // index of the first output
	WidthA, WidthB int // the first WidthA outputs of A and the first WidthB outputs of B are multiplied
	Scale          float64
}

// low returns the number of outputs of f that an interaction multiplies, and the scale that makes their mean square
// norm equal to that of a block, factor^2. A category has this norm already. A number without a basis has a third of
// it. With K cosines, the first outputs alone have less than all K.
func (f *Feature) low() (width int, scale float64) {
	switch {
	case !f.Numeric:
		return f.Width, 1
	case f.Cosines == 0:
		return 1, math.Sqrt(3)
	}
	width = min(f.Cosines, lowFrequencies)
	some := squares(width)
	if f.Spike {
		some *= 2
	}
	return width, math.Sqrt(squares(f.Cosines) / some)
}

// lowest returns the results of low for the columns of a pair, and the product of the scales.
func lowest(a, b Feature) (wa, wb int, scale float64) {
	wa, sa := a.low()
	wb, sb := b.low()
	return wa, wb, sa * sb
}

// addInteractions adds the blocks after the features of the columns. The scales do not include the factor of the
// encoder.
func (e *Encoder) addInteractions() {
	place := func(name string) int {
		return slices.IndexFunc(e.columns, func(f Feature) bool { return f.Name == name })
	}
	for _, names := range e.schema.Interactions {
		p := Interaction{A: place(names[0]), B: place(names[1]), Offset: e.dim}
		p.WidthA, p.WidthB, p.Scale = lowest(e.columns[p.A], e.columns[p.B])
		e.dim += p.WidthA * p.WidthB
		e.interactions = append(e.interactions, p)
	}
}

// Multiply writes the blocks of a row whose columns are encoded and not yet projected.
func (e *Encoder) Multiply(x []float64) {
	for _, p := range e.interactions {
		a, b := x[e.columns[p.A].Offset:][:p.WidthA], x[e.columns[p.B].Offset:][:p.WidthB]
		block := x[p.Offset:][:p.WidthA*p.WidthB]
		for i, u := range a {
			u *= p.Scale
			for j, v := range b {
				block[i*p.WidthB+j] = u * v
			}
		}
	}
}

// MultiplyRows applies Multiply to all rows of x.
func (e *Encoder) MultiplyRows(x []float64) {
	if e.interactions == nil {
		return
	}
	rows := len(x) / e.dim
	const piece = 1 << 10
	// the context is never cancelled
	_ = tasks.Each(context.Background(), runtime.GOMAXPROCS(0), (rows+piece-1)/piece, func(_, k int) {
		for i := k * piece; i < min((k+1)*piece, rows); i++ {
			e.Multiply(x[i*e.dim:][:e.dim])
		}
	})
}

// Interactions returns the blocks of products in the order of the schema. They come after the outputs of all columns.
func (e *Encoder) Interactions() []Interaction { return slices.Clone(e.interactions) }

// interactions checks the interactions of a schema.
func (v *validator) interactions() {
	s := v.s
	if len(s.Interactions) > 0 && s.ByIndex() {
		v.addf("interactions are of columns with names; the features of this format have numbers: leave them out, or " +
			"convert the file to CSV (dyad data convert)")
		return
	}
	feature := map[string]bool{}
	for i := range s.Columns {
		feature[s.Columns[i].Name] = s.Columns[i].RoleOf() == RoleFeature
	}
	seen := map[[2]string]bool{}
	for k, names := range s.Interactions {
		if len(names) != 2 || names[0] == names[1] {
			v.addf("interaction %d names %d columns, or the same column twice; want a pair of columns, such as [day, month]",
				k+1, len(names))
			continue
		}
		for _, name := range names {
			if !feature[name] {
				v.addf("interaction %d: %.80q is not a feature; name two columns that are features", k+1, name)
			}
		}
		pair := [2]string{min(names[0], names[1]), max(names[0], names[1])}
		if seen[pair] {
			v.addf("interaction %d: %.80q and %.80q are named twice", k+1, names[0], names[1])
		}
		seen[pair] = true
	}
}

// products returns the number of features that the interactions of s add to the features of its columns. If there
// are more than maxBasisDim, it may return any larger number.
func (s *Schema) products(columns map[string]Feature) (dim int) {
	for _, names := range s.Interactions {
		wa, wb, _ := lowest(columns[names[0]], columns[names[1]])
		if dim += wa * wb; dim > maxBasisDim {
			break // stop before the sum can overflow
		}
	}
	return dim
}
