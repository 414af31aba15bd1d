package algorithms

import (
	"fmt"
	"math"
	"slices"

	"dyad/internal/input"
	"dyad/privacy"
)

// certifiedMode is Info.NoL2 of algorithms that take no L2 term in paper mode only.
const certifiedMode = "certified mode"

// checkApplies checks the requirements that all algorithms share.
func checkApplies(i Info, s Spec) error {
	if err := s.Validate(); err != nil {
		return err
	}
	p := s.Kernel.Problem()
	switch {
	case s.Mode == Paper && i.NoPaper != "":
		return Refused(i.Name, " has no paper mode: %s; use certified mode", i.NoPaper)
	case !i.Supports(s.Mode):
		return Refused(i.Name, " has no %s mode; it offers %v", s.Mode, i.Modes)
	case s.PaperUnsound && (s.Mode != Paper || i.Unsound == ""):
		return Refused("--paper-unsound", " does not apply to %s in %s mode; leave --paper-unsound out", i.Name, s.Mode)
	case p.Candidates.Choose > 0 && i.Name != (Moments{}).Info().Name:
		return Refused(i.Name, " cannot choose interactions; use moments, or name pairs in interactions instead of "+
			"choose_interactions")
	case p.ByPerson() && i.NoPersons != "":
		return Refused(i.Name, " cannot learn from persons with several rows: %s; use dpgdsc, dpgdc or "+
			"gradient-perturbation", i.NoPersons)
	case !i.Learns(p.Loss) && i.ScoresOnly:
		return Refused(i.Name, " learns linear scores, but loss %s is for a metric; use algorithm dpgdsc", p.Loss.Name())
	case !i.Learns(p.Loss):
		return Refused(i.Name, " learns a metric, but loss %s is for linear scores; use --task metric, or "+
			"algorithm moments",
			p.Loss.Name())
	case i.NeedsSmooth && checkSmooth(i.Name, s) != nil:
		return checkSmooth(i.Name, s)
	case i.NeedsL2 && s.L2 == 0:
		return Refused(i.Name, " needs a strongly convex objective, L2 weight alpha > 0 (the papers use 0.001)")
	case s.Mode != NonPrivate && s.Budget.Delta == 0 && !slices.Contains(i.PureModes, s.Mode):
		pure := "it has no pure epsilon form"
		if len(i.PureModes) > 0 {
			pure = fmt.Sprintf("with delta = 0 it offers %v", i.PureModes)
		}
		return Refused(i.Name, " adds Gaussian noise in %s mode and needs delta > 0, the default is min(1e-5, "+
			"n^-1.5) = %.3g; %s", s.Mode, privacy.DefaultDelta(p.N), pure)
	case s.L2 != 0 && i.NoL2 == certifiedMode && s.Mode == Paper:
		return Refused("", "the paper's %s takes no L2 term, but alpha is %.6g; set alpha to 0 or use certified mode", i.Name,
			s.L2)
	case s.L2 != 0 && i.NoL2 != certifiedMode && i.NoL2 != "":
		return Refused(i.Name, " takes no L2 term, but alpha is %.6g; set alpha to 0 or use %s", s.L2,
			i.NoL2)
	case len(p.Groups) > 0 && i.NoGroups != "":
		return Refused(i.Name, " %s", i.NoGroups)
	case len(p.Groups) > 0 && s.Mode == Paper:
		return Refused("", "the paper's %s does not support query groups; use certified mode", i.Name)
	}
	return nil
}

// ranged returns an error if a numeric option of an algorithm is outside the interval in its struct tag.
func ranged(name string, options any) error {
	if err := input.Ranges(options); err != nil {
		return Refused(name, ": %w", err)
	}
	return nil
}

// checkSmooth refuses a loss for which no certificate of a descent holds. Without convexity a step can expand
// distances. Near a kink two close iterates have gradients that are not close, and a computed gradient is not
// close to the exact gradient (see engine.Kernel).
func checkSmooth(name string, s Spec) error {
	lacks := ""
	switch {
	case math.IsInf(s.Constants.Smoothness, 1):
		lacks = "not smooth"
	case !s.Constants.Convex:
		lacks = "not proved to be convex"
	default:
		return nil
	}
	return Refused(name, " needs a convex smooth loss, but loss %s is %s; use gradient-perturbation, dpgdc2 or "+
		"another loss",
		s.Kernel.Problem().Loss.Name(), lacks)
}
