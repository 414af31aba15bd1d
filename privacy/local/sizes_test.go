package local_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/local"
	"dyad/privacy/privtest"
)

// At all sizes the law of a message, given its seed, changes by no more than epsilon between any two vectors, and by all of it for
// some; and what is sent has that law: a favoured candidate is sent as often as epsilon allows it, wherever in the vector its
// length stands, and any candidate is as likely as any other for the vector zero. The number of records is that of pairs of
// candidates.
func TestDirectionsOfEverySize(t *testing.T) {
	for _, c := range sizes.Cells(t, 3e5, 1) {
		pairs := min(c.N, 1024)
		channel := must.Get(local.Direction{Dim: c.D, Bound: 1, Epsilon: 3, Pairs: pairs}.Channel())(t)
		m := channel.Mechanism()
		at := []int{0, c.D / 2, c.D - 1}[c.Unit%3]
		unit, flat, zero := make([]float64, c.D), make([]float64, c.D), make([]float64, c.D)
		unit[at] = 2
		r := rand.New(rand.NewPCG(1, uint64(c.D)))
		for k := range flat {
			flat[k] = r.NormFloat64() / math.Sqrt(float64(c.D))
		}
		opposite := slices.Clone(unit)
		opposite[at] = -2
		if pairs <= 300 {
			seed := [32]byte{1, byte(c.N)}
			worst := 0.0
			laws := [][]float64{channel.Law(unit, seed), channel.Law(opposite, seed), channel.Law(flat, seed), channel.Law(zero, seed)}
			for _, a := range laws {
				for _, b := range laws {
					worst = max(worst, math.Log(ratio(a, b)))
				}
			}
			must.Within(t, worst, 0.99*m.Epsilon, m.Epsilon*(1+1e-9),
				"%v: messages of two vectors differ by, claimed %v", c, m.Epsilon)
		}
		src := privacy.NewSeededSource(9)
		trials := min(3000, max(120, int(1e6)/(c.D*pairs)))
		hits, firsts, pluses := 0, 0, 0
		for range trials {
			msg := must.Get(channel.Send(unit, src))(t)
			if _, in := slices.BinarySearch(channel.Favours(unit, msg.Seed, 1), msg.Choice); in {
				hits++
			}
			msg = must.Get(channel.Send(zero, src))(t)
			if int(msg.Choice)/2 < pairs/2 {
				firsts++
			}
			if msg.Choice%2 == 0 {
				pluses++
			}
		}
		favoured := float64(m.Favoured) * math.Exp(m.Epsilon)
		for what, of := range map[string]struct {
			count int
			p     float64
		}{
			"favoured candidates":                  {hits, favoured / (favoured + float64(2*pairs-m.Favoured))},
			"candidates of the first half of zero": {firsts, float64(pairs/2) / float64(pairs)},
			"positive candidates of zero":          {pluses, 0.5},
		} {
			must.CheckDo(t, privtest.CheckBinomial(of.count, trials, of.p, alpha), c, ": ", what)
		}
	}
}
