package audit

// look is a number of runs on each side after which bounds are computed, with the probability that any of these
// bounds is too large.
type look struct {
	runs  int
	alpha float64
}

// fewestRuns is the smallest number of runs of a look.
const fewestRuns = 20

// lastShare is the last look's share of the error probability if only an interrupt can end the runs before the
// last look.
const lastShare = 0.9

// looks returns the schedule of looks of an audit with this number of runs, runs >= fewestRuns. The looks are
// at runs, runs/2, runs/4 and so on, in rising order. If the clock will stop the runs, all looks get equal
// shares of alpha. Otherwise the last look gets almost all of alpha.
//
// Theorem (optional stopping; docs/theory.md#audit-bounds). Stop the runs at any time and for any reason, and take
// the largest bound of all looks until then. This bound is too large with probability at most alpha.
//
// Proof. The schedule is fixed before the first run. Neither the observations nor the clock change the runs of
// a look or its share of alpha. Look i uses the first r_i runs of each side. These runs are independent, with
// laws that do not depend on when the audit is stopped. So every bound of look i is too large with probability
// at most its part of alpha_i. This follows from gaussianModel, scaleModel, and ClopperPearson with the attack
// chosen on the first half of these runs and counted on the second. Some bound of some look is too large with
// probability at most the sum of alpha_i, which is alpha. A stopping rule and the maximum choose among the
// bounds of this family. QED
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
