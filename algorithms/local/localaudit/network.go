package localaudit

import (
	"fmt"
	"slices"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/privacy"
)

// networkInstances returns the states and pairs of records that the adversary tries against a network. One pair is
// one record with both labels. For prestige-participation, another pair has a record along the last axis and the
// opposite of the first record. The states are the public start with two other output layers. One output layer is
// as large as possible along the hidden values of the first record. Then the score of this record is large, and
// one of its labels is in the curriculum. The other output layer is zero. Then scores are 0, and the curriculum
// contains both labels or neither. Candidates are ranked along the gradients of the two records, which the
// adversary computes.
func networkInstances(p *local.Plan) ([]*Report, error) {
	exact := p.Protocol
	exact.Method, exact.Network = local.SGD, &local.Network{}
	*exact.Network = *p.Network
	q, err := exact.Plan()
	if err != nil {
		return nil, err
	}
	client := local.NewClient(q, privacy.NewSeededSource(0)) // the client draws nothing
	gradient := func(st *local.State, z engine.Record) ([]float64, error) {
		m, err := client.Message(st, z)
		return m.Gradient, err
	}
	steep := p.Start()
	g, err := gradient(steep, along(p, 0, 1, -1))
	if err != nil {
		return nil, err
	}
	output := len(g) - p.Network.Hidden
	for i, v := range g[output:] { // the gradient in the output layer is along its input
		steep.W[output+i] = 1e6 * v
	}
	p.Project(steep.W)
	flat := p.Start()
	clear(flat.W[output:])

	var all []*Report
	for _, epoch := range slices.Compact([]int{1, p.Epochs}) {
		for _, model := range []struct {
			name string
			w    []float64
		}{{"a steep output layer", steep.W}, {"an output layer of zeros", flat.W}} {
			for _, c := range []struct {
				text string
				a, b engine.Record
			}{
				{"x of norm R_x with label 1 against label -1", along(p, 0, 1, 1), along(p, 0, 1, -1)},
				{"x = (0, ..., R_x) against x = (-R_x, 0, ...), label 1",
					along(p, p.Dim-1, 1, 1), along(p, 0, -1, 1)},
			} {
				st := p.Start()
				st.Epoch, st.Visits, st.W = epoch, int64(epoch-1)*int64(p.Users), model.w
				r := &Report{plan: p, state: st, records: [2]engine.Record{c.a, c.b},
					Instance: fmt.Sprintf("epoch %d, %s, %s", epoch, model.name, c.text)}
				for k, z := range r.records {
					if r.along[k], err = gradient(st, z); err != nil {
						return nil, err
					}
				}
				all = append(all, r)
				if p.Method != local.PrestigeParticipation {
					break // the records of no other pair are farther apart, and x is public for prestige-label
				}
			}
		}
	}
	return all, nil
}
