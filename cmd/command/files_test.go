//go:build unix

package command

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/files"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// Records, scores, mapped records, states and drafts are the owner's; what is released is
// for those whom the umask lets.
func TestFileModes(t *testing.T) {
	umasks := []int{0o027, 0o022, 0o077}
	if testing.Short() {
		umasks = umasks[:1]
	}
	for _, umask := range umasks {
		t.Run(fmt.Sprintf("%#o", umask), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			do := func(args ...string) {
				t.Helper()
				f.start(t, crash.Spec{Args: args, Stage: "start", Umask: &umask}).End().Want(t, strings.Join(args[:2], " "), exitOK, "")
			}
			data, schema := f.in("in/patients.csv"), f.in("in/patients.yaml")
			released := 0o666 &^ os.FileMode(umask)
			for _, file := range []struct {
				name string
				mode os.FileMode
				args []string
			}{
				{"model.json", released, f.train()},
				{"new.json", released, f.train("--out", f.in("out/new.json"))},
				{"drawn.json", released, f.pairsTrain("fixed", "--out", f.in("out/drawn.json"))},
				{"metric.json", released, f.pairsTrain("tuples", "--out", f.in("out/metric.json"))},
				{"scores.csv", 0o600, []string{"predict", f.in("out/model.json"), "--data", data, "--out", f.in("out/scores.csv")}},
				{"influence.csv", 0o600, []string{"lab", "influence", f.in("out/model.json"), "--data", data, "--exact-figures", "--out", f.in("out/influence.csv")}},
				{"mapped.csv", 0o600, []string{"transform", f.in("out/metric.json"), "--data", data, "--out", f.in("out/mapped.csv")}},
				{"o.parquet", 0o600, []string{"data", "convert", data, f.in("out/o.parquet"), "--schema", schema, "--out-schema", f.in("out/o.yaml")}},
				{"o.yaml", 0o600, nil},
				{"o.csv.gz", 0o600, []string{"data", "convert", data, f.in("out/o.csv.gz"), "--schema", schema}},
				{"draft.yaml", 0o600, []string{"data", "schema", data, "--out", f.in("out/draft.yaml")}},
				{"stream.state", 0o600, f.online("--out", f.in("out/stream.json"))},
				{"stream.json", released, nil},
				{"synthetic.csv", released, []string{"data", "synth", f.in("out/synthetic.csv"), "-n", "20"}},
			} {
				if file.args != nil {
					do(file.args...)
				}
				if info, err := os.Stat(f.in("out/" + file.name)); err != nil || info.Mode().Perm() != file.mode {
					t.Errorf("%s: %v, %v, want %v", file.name, info.Mode(), err, file.mode)
				}
			}
			do(f.train("--force")...) // a file that is replaced gets the mode of a new one
			if info, err := os.Stat(f.in("out/model.json")); err != nil || info.Mode().Perm() != released {
				t.Errorf("replaced: %v, %v", info.Mode(), err)
			}
			f.wantClean(t)
		})
	}
}

