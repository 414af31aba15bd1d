package audit

// look is a number of runs on each side at which bounds are computed, and the probability
// with which any of its bounds may be too large.
type look struct {
	runs  int
	alpha float64
}

// fewestRuns is the smallest number of runs of a look.
const fewestRuns = 20

// lastShare is the part of the error probability of the last look if only an interrupt can
// end the runs before it.
const lastShare = 0.9

// looks is the schedule of an audit of so many runs, runs >= fewestRuns: at runs, runs/2,
// runs/4 and so on, in rising order. If the clock will stop the runs, all looks are worth
// the same; else the last one is worth almost everything.
//
// Theorem (optional stopping; docs/theory.md#audit-bounds). Whoever stops the runs, at whatever time and for whatever
// reason, and takes the largest bound of all looks until then: it is too large with
// probability at most alpha.
//
// Proof. The schedule is fixed before the first run; neither what is observed nor the
// clock changes the runs of a look or its share of alpha. Look i uses the first r_i runs
// of each side. They are independent, with laws that do not depend on when the audit is
// stopped, so every bound of look i is too large with probability at most its part of
// alpha_i (ClopperPearson with the attack chosen on the first half of these runs and
// counted on the second, gaussianModel, scaleModel), and some bound of some look with
// probability at most the sum of alpha_i, which is alpha. A stopping rule and the maximum
// choose among the bounds of that family. QED
func looks(runs int, alpha float64, timed bool) []look {
	count := 1
	for runs>>count >= fewestRuns {
		count++
	}
	all := make([]look, count)
	for i := range all {
		all[i] = look{runs >> (count - 1 - i), alpha / float64(count)}
		if !timed && count > 1 {
			all[i].alpha = alpha * (1 - lastShare) / float64(count-1)
			if i == count-1 {
				all[i].alpha = alpha * lastShare
			}
		}
	}
	return all
}
