//go:build linux

package command

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dyad/engine/dataset"
	"dyad/internal/crash"
	"dyad/internal/must"
)

// longWork has a command line for every command that takes more than a moment. BIG is a file of 400,000 records, MANY one of four times as many.
var longWork = map[string]string{
	"train":             "train --data BIG --schema SCHEMA --algorithm dpgdsc --out OUT --ledger LEDGER",
	"online":            "online --data BIG --schema SCHEMA --records 400000 --every 1000 --state OUT --ledger LEDGER",
	"search":            "search --candidates CANDIDATES --data BIG --schema SCHEMA --epsilon 1 --out OUT --ledger LEDGER",
	"cluster":           "cluster -k 200 --rounds 200 --data BIG --schema SCHEMA --out OUT --ledger LEDGER",
	"plan compare":      "plan compare -n 400000 -d 300",
	"baseline":          "baseline --data BIG --schema SCHEMA --steps 100000 --out OUT --yes --ledger LEDGER",
	"pairs train":       "pairs train --data BIG --schema SCHEMA --density 2 --degree-cap 6 --out OUT --ledger LEDGER",
	"pairs plan":        "pairs plan -n 2000000 -d 33 --density 2 --degree-cap 8 --sampling poisson --batch 256 --epsilon 2 --epochs 3000",
	"pairs inspect":     "pairs inspect --data BIG --schema SCHEMA --density 3 --degree-cap 6",
	"local simulate":    "local simulate --data BIG --schema SCHEMA --epochs 3 --l2-grid 0.1,1 --out OUT --ledger LEDGER",
	"local server":      "local server --dir OUT -n 300 --schema SCHEMA --epochs 2 --listen 127.0.0.1:0",
	"local audit":       "local audit prestige --runs 4000000",
	"evaluate private":  "evaluate MODEL --data MANY --epsilon 1 --ledger LEDGER",
	"threshold":         "threshold MODEL --data MANY --epsilon 1 --ledger LEDGER --out OUT",
	"predict":           "predict MODEL --data MANY",
	"lab influence":     "lab influence MODEL --data BIG --public-data",
	"lab audit records": "lab audit dpgdsc --runs 1000000",
	"lab audit pairs":   "lab audit pairs --kappa 4 --runs 1000000",
	"lab curve":         "lab curve --data BIG --schema PUBLIC --public-data --epsilon 1,4 --splits 2 --out OUT",
	"lab losses check":  "lab losses check log1p(exp(-u))+log1p(exp(-2*u))+exp(-u^2)+log1p(exp(-3*u))+sin(3*u) --radius 20",
	"data schema":       "data schema BIG --out OUT",
	"start":             "start BIG --out OUT",
	"data inspect":      "data inspect MANY --schema SCHEMA",
	"data convert":      "data convert BIG OUT.csv.gz --schema SCHEMA",
	"data synth":        "data synth OUT.csv -n 20000000",
	"lab bench":         "lab bench --runs 1000",
	"data pack":         "data pack MANY --schema SCHEMA -o OUT",
	"lab reproduce":     "lab reproduce kang table1 --out OUT --pages OUT",
}

// shortWork is done within a second, or waits for something and has tests of its own.
var shortWork = map[string]string{
	"local plan": "computes", "local client": "waits for a server (TestKilledServerAndClients) and reads one record", "local model": "reads a log", "local token": "computes",
	"plan train": "computes what plan compare computes for all algorithms", "evaluate exact": "reads as evaluate private", "evaluate compare": "reads as evaluate private",
	"transform": "the reader and the writer of predict", "account": "computes", "lab algorithms": "a list", "lab losses list": "a list", "ledger init": "one line", "ledger show": "reads a ledger", "ledger key": "one file", "ledger sign": "hashes a file", "ledger compact": "reads and writes a ledger",
	"ledger verify": "reads a ledger", "data list": "a list", "data fetch": "waits for a network", "data verify": "hashes what was fetched", "devices": "a list", "doctor": "looks",
	"version": "a line", "report": "reads a model, and no records", "export": "reads a model, and no records", "verify": "reads a model and a ledger", "data check": "reads a schema", "docs": "writes the help",
	"completion": "writes a script", "man": "writes the help",
}

