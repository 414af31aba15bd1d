// Package face holds the tests of package dyad, from outside; the folder of the module shows the face itself.
package face

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// opened are private records in the working folder, a plan for them, and a ledger.
func opened(t testing.TB, o dyad.Options) (*dyad.Data, *dyad.Training, *dyad.Ledger) {
	t.Helper()
	data := must.Get(dyad.Open("patients.csv", "patients.yaml"))(t)
	if o.Epsilon == 0 {
		o.Epsilon = 1
	}
	plan := must.Get(dyad.Plan(data.Shape(), o))(t)
	book := must.Get(dyad.OpenLedger("ledger.jsonl"))(t)
	return data, plan, book
}

func inClinic(t testing.TB) {
	t.Helper()
	t.Chdir(t.TempDir())
	f := must.Get(os.Create("patients.csv"))(t)
	private := strings.Replace(dataset.SyntheticClinicalYAML(), "public: true\n", "", 1)
	must.Do(t, errors.Join(dataset.WriteSyntheticClinical(f, 120, 1), f.Close(),
		os.WriteFile("patients.yaml", []byte(private), 0o600)))
}

// charges counts the charges and the releases of a ledger.
func charges(t *testing.T, book *dyad.Ledger) (charged, released int) {
	t.Helper()
	entries := must.Get(book.Entries())(t)
	for _, e := range entries {
		if e.Charge != nil {
			charged++
		}
		if e.Status == ledger.StatusReleased {
			released++
		}
	}
	return charged, released
}

