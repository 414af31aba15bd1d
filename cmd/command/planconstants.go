package command

import (
	"cmp"
	"math"

	"dyad/engine"
)

// constantFlags are assertions of the user about the loss that replace the proved constants. They show the plan
// of an algorithm for another loss or for sharper constants. Only plans accept them; a run always uses proved
// constants.
type constantFlags struct {
	Lipschitz    *float64 `name:"G" placeholder:"G" help:"Assert that pair gradients have norm at most G. Without --Dg, Dg becomes 2 G."`
	Smoothness   *float64 `name:"L" placeholder:"L" help:"Assert that pair gradients are L-Lipschitz in w."`
	PairDiameter *float64 `name:"Dg" placeholder:"DG" help:"Assert that replacing one of its two records moves a pair gradient by at most Dg <= 2 G."`
	Diameter     float64  `name:"radius-diameter" xor:"radius" positive:"" placeholder:"D" help:"Diameter of the set of allowed weights w, in place of --radius."`
	Length       float64  `name:"H" xor:"length" positive:"" placeholder:"H" help:"The same as --total-step."`
}

// resolve adds the assertions to the flags of a plan, and translates --radius-diameter and --H to the flags for which
// they are other names. d is the number of features.
func (f constantFlags) resolve(p *planFlags, d int) {
	p.asserted = engine.Assertion{Lipschitz: f.Lipschitz, Smoothness: f.Smoothness, PairDiameter: f.PairDiameter}
	p.TotalStep = cmp.Or(f.Length, p.TotalStep)
	switch {
	case f.Diameter == 0:
	case p.Task == taskAUC:
		p.Radius = f.Diameter / 2
	case d > 1: // engine.PSDBall
		p.Radius = f.Diameter / math.Sqrt2
	default:
		p.Radius = f.Diameter
	}
}
