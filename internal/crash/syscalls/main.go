// Command syscalls runs the program under strace with a fault at a system call, for every command x call x fault.
// Then it checks what the run left: the ledger verifies, no run is charged twice, no charged result is lost, files
// are whole or absent, and the exit code is correct. Then it continues with --resume, or with the same command, which
// must end with the result.
//
//	go run ./internal/crash/syscalls -program ./dyad -out cells.csv
//	go run ./internal/crash/syscalls -program ./dyad -part 0.1 -seed 7 -limit 3m
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"dyad/internal/tasks"
)

func main() {
	o := options{}
	flag.StringVar(&o.program, "program", "", "the program to attack")
	flag.StringVar(&o.out, "out", "", "CSV file of the cells")
	flag.Float64Var(&o.part, "part", 1, "share of the cells to run; --seed selects them")
	flag.Uint64Var(&o.seed, "seed", 1, "seed that selects and orders the cells and places the faults")
	flag.DurationVar(&o.limit, "limit", 0, "start no new cells after this duration; 0: no limit")
	flag.IntVar(&o.workers, "workers", 2, "cells at a time")
	flag.Parse()
	failed, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "syscalls:", err)
		os.Exit(1)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

type options struct {
	program, out string
	part         float64
	seed         uint64
	limit        time.Duration
	workers      int
}

// table holds all cells in an order that the seed determines. For a call that a command never
// makes, the cell has no places.
func table(random *rand.Rand, places map[string]map[string][]int) (cells []cell) {
	for _, c := range commands {
		for _, s := range calls {
			for _, fault := range s.faults() {
				var three []int
				for at := places[c.row][s.name]; len(at) > 0 && len(three) < 3; {
					three = append(three, at[random.IntN(len(at))])
				}
				cells = append(cells, cell{c, s, fault, three})
			}
		}
	}
	random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	return cells
}

func run(o options) (failed int, err error) {
	path, err := filepath.Abs(o.program)
	if err != nil || o.program == "" {
		return 0, errors.Join(err, errors.New("-program names no program"))
	}
	work, err := os.MkdirTemp("", "dyad-syscalls")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	began := time.Now()
	t, err := newTemplate(path, work)
	if err != nil {
		return 0, err
	}
	cells := table(rand.New(rand.NewPCG(o.seed, 0)), t.places)
	cells = cells[:int(o.part*float64(len(cells)))]
	results := make([]*result, len(cells))
	var first error
	var mu sync.Mutex
	err = tasks.Each(context.Background(), o.workers, len(cells), func(_, i int) {
		if o.limit > 0 && time.Since(began) > o.limit {
			return
		}
		r, err := cells[i].run(path, work, t)
		mu.Lock()
		defer mu.Unlock()
		results[i] = &r
		at := fmt.Sprintf("%s, %s at %s %d", r.command.row, r.fault, r.call.name, r.nth)
		if r.verdict == fails || r.verdict == known {
			fmt.Printf("%s: %s: %s\n", r.verdict, at, r.why)
		}
		if err != nil && first == nil {
			first = fmt.Errorf("%s: %w", at, err)
		}
	})
	if err = errors.Join(err, first); err != nil {
		return 0, err
	}
	return report(o, results)
}

// report prints counts and writes the table.
func report(o options, results []*result) (failed int, err error) {
	rows := [][]string{{"command", "call", "fault", "at", "exit", "outcome", "why"}}
	count, why := map[verdict]int{}, map[string]int{}
	for _, r := range results {
		if r == nil {
			count[""]++
			continue
		}
		rows = append(rows, []string{r.command.row, r.call.name, r.fault, strconv.Itoa(r.nth), strconv.Itoa(r.code),
			string(r.verdict), r.why})
		if count[r.verdict]++; r.verdict == leftOut {
			why[r.why]++
		}
	}
	fmt.Printf("seed %d\n  %d cells hold\n  %d fail\n  %d fail because of a known defect\n  %d are left out: in %d the "+
		"command makes no such call, in %d the loader or Go makes the call, in %d the call was not reached\n  %d "+
		"were not run in time\n",
		o.seed, count[holds], count[fails], count[known], count[leftOut], why["the command makes no such call"],
		why["of the loader or Go's own"], why[notReached], count[""])
	if count[holds] == 0 {
		return 0, errors.New("no cell holds")
	}
	if o.out == "" {
		return count[fails], nil
	}
	f, err := os.Create(o.out)
	if err != nil {
		return 0, err
	}
	return count[fails], errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}
