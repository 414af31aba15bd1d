package schema

import (
	"slices"
)

// Interaction is the block of products of two columns that Schema.Interactions names (docs/theory.md#interactions). It
// is the outer product of the outputs of the two columns before the projection. Output Offset + i*WidthB + j is the
// product of Scale, output i of A and output j of B. A number with a basis uses only its first lowFrequencies outputs.
type Interaction struct {
	A, B           int // indices in Inputs
	Offset         int // index of the first output
	WidthA, WidthB int // the first WidthA outputs of A and the first WidthB outputs of B are multiplied
	Scale          float64
}

// interactions checks the interactions of a schema.
func (v *validator) interactions() {
	s := v.s
	if len(s.Interactions) > 0 && s.ByIndex() {
		v.addf("interactions need named columns; leave interactions out, or convert the file to CSV (dyad data " +
			"convert)")
		return
	}
	feature := map[string]bool{}
	for i := range s.Columns {
		feature[s.Columns[i].Name] = s.Columns[i].RoleOf() == RoleFeature
	}
	seen := map[[2]string]bool{}
	for k, names := range s.Interactions {
		if len(names) != 2 || names[0] == names[1] {
			v.addf("interaction %d names %d columns; want two different columns, such as [day, month]", k+1, len(names))
			continue
		}
		for _, name := range names {
			v.addIf(!feature[name],
				"interaction %d: %.80q is not a feature; name two features", k+1, name)
		}
		pair := [2]string{min(names[0], names[1]), max(names[0], names[1])}
		v.addIf(seen[pair],
			"interaction %d: the pair of %.80q and %.80q is already in the list", k+1, names[0], names[1])
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

// widestCandidate is the largest number of products of a pair that training may choose. A release with more coordinates
// has more noise.
const widestCandidate = 64

// mostChosen is the largest number of chosen pairs.
const mostChosen = 8

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
		v.addf("choose_interactions is %d, but it must be 1 to %d pairs, or left out", s.ChooseInteractions, mostChosen)
	case s.ByIndex():
		v.addf("choose_interactions needs named columns; leave it out, or convert the file to CSV (dyad data convert)")
	case left < 0:
		v.addf("choose_interactions is %d, but there are fewer other pairs (with at most %d products); choose "+
			"fewer pairs",
			s.ChooseInteractions, widestCandidate)
	default:
		for _, w := range widths[len(widths)-s.ChooseInteractions:] {
			dim += w
		}
		v.addIf(dim > maxBasisDim,
			"the columns and chosen pairs make up to %d features, but at most %d are allowed; choose fewer pairs "+
				"or a smaller K", dim, maxBasisDim)
	}
}
