//go:build unix

package command

import (
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// Every loss of the library and formulas of the user's own go the whole road: killed in
// the training, resumed at no further cost, then predict, evaluate and an audit.
func TestLossesRoad(t *testing.T) {
	flags := map[string][]string{
		"formula": {"--loss", "log1p(exp(-c*u))", "--loss-param", "c=2"},
		"clipped": {"--loss", "exp(-u)", "--loss-clip", "0.5"},
	}
	for _, l := range engine.Library() {
		flags[l.Name] = []string{"--loss", l.Name}
	}
	for name, loss := range flags {
		if testing.Short() && name != "formula" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := append([]string{"--algorithm", "gradient-perturbation", "--steps", "6", "--radius", "0.3"}, loss...)
			f, run := interrupted(t, more...)
			f.dyad(f.train(append(more, "--resume", run)...)...).Want(t, "resume", exitOK, "run "+run)
			if again, charges, finished := f.attacked(t); again != run || charges != 1 || len(finished) != 1 {
				t.Errorf("%d charges and finish lines %q", charges, finished)
			}
			m := must.Get(readModel(f.in("out/model.json")))(t)
			must.Equal(t, m.Run, run, "the model is of run")
			for _, command := range [][]string{{"predict", "--quiet"}, {"evaluate", "--exact-figures"}} {
				f.dyad(append(command, f.in("out/model.json"), "--data", f.in("in/patients.csv"))...).Want(t, command[0], exitOK, "")
			}
			audit := append([]string{"lab", "audit", "gradient-perturbation", "--runs", "40", "--n", "20", "--d", "2", "--radius", "0.3"}, loss...)
			f.dyad(audit...).Want(t, "audit", exitOK, "not refuted")
		})
	}
}
