package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"dyad/algorithms/attack/kinds"
	"dyad/algorithms/audit"
	"dyad/bench"
)

// audited is a kind of run that was audited by what its plan prints.
type audited struct {
	mechanism, options string
	power              audit.Power
	report             *audit.Report
}

// mostTries is how many neighbours of a kind are drawn; those are audited that half of the claim needs the fewest runs for.
const mostTries = 40

// auditKinds audits every kind of run that has jobs: the power is stated before the runs, and the number of runs is four times what half of the claim needs, as
// far as most allows, and 10,000 where that is not known.
func auditKinds(ctx context.Context, seed uint64, most int, log io.Writer) (all []audited, err error) {
	for _, k := range kinds.Jobs() {
		rng := rand.New(rand.NewPCG(seed, 7))
		var worst audit.Target
		var at audited
		for range mostTries {
			text, _, _, jobs := k.Draw(rng, kinds.Size{})
			data, neighbour, err := jobs(rng)
			if err != nil {
				return all, err
			}
			target := audit.OnJobs(data, neighbour, text)
			power, err := target.Power(ctx, audit.Options{Seed: seed})
			if err != nil {
				return all, err
			}
			better := at.power.RunsForHalf == 0 || power.RunsForHalf < at.power.RunsForHalf
			if power.RunsForHalf == 0 { // the number is secret: the largest move
				better = at.power.RunsForHalf == 0 && power.Move > at.power.Move
			}
			if at.mechanism == "" || better {
				worst, at = target, audited{mechanism: k.Name, options: text, power: power}
			}
		}
		if at.power.Runs = min(most, max(1000, 4*at.power.RunsForHalf)); at.power.RunsForHalf == 0 {
			at.power.Runs = min(most, 10_000)
		}
		fmt.Fprintf(log, "%s: %s; a move of %.3f, %d runs, half of the claim needs %d\n", k.Name, at.options, at.power.Move, at.power.Runs, at.power.RunsForHalf)
		if at.report, err = audit.Run(ctx, worst, audit.Options{Runs: at.power.Runs, Seed: seed}); err != nil {
			return all, err
		}
		all = append(all, at)
	}
	return all, nil
}

// verdict is a word of an audit.
func (a audited) verdict() string {
	switch {
	case !a.report.Holds():
		return "REFUTED"
	case !a.report.HalfRefuted:
		return "no power"
	}
	return "holds"
}

func writeAudits(w io.Writer, args []string, all []audited) error {
	bench.Header(w, "attacks", args)
	fmt.Fprintln(w, "# audits of the printed guarantee, by the jobs of two neighbours; power is known before the runs")
	t := csv.NewWriter(w)
	rows := [][]string{{"mechanism", "options", "unit", "epsilon", "delta", "move", "runs", "runs_for_half", "lower_bound", "verdict"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, a := range all {
		rows = append(rows, []string{a.mechanism, a.options, a.report.Unit, number(a.report.Epsilon), number(a.report.Delta), number(a.power.Move), strconv.Itoa(a.power.Runs), strconv.Itoa(a.power.RunsForHalf), number(a.report.LowerBound), a.verdict()})
	}
	return t.WriteAll(rows)
}
