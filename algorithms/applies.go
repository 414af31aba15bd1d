package algorithms

import (
	"fmt"
	"math"
	"slices"

	"dyad/privacy"
)

// growingPairs is Info.NoPersons of passes over growing pairs.
const growingPairs = "a pass pairs one row after the other with earlier ones, and a person's rows come at several times"

// checkApplies checks what all private algorithms share.
func checkApplies(i Info, s Spec) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if !i.Supports(s.Mode) {
		return fmt.Errorf("%w: %s has no %s mode; it offers %v", ErrAssumption, i.Name, s.Mode, i.Modes)
	}
	if s.PaperUnsound && (s.Mode != Paper || i.Unsound == "") {
		return fmt.Errorf("%w: --paper-unsound changes the schedule of paper mode of offpairstrc, offpairc, onpairstrc, onpairc and dpgdc2, not %s in %s mode; leave it out", ErrAssumption, i.Name, s.Mode)
	}
	if s.Kernel.Problem().Candidates.Choose > 0 && i.Name != (Moments{}).Info().Name {
		return fmt.Errorf("%w: %s chooses no pairs of columns, and the schema has choose_interactions; leave it out, name pairs in interactions, or choose moments", ErrAssumption, i.Name)
	}
	if s.Kernel.Problem().ByPerson() && i.NoPersons != "" {
		return fmt.Errorf("%w: %s does not learn from persons with several rows: %s; use dpgdsc, dpgdc or gradient-perturbation, or give one row a person and leave the role out", ErrAssumption, i.Name, i.NoPersons)
	}
	if loss := s.Kernel.Problem().Loss; !i.Learns(loss) {
		if i.ScoresOnly {
			return fmt.Errorf("%w: %s learns linear scores, and loss %s is about a metric; use dpgdsc", ErrAssumption, i.Name, loss.Name())
		}
		return fmt.Errorf("%w: %s learns a metric, and loss %s is about linear scores; use --task metric, or moments", ErrAssumption, i.Name, loss.Name())
	}
	if i.NeedsSmooth {
		if err := checkSmooth(i.Name, s); err != nil {
			return err
		}
	}
	if i.NeedsL2 && s.L2 == 0 {
		return fmt.Errorf("%w: %s needs a strongly convex objective, L2 weight alpha > 0 (the papers use 0.001)", ErrAssumption, i.Name)
	}
	if s.Mode != NonPrivate && s.Budget.Delta == 0 && !slices.Contains(i.PureModes, s.Mode) {
		pure := "it has no pure epsilon form"
		if len(i.PureModes) > 0 {
			pure = fmt.Sprintf("with delta = 0 it offers %v", i.PureModes)
		}
		return fmt.Errorf("%w: %s adds Gaussian noise in %s mode and needs delta > 0, the default is min(1e-5, n^-1.5) = %.3g; %s", ErrAssumption, i.Name, s.Mode, privacy.DefaultDelta(s.Kernel.Problem().N), pure)
	}
	return nil
}

// checkSmooth refuses a loss for which no certificate of a descent holds: without
// convexity a step can expand, and near a kink two close iterates have gradients that
// are not close (and a computed gradient is not close to the exact one, see
// engine.Kernel).
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
	return fmt.Errorf("%w: %s releases the result of a descent, which is stable for convex smooth losses only, and loss %s is %s; use gradient-perturbation or dpgdc2, which add noise to every gradient, or a smoothed convex loss", ErrAssumption, name, s.Kernel.Problem().Loss.Name(), lacks)
}
