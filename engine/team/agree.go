package team

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"dyad/engine"
)

// ErrDisagree is wrapped by the error of Agree if the ranks do not take part in the same run.
var ErrDisagree = errors.New("team: the processes do not agree")

// A Statement has a text that must be the same on every rank. Its name, such as "the plan", is
// used in messages. The ranks compare the hashes of the texts.
type Statement struct{ Name, Text string }

// Agree compares the ranks before the privacy budget is charged. It compares their statements and
// the shares of the records that they hold, and checks that all shares together fit the problem.
// Every rank gets the same answer. An error that wraps ErrDisagree names the first difference and
// the ranks that differ. Any other error means that the team is lost or that the records do not
// fit the problem.
func Agree(ctx context.Context, t engine.Team, k engine.Kernel, r *engine.Records, same []Statement) error {
	p := k.Problem()
	problem := Statement{Name: "the problem", Text: fmt.Sprint(p.N, p.D, p.Bounds, p.Loss.Name(), p.Radius,
		p.NonZerosPerRow, p.LabelValues, p.PersonRows, p.Groups, k.Method())}
	maker := Statement{Name: "the make of GPUs",
		Text: k.Bounds(engine.Query{Pairs: p.Pairs()}).Make}
	if err := agreeOn(ctx, t, append([]Statement{problem, maker}, same...)); err != nil {
		return err
	}
	if err := agreeOnShares(ctx, t, k, r); err != nil {
		return err
	}
	return agreeOnRecords(ctx, t, p, r)
}

func agreeOn(ctx context.Context, t engine.Team, same []Statement) error {
	const words = sha256.Size / 4
	own := []float64{float64(len(same))}
	for _, s := range same {
		sum := sha256.Sum256([]byte(s.Text))
		for i := 0; i < len(sum); i += 4 {
			own = append(own, float64(binary.BigEndian.Uint32(sum[i:])))
		}
	}
	all, starts, err := engine.GatherValues(ctx, t, own)
	if err != nil {
		return err
	}
	for i := -1; i < len(same); i++ {
		what, from, to := "the number of statements", 0, 1
		if i >= 0 {
			what, from, to = same[i].Name, 1+i*words, 1+(i+1)*words
		}
		var other []int
		for rank := range t.Size() {
			part := all[starts[rank]:starts[rank+1]]
			if len(part) < to || !slices.Equal(part[from:to], all[from:to]) {
				other = append(other, rank)
			}
		}
		if len(other) > 0 {
			return fmt.Errorf("%w on %s: ranks %v differ from rank 0; use the same program, flags, files and "+
				"instruction set everywhere (no budget was charged)", ErrDisagree, what, other)
		}
	}
	return nil
}

// agreeOnShares decides from numbers that all ranks have, so no rank continues alone.
func agreeOnShares(ctx context.Context, t engine.Team, k engine.Kernel, r *engine.Records) error {
	const facts = 5
	from, to := engine.Share(k, t.Rank())
	all, _, err := engine.GatherValues(ctx, t, []float64{float64(from), float64(to), float64(r.First()),
		float64(r.First() + r.Units()), float64(r.Total())})
	if err != nil {
		return err
	}
	covered, n := 0, k.Problem().N
	missing := func(to int) error {
		return fmt.Errorf("%w on the records: no rank holds records %d to %d; no budget was charged",
			ErrDisagree, covered, to-1)
	}
	for rank := range t.Size() {
		own := all[rank*facts:]
		from, to, first, end, total := int(own[0]), int(own[1]), int(own[2]), int(own[3]), int(own[4])
		switch {
		case total != n:
			return fmt.Errorf("%w on the records: rank %d has %d as the total number of records, but the plan has "+
				"%d; no budget was charged", ErrDisagree, rank, total, n)
		case from < to && (first != from || end != to):
			return fmt.Errorf("%w on the records: rank %d holds records %d to %d, but must hold %d to %d; no "+
				"budget was charged", ErrDisagree, rank, first, end-1, from, to-1)
		case from < to && from > covered:
			return missing(from)
		}
		covered = max(covered, to)
	}
	if covered != n {
		return missing(n)
	}
	return nil
}

// agreeOnRecords checks engine.Problem.Fits for all shares together.
func agreeOnRecords(ctx context.Context, t engine.Team, p engine.Problem, r *engine.Records) error {
	own := p.FitsShard(r)
	limit := p.LabelLimit()
	counted := limit < p.MaxRows()
	facts := []float64{0}
	if own != nil {
		facts[0] = 1
	} else if counted {
		facts = append(facts, r.DifferentLabels(limit)...)
	}
	all, starts, err := engine.GatherValues(ctx, t, facts)
	if err != nil {
		return err
	}
	var labels []float64
	for rank := range t.Size() {
		part := all[starts[rank]:starts[rank+1]]
		if part[0] != 0 && own == nil {
			return fmt.Errorf("team: the records of rank %d do not fit the plan; see the message of that rank; no "+
				"budget was charged", rank)
		}
		labels = append(labels, part[1:]...)
	}
	slices.Sort(labels)
	if own == nil && counted && len(slices.Compact(labels)) > limit {
		return fmt.Errorf("team: the shards together have more than %d different labels; raise Problem.LabelValues "+
			"(engine.AnyLabels for grades); no budget was charged", limit)
	}
	return own
}
