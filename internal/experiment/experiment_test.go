package experiment

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/internal/input"
	"dyad/internal/must"
)

// TestMain makes this binary a peer where the tests ask for one.
func TestMain(m *testing.M) {
	if os.Getenv("DYAD_FAKE_PEER") != "" && len(os.Args) > 1 {
		fakePeer(os.Args[1])
		return
	}
	os.Exit(m.Run())
}

// fakePeer answers with weights that depend on seed and epsilon, or fails in its way.
func fakePeer(way string) {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var q request
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		a := answer{Weights: []float64{1, q.Epsilon, float64(q.Seed % 17), q.Delta}, Seconds: 0.5, Passes: 3, Version: "fake 1"}
		switch way {
		case "dies":
			fmt.Fprintln(os.Stderr, "out of\nluck")
			os.Exit(3)
		case "fails":
			a = answer{Error: "cannot do it"}
		case "hangs":
			time.Sleep(time.Minute)
		case "wrong":
			a.Weights = a.Weights[:2]
		case "scores":
			a.Weights = nil
			for i := range 20 { // 60 records, 40 to train
				a.Scores = append(a.Scores, float64(i*7%20))
			}
			a.Error = cmp.Or(members(q.Train, "X.npy", "y.npy"), members(q.Test, "X.npy"))
		case "columns":
			a.Weights, a.Scores = nil, firstColumn(q.TestColumns, len(q.Columns))
			if got := firstColumn(q.TrainColumns, len(q.Columns)); len(got) != 60 && len(got) != 90 {
				a.Error = fmt.Sprintf("%d rows of columns to train", len(got))
			}
		case "odd":
			fmt.Println("hello")
			continue
		}
		text, _ := json.Marshal(a)
		fmt.Println(string(text))
	}
}

// members says what is wrong with the arrays of an NPZ file.
func members(path string, want ...string) string {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err.Error()
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, want) {
		return fmt.Sprintf("%s has %q, want %q", filepath.Base(path), names, want)
	}
	return ""
}

const small = `
data:
  - {name: one, synthetic: scores, records: 200, features: 4, seed: 5, n: [50, 120]}
  - {name: two, synthetic: ar1, records: 150, features: 4, seed: 6, n: [100]}
epsilon: [0.5, 2]
delta: 1e-5
splits: 3
noises: 2
baselines: [class-means]
algorithms:
  - {name: dpgdsc, options: {radius: [0.1, 1]}}
peers:
  - {name: fake, command: [self, works]}
`

// load writes a plan and loads it.
func load(t *testing.T, text string) *Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return must.Get(Load(path))(t)
}

// options are those of tests: peers are this binary, and the clock stands still.
func options(t *testing.T) Options {
	t.Helper()
	t.Setenv("DYAD_FAKE_PEER", "1")
	self := must.Get(os.Executable())(t)
	now := time.Now()
	return Options{Machine: "a machine", Programs: map[string]string{"self": self}, Now: func() time.Time { return now }}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

// whole runs the plan in one go and returns the file's text.
func whole(t *testing.T, p *Plan, o Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "whole.csv")
	must.Do(t, p.Run(context.Background(), path, o))
	return read(t, path)
}

func TestInterruptedRunsGiveTheSameFile(t *testing.T) {
	p, o := load(t, small), options(t)
	want := whole(t, p, o)
	if got := strings.Count(want, ",ok\n"); got != p.Runs() || p.Runs() != 9*(1+3*4) {
		t.Fatalf("%d runs have values, want %d:\n%s", got, p.Runs(), want)
	}
	for _, parallel := range []int{1, 3} {
		path := filepath.Join(t.TempDir(), "resumed.csv")
		for stop := 1; ; stop += 20 { // each time a few runs more
			ctx, cancel := context.WithCancel(context.Background())
			again, seen := o, 0
			again.Parallel = parallel
			again.Progress = func(Progress) {
				if seen++; seen == stop {
					cancel()
				}
			}
			err := p.Run(ctx, path, again)
			cancel()
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			// A kill in the middle of a line.
			f := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
			must.Get(f.WriteString("one,50,4,0.5,1e-05,dpg"))(t)
			f.Close()
		}
		if got := read(t, path); got != want {
			t.Errorf("%d at a time: got\n%s\nwant\n%s", parallel, got, want)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
			t.Errorf("left: %q", left)
		}
	}
}