// A link is followed, also to a file that is not there yet: what it leads to is locked and
// replaced, and it stays a link.
func TestLinksAreFollowed(t *testing.T) {
	sizes.NotShort(t, "slow")
	f := newFixture(t)
	must.Do(t, os.Mkdir(f.in("real"), 0o755))
	for link, target := range map[string]string{
		"out/m.json": "../real/m.json", "out/s.state": "../real/s.state", "out/scores.csv": f.in("real/scores.csv"),
		"out/o.parquet": "../real/o.parquet", "ledger/linked.jsonl": "../real/ledger.jsonl",
	} {
		must.Do(t, os.Symlink(target, f.in(link)))
	}
	linked := []string{"--ledger", f.in("ledger/linked.jsonl"), "--out", f.in("out/m.json")}
	f.dyad(f.train(linked...)...).Want(t, "train", exitOK, "charged to")
	f.dyad(f.train(linked...)...).Want(t, "train again", exitOK, "charged to")
	f.dyad("predict", f.in("real/m.json"), "--data", f.in("in/patients.csv"), "--out", f.in("out/scores.csv")).Want(t, "predict", exitOK, "")
	f.dyad("data", "convert", f.in("in/patients.csv"), f.in("out/o.parquet"), "--schema", f.in("in/patients.yaml")).Want(t, "convert", exitOK, "")
	f.dyad("ledger", "verify", "--ledger", f.in("real/ledger.jsonl")).Want(t, "verify", exitOK, "5 lines")

	// One lock by both names, and one state.
	stream := func(state string, more ...string) []string { return f.online(append(more, "--state", f.in(state))...) }
	child := f.start(t, crash.Spec{Args: stream("out/s.state"), Stage: "released#3", Fault: "pause", Then: "released#4"})
	child.Paused(t)
	f.dyad(stream("real/s.state", "--resume")...).Want(t, "by the other name", exitInput, "in use by another process")
	first := releasesOf(t, child.End())
	second := f.dyad(stream("real/s.state", "--resume")...)
	second.Want(t, "resumed by the other name", exitOK, "9 releases")
	sameReleases(t, first, releasesOf(t, second))

	for _, link := range []string{"out/m.json", "out/s.state", "out/scores.csv", "out/o.parquet", "ledger/linked.jsonl"} {
		if info, err := os.Lstat(f.in(link)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", link, info.Mode(), err)
		}
	}
	if left, err := filepath.Glob(f.in("*/*.lock")); err != nil || len(left) != 3 { // two ledgers, one state
		t.Errorf("locks: %q, %v", left, err)
	}
}

// Without --force nothing replaces what another program wrote meanwhile, and no model that
// was paid for is lost.
func TestNothingIsReplacedWithoutForce(t *testing.T) {
	sizes.NotShort(t, "slow")
	f := newFixture(t)
	unforced := func(args []string, out string) []string {
		var kept []string
		for _, a := range args {
			if a != "--force" {
				kept = append(kept, a)
			}
		}
		return append(kept, "--out", out)
	}
	local := *f
	local.local = true
	for what, args := range map[string][]string{"train": f.train(), "local": local.train(), "pairs": f.pairsTrain("fixed"), "tuples": f.pairsTrain("tuples")} {
		name := f.in("out/" + what + ".json")
		for _, stage := range []string{"charged", "released"} {
			known := len(f.known)
			child := f.start(t, crash.Spec{Args: unforced(args, name), Stage: stage, Fault: "pause"})
			child.Paused(t)
			must.Do(t, os.WriteFile(name, []byte("PRECIOUS"), 0o600))
			e := child.End()
			run, charges, finished := f.attacked(t)
			alias := files.WithRun(name, run)
			e.Want(t, what, exitElsewhere, "saved under another name, "+alias)
			if text := f.get(t, "out/"+what+".json"); text != "PRECIOUS" || charges != 1 || len(finished) != 1 {
				t.Errorf("%s: %q, %d charges, %q", what, text, charges, finished)
			}
			if m, err := readModel(alias); err != nil || m.Run != run {
				t.Errorf("%s: %v", what, err)
			}
			f.dyad(append(unforced(args, f.in("out/again.json")), "--resume", run)...).Want(t, what, exitInput, "was released on")
			must.Do(t, os.Remove(name))
			f.known = append(f.known, run)
			if len(f.known) != known+1 {
				t.Fatal("no run")
			}
		}
	}

	// Through a link: the name that is told is that of the file.
	must.Do(t, errors.Join(os.Mkdir(f.in("real"), 0o755), os.Symlink("../real/m.json", f.in("out/link.json"))))
	child := f.start(t, crash.Spec{Args: unforced(f.train(), f.in("out/link.json")), Stage: "charged", Fault: "pause"})
	child.Paused(t)
	f.put(t, map[string]string{"real/m.json": "PRECIOUS"})
	e := child.End()
	run, _, _ := f.attacked(t)
	f.known = append(f.known, run)
	alias := files.WithRun(f.in("real/m.json"), run)
	e.Want(t, "through a link", exitElsewhere, "saved under another name, "+alias)
	if m, err := readModel(alias); err != nil || m.Run != run {
		t.Error(err)
	}

	// Four at once: four charges, four models.
	before, _ := filepath.Glob(f.in("out/*.json"))
	var children []*crash.Child
	for range 4 {
		child := f.start(t, crash.Spec{Args: unforced(f.train(), f.in("out/same.json")), Stage: "charged", Fault: "pause"})
		child.Paused(t)
		children = append(children, child)
	}
	codes := map[int]int{}
	for _, child := range children {
		codes[child.End().Code]++
	}
	after, _ := filepath.Glob(f.in("out/*.json"))
	if codes[exitOK] != 1 || codes[exitElsewhere] != 3 || len(after) != len(before)+4 {
		t.Errorf("exit codes %v, %d new models", codes, len(after)-len(before))
	}
	f.wantClean(t)
}

