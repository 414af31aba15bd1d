package command

import (
	"context"
	"strings"
	"testing"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
)

// ownSteps is an algorithm of one's own: another's steps, with an option that no algorithm of the catalogue has.
type ownSteps struct {
	Steps     int
	LongStep  float64 // 0: the other's rule
	Forgotten []int   // no option: it is no number
}

func (a ownSteps) of() algorithms.GradientPerturbation {
	return algorithms.GradientPerturbation{Steps: a.Steps, StepSize: a.LongStep}
}

func (a ownSteps) Info() algorithms.Info {
	i := a.of().Info()
	i.Name, i.Title = "own-steps", "an example"
	return i
}

func (a ownSteps) Plan(s algorithms.Spec) (*algorithms.Plan, error) {
	p, err := a.of().Plan(s)
	if err == nil {
		p.Algorithm = a.Info().Name
	}
	return p, err
}

func (a ownSteps) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	return a.of().Train(ctx, ev, p, s, t)
}

// A program of one's own names its algorithm, its option and its loss on the command line and in a file of flags, is charged
// for them as for others, and its model is read by the program itself, which knows neither name.
func TestWith(t *testing.T) {
	dir := clinic(t, 100)
	t.Chdir(dir)
	with := With{Algorithms: []algorithms.Algorithm{ownSteps{}}, Losses: []lib.Loss{{Name: "softer", Formula: "log1p(exp(-2*u))/2"}}}
	try := func(w With, code int, says, args string) {
		t.Helper()
		got, out, errs := hooked(context.Background(), hooks{with: w}, strings.Fields(args)...)
		if text := out + errs; got != code || !strings.Contains(text, says) {
			t.Errorf("dyad %s: exit %d, want %d and %q:\n%s", args, got, code, says, text)
		}
	}
	const plan, train = "plan -n 100 --schema patients.yaml --verbose ", "train --data patients.csv --schema patients.yaml --ledger l.jsonl --verbose "
	try(with, exitOK, "--long-step=", "plan --help-all")
	try(with, exitOK, "0.125", plan+"--algorithm own-steps --steps 3 --long-step 0.125")
	write(t, dir, "flags.yaml", "algorithm: own-steps\nlong-step: 0.125\nsteps: 3\n")
	try(with, exitOK, "0.125", plan+"--config flags.yaml")
	try(with, exitOK, "own-steps", train+"--algorithm own-steps --steps 3 --loss softer --radius 1 --out own.json")
	try(with, exitInput, "does not take --long-step", plan+"--algorithm dpgdsc --long-step 0.125")
	try(With{}, exitInput, "not in the catalogue", plan+"--algorithm own-steps")
	try(With{}, exitInput, "unknown flag --long-step", plan+"--long-step 0.125")
	try(With{}, exitInput, `--loss "softer" is neither a built-in loss`, plan+"--loss softer")
	try(With{}, exitOK, "", "predict own.json --data patients.csv")
	m, err := readModel("own.json")
	if err != nil || m.Loss.Name != "softer" || m.Loss.Formula != "log1p(exp(-2*u))/2" || m.Report.Word("algorithm") != "own-steps" {
		t.Errorf("%v: %+v", err, m)
	}
	try(With{Algorithms: []algorithms.Algorithm{&algorithms.DPGDSC{}}}, exitFailure, "takes structs only", "version")
}
