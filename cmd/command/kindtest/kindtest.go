//go:build unix

// Package kindtest tests kinds of run in the same way as the built-in kinds of the program. It checks the plan, the
// charge, faults, output, files, the page, verify, sizes and an audit. A program that extends dyad calls Main and Check
// with the same With that it passes to command.Main, so that every kind in With is tested.
package kindtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/cmd/command"
	"dyad/engine"
	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Example holds options of a kind of run. Check tests the kind with these options on records that have the
// columns x in [-1, 1], z in [0, 10], c with the categories a, b and c, and the label y with the values 0 and 1.
type Example struct {
	Kind  algorithms.Kind // the kind with its options set
	Flags []string        // flags that set the same options
}

// Main implements TestMain of a package that calls Check.
func Main(m *testing.M, w command.With) {
	crash.Main(m, func(ctx context.Context, args []string, stage func(string)) int {
		with := w
		with.Trace = stage
		return with.Run(ctx, args, os.Stdin, os.Stdout, os.Stderr)
	}, nil)
}

// Check tests every kind of w with its example.
func Check(t *testing.T, w command.With, examples ...Example) {
	for _, k := range w.Kinds {
		name := k.Info().Name
		at := slices.IndexFunc(examples, func(e Example) bool { return e.Kind.Info().Name == name })
		if at < 0 {
			t.Errorf("%s has no example; add one with its options and their flags", name)
			continue
		}
		of := suite{w, name, examples[at]}
		for what, test := range map[string]func(*testing.T){
			"plan": of.plan, "crash": of.crash, "silence": of.silence, "files": of.files, "sizes": of.sizes, "audit": of.audit,
		} {
			t.Run(name+" "+what, test)
		}
	}
}

// suite tests one kind.
type suite struct {
	with command.With
	name string
	Example
}

const (
	records = 24
	schema  = `data_id: d
csv: {header: true}
missing: {policy: middle}
columns:
  - {name: x, range: [-1, 1]}
  - {name: z, range: [0, 10]}
  - {name: c, categories: [a, b, c]}
  - {name: y, role: label, positive: "1", negative: "0"}
`
)

// worlds generates files of well-formed records that could cause errors in a program.
var worlds = []func(i int) string{
	func(i int) string { return fmt.Sprintf("%.3f,%d,%c,%d", float64(i%7)/7-0.4, i%11, 'a'+i%3, i%2) },
	func(int) string { return "0.25,3,a,1" },
	func(i int) string {
		return []string{"-1e300,-5e-324,b,0", "1.7976931348623157e308,1e300,b,1"}[i%2]
	},
	func(i int) string { return fmt.Sprintf(",,c,%d", i/12) },
}

