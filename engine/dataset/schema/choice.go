package schema

import (
	"math"
	"slices"

	"dyad/engine"
)

// widestCandidate is the largest number of products of a pair that training may choose. A release with more coordinates
// has more noise.
const widestCandidate = 64

// candidate is a pair of columns, given by their indices in the encoder, that interactions do not name.
type candidate struct{ a, b int }

// candidatePairs returns all candidates in the order of the columns. It returns nil without ChooseInteractions.
func (e *Encoder) candidatePairs() (all []candidate) {
	if e.schema.ChooseInteractions == 0 {
		return nil
	}
	for b := range e.columns {
		for a := range b {
			wa, wb, _ := lowest(e.columns[a], e.columns[b])
			named := slices.ContainsFunc(e.interactions,
				func(p Interaction) bool { return p.A == a && p.B == b || p.A == b && p.B == a })
			if wa*wb <= widestCandidate && !named {
				all = append(all, candidate{a, b})
			}
		}
	}
	return all
}

// largest returns the largest square norm of the first width outputs of f over all values, in units of the
// squared factor.
func (f *Feature) largest(width int) float64 {
	if !f.Numeric || f.Cosines == 0 {
		return 1
	}
	sum := 1.0
	if f.Line {
		sum = 1.5
	}
	for k := 2; k <= min(width, f.Cosines); k++ { // a spike has the square 2, less than the cosines near it
		sum += 1 / float64(k*k)
	}
	return f.Shrink * f.Shrink * sum
}

// unprojected returns the factor for which every row has norm at most 1. The projection then changes no row, so
// products of a chosen pair are products of the original row.
func (e *Encoder) unprojected() float64 {
	sum := 0.0
	for i := range e.columns {
		sum += e.columns[i].largest(e.columns[i].Width)
	}
	for _, p := range e.interactions {
		sum += p.Scale * p.Scale * e.columns[p.A].largest(p.WidthA) * e.columns[p.B].largest(p.WidthB)
	}
	return 1 / math.Sqrt(sum*(1+0x1p-40))
}

// Candidates returns the products among which training with ChooseInteractions chooses. Without
// ChooseInteractions it returns the zero value.
func (e *Encoder) Candidates() engine.Candidates {
	pairs := e.candidatePairs()
	if len(pairs) == 0 {
		return engine.Candidates{}
	}
	after := e.projectedFactor(e.schema.ChooseInteractions) // factor after the chosen pairs are named
	c := engine.Candidates{Choose: e.schema.ChooseInteractions, Ratio: after / e.factor,
		Plain: e.projectedFactor(0) / e.factor}
	for _, p := range pairs {
		a, b := e.columns[p.a], e.columns[p.b]
		wa, wb, scale := lowest(a, b)
		c.Products = append(c.Products, engine.Product{
			A: a.Offset, WidthA: wa, B: b.Offset, WidthB: wb, Scale: scale / after * c.Ratio * c.Ratio,
		})
	}
	return c
}

// Chosen returns the encoder of a model: it has the same columns, its schema names the candidates with the given
// indices as interactions, and ChooseInteractions is 0. If places is nil, Chosen returns e.
func (e *Encoder) Chosen(places []int) *Encoder {
	if places == nil {
		return e
	}
	s, pairs := *e.schema, e.candidatePairs()
	s.ChooseInteractions, s.Interactions = 0, slices.Clone(s.Interactions)
	for _, k := range places {
		s.Interactions = append(s.Interactions, []string{e.columns[pairs[k].a].Name, e.columns[pairs[k].b].Name})
	}
	return newEncoder(&s) // valid, because choice checked that the widest pairs fit
}

// choice checks ChooseInteractions. dim is the number of features of the schema's columns. The check covers the schema
// with and without the products of its named interactions.
func (v *validator) choice(columns map[string]Feature, dim int) {
	s, widths, listed := v.s, []int{}, []Feature{}
	if s.ChooseInteractions == 0 {
		return
	}
	for i := range s.Columns {
		if f, ok := columns[s.Columns[i].Name]; ok {
			listed = append(listed, f)
		}
	}
	for b := range listed {
		for a := range b {
			if wa, wb, _ := lowest(listed[a], listed[b]); wa*wb <= widestCandidate {
				widths = append(widths, wa*wb)
			}
		}
	}
	slices.Sort(widths)
	left := len(widths) - s.ChooseInteractions - len(s.Interactions)
	switch {
	case s.ChooseInteractions < 0 || s.ChooseInteractions > mostChosen:
		v.addf("choose_interactions is %d, want 1 to %d pairs, or leave it out", s.ChooseInteractions, mostChosen)
	case s.ByIndex():
		v.addf("choose_interactions is for columns with names; the features of this format have numbers: leave it out, or " +
			"convert the file to CSV (dyad data convert)")
	case left < 0:
		v.addf("choose_interactions is %d, but fewer other pairs of columns have at most %d products", s.ChooseInteractions,
			widestCandidate)
	default:
		for _, w := range widths[len(widths)-s.ChooseInteractions:] {
			dim += w
		}
		if dim > maxBasisDim {
			v.addf("the columns and the widest pairs of choose_interactions make %d features, and at most %d are allowed; "+
				"choose fewer pairs or a smaller K", dim, maxBasisDim)
		}
	}
}

// mostChosen is the largest number of chosen pairs.
const mostChosen = 8

// Records converts records of e for a model whose encoder is the result of e.Chosen: it adds the products of the chosen
// pairs. For other models it returns the records unchanged.
func (e *Encoder) Records(r *engine.Records, model *Encoder) (*engine.Records, error) {
	if e == nil || model == nil || e.schema.ChooseInteractions == 0 || model.schema.ChooseInteractions != 0 ||
		r.Dim() != e.dim {
		return r, nil
	}
	c, pairs := e.Candidates(), e.candidatePairs()
	var chosen []engine.Product
	for _, p := range model.interactions[min(len(e.interactions), len(model.interactions)):] {
		if k := slices.Index(pairs, candidate{p.A, p.B}); k >= 0 {
			chosen = append(chosen, c.Products[k])
		}
	}
	if chosen == nil {
		c.Ratio = c.Plain
	}
	return r.WithProducts(c.Ratio, chosen)
}
