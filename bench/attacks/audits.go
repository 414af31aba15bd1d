package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
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

// auditKinds audits every kind of run that has jobs, by as many runs as it needs or most allows.
func auditKinds(ctx context.Context, seed uint64, most int, log io.Writer) (all []audited, err error) {
	for _, row := range kinds.Jobs() {
		target, power, err := row.Audited(ctx, seed)
		if err != nil {
			return all, err
		}
		power.Runs = min(most, power.Runs)
		at := audited{mechanism: row.Name, options: target.Instance, power: power}
		fmt.Fprintf(log, "%s: %s; a move of %.3f, %d runs, half of the claim needs %d\n", row.Name, at.options, power.Move,
			power.Runs, power.RunsForHalf)
		if at.report, err = audit.Run(ctx, target, audit.Options{Runs: power.Runs, Seed: seed}); err != nil {
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
	rows := [][]string{{"mechanism", "options", "unit", "epsilon", "delta", "move", "runs", "runs_for_half",
		"lower_bound", "verdict"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, a := range all {
		rows = append(rows, []string{a.mechanism, a.options, a.report.Unit, number(a.report.Epsilon), number(a.report.Delta),
			number(a.power.Move), strconv.Itoa(a.power.Runs), strconv.Itoa(a.power.RunsForHalf),
			number(a.report.LowerBound), a.verdict()})
	}
	return t.WriteAll(rows)
}
