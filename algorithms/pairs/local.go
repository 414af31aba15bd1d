package pairs

import (
	"cmp"
	"errors"
	"fmt"

	"dyad/algorithms"
	"dyad/engine/embedding"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/local"
)

// local plans the methods Input and Labels.
//
// Theorem (docs/theory.md#perturbed-records). Input: an individual in at most Kappa pairs sends its features
// once, e_x-locally private by the L1 diameter 2 R (local.Vector). It also sends its class once by a randomised
// response of e_y. If only pairs have labels, it sends the labels of its pairs instead, each flipped with
// e_y/Kappa. By composition, all these messages together are (e_x + e_y)-DP in the individual's record. All
// other results are computed from messages. Labels: every pair's label is flipped once with e/Kappa, and Kappa
// labels change together. QED
func (p *Plan) local() error {
	s := p.Spec
	vector, flip := p.vector(), p.flip()
	err := flip.Validate()
	if s.Method == Input {
		err = errors.Join(err, vector.Validate())
	}
	if err != nil {
		return err
	}
	flips := s.Kappa
	if s.ByClass && s.Method == Input {
		flips = 1
	}
	labels := account.Repeat(account.PureEvent{Epsilon: flip.Epsilon}, flips)
	g := s.unit().Guarantee("", "",
		fmt.Sprintf("public: %d individuals, who belongs to which of the %d pairs, d = %d features, kappa = %d, "+
			"loss %s, its parameters and all options", s.Individuals, s.Pairs, s.Dim, s.Kappa, s.Loss.Name()),
		identity(s.Identity), "kappa was fixed without looking at private pairs")
	each := fmt.Sprintf("each of %d labels is flipped with probability 1/(1 + e^%.6g)", flips, flip.Epsilon)
	if s.Method == Input {
		p.Releases = algorithms.Releases{{Name: "features", Coordinates: s.Dim, Cost: vector.Event()},
			{Name: "labels", Coordinates: flips, Cost: labels}}
		g.Kind = privacy.LocalDP
		g.Released = "all features with Laplace noise and all labels after a coin flip, and with them every model " +
			"trained on them"
		g.Derivation = fmt.Sprintf("the features cost epsilon_x = %.6g: Laplace noise of scale 2 R/epsilon_x = "+
			"%.6g on %d coordinates, where R = %.6g bounds the L1 norm; the labels cost epsilon %.6g: %s "+
			"(docs/theory.md#perturbed-records)",
			vector.Epsilon, vector.Laplace().Scale, s.Dim, s.Bound, float64(flips)*flip.Epsilon, each)
	} else {
		p.Releases = algorithms.Releases{{Name: "labels", Coordinates: flips, Cost: labels}}
		g.Kind = privacy.LabelLDP
		g.Released = "all features in clear, all labels after a coin flip, and with them every model trained on them"
		g.Derivation = each + "; epsilon adds up over the labels of a group (docs/theory.md#perturbed-records)"
	}
	s.Qualify(&g)
	g.Epsilon = s.Budget.Epsilon // the parts were rounded down
	p.Guarantee = g
	return nil
}

// vector returns the mechanism for the features of an individual. Its epsilon is rounded down, because the
// difference and the product have relative errors of 2^-53.
func (p *Plan) vector() local.Vector {
	s := p.Spec
	return local.Vector{Dim: s.Dim, Bound: s.Bound, Epsilon: (s.Budget.Epsilon - p.labelEpsilon()) * (1 - 0x1p-51)}
}

// labelEpsilon returns the epsilon that is spent on labels.
func (p *Plan) labelEpsilon() float64 {
	s := p.Spec
	if s.Method == Labels {
		return s.Budget.Epsilon
	}
	return s.Budget.Epsilon * cmp.Or(s.LabelShare, 0.5)
}

// flip returns the mechanism for one label. Its epsilon is rounded down, so that Kappa labels stay within the budget.
func (p *Plan) flip() local.RandomizedResponse {
	e := p.labelEpsilon()
	if p.Spec.Kappa > 1 && !(p.Spec.ByClass && p.Spec.Method == Input) {
		e = e / float64(p.Spec.Kappa) * (1 - 0x1p-51)
	}
	return local.RandomizedResponse{Epsilon: e}
}

// Perturb draws every message of methods Input and Labels once and returns the data that the server sees. All
// releases of a training are functions of these data. Features are scaled down to the bound again after the
// noise, which is post-processing. classes holds the class of each individual, 0 or 1, for Spec.ByClass.
// Perturb makes no charge. Call it directly only for attacks on public or made-up data; Run calls it after the
// charge.
func (p *Plan) Perturb(data *embedding.Data, classes []int32, source *privacy.Source) (*embedding.Data, error) {
	s := p.Spec
	x, labels := data.Copy()
	flip := p.flip()
	if s.Method == Input {
		vector := p.vector()
		for v := range s.Individuals {
			if err := vector.Perturb(x[v*s.Dim:(v+1)*s.Dim], source); err != nil {
				return nil, err
			}
		}
	}
	if s.Method == Input && s.ByClass {
		noisy := make([]int, len(classes))
		for v, class := range classes {
			var err error
			if noisy[v], err = flip.Answer(int(class), source); err != nil {
				return nil, err
			}
		}
		for i, e := range data.Graph().Pairs() {
			labels[i] = noisy[e.A] != noisy[e.B]
		}
	} else {
		for i, label := range labels {
			truth := 0
			if label {
				truth = 1
			}
			answer, err := flip.Answer(truth, source)
			if err != nil {
				return nil, err
			}
			labels[i] = answer == 1
		}
	}
	norm, bound := data.Norm()
	return embedding.NewData(x, s.Dim, norm, bound, data.Graph(), labels)
}
