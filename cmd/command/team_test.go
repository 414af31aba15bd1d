//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/device"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/privacy/ledger"
)

// memoryJob is a member of a team in this process.
type memoryJob struct{ engine.Team }

// Close implements job.
func (memoryJob) Close() error { return nil }

// Abort implements job.
func (j memoryJob) Abort(code int) {
	j.Team.(interface{ End(error) }).End(fmt.Errorf("rank %d aborts with code %d", j.Rank(), code))
}

// rankEnd is how a rank ended.
type rankEnd struct {
	ended
	stages []string
}

// ranks runs the program as a team of so many ranks; more are further arguments of a rank. Each has
// a ledger of its own, rank-R.jsonl in dir.
func ranks(t *testing.T, dir string, size int, args []string, more func(rank int) []string) []rankEnd {
	t.Helper()
	t.Chdir(dir)
	return asTeam(enginetest.Members(size), nil, func(rank int) []string {
		own := append(slices.Clone(args), "--team", "mpi", "--ledger", fmt.Sprintf("rank-%d.jsonl", rank))
		if more != nil {
			own = append(own, more(rank)...)
		}
		return own
	})
}

// asTeam runs the program as a team of these members. at, if not nil, is called at every stage of every rank.
func asTeam(members []engine.Team, at func(stage string), args func(rank int) []string) []rankEnd {
	ends := make([]rankEnd, len(members))
	var all sync.WaitGroup
	for rank, member := range members {
		own, e := args(rank), &ends[rank]
		all.Go(func() {
			stage := func(name string) {
				if e.stages = append(e.stages, name); at != nil {
					at(name)
				}
			}
			e.Code, e.Stdout, e.Stderr = hooked(context.Background(), hooks{stage: stage, team: memoryJob{member}}, own...)
		})
	}
	all.Wait()
	return ends
}

// sameButRun says whether two model files differ in nothing but run and time, and the checksum of all.
func sameButRun(t *testing.T, a, b string) bool {
	t.Helper()
	var models [2]map[string]any
	for i, name := range []string{a, b} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &models[i])
		}
		if err != nil {
			t.Fatal(err)
		}
		delete(models[i], "run")
		delete(models[i], "created")
		delete(models[i], "checksum")
	}
	return reflect.DeepEqual(models[0], models[1])
}

// TestTeamTrains: the model of a team is that of one process, and only rank 0 has a ledger, a model,
// a report or stages of a run.
func TestTeamTrains(t *testing.T) {
	dir := clinic(t, 5000)
	for name, args := range map[string][]string{
		"near-linear": {"--algorithm", "gradient-perturbation", "--set", "steps=5", "--loss", "logistic"},
		"moments":     {"--algorithm", "moments-descent"},
		"batches":     {"--algorithm", "subsampled-descent", "--set", "steps=3", "--set", "batch-records=200"},
		"metric":      {"--task", "metric", "--algorithm", "moment-metric", "--holdout", "0.1"},
	} {
		args = append([]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--seed", "7", "--workers",
			"1", "--force"}, args...)
		mustRun(t, dir, append(args, "--out", "one.json")...)
		ends := ranks(t, dir, 3, append(args, "--out", "team.json"), nil)
		for rank, e := range ends {
			if e.Code != exitOK {
				t.Fatalf("%s: rank %d: exit %d: %s", name, rank, e.Code, e.Stderr)
			}
			if rank > 0 && (len(e.stages) > 0 || e.Stdout+e.Stderr != "") {
				t.Errorf("%s: rank %d has stages %q and says %q", name, rank, e.stages, e.Stdout+e.Stderr)
			}
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("rank-%d.jsonl", rank))); (err == nil) != (rank == 0) {
				t.Errorf("%s: rank %d: ledger: %v", name, rank, err)
			}
		}
		if !slices.Contains(ends[0].stages, "released") {
			t.Errorf("%s: rank 0 has stages %q", name, ends[0].stages)
		}
		if !sameButRun(t, "one.json", "team.json") {
			t.Errorf("%s: the model of a team differs from the model of one process", name)
		}
	}
}