// Misuse is refused before anything is charged, with an error that says so.
func TestMisuseIsRefused(t *testing.T) {
	inClinic(t)
	data, plan, book := opened(t, dyad.Options{})
	must.Do(t, os.WriteFile("taken.json", []byte("PRECIOUS"), 0o600))
	planned := func(change func(s *dyad.Shape, o *dyad.Options)) *dyad.Training {
		t.Helper()
		s, o := data.Shape(), dyad.Options{Epsilon: 1}
		change(&s, &o)
		return must.Get(dyad.Plan(s, o))(t)
	}
	asserted := 2.0
	unlabelled := must.Get((&dyad.Model{Encoder: encoderOf(t)}).Open("patients.csv"))(t)
	for _, c := range []struct {
		what string
		data *dyad.Data
		plan *dyad.Training
		run  dyad.Run
		says string
	}{
		{"no ledger", data, plan, dyad.Run{}, "needs Run.Ledger"},
		{"a plan for more records", data, planned(func(s *dyad.Shape, _ *dyad.Options) { s.Records++ }),
			dyad.Run{Ledger: book}, "plan is for 121 records"},
		{"a plan for fewer features", data, planned(func(s *dyad.Shape, _ *dyad.Options) { s.Features-- }),
			dyad.Run{Ledger: book}, "plan with Data.Shape"},
		{"a plan that does not say that bounds are from the data", data,
			planned(func(s *dyad.Shape, _ *dyad.Options) { s.BoundsFromData = !s.BoundsFromData }), dyad.Run{Ledger: book},
			"another schema"},
		{"a plan within groups", data, planned(func(s *dyad.Shape, _ *dyad.Options) { s.Groups = []int{60, 60} }),
			dyad.Run{Ledger: book}, "query groups that differ"},
		{"asserted constants", data, planned(func(_ *dyad.Shape,
			o *dyad.Options) {
			o.Assert = engine.Assertion{Lipschitz: &asserted}
		}), dyad.Run{Ledger: book}, "asserted"},
		{"records without labels", unlabelled, plan, dyad.Run{Ledger: book}, "needs labels"},
		{"a file that is there", data, plan, dyad.Run{Ledger: book, Out: "taken.json"}, "taken.json exists"},
		{"the data as output", data, plan, dyad.Run{Ledger: book, Out: "patients.csv", Replace: true}, "is an input"},
		{"the ledger as output", data, plan, dyad.Run{Ledger: book, Out: "ledger.jsonl", Replace: true}, "is an input"},
		{"resume of public data", data, plan, dyad.Run{Public: true, Resume: "X"}, "are not charged"},
	} {
		m, err := c.plan.Run(t.Context(), c.data, c.run)
		if m != nil || !errors.Is(err, dyad.ErrInput) || !strings.Contains(err.Error(), c.says) ||
			!strings.HasPrefix(err.Error(), "dyad: ") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if charged, _ := charges(t, book); charged != 0 {
		t.Errorf("%d charges", charged)
	}
	if text, err := os.ReadFile("taken.json"); err != nil || string(text) != "PRECIOUS" {
		t.Errorf("%q, %v", text, err)
	}
	must.Fail(plan.Run(t.Context(), data, dyad.Run{Ledger: book, Resume: "NOBODY"}))(t, ledger.ErrResume,
		"a run that nobody charged")
	// Control: each of these is fine otherwise.
	m, err := plan.Run(t.Context(), data, dyad.Run{Ledger: book, Out: "model.json"})
	if err != nil || m.File != "model.json" || m.Seconds != 0 {
		t.Fatalf("control: %+v, %v", m, err)
	}
	if charged, released := charges(t, book); charged != 1 || released != 1 {
		t.Errorf("%d charges, %d releases", charged, released)
	}
}

func encoderOf(t *testing.T) *dataset.Encoder {
	t.Helper()
	s := must.Get(dataset.LoadSchema("patients.yaml"))(t)
	return must.Get(dataset.NewEncoder(s))(t)
}

// A cancelled run stops within a second. Before the charge nothing is charged; after it
// nothing is released, and the run can be resumed at no further cost.
func TestCancel(t *testing.T) {
	inClinic(t)
	data, plan, book := opened(t, dyad.Options{Algorithm: algorithms.DPGDSC{Steps: 200000}})
	ctx, cancel := context.WithCancel(t.Context())
	var at time.Time
	run := dyad.Run{Ledger: book, Out: "model.json", Watch: dyad.Watch{Progress: func(done, total int) {
		if done == 3 && total == 200000 {
			at = time.Now()
			cancel()
		}
	}}}
	m, err := plan.Run(ctx, data, run)
	var charged *algorithms.ChargedError
	if took := time.Since(at); m != nil || !errors.Is(err, context.Canceled) || !errors.As(err, &charged) ||
		!charged.Resumable || took > time.Second {
		t.Fatalf("cancelled after %v: %v", took, err)
	}
	if _, err := plan.Run(ctx, data, dyad.Run{Ledger: book, Out: "model.json"}); !errors.Is(err, context.Canceled) ||
		errors.As(err, new(*algorithms.ChargedError)) {
		t.Errorf("cancelled before the charge: %v", err)
	}
	if c, r := charges(t, book); c != 1 || r != 0 {
		t.Errorf("%d charges and %d releases", c, r)
	}
	other := must.Get(dyad.Plan(data.Shape(), dyad.Options{Epsilon: 2}))(t)
	must.Fail(other.Run(t.Context(), data, dyad.Run{Ledger: book, Resume: charged.Run}))(t, ledger.ErrResume,
		"resumed with another plan")
}

const childEnv = "DYAD_TEST_FACE_CHILD"

// TestFaceChild is the program of a child process that is killed at a stage; by itself it
// does nothing.
func TestFaceChild(t *testing.T) {
	stage := os.Getenv(childEnv)
	if stage == "" {
		t.Skip("it is run by TestResumeAfterAKill")
	}
	data, plan, book := opened(t, dyad.Options{})
	_, err := plan.Run(t.Context(), data, dyad.Run{Ledger: book, Out: "model.json", Watch: dyad.Watch{Trace: func(name string) {
		if name == stage {
			p, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = p.Kill()
			}
			t.Fatal(err, "the child goes on")
		}
	}}})
	t.Fatalf("stage %s was not reached: %v", stage, err)
}