// Files that cost nothing are not replaced either; the program says so and leaves nothing.
func TestFilesAreNotReplacedWithoutForce(t *testing.T) {
	f := newFixture(t)
	out := must.Get(files.NewOutput(f.in("out/x.csv"), false))(t)
	f.put(t, map[string]string{"out/x.csv": "PRECIOUS"})
	err := out.Write(files.Private, []byte("other"))
	if exitCode(err) != exitInput || !strings.Contains(err.Error(), "so this file was not replaced") || f.get(t, "out/x.csv") != "PRECIOUS" {
		t.Errorf("%v, %q", err, f.get(t, "out/x.csv"))
	}
	if forced, err := files.NewOutput(f.in("out/x.csv"), true); err != nil || forced.Write(files.Shared, []byte("other")) != nil || f.get(t, "out/x.csv") != "other" {
		t.Errorf("with --force: %v, %q", err, f.get(t, "out/x.csv"))
	}
	f.wantClean(t)
}

// What killed programs left is removed by the next start, but for a paid model, what a living
// program holds and what belongs to another ledger.
func TestSweep(t *testing.T) {
	sizes.NotShort(t, "slow")
	f := newFixture(t)
	f.start(t, crash.Spec{Args: f.train("--out", f.in("out/paid.json")), Stage: "released", Fault: "kill"}).End()
	paid, _, _ := f.attacked(t)
	f.known = append(f.known, paid)
	living := f.start(t, crash.Spec{Args: f.train("--out", f.in("out/living.json")), Stage: "kept", Fault: "pause"})
	living.Paused(t)
	alive, _, _ := f.attacked(t)
	f.known = append(f.known, alive)
	f.start(t, crash.Spec{Args: f.train("--out", f.in("out/dead.json")), Stage: "kept", Fault: "kill"}).End()
	dead, _, _ := f.attacked(t)
	f.known = append(f.known, dead)
	f.put(t, map[string]string{"out/.dyad-tmp-ABC": "records", "out/.dyad-FOREIGN-ABC.model": "of another ledger", "out/.dyad-3428432074": "of an older program"})
	of := func(run string) int {
		names := must.Get(filepath.Glob(f.in("out/" + files.KeptName(run) + "*")))(t)
		return len(names)
	}
	if of(dead) != 1 || of(paid) != 1 || of(alive) != 1 {
		t.Fatalf("%d, %d, %d files, want one of each", of(dead), of(paid), of(alive))
	}
	f.dyad(f.train("--out", f.in("out/next.json"))...).Want(t, "next run", exitOK, "charged to")
	if of(dead) != 0 || of(paid) != 1 || of(alive) != 1 || !exists(f.in("out/.dyad-FOREIGN-ABC.model")) || exists(f.in("out/.dyad-tmp-ABC")) || !exists(f.in("out/.dyad-3428432074")) {
		list, _ := filepath.Glob(f.in("out/.dyad-*"))
		t.Errorf("after the next run: %q (dead %s, paid %s, alive %s)", list, dead, paid, alive)
	}
	living.End().Want(t, "the living attempt", exitOK, "run "+alive)
	f.saveKept(t, paid, f.train("--out", f.in("out/paid.json")))
}