func TestPartsMergeToTheSameFile(t *testing.T) {
	p, o := load(t, small), options(t)
	want, dir := whole(t, p, o), t.TempDir()
	var parts []string
	for i := range 4 {
		o.Part, o.Parts = i+1, 4
		parts = append(parts, filepath.Join(dir, fmt.Sprint(i, ".csv")))
		must.Do(t, p.Run(context.Background(), parts[i], o))
		if n := strings.Count(read(t, parts[i]), ",ok\n"); n == 0 || n > p.Runs()/2 {
			t.Errorf("part %d has %d of %d runs", i+1, n, p.Runs())
		}
	}
	out := filepath.Join(dir, "out.csv")
	must.FailDo(t, p.Merge(out, parts[:3]...), "runs are missing", "three of four parts")
	slices.Reverse(parts)
	must.Do(t, p.Merge(out, parts...))
	if got := read(t, out); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Another outcome, other data, another plan.
	for old, text := range map[string]string{
		",3,ok\n":                            ",4,ok\n",
		"# data one: 200 records":            "# data one: 300 records",
		"# plan small " + p.digest:           "# plan small 0123",
		"two,100,4,0.5,1e-05,fake,,0,":       "two,100,4,0.5,1e-05,fake,,0,9",
		"data,n,d,epsilon,delta,algorithm,o": "data,n,d,epsilon,delta,algorithm,p",
	} {
		other := filepath.Join(dir, "other.csv")
		changed := strings.Replace(read(t, out), old, text, 1)
		if changed == read(t, out) {
			t.Fatalf("%q is not in the file", old)
		}
		must.Do(t, os.WriteFile(other, []byte(changed), 0o600))
		if err := p.Merge(filepath.Join(dir, "bad.csv"), append(parts[:len(parts):len(parts)], other)...); err == nil {
			t.Errorf("a file with %q merges", text)
		}
	}
}

// A seed depends on its cell alone: not on what else the plan has or in what order, and
// methods share it.
func TestSeedsDependOnTheCellAlone(t *testing.T) {
	seeds := func(p *Plan) map[string][]uint64 {
		out := map[string][]uint64{}
		for _, b := range p.blocks() {
			for _, r := range b.runs {
				if !r.method.nonPrivate {
					key := fmt.Sprint(r.row.Data, r.row.N, r.row.Epsilon, r.row.Delta, r.row.Split, r.method.label())
					out[key] = append(out[key], r.row.Seed)
				}
			}
		}
		return out
	}
	p := load(t, small)
	q := load(t, `
data:
  - {name: two, synthetic: ar1, records: 150, features: 4, seed: 6, n: [100, 60]}
  - {name: one, synthetic: scores, records: 200, features: 4, seed: 5, n: [120, 30, 50]}
epsilon: [4, 2, 0.5]
delta: 1e-5
splits: 5
noises: 2
peers:
  - {name: fake, command: [self, works]}
algorithms:
  - {name: dpgdsc, options: {radius: [1, 0.1]}}
`)
	all, distinct := seeds(q), map[uint64]string{}
	for key, s := range seeds(p) {
		if !slices.Equal(all[key], s) || len(s) != 2 || s[0] == s[1] {
			t.Errorf("%s: %d and %d", key, s, all[key])
		}
		for _, seed := range s {
			distinct[seed] = key
		}
	}
	if want := 3 * 2 * 3 * 2; len(distinct) != want { // data and n, epsilons, splits, draws
		t.Errorf("%d seeds for %d cells and draws", len(distinct), want)
	}
	p.NoiseSeed = "split"
	for _, b := range p.blocks() {
		for _, r := range b.runs {
			must.Equal(t, r.row.Seed/2, uint64(b.split), "split %d has seed %d", b.split, r.row.Seed)
		}
	}
}