// TestTeamRefusals: what the ranks do not agree on, or a team cannot do, ends all with exitInput and
// nothing charged, and one rank says why.
func TestTeamRefusals(t *testing.T) {
	dir := clinic(t, 20_000) // sorted scores are the cheapest for a hinge
	unread := []string{"train", "--schema", "patients.yaml", "--set", "steps=5", "--algorithm", "gradient-perturbation"}
	base := slices.Clip(append(slices.Clone(unread), "--data", "patients.csv"))
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(text), "\n")
	write(t, dir, "shorter.csv", strings.Join(lines[:len(lines)-2], ""))
	write(t, dir, "broken.csv", string(text)+"x,y\n")
	// Both have the size of the first file. Of the second, record 2 would be in the shares of two ranks.
	changed := strings.Replace(lines[9], ",1", ",2", 1)
	write(t, dir, "changed.csv", strings.Join(lines[:9], "")+changed+strings.Join(lines[10:], ""))
	turned := slices.Clone(lines[1 : len(lines)-1])
	slices.Reverse(turned)
	write(t, dir, "turned.csv", lines[0]+strings.Join(turned, ""))
	for _, name := range []string{"changed.csv", "turned.csv"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || int(info.Size()) != len(text) ||
			changed == lines[9] {
			t.Fatalf("%s: %v, want another file of %d bytes", name, err, len(text))
		}
	}
	only := func(at int, more ...string) func(int) []string {
		return func(rank int) []string {
			if rank == at {
				return more
			}
			return nil
		}
	}
	others := func(at int, file string) func(int) []string { // a rank reads another file
		return func(rank int) []string {
			if rank == at {
				return []string{"--data", file}
			}
			return []string{"--data", "patients.csv"}
		}
	}
	for name, c := range map[string]struct {
		args []string
		more func(int) []string
		says string
		told int // rank that says it
	}{
		"another epsilon": {base, only(1, "--epsilon", "2"), "ranks [1] differ from rank 0", 0},
		"another split": {append(base, "--holdout", "0.2"), only(2, "--set", "split-seed=9"),
			"do not agree on the flags of the split", 0},
		"a row less": {unread, others(1, "shorter.csv"), "do not agree on the problem", 0},
		"another record": {unread, others(1, "changed.csv"),
			"do not agree on the contents of the records, or their order", 0},
		"another order": {unread, others(2, "turned.csv"),
			"do not agree on the contents of the records, or their order", 0},
		"a broken file on rank 2": {unread, others(2, "broken.csv"), "broken.csv", 2},
		"a broken file on all":    {unread, func(int) []string { return []string{"--data", "broken.csv"} }, "broken.csv", 0},
		"sorted losses":           {append(base, "--loss", "hinge"), nil, "in a team, use a loss that is analytic", 0},
		"one pass": {[]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm",
			"offpairc"}, nil, "offpairc pairs each record with all earlier records, which near-linear cannot do here", 0},
		"a GPU by its product": {append(base, "--device", "cuda:h200"), nil, "only for plans", 0},
		"no data":              {[]string{"train"}, nil, "--team needs --data", 0},
	} {
		ends := ranks(t, dir, 3, append(slices.Clone(c.args), "--out", "team.json"), c.more)
		for rank, e := range ends {
			if e.Code != exitInput || strings.Contains(e.Stdout+e.Stderr, c.says) != (rank == c.told) {
				t.Errorf("%s: rank %d: exit %d, want %d and %q on rank %d only: %s", name, rank, e.Code, exitInput, c.says,
					c.told, e.Stderr)
			}
			must.Err(os.Stat(fmt.Sprintf("rank-%d.jsonl", rank)))(t, "%s: rank %d has a ledger", name, rank)
		}
	}
	must.Err(os.Stat("team.json"))(t, "a refused team wrote a model")
}

// TestTeamOfOneKind: the ranks of a team compute on CPUs, or each on a GPU: their chunks differ.
func TestTeamOfOneKind(t *testing.T) {
	t.Chdir(clinic(t, 150))
	data := must.Get(lib.Open("patients.csv", "patients.yaml"))(t)
	moments, gradients := algorithms.Algorithm(algorithms.Moments{}),
		algorithms.Algorithm(algorithms.GradientPerturbation{Steps: 1})
	for _, c := range []struct {
		first, second, says, task string
		algorithm                 algorithms.Algorithm
	}{
		{"cuda:h200", "cuda:h100", "", "", moments}, {"auto", "cpu", "", "", moments},
		{"cuda:h200", "cpu", "on the kind of device or the instruction set", "", moments},
		{"cuda:h200", "cuda:h100", "on the make of GPUs", lib.Metric, gradients},
		{"cuda:h200", "cuda:h200", "", lib.Metric, gradients},
		{"cuda:h200", "cuda:h100", "on the make of GPUs", lib.Metric,
			algorithms.SubsampledDescent{Steps: 2, BatchRecords: 10}},
	} {
		var group sync.WaitGroup
		joined := make([]error, 2)
		for rank, member := range enginetest.Members(2) {
			on := must.Get(device.Open(device.Options{Name: []string{c.first, c.second}[rank], ForPlan: true, Team: member}))(t)
			defer on.Close()
			plan := must.Get(lib.Plan(data.Shape(), lib.Options{Epsilon: 1, Task: c.task, Algorithm: c.algorithm, On: on}))(t)
			group.Go(func() { _, joined[rank] = plan.Join(t.Context(), member, data) })
		}
		group.Wait()
		for rank, err := range joined {
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s and %s: rank %d: %v", c.first, c.second, rank, err)
			}
		}
	}
}