// A kept model that was moved with its folder is found; one that was edited is refused; one
// in another folder is copied.
func TestSaveKeptModel(t *testing.T) {
	f := newFixture(t)
	f.start(t, crash.Spec{Args: f.train(), Stage: "released", Fault: "kill"}).End()
	run, _, _ := f.attacked(t)
	names, _ := filepath.Glob(f.in("out/" + files.KeptName(run) + "*"))
	if len(names) != 1 {
		t.Fatal(names)
	}
	whole := f.get(t, "out/"+filepath.Base(names[0]))
	resume := func(out string, more ...string) ended {
		return f.dyad(f.train(append(more, "--resume", run, "--out", out)...)...)
	}
	for what, text := range map[string]string{"cut": whole[:100], "edited": strings.Replace(whole, "weights", "weightz", 1), "empty": ""} {
		f.put(t, map[string]string{"out/" + filepath.Base(names[0]): text})
		resume(f.in("out/saved.json")).Want(t, what, exitInput, "is not the file that the ledger records as released")
	}
	if exists(f.in("out/saved.json")) {
		t.Fatal("an edited model was saved")
	}
	must.Do(t, os.Remove(names[0]))
	resume(f.in("out/saved.json")).Want(t, "lost", exitInput, "was released on")
	f.put(t, map[string]string{"ledger/" + filepath.Base(names[0]): whole})
	must.Do(t, errors.Join(os.Mkdir(f.in("other"), 0o700), os.Remove(f.in("in/patients.csv")))) // no data are read
	resume(f.in("other/saved.json")).Want(t, "moved", exitOK, "nothing more was charged")
	must.Equal(t, f.get(t, "other/saved.json"), whole, "another model was saved")
	f.wantClean(t)
}

// A model is kept in the first folder that takes it, and nothing of it stays in the others.
func TestKeepTextElsewhere(t *testing.T) {
	f := newFixture(t)
	a := &app{}
	full := "/dev/full-is-no-folder"
	file := must.Get(a.log().Keep("RUN", []byte("text"), 4000, full, f.in("absent"), f.in("tmp")))(t)
	if run, ok := files.RunOfKept(filepath.Base(file.Name())); filepath.Dir(file.Name()) != f.in("tmp") || !ok || run != "RUN" {
		t.Errorf("kept as %s", file.Name())
	}
	if text := f.get(t, "tmp/"+filepath.Base(file.Name())); text != "text" {
		t.Errorf("it holds %d bytes", len(text))
	}
	file.Remove()
	must.Err(a.log().Keep("RUN", nil, 0, full, f.in("absent")))(t, "no folder takes it, and it was kept")
	for name, run := range map[string]string{".dyad-A-B.model": "A", ".dyad-A-B-C.model": "A-B", ".dyad-a%2Fb-C.model": "a/b", ".dyad-tmp-ABC.model": "", ".dyad-A.model": "", "dyad-A-B.model": "", ".dyad-A-B": ""} {
		if got, ok := files.RunOfKept(name); got != run || ok != (run != "") {
			t.Errorf("%s is kept of run %q, %v", name, got, ok)
		}
	}
}

// The space that is asked for depends on the number of weights and on nothing else of them.
func TestSizeOfAModelIsPublic(t *testing.T) {
	m := must.Get(readModel(newFixture(t).in("out/model.json")))(t)
	sizes := map[int]bool{}
	for _, w := range []float64{0, 1, -0.1, -math.MaxFloat64, -1.2345678901234567e-308, math.SmallestNonzeroFloat64} {
		for k := range m.Weights {
			m.Weights[k] = w
		}
		text, most, err := m.Size()
		if err != nil || len(text) > most {
			t.Fatalf("weight %v: %d bytes of %d, %v", w, len(text), most, err)
		}
		sizes[most] = true
	}
	must.Equal(t, len(sizes), 1, "sizes")
}
