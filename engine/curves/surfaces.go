package curves

import "dyad/engine/dataset"

// surfacePlaces is the number of points at which a numeric column of a surface is evaluated.
const surfacePlaces = 21

// Surface is the contribution of an interaction to the score of a record, in addition to the curves of its two
// columns. Z[i][j] is the contribution at value i of A and value j of B. A surface has no confidence band.
type Surface struct {
	A Axis        `json:"a"`
	B Axis        `json:"b"`
	Z [][]float64 `json:"z"`
}

// Surfaces returns the surfaces of all interactions, in the order of the schema.
func Surfaces(e *dataset.Encoder, weights []float64) (all []Surface) {
	inputs := e.Inputs()
	for _, p := range e.Interactions() {
		var s Surface
		bs := s.B.points(e, p.B, inputs[p.B], surfacePlaces)
		for _, a := range s.A.points(e, p.A, inputs[p.A], surfacePlaces) {
			row := make([]float64, len(bs))
			for j, b := range bs {
				for k, u := range a[:p.WidthA] {
					for l, v := range b[:p.WidthB] {
						row[j] += weights[p.Offset+k*p.WidthB+l] * p.Scale * u * v
					}
				}
			}
			s.Z = append(s.Z, row)
		}
		all = append(all, s)
	}
	return all
}
