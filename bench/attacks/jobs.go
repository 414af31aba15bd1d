package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// area is a part of the search.
type area struct {
	name string
	// jobs of a round; the losses of scores and metrics differ from round to round.
	jobs func(all []candidate, round int) []job
	// repeat says that further rounds draw new options.
	repeat bool
}

func areas() []area {
	return []area{
		{"regression", regressions, false},
		{"gradient", gradientJobs, true},
		{"batch", batchJobs, true},
		{"moments", func(all []candidate, round int) []job { return momentsJobs(all, round, false) }, true},
		{"persons", personJobs, true},
		{"networks", networkJobs, true},
		{"stream", streamJobs, true},
		{"pairs", pairJobs, true},
		{"tuples", tupleJobs, true},
		{"certificate", certificateJobs, false},
		{"accountant", accountantJobs, false},
		{"guarantee", guaranteeJobs, true},
		{"kinds", kindJobs, true},
		{"local", localJobs, false},
	}
}

func names() []string {
	var all []string
	for _, a := range areas() {
		all = append(all, a.name)
	}
	return all
}

// jobs are those of as many rounds as the budget allows, at least one, and the number of
// neighbours for each.
func (o options) jobs() ([]job, int, error) {
	for _, name := range o.areas {
		if !slices.Contains(names(), name) {
			return nil, 0, fmt.Errorf("%w: -area %q is unknown, choose some of %s", errUsage, name, strings.Join(names(), ", "))
		}
	}
	neighbours, values, fuzz := o.neighbours, 60, 40
	if o.quick {
		neighbours, values, fuzz = (o.neighbours+4)/5, 6, 4
	}
	var all []job
	for round := 0; ; round++ {
		if round > 0 {
			values = 0 // the series are the same in every round
		}
		rng := rand.New(rand.NewPCG(o.seed, uint64(round)))
		var with []candidate
		for _, metric := range []bool{false, true} {
			some, err := losses(metric, values, fuzz, rng)
			if err != nil {
				return nil, 0, err
			}
			with = append(with, some...)
		}
		var jobs []job
		for _, a := range areas() {
			if (o.areas == nil || slices.Contains(o.areas, a.name)) && (round == 0 || a.repeat) {
				jobs = append(jobs, a.jobs(with, round)...)
			}
		}
		if o.quick { // half of the pairs of an algorithm and a loss
			jobs = slices.DeleteFunc(jobs, func(j job) bool {
				return (strings.HasPrefix(j.key, "batch|") || strings.HasPrefix(j.key, "stream|")) && j.seedOf(o.seed)%2 == 0
			})
		}
		if o.only != "" {
			jobs = slices.DeleteFunc(jobs, func(j job) bool { return !strings.Contains(j.key, o.only) })
		}
		if len(jobs) == 0 {
			return all, neighbours, nil
		}
		if round > 0 && (o.quick || len(all)*neighbours+len(jobs)*neighbours > o.budget) {
			return all, neighbours, nil
		}
		all = append(all, jobs...)
	}
}
