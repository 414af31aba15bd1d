package experiment

import (
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// Every wrong plan is refused with its line.
func TestWrongPlans(t *testing.T) {
	good := strings.TrimPrefix(small, "\n")
	must.Get(parse([]byte(good)))(t)
	for _, c := range []struct{ old, now, want string }{
		{"epsilon:", "epsilons:", `line 4, position 1: .*unknown field "epsilons"`},
		{"seed: 5, n:", "sed: 5, n:", `line 2, .*unknown field "sed"`},
		{"splits: 3", "splits: three", `line 6, position 9: splits: want a whole number, not a text`},
		{"splits: 3", "splits: 3.5", `line 6, position 9: splits: want a whole number`},
		{"[50, 120]", "[50, 15e-1]", `line 2, position \d+: n: want a whole number`},
		{"delta: 1e-5", "delta: !!float 1e-5", `line 5, position 8: tags are not supported`},
		{"splits: 3", "splits: 0", `line 6: splits is 0`},
		{"noises: 2", "noises: -1", `line 7: noises is -1`},
		{"[0.5, 2]", "[0.5, -2]", `line 4: .*epsilon`},
		{"[0.5, 2]", "[0.5, 0.5]", `line 4: epsilon 0.5 is there twice`},
		{"delta: 1e-5", "delta: 2", `line 4: .*delta`},
		{"[50, 120]", "[50, 200]", `line 2: data set one: n is 200`},
		{"[50, 120]", "[50, 1]", `line 2: data set one: n is 1`},
		{"name: two", "name: one", `line 3: data set one is there twice`},
		{"synthetic: ar1", "synthetic: ar2", `line 3: data set two: the generator "ar2" is unknown`},
		{"synthetic: ar1", "file: x, synthetic: ar1", `line 3: data set two needs either file or synthetic`},
		{"features: 4, seed: 6", "seed: 6", `line 3: data set two: features is 0`},
		{"[class-means]", "[identity]", `line 8: baseline "identity" is unknown`},
		{"name: dpgdsc", "name: dpgdcs", `line 10: .*"dpgdcs" is not in the catalogue; choose one of dpgdsc`},
		{"radius:", "radios:", `line 10: dpgdsc: option radios: unknown, want one of steps, step_size, total_step, mode, l2, radius, loss`},
		{"radius: [0.1, 1]", "steps: 1.5", `line 10: dpgdsc: option steps: want a whole number`},
		{"radius: [0.1, 1]", "mode: nonprivate", `line 10: dpgdsc does not support mode nonprivate`},
		{"radius: [0.1, 1]", "mode: certain", `line 10: dpgdsc: option mode: .*certain`},
		{"radius: [0.1, 1]", "loss: squared-off", `line 10: dpgdsc: option loss: .*neither a built-in loss`},
		{"radius: [0.1, 1]", "radius: [1, 1]", `dpgdsc radius=1 is in the plan twice`},
		{"[self, works]", "[]", `line 12: a peer needs a command and a name`},
		{"works]}", "works], limit: soon}", `line 12: limit "soon"`},
		{"splits: 3", "splits: 3\nreference: nobody", `line 7: reference "nobody" is not a method`},
		{"splits: 3", "splits: 3\ntask: rank", `line 7: task "rank" is unknown`},
		{"splits: 3", "splits: 3\nsplits: 4", `line 7, position 1: key "splits" is in line 6 already`},
		{"epsilon: [0.5, 2]", "", `epsilon is empty`},
	} {
		text := strings.Replace(good, c.old, c.now, 1)
		if text == good {
			t.Fatalf("%q is not in the plan", c.old)
		}
		_, err := parse([]byte(text))
		if err == nil || !regexp.MustCompile(c.want).MatchString(err.Error()) {
			t.Errorf("%q for %q: %v, want %s", c.now, c.old, err, c.want)
		}
	}
}

// Options reach the fields of the algorithm and the settings.
func TestOptions(t *testing.T) {
	p := must.Get(parse([]byte(`
data: [{name: one, synthetic: scores, records: 60, features: 4, n: [40]}]
epsilon: [1]
splits: 1
algorithms:
  - {name: dpgdsc, options: {steps: 7, step_size: 0.25, l2: 0.5, radius: 2, loss: square}}
  - {name: subsampled-descent, options: {batch_records: [5, 1e1]}}
  - {name: projected-gradient}
`)))(t)
	spec := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: 10, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
	q, m := algorithms.Question{Spec: spec}, p.all[0]
	if m.choose(q).Algorithm != (algorithms.DPGDSC{Steps: 7, StepSize: 0.25}) || *m.settings.l2 != 0.5 || m.settings.radius != 2 || m.settings.loss.Name() != "square" {
		t.Errorf("%+v", m)
	}
	must.Equal(t, m.options, "l2=0.5 loss=square radius=2 step_size=0.25 steps=7", "options as text")
	if p.all[2].choose(q).Algorithm.(algorithms.SubsampledDescent).BatchRecords != 10 || p.all[2].options != "batch_records=10" {
		t.Errorf("%+v", p.all[2])
	}
	if !p.all[3].nonPrivate {
		t.Error("projected-gradient counts as private")
	}
	// All algorithms of the catalogue can be in a plan.
	for _, a := range algorithms.Catalog() {
		var s settings
		must.Check(s.configure(a.Info().Name, a, taskAUC, map[string]any{"mode": a.Info().Modes[0].String()}))(t)
	}
	if got := snake("StepSize") + " " + snake("L2") + " " + snake("NormL2Bound") + " " + snake("PSD"); got != "step_size l2 norm_l2_bound psd" {
		t.Error(got)
	}
}

func TestSummary(t *testing.T) {
	p := must.Get(parse([]byte(`
data: [{name: one, synthetic: scores, records: 60, features: 4, n: [40]}]
epsilon: [1, 2]
splits: 3
baselines: [class-means]
algorithms: [{name: dpgdsc}, {name: dpegd}]
`)))(t)
	var rows []Row
	add := func(name string, epsilon float64, split int, values ...float64) {
		for _, v := range values {
			r := Row{Data: "one", N: 40, D: 4, Epsilon: epsilon, Delta: privacy.DefaultDelta(40), Algorithm: name, Split: split, Value: v, Seconds: 2, Status: statusOK}
			if math.IsInf(epsilon, 1) {
				r.Delta = 0
			}
			if v == 0 {
				r.Status = "failed: x"
			}
			rows = append(rows, r)
		}
	}
	add("dpgdsc", 1, 0, .5, .7)
	add("dpgdsc", 1, 1, .7)
	add("dpgdsc", 1, 2, .8)
	add("dpegd", 1, 0, .7)
	add("dpegd", 1, 1, .9)
	add("dpegd", 1, 2, 0)
	add("class-means", math.Inf(1), 1, 1)
	add("dpgdsc", 2, 1, .75)
	got := p.Summarise(rows)
	if len(got) != 5 {
		t.Fatalf("%d lines: %+v", len(got), got)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	near("mean", got[0].Mean, (.6+.7+.8)/3) // two draws of split 0 count once
	near("standard error", got[0].SE, .1/math.Sqrt(3))
	near("difference", got[1].Difference, (.1+.2)/2)
	near("its standard error", got[1].DifferenceSE, .05)
	if got[1].Splits != 2 || got[1].Failed != 1 || got[1].Paired != 2 || !got[1].Behind() || got[0].Paired != 0 {
		t.Errorf("%+v", got[:2])
	}
	// What is not private is compared at every epsilon.
	near("epsilon", got[2].Epsilon, 1)
	near("difference to the ceiling", got[2].Difference, .3)
	near("epsilon", got[3].Epsilon, 2)
	near("difference to the ceiling", got[3].Difference, .25)
	var b strings.Builder
	p.Compare(&b, got)
	if text := b.String(); !strings.Contains(text, "dpegd is ahead on one n 40 epsilon 1: +0.1500, standard error 0.0500") || !strings.Contains(text, "ahead in 1 of 1 comparisons, 100.0 %") || strings.Contains(text, "class-means") {
		t.Error(text)
	}
	dir := t.TempDir()
	files, err := p.Draw(filepath.Join(dir, "x"), got, "svg")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	svg := read(t, files[0])
	// The legend is to the right of the axes, which end at 12.5 cm.
	for _, name := range []string{"dpgdsc", "dpegd", "class-means"} {
		at := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>` + name + `<`).FindStringSubmatch(svg)
		if at == nil {
			t.Fatalf("%s is not in the legend:\n%s", name, svg)
		}
		if x, err := strconv.ParseFloat(at[1], 64); err != nil || x < 12.5*72/2.54 {
			t.Errorf("the legend of %s is at %s, within the axes", name, at[1])
		}
	}
	must.Do(t, p.WriteSummary(filepath.Join(dir, "s.csv"), got))
	if text := read(t, filepath.Join(dir, "s.csv")); !strings.Contains(text, "one,40,4,1,7.8125e-06,dpegd,,2,1,0.8000,0.1000,0.1500,0.0500,2,0\n") && !strings.Contains(text, ",dpegd,,2,1,0.8000,0.1000,0.1500,0.0500,2,0\n") {
		t.Error(text)
	}
}