// cpuOf is the time that a process has computed.
func cpuOf(t *testing.T, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond // of USER_HZ, 100
}

// TestInterruptStopsEveryCommand: the first interrupt stops any work. A second is counted in time of the processor, as others may use it at
// the same time; a child has one. The second interrupt kills (TestSecondInterruptKills).
func TestInterruptStopsEveryCommand(t *testing.T) {
	var c cli
	parser := must.Get(newParser(&c, &bytes.Buffer{}, &bytes.Buffer{}))(t)
	leaves := map[string]bool{}
	for _, l := range parser.Model.Leaves(false) {
		path := strings.TrimPrefix(l.Path(), "dyad ")
		leaves[path] = true
		if (longWork[path] == "") == (shortWork[path] == "") {
			t.Errorf("%q is in none or both of the lists", path)
		}
	}
	for path := range longWork {
		if !leaves[path] {
			t.Errorf("there is no command %q", path)
		}
	}
	f := newFixture(t)
	var big bytes.Buffer
	must.Do(t, dataset.WriteSyntheticClinical(&big, 400_000, 5))
	public := strings.Replace(f.get(t, "in/patients.yaml"), "public: false", "public: true", 1)
	// What only reads would end too soon.
	_, rows, _ := strings.Cut(big.String(), "\n")
	f.put(t, map[string]string{"in/big.csv": big.String(), "in/many.csv": big.String() + rows + rows + rows, "in/public.yaml": public, "in/candidates.yaml": "candidates:\n- {name: strong, algorithm: moments, ridge: 4}\n- {name: weak, algorithm: dpgdsc}\n"})
	place := strings.NewReplacer("BIG", f.in("in/big.csv"), "MANY", f.in("in/many.csv"), "SCHEMA", f.in("in/patients.yaml"), "PUBLIC", f.in("in/public.yaml"), "MODEL", f.in("out/model.json"), "CANDIDATES", f.in("in/candidates.yaml"))
	names := make([]string, 0, len(longWork))
	for name := range longWork {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := strings.NewReplacer("OUT", f.in(fmt.Sprintf("out/of%d", i)), "LEDGER", f.in(fmt.Sprintf("out/ledger%d", i)))
			child := f.start(t, crash.Spec{Args: strings.Fields(own.Replace(place.Replace(longWork[name]))), Bare: true})
			done := make(chan ended, 1)
			go func() { done <- child.End() }()
			wait := func(until func() bool) *ended {
				for !until() {
					select {
					case e := <-done:
						return &e
					case <-time.After(10 * time.Millisecond):
					}
				}
				return nil
			}
			pid := child.Process.Pid
			began := time.Now()
			if e := wait(func() bool {
				return cpuOf(t, pid) > 100*time.Millisecond || name == "local server" && time.Since(began) > time.Second
			}); e != nil {
				t.Fatalf("it ended too soon to be interrupted: exit %d: %s%s", e.Code, e.Stdout, e.Stderr)
			}
			at := cpuOf(t, pid)
			must.Do(t, child.Process.Signal(os.Interrupt))
			var took time.Duration
			e := wait(func() bool {
				took = cpuOf(t, pid) - at
				return took > time.Second || time.Since(began) > 50*time.Second
			})
			if e == nil {
				_ = child.Process.Signal(os.Interrupt)
				if e = wait(func() bool { return time.Since(began) > 55*time.Second }); e == nil {
					_ = child.Process.Kill()
					t.Fatal("two interrupts did not end it")
				}
				t.Fatalf("it computed for %v after an interrupt", took)
			}
			if e.Code != exitCancelled && e.Code != exitOK { // what was at its end
				t.Errorf("exit %d: %s", e.Code, e.Stderr)
			}
		})
	}
}