// folder returns a folder with the files of a world.
func folder(t *testing.T, world int) string {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("x,z,c,y\n")
	for i := range records {
		text.WriteString(worlds[world](i) + "\n")
	}
	for name, text := range map[string]string{"r.csv": text.String(), "s.yaml": schema} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// args returns the arguments of a private run in a folder.
func (s suite) args(dir string, more ...string) []string {
	in := func(name string) string { return filepath.Join(dir, name) }
	args := append([]string{s.name, "--data", in("r.csv"), "--schema", in("s.yaml"), "--ledger", in("l.jsonl"), "--out",
		in("out.json")}, s.Flags...)
	return append(args, more...)
}

func (s suite) run(args ...string) crash.Ended {
	var out, errs bytes.Buffer
	code := s.with.Run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return crash.Ended{Code: code, Stdout: out.String(), Stderr: errs.String()}
}

// plan checks that a plan reads no data, charges nothing, and prints the rows and the guarantee.
func (s suite) plan(t *testing.T) {
	dir := folder(t, 0)
	args := append([]string{s.name, "--plan", "-n", "24", "--schema", filepath.Join(dir, "s.yaml"), "--ledger",
		filepath.Join(dir, "l.jsonl")}, s.Flags...)
	e := s.run(args...)
	e.Want(t, "plan", 0, "differentially private")
	e.Want(t, "plan", 0, "no data were read and no budget was charged")
	if _, err := os.Stat(filepath.Join(dir, "l.jsonl")); err == nil {
		t.Error("a plan made a ledger")
	}
}

// crash checks that a run killed at any stage is charged at most once and shows nothing before its release. --resume
// restarts the run without a charge, or gives its file the final name. Other options are refused.
func (s suite) crash(t *testing.T) {
	stages := map[string]int{"trained": 1, "released": 1}
	if sizes.Full() {
		stages = map[string]int{"admitted": 0, "line durable": 1, "training": 1, "trained": 1, "kept": 1, "released": 1,
			"model renamed": 1}
	}
	for stage, charged := range stages {
		dir := folder(t, 0)
		e := crash.Start(t, dir, crash.Spec{Args: s.args(dir), Stage: stage, Fault: "kill"}).End()
		if e.Code != crash.Killed || e.Stdout != "" {
			t.Fatalf("%s: exit %d: %s%s", stage, e.Code, e.Stdout, e.Stderr)
		}
		run, charges, finished := history(t, dir)
		if charges != charged {
			t.Fatalf("%s: %d charges, want %d", stage, charges, charged)
		}
		_, err := os.Stat(filepath.Join(dir, "out.json"))
		switch saved := err == nil; {
		case saved != (stage == "model renamed"):
			t.Fatalf("%s: a file: %v", stage, saved)
		case saved:
			continue
		case charges == 0:
			s.run(s.args(dir)...).Want(t, "again", 0, "")
			continue
		case finished == 0:
			s.run(s.args(dir, "--resume", run, "--epsilon", "2")...).Want(t, "another epsilon", 64, "")
		}
		s.run(s.args(dir, "--resume", run)...).Want(t, "resume after "+stage, 0, "")
		if again, charges, finished := history(t, dir); again != run || charges != 1 || finished != 1 {
			t.Errorf("%s: after --resume %d charges, %d ends", stage, charges, finished)
		}
		s.run("verify", filepath.Join(dir, "out.json"), "--ledger", filepath.Join(dir, "l.jsonl")).Want(t, "verify", 1,
			"one charge of this plan and one release of this file")
	}
}

// history returns the run that was charged last and the numbers of lines of the ledger that charge a run and
// that end a run.
func history(t *testing.T, dir string) (run string, charges, finished int) {
	t.Helper()
	name := filepath.Join(dir, "l.jsonl")
	if _, err := os.Stat(name); err != nil {
		return "", 0, 0
	}
	l := must.Get(ledger.Open(name))(t)
	entries, _ := must.Get2(l.History())(t)
	for _, e := range entries {
		if e.Charge != nil {
			run, charges = e.Run, charges+1
		} else if e.Status != "" {
			finished++
		}
	}
	return run, charges, finished
}

var (
	// unlike is all that may differ between two runs whose release is the same: the clock, and a hash that includes it.
	unlike = regexp.MustCompile(`"(created|checksum)": "[^"]*"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:[0-9.]+)?`)
	// forTheOwner is the line of standard error that compares the records with the records of an earlier run.
	forTheOwner = regexp.MustCompile(`(?m)^.*differ from the data of run.*\n`)
)

// silence checks that only the released figures depend on the records. The noise is so large that the exact values
// round to 0 on its grid, and it is the same in all runs, so that the release is the same on all records. For all files,
// a run then prints the same text, leaves the same files and charges the same budget. An earlier run has charged the
// first file.
func (s suite) silence(t *testing.T) {
	told := func(world int) string {
		dir := folder(t, 0)
		pinned := func(more ...string) crash.Ended {
			return s.run(s.args(dir, append(more, "--epsilon", "1e-14", "--delta", "1e-30", "--force")...)...)
		}
		var text string
		must.SameRandomness(func() {
			pinned()
			must.Do(t, os.Rename(filepath.Join(folder(t, world), "r.csv"), filepath.Join(dir, "r.csv")))
			for _, how := range []string{"--json", "--verbose"} {
				e := pinned(how, "--report", filepath.Join(dir, "page.html"))
				file, err := os.ReadFile(filepath.Join(dir, "out.json"))
				page, failed := os.ReadFile(filepath.Join(dir, "page.html"))
				text += fmt.Sprintf("exit %d\n%s\n%s\n%s\n%s\n%v\n", e.Code, e.Stdout,
					forTheOwner.ReplaceAllString(e.Stderr, ""), file, page, errors.Join(err, failed))
			}
		})
		return strings.ReplaceAll(unlike.ReplaceAllString(text, "..."), dir, "DIR")
	}
	want := told(0)
	if !strings.HasPrefix(want, "exit 0\n") {
		t.Fatal(want)
	}
	for world := 1; world < len(worlds); world++ {
		if got := told(world); got != want {
			t.Errorf("the output differs for file %d, so it reveals facts about the records:\n%s\noutput for the "+
				"first file:\n%s", world, got, want)
		}
	}
}

// files checks that a run has a file, a page and a charge that verify compares with the file. A changed file is
// refused, and public data are not charged.
func (s suite) files(t *testing.T) {
	dir := folder(t, 0)
	in := func(name string) string { return filepath.Join(dir, name) }
	s.run(s.args(dir, "--report", in("page.html"))...).Want(t, "run", 0, "epsilon = 1")
	page, err := os.ReadFile(in("page.html"))
	if err != nil || !bytes.Contains(page, []byte("Releases")) {
		t.Errorf("the page: %v", err)
	}
	verify := func(name string) crash.Ended { return s.run("verify", in(name), "--ledger", in("l.jsonl")) }
	verify("out.json").Want(t, "verify", 1, "one charge of this plan and one release of this file")
	text := must.Get(os.ReadFile(in("out.json")))(t)
	must.Do(t, os.WriteFile(in("forged.json"), bytes.Replace(text, []byte(`"unit": "one `), []byte(`"unit": "half a `), 1),
		0o600))
	verify("forged.json").Want(t, "verify a forgery", 64, "refused")
	s.run(s.args(dir)...).Want(t, "the same name again", 64, "--force")
	if _, charges, _ := history(t, dir); charges != 1 {
		t.Errorf("%d charges, want 1", charges)
	}
	dir = folder(t, 0)
	s.run(s.args(dir, "--public-data")...).Want(t, "public data", 0, "public")
	if _, charges, _ := history(t, dir); charges != 0 {
		t.Error("public data were charged")
	}
}

// attacked returns a plan for the records of a cell, the records, and neighbouring data that differ in one record. The
// replacement records are every unit vector and its opposite, zero, and random vectors.
func (s suite) attacked(t *testing.T, n, unit int) (p *algorithms.KindPlan, data *engine.Records,
	others []*engine.Records) {
	t.Helper()
	d := s.features(t)
	p = must.Get(algorithms.PlanKind(s.Kind, algorithms.KindShape{Records: n, Features: d,
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}}))(t)
	x, y := make([]float64, n*d), make([]float64, n)
	base := attack.RandomRecords(n, d, engine.UnitBounds(), 1)
	for i := range n {
		base.Row(i, x[i*d:][:d])
	}
	with := func(row []float64) *engine.Records {
		copy(x[unit*d:], row)
		return must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	}
	row := make([]float64, d)
	row[0] = 1
	data = with(row)
	for k := range min(d, 8) {
		for _, v := range []float64{-1, 1, 0} {
			clear(row)
			row[k] = v
			others = append(others, with(row))
		}
	}
	return p, data, others
}