func TestPeersThatFail(t *testing.T) {
	p, o := load(t, `
data: [{name: one, synthetic: scores, records: 60, features: 4, n: [40]}]
epsilon: [1]
delta: 1e-5
splits: 2
baselines: [class-means]
algorithms: [{name: offpairstrc, options: {mode: paper}}]
peers:
  - {name: dies, command: [self, dies]}
  - {name: fails, command: [self, fails]}
  - {name: hangs, command: [self, hangs], limit: 50ms}
  - {name: wrong, command: [self, wrong]}
  - {name: odd, command: [self, odd]}
  - {name: absent, command: [there-is-no-such-program]}
  - {name: works, command: [self, works]}
  - {name: scores, command: [self, scores]}
`), options(t)
	path := filepath.Join(t.TempDir(), "out.csv")
	must.Do(t, p.Run(context.Background(), path, o))
	rows := must.Get(p.Rows(path))(t)
	want := map[string]string{
		"class-means": "ok", "works": "ok", "scores": "ok", "dies": "failed: it ended without an answer: luck", "fails": "failed: cannot do it",
		"hangs": "failed: no answer in 50ms", "wrong": "failed: the answer has 2 weights", "odd": "failed: the answer does not have the agreed JSON format",
		"absent": "failed: absent cannot be started", "offpairstrc": "refused: offpairstrc as printed never takes a step",
	}
	must.Equal(t, len(rows), 2*len(want), "rows")
	for _, r := range rows {
		if !strings.HasPrefix(r.Status, want[r.Algorithm]) || r.ok() != (r.Value != 0) {
			t.Errorf("%s: %q, AUC %g, want %q", r.Algorithm, r.Status, r.Value, want[r.Algorithm])
		}
	}
	// Again: nothing is run. With Retry what failed is, and what was refused is not.
	for _, retry := range []bool{false, true} {
		done := 0
		o.Retry, o.Progress = retry, func(Progress) { done++ }
		must.Do(t, p.Run(context.Background(), path, o))
		if want := map[bool]int{false: 0, true: 12}[retry]; done != want {
			t.Errorf("retry %v: %d runs, want %d", retry, done, want)
		}
	}
}

func TestCancelWithinASecond(t *testing.T) {
	p, o := load(t, `
data: [{name: one, synthetic: scores, records: 60, features: 4, n: [40]}]
epsilon: [1]
splits: 1
peers: [{name: hangs, command: [self, hangs]}]
`), options(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	start := time.Now()
	err := p.Run(ctx, filepath.Join(t.TempDir(), "out.csv"), o)
	if took := time.Since(start) - 300*time.Millisecond; !errors.Is(err, context.Canceled) || took > time.Second {
		t.Errorf("%v after %s", err, took)
	}
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	p, o := load(t, small), options(t)
	text, path := whole(t, p, o), filepath.Join(t.TempDir(), "out.csv")
	for old, now := range map[string]string{
		"one,50,4,inf,0,class-means": "one,50,4,inf,0,other", // not in the plan
		"# data one: 200 records":    "# data one: 201 records",
		",ok\n":                      ",ok,\n",
	} {
		must.Do(t, os.WriteFile(path, []byte(strings.Replace(text, old, now, 1)), 0o600))
		before := read(t, path)
		if err := p.Run(context.Background(), path, o); !errors.Is(err, input.Err) || read(t, path) != before {
			t.Errorf("a file with %q: %v", now, err)
		}
	}
	missing := load(t, `
data: [{name: pima, file: pima/pima-indians-diabetes.data, schema: `+schemas(t)+`/pima.yaml, n: [40]}]
epsilon: [1]
splits: 1
baselines: [class-means]
`)
	o.Folders = []string{t.TempDir()}
	err := missing.Run(context.Background(), path+"2", o)
	if !errors.Is(err, input.Err) || !strings.Contains(err.Error(), "pima/pima-indians-diabetes.data") || !strings.Contains(err.Error(), "dyad data fetch pima") {
		t.Errorf("a missing file: %v", err)
	}
	must.Err(os.Stat(path+"2"))(t, "a file was begun without data")
}

// schemas is the folder of schemas relative to a plan in a temporary folder.
func schemas(t *testing.T) string {
	t.Helper()
	here := must.Get(os.Getwd())(t)
	return must.Get(filepath.Rel(filepath.Join(t.TempDir()), filepath.Join(here, "..", "..", "engine", "dataset", "catalog", "schemas")))(t)
}
