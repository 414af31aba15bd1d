package account

import "errors"

// ParallelEvent is a list of adaptive releases on disjoint sets of records. Part i contains all releases that
// read set i. The sets are a function of the records' indices and of coins that do not depend on the data.
// Releases may depend on the outputs of earlier releases of every part. The event requires that neighbouring
// data sets differ by replacing one record, and that the number of records is public.
//
// The event costs as much as its costliest part (proof: docs/theory.md#parallel). The statement does not hold
// if labels or features decide the set of a record. If the sizes of the sets follow from the number of
// records, the statement does not hold under add/remove either. In both cases one changed record can change
// several sets.
type ParallelEvent struct{ Parts []Event }

// String returns a list of the parts.
func (e ParallelEvent) String() string {
	s := "on disjoint records:"
	for i, p := range e.Parts {
		if i > 0 {
			s += " |"
		}
		s += " " + p.String()
	}
	return s
}

func (e ParallelEvent) validate() error {
	if len(e.Parts) == 0 {
		return errors.New("account: a parallel event has no parts")
	}
	return nil
}

func (e ParallelEvent) facts() facts { return facts{shape: parallel, event: e, parts: e.Parts} }

func (recorded) Parallel() kind {
	return container[ParallelEvent]("parallel", func(parts []Event) Event { return ParallelEvent{Parts: parts} })
}

// composeParallel adds the largest cost of a part. It maximises the three sums of a GDP account separately,
// which can only overstate the cost of a part.
func (a *GDP) composeParallel(parts []Event, known bool) error {
	var worst GDP
	pure := 0.0
	err := each(parts, func(part Event) error {
		var one GDP
		if err := one.compose(part, known); err != nil {
			return err
		}
		worst.mu2, worst.rest, pure = max(worst.mu2, one.mu2), max(worst.rest, one.rest), max(pure, one.pure.value())
		a.sampled = a.sampled || one.sampled
		return nil
	})
	if err != nil {
		return err
	}
	a.mu2, a.rest = addUp(a.mu2, worst.mu2), addUp(a.rest, worst.rest)
	a.pure.add(pure)
	return nil
}
