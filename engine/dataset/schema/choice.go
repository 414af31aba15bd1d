package schema

import (
	"errors"
	"slices"

	"dyad/engine"
)

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

// Candidates returns the products that a training can choose from if the schema sets
// ChooseInteractions. Otherwise it returns the zero value.
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

// Chosen returns the encoder of a model. Training chose the candidates of the model; places holds their
// indices. Its schema lists them as interactions, and its ChooseInteractions is 0. If places is nil, Chosen
// returns e.
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

// Records converts r from the form that the encoder e gives to the form that the encoder of a model gives. If e.Chosen
// returned the model's encoder, Records adds the products of the chosen pairs. Otherwise it returns r unchanged. It
// returns an error if the model has other features, because its weights would be multiplied by the wrong numbers.
func (e *Encoder) Records(r *engine.Records, model *Encoder) (*engine.Records, error) {
	if e == nil || model == nil || e == model || r.Dim() != e.dim {
		return r, nil
	}
	same := slices.EqualFunc(e.columns, model.columns, Feature.same) && e.common.same(model.common)
	switch {
	case !same:
	case e.schema.ChooseInteractions == 0 || model.schema.ChooseInteractions != 0:
		same = e.dim == model.dim && e.factor == model.factor && slices.Equal(e.interactions, model.interactions)
	default:
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
		var err error
		if r, err = r.WithProducts(c.Ratio, chosen); err != nil {
			return nil, err
		}
		same = r.Dim() == model.dim
	}
	if !same {
		return nil, errors.New("dataset: the features of the records and of the model differ in the names, ranges, " +
			"categories, bases or interactions of columns; read the records with the schema of the model")
	}
	return r, nil
}