// TestTeamOfPaper: what only public data may ask for is in the plan of every rank.
func TestTeamOfPaper(t *testing.T) {
	dir := clinic(t, 300)
	write(t, dir, "public.yaml", dataset.SyntheticClinicalYAML())
	args := []string{"train", "--data", "patients.csv", "--schema", "public.yaml", "--public-data", "--algorithm",
		"dpgdc2", "--mode", "paper", "--paper-unsound", "--out", "team.json"}
	for rank, e := range ranks(t, dir, 2, args, nil) {
		if e.Code != exitOK {
			t.Errorf("rank %d: exit %d: %s", rank, e.Code, e.Stderr)
		}
	}
}

// TestTeamForgotten: of many processes that a launcher started none trains private data by itself, which would
// charge as often; public data cost nothing.
func TestTeamForgotten(t *testing.T) {
	dir := clinic(t, 300)
	write(t, dir, "public.yaml", dataset.SyntheticClinicalYAML())
	for _, variable := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "3")
			args := []string{"train", "--data", "patients.csv", "--ledger", "l.jsonl", "--force"}
			ends(t, dir, exitInput, "add --team mpi", append(args, "--schema", "patients.yaml")...)
			must.Err(os.Stat(filepath.Join(dir, "l.jsonl")))(t, "a ledger was made")
			mustRun(t, dir, append(args, "--schema", "public.yaml")...)
			t.Setenv(variable, "1")
			mustRun(t, dir, append(args, "--schema", "patients.yaml", "--ledger", variable+".jsonl")...)
		})
	}
}

// TestTeamEndsEarly: rank 0 ends before it starts anything, and the others with it.
func TestTeamEndsEarly(t *testing.T) {
	dir := clinic(t, 600)
	write(t, dir, "there.json", "{}")
	args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "there.json"}
	for rank, e := range ranks(t, dir, 3, args, nil) {
		if want := map[bool]int{true: exitInput, false: exitOK}[rank == 0]; e.Code != want || (e.Stderr == "") != (rank > 0) {
			t.Errorf("rank %d: exit %d, want %d: %s", rank, e.Code, want, e.Stderr)
		}
	}
}

// wantCharged returns the one run of the ledger in this folder, which has released so often.
func wantCharged(t *testing.T, releases int) (run string) {
	t.Helper()
	l := must.Get(ledger.Open("l.jsonl"))(t)
	entries := must.Get(l.Entries())(t)
	charges, released := 0, 0
	for _, e := range entries {
		if e.Charge != nil {
			run = e.Run
			charges++
		}
		if e.Status == ledger.StatusReleased {
			released++
		}
	}
	if charges != 1 || released != releases {
		t.Errorf("%d charges and %d releases, want 1 and %d", charges, released, releases)
	}
	return run
}

// TestTeamLostRank: a run that loses a rank in the middle stays charged, and releases nothing.
func TestTeamLostRank(t *testing.T) {
	dir := clinic(t, 5000)
	t.Chdir(dir)
	args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm",
		"gradient-perturbation", "--set", "steps=40", "--team", "mpi", "--ledger", "l.jsonl", "--out", "team.json"}
	members := enginetest.Members(3)
	first := asTeam(members, reach("training", func() { members[1].(interface{ End(error) }).End(errors.New("killed")) }).stage, func(int) []string { return args })[0]
	if first.Code == exitOK || !strings.Contains(first.Stderr, "continues it at no further cost") {
		t.Fatalf("a rank was lost: exit %d: %s", first.Code, first.Stderr)
	}
	wantCharged(t, 0)
	must.Err(os.Stat("team.json"))(t, "a lost rank left a model")
}