// A program that is killed at any stage of a run loses nothing that was paid for: what it
// charged is resumed, and what it released gets its name, by the same call with Run.Resume.
func TestResumeAfterAKill(t *testing.T) {
	sizes.NotShort(t, "slow")
	exe := must.Get(os.Executable())(t)
	for _, stage := range []string{"charged", "trained", "model written", "kept", "released"} {
		inClinic(t)
		child := exec.Command(exe, "-test.run=^TestFaceChild$")
		child.Env = append(os.Environ(), childEnv+"="+stage)
		if out, err := child.CombinedOutput(); err == nil || strings.Contains(string(out), "FAIL") {
			t.Fatalf("%s: the child was not killed: %v\n%s", stage, err, out)
		}
		if _, err := os.Stat("model.json"); err == nil {
			t.Fatalf("%s: the model has its name already", stage)
		}
		data, plan, book := opened(t, dyad.Options{})
		entries := must.Get(book.Entries())(t)
		i := slices.IndexFunc(entries, func(e ledger.Entry) bool { return e.Charge != nil })
		if i < 0 {
			t.Fatalf("%s: no budget was charged", stage)
		}
		m := must.Get(plan.Run(t.Context(), data, dyad.Run{Ledger: book, Out: "model.json", Resume: entries[i].Run}))(t,
			stage)
		if m.Recovered != (stage == "released") || m.Run != entries[i].Run {
			t.Errorf("%s: run %s, recovered %v", stage, m.Run, m.Recovered)
		}
		if c, r := charges(t, book); c != 1 || r != 1 {
			t.Errorf("%s: %d charges, %d releases", stage, c, r)
		}
		if left, err := filepath.Glob(".dyad-*"); err != nil || len(left) != 0 {
			t.Errorf("%s: left behind: %q, %v", stage, left, err)
		}
		if saved, err := dyad.Load("model.json"); err != nil || fmt.Sprint(saved.Weights) != fmt.Sprint(m.Weights) {
			t.Errorf("%s: %v", stage, err)
		}
	}
}

// A model that Train does not save can be saved, and replaces nothing.
func TestSaveReplacesNothing(t *testing.T) {
	inClinic(t)
	data, plan, _ := opened(t, dyad.Options{Mode: algorithms.NonPrivate})
	m, err := plan.Run(t.Context(), data, dyad.Run{Public: true})
	if err != nil || m.File != "" || !(m.Seconds > 0) {
		t.Fatalf("%+v, %v", m, err)
	}
	must.Do(t, m.Save("model.json"))
	must.FailDo(t, m.Save("model.json"), dyad.ErrTaken, "saved twice")
	saved := must.Get(dyad.Load("model.json"))(t)
	e, err := saved.Evaluate(t.Context(), data, dyad.EvaluateOptions{})
	if err != nil || e.AUC == nil || *e.AUC < 0.8 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A plan says that the guarantee is void if any range was taken from the data, for records and
// for pairs.
func TestRangesFromDataAreTold(t *testing.T) {
	inClinic(t)
	e := encoderOf(t)
	for _, drafted := range []bool{false, true} {
		e.Schema().Columns[0].FromData = drafted
		pairs := must.Get(dyad.PairSource{Density: 1, DegreeCap: 2}.Shape(100, e.Dim(), 0, e.Schema()))(t)
		if s := dyad.ShapeOf(e, 100); s.BoundsFromData != drafted || pairs.BoundsFromData != drafted {
			t.Errorf("ranges from the data %v: %v, %v", drafted, s.BoundsFromData, pairs.BoundsFromData)
		}
		plan := must.Get(dyad.Plan(dyad.ShapeOf(e, 100), dyad.Options{Epsilon: 1}))(t)
		if slices.Contains(plan.Guarantee.Warnings, algorithms.BoundsFromData) != drafted {
			t.Errorf("ranges from the data %v: warnings %q", drafted, plan.Guarantee.Warnings)
		}
	}
}
