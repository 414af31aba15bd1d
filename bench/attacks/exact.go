package main

import "math/big"

// exact is a number of 300 bits: what a theorem says is evaluated with it as it is
// written, without the care that a certificate in float64 takes.
type exact struct{ v *big.Float }

func float() *big.Float { return new(big.Float).SetPrec(300) }

func num(x float64) exact { return exact{float().SetFloat64(x)} }

func (a exact) plus(b exact) exact  { return exact{float().Add(a.v, b.v)} }
func (a exact) minus(b exact) exact { return exact{float().Sub(a.v, b.v)} }
func (a exact) times(b exact) exact { return exact{float().Mul(a.v, b.v)} }
func (a exact) over(b exact) exact  { return exact{float().Quo(a.v, b.v)} }
func (a exact) abs() exact          { return exact{float().Abs(a.v)} }
func (a exact) root() exact         { return exact{float().Sqrt(a.v)} }

func (a exact) atMost(b exact) exact {
	if a.v.Cmp(b.v) > 0 {
		return b
	}
	return a
}

func (a exact) atLeast(b exact) exact {
	if a.v.Cmp(b.v) < 0 {
		return b
	}
	return a
}

// of is the ratio to a certified number, in float64.
func (a exact) of(certified float64) float64 {
	r, _ := a.over(num(certified)).v.Float64()
	return r
}
