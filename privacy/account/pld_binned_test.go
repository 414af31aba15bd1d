package account_test

import (
	"math"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/account"
)

// A binned release is what an attacker sees of one who looks only in which of a few cells
// the output is: the probabilities of the cells with one data set and with its neighbour.
type binned [][2]float64

// binMixtures bins two mixtures of shifted standard laws at the quantiles of their middle.
func binMixtures(law account.NoiseLaw, p, q mixture, cells int) (b binned) {
	below := func(m mixture, x float64) (sum float64) {
		for _, part := range m {
			z := x - part.centre
			switch {
			case law == account.GaussianLaw:
				sum += part.weight * math.Erfc(-z/math.Sqrt2) / 2
			case z < 0:
				sum += part.weight * math.Exp(z) / 2
			default:
				sum += part.weight * (1 - math.Exp(-z)/2)
			}
		}
		return sum
	}
	from, to := math.Inf(1), math.Inf(-1)
	for _, part := range slices.Concat(p, q) {
		from, to = min(from, part.centre-3.5), max(to, part.centre+3.5)
	}
	lastP, lastQ := 0.0, 0.0
	for i := range cells {
		nextP, nextQ := 1.0, 1.0
		if i < cells-1 {
			x := from + (to-from)*float64(i+1)/float64(cells)
			nextP, nextQ = below(p, x), below(q, x)
		}
		b = append(b, [2]float64{nextP - lastP, nextQ - lastQ})
		lastP, lastQ = nextP, nextQ
	}
	return b
}

// together is the hockey-stick divergence of all binned releases, by all combinations of
// cells, each attacked on its own.
func together(all []binned, epsilon, p, q float64) float64 {
	if len(all) == 0 {
		return max(0, p-math.Exp(epsilon)*q)
	}
	sum := 0.0
	for _, cell := range all[0] {
		sum += together(all[1:], epsilon, p*cell[0], q*cell[1])
	}
	return sum
}

// Different releases together, with groups and batches among them, cost at least what an
// attacker gets who looks at their outputs through bins (data processing), on grids of
// any width: a coarse grid errs to the safe side too. The controls: an accountant that
// counted 3/4 of each sensitivity, or one record for a group, would be refuted.
func TestPLDAboveBinnedReleases(t *testing.T) {
	const k, rate, m, laplace, cells = 3, 0.2, 0.7, 0.5, 22
	up, down := coins(rate, m, m, m), coins(rate, -m, -m, -m)
	none, one := mixture{{1, 0}}, mixture{{1 - rate, 0}, {rate, 2 * m}}
	sure := mixture{{1, m}}
	e := math.Exp(0.6)
	events := func(share float64, group int, relation account.Relation) []account.Event {
		poisson := groupEvent(group, share*m, rate, relation)
		if relation == account.AddRemove {
			return []account.Event{account.Repeat(poisson, 3)}
		}
		return []account.Event{
			poisson,
			account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: share * 2 * m, Sigma: 1}, Batch: 20, Records: 100},
			account.LaplaceEvent{Sensitivity: share * laplace, Scale: 1},
			account.GaussianEvent{Sensitivity: share * m, Sigma: 1},
			account.PureEvent{Epsilon: share * 0.6},
		}
	}
	response := binned{{e / (1 + e), 1 / (1 + e)}, {1 / (1 + e), e / (1 + e)}}
	removed := binMixtures(account.GaussianLaw, up, none, 3*cells)
	added := binMixtures(account.GaussianLaw, none, up, 3*cells)
	attacks := map[account.Relation][][]binned{
		account.ReplaceOne: {{
			binMixtures(account.GaussianLaw, up, down, cells), binMixtures(account.GaussianLaw, one, none, cells),
			binMixtures(account.LaplaceLaw, mixture{{1, laplace}}, none, cells), binMixtures(account.GaussianLaw, sure, none, cells), response,
		}},
		account.AddRemove: {{removed, removed, removed}, {added, added, added}},
	}
	epsilons := sizes.Of([]float64{0, 1, 4}, []float64{0, 0.3, 1, 2.5, 4})
	if testing.Short() {
		epsilons = []float64{1}
	}
	for relation, ways := range attacks {
		for _, epsilon := range epsilons {
			worst := 0.0
			for _, all := range ways {
				worst = max(worst, together(all, epsilon, 1, 1))
			}
			delta := func(interval, share float64, group int) float64 {
				a := &account.PLD{Interval: interval}
				for _, e := range events(share, group, relation) {
					must.Do(t, a.Compose(e))
				}
				return a.Delta(epsilon)
			}
			for _, interval := range []float64{0, 0.003, 0.1, 1, 3} {
				if claim := delta(interval, 1, k); claim < worst {
					t.Errorf("%s, epsilon %v, grid %v: claimed %v, an attacker gets %v", relation, epsilon, interval, claim, worst)
				}
			}
			must.Below(t, delta(0, 0.75, k), worst, "%s, epsilon %v: 3/4 of the sensitivity is not refuted", relation, epsilon)
			must.Below(t, delta(0, 1, 1), worst, "%s, epsilon %v: one record for %d is not refuted", relation, epsilon, k)
			if claim := delta(0, 1, k); claim > 1.5*worst {
				t.Errorf("%s, epsilon %v: claimed %v, an attacker gets %v only", relation, epsilon, claim, worst)
			}
		}
	}
}
