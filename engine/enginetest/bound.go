package enginetest

import (
	"fmt"
	"math"

	"dyad/engine"
)

// testBound checks, without data and up to a million records, that Roundoff is finite, positive and at most
// perPair times the Lipschitz constant.
func (s *suite) testBound(loss engine.Loss, radius, perPair float64) {
	s.Helper()
	for _, n := range []int{64, 1000, 30000, 1000000} {
		p := engine.Problem{N: n, D: 20, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius}
		s.name = fmt.Sprintf("%s r=%g n=%d", loss.Name(), radius, n)
		k, err := s.backend.Plan(p)
		if err != nil {
			s.declined(p, err)
			continue
		}
		c, err := loss.Constants(p.Bounds, radius)
		if err != nil {
			s.fail("Constants: %v", err)
			continue
		}
		limit := perPair * c.Lipschitz
		for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}, engine.PrefixPairs{T: 1}} {
			if got := k.Bounds(engine.Query{Pairs: pairs}).Sum / float64(pairs.Len()); !(got > 0 && got <= limit) {
				s.fail("%s: Roundoff per pair of %T is %.3g; it must be above 0 and at most %.3g", k.Method(), pairs, got, limit)
			}
		}
		if !math.IsInf(k.Bounds(engine.Query{Pairs: engine.AllPairs{N: n - 1}}).Sum, 1) ||
			!math.IsInf(k.Bounds(engine.Query{Pairs: engine.PrefixPairs{T: n}}).Sum, 1) {
			s.fail("Roundoff for a wrong number of records is finite, want +Inf")
		}
	}
}

// testGroupBound is testBound for query groups of 1 to 59 records.
func (s *suite) testGroupBound(loss engine.Loss, radius, perPair float64) {
	s.Helper()
	p := engine.Problem{D: 20, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius}
	for size := range 590 {
		p.Groups = append(p.Groups, 1+size%59)
		p.N += 1 + size%59
	}
	s.name = fmt.Sprintf("%s r=%g %d groups", loss.Name(), radius, len(p.Groups))
	k, err := engine.Grouped{Backend: s.backend}.Plan(p)
	if err != nil {
		s.declined(p, err)
		return
	}
	c, err := loss.Constants(p.Bounds, radius)
	if err != nil {
		s.fail("Constants: %v", err)
		return
	}
	got := k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum / float64(p.Pairs().Len())
	if !(got > 0 && got <= perPair*c.Lipschitz) {
		s.fail("%s: Roundoff per pair within groups is %.3g; it must be above 0 and at most %.3g", k.Method(), got,
			perPair*c.Lipschitz)
	}
}
