package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"dyad/algorithms/audit"
	"dyad/bench"
)

// confidence is that of each lower bound by itself.
const confidence = 0.99

// attackCase is a line of the output of an attack program, and what follows from its samples.
type attackCase struct {
	Library, Version, Case, Loss, Relation string
	N, Positives                           int
	Claimed, Delta                         float64
	Move                                   float64 // of the clipped sum by one record, in clips; NaN if there is none
	// number of records that move it by more than a clip, where all were tried
	Above         string
	Warnings      string
	With, Without []float64
	// Bound is the lower bound on epsilon, Most what so many samples can show, and Gap the distance of the means over the
	// standard deviation without the record.
	Bound, Most, Gap float64
}

// readAttacks reads the raw files of the attacks that are in a folder and computes their bounds.
func readAttacks(folder string) ([]attackCase, error) {
	var out []attackCase
	for _, a := range attackers {
		path := filepath.Join(folder, "dpauc-attack-"+a.library+".csv")
		comments, rows, err := bench.ReadTable(path)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			c, err := newAttackCase(row)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			c.Version = strings.TrimPrefix(comments[0], "# ")
			out = append(out, c)
		}
	}
	return out, nil
}

func newAttackCase(row map[string]string) (attackCase, error) {
	c := attackCase{Library: row["library"], Case: row["case"], Loss: row["loss"], Relation: row["relation"],
		Above: row["above"], Warnings: row["warnings"], Move: math.NaN()}
	numbers := []struct {
		name string
		to   *float64
	}{{"claimed_epsilon", &c.Claimed}, {"delta", &c.Delta}, {"move", &c.Move}}
	for _, n := range numbers {
		if row[n.name] == "" && n.name == "move" {
			continue
		}
		v, err := strconv.ParseFloat(row[n.name], 64)
		if err != nil {
			return c, fmt.Errorf("%s: %w", n.name, err)
		}
		*n.to = v
	}
	var err error
	if c.N, err = strconv.Atoi(row["n"]); err != nil {
		return c, err
	}
	if c.Positives, err = strconv.Atoi(row["positives"]); err != nil {
		return c, err
	}
	if c.With, err = floats(row["with"]); err != nil {
		return c, err
	}
	if c.Without, err = floats(row["without"]); err != nil {
		return c, err
	}
	if len(c.With) < 4 || len(c.Without) < 4 {
		return c, fmt.Errorf("%s: too few samples", c.Case)
	}
	alpha := 1 - confidence
	c.Bound = bound(c.With, c.Without, c.Delta, alpha)
	m, k := len(c.With)-len(c.With)/2, len(c.Without)-len(c.Without)/2
	c.Most = audit.ClopperPearson(audit.Event{Likely: m, LikelyRuns: m, RareRuns: k}, c.Delta, alpha)
	c.Gap = (stat.Mean(c.With, nil) - stat.Mean(c.Without, nil)) / stat.StdDev(c.Without, nil)
	return c, nil
}

// bound is a lower bound on epsilon that is too large with probability at most alpha. Threshold and side are chosen on the first halves
// of the samples, and the bound is of the other halves.
func bound(with, without []float64, delta, alpha float64) float64 {
	i, j := len(with)/2, len(without)/2
	choice := append(slices.Clone(with[:i]), without[:j]...)
	slices.Sort(choice)
	best, chosen := -1.0, guess{}
	for _, t := range thresholds(choice) {
		for _, g := range []guess{{t, true, true}, {t, true, false}, {t, false, true}, {t, false, false}} {
			if e := audit.ClopperPearson(g.count(with[:i], without[:j]), delta, alpha); e > best {
				best, chosen = e, g
			}
		}
	}
	return audit.ClopperPearson(chosen.count(with[i:], without[j:]), delta, alpha)
}

// guess is an event: a sample above the threshold, or not above, that is to be likelier with the record, or without it.
type guess struct {
	threshold   float64
	above, with bool
}

func (g guess) count(with, without []float64) audit.Event {
	hits := func(v []float64) (k int) {
		for _, x := range v {
			if x > g.threshold == g.above {
				k++
			}
		}
		return k
	}
	if !g.with {
		with, without = without, with
	}
	return audit.Event{Likely: hits(with), LikelyRuns: len(with), Rare: hits(without), RareRuns: len(without)}
}

// thresholds are some 64 middles between neighbours in sorted numbers, and that of the widest gap.
func thresholds(sorted []float64) []float64 {
	var out []float64
	wide, step := 1, max(1, len(sorted)/64)
	for k := 1; k < len(sorted); k++ {
		if sorted[k]-sorted[k-1] > sorted[wide]-sorted[wide-1] {
			wide = k
		}
		if k%step == 0 {
			out = append(out, (sorted[k]+sorted[k-1])/2)
		}
	}
	return append(out, (sorted[wide]+sorted[wide-1])/2)
}

func floats(text string) ([]float64, error) {
	var out []float64
	for field := range strings.FieldsSeq(text) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
