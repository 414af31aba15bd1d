package algorithms

import "dyad/privacy"

// Relabel lets tests see what a paper's plan says about other noise.
func Relabel(p *Plan, m privacy.Mechanism) error { return p.releasePlan(m, "a theorem") }