// features returns the number of features that the kind reads.
func (s suite) features(t *testing.T) int {
	t.Helper()
	e := s.run(append([]string{s.name, "--plan", "-n", "24", "--json", "--schema", filepath.Join(folder(t, 0), "s.yaml")},
		s.Flags...)...)
	var d int
	if at := strings.Index(e.Stdout, `"features": `); at >= 0 {
		fmt.Sscanf(e.Stdout[at:], `"features": %d`, &d)
	}
	if d == 0 {
		t.Fatalf("the plan does not state its number of features: %s%s", e.Stdout, e.Stderr)
	}
	return d
}

// sizes checks, for every size and every position of the replaced record, that no row changes by more than its
// certificate allows.
func (s suite) sizes(t *testing.T) {
	closest := 0.0
	for _, c := range sizes.Cells(t, 2e4, 1) {
		p, data, others := s.attacked(t, c.N, c.Unit)
		for _, other := range others {
			move := must.Get(audit.OnKind(p, data, other, "").Move(t.Context()))(t)
			if closest = max(closest, move); move > 1+1e-9 {
				t.Fatalf("%v: one record moves a row by %v times the certified distance", c, move)
			}
		}
	}
	t.Logf("one record moves a row by at most %.3f times the certified distance", closest)
	if math.IsNaN(closest) || closest == 0 {
		t.Error("no record moves anything")
	}
}

// audit checks that the printed guarantee holds in an audit of the worst of the tried neighbours.
func (s suite) audit(t *testing.T) {
	p, data, others := s.attacked(t, records, records-1)
	var targets []audit.Target
	for _, other := range others {
		targets = append(targets, audit.OnKind(p, data, other, "a record and its opposite"))
	}
	o := audit.Options{Seed: 1}
	worst, power := must.Get2(audit.Strongest(t.Context(), targets, o))(t)
	o.Runs = min(max(1000, 3*power.RunsForHalf/2), sizes.Of(4000, 40_000))
	r := must.Get(audit.Run(t.Context(), worst, o))(t)
	t.Logf("%s; the audit proves epsilon >= %.3f of %.3f (move %.3f, %d runs); refuting half of the claim needs %d "+
		"runs", p.Guarantee, r.LowerBound, r.Epsilon, power.Move, o.Runs, power.RunsForHalf)
	if !r.Holds() {
		t.Errorf("the printed guarantee is refuted: %+v", r)
	}
}
