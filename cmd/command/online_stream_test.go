package command

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	lib "dyad"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/objective"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// Streams whose state has more than the buffer are stopped and resumed too, without
// spending twice, and a run without noise is charged as infinite.
func TestOnlineAlgorithmsResume(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, c := range []struct {
		name  string
		flags []string
		free  bool
	}{
		{"dpftrl", []string{"--algorithm", "dpftrl"}, false},
		{"classes", []string{"--per-class"}, false},
		{"nonprivate", []string{"--mode", "nonprivate", "--yes"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := clinic(t, 120)
			all := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
			lines := strings.SplitAfter(string(all), "\n")
			write(t, dir, "patients.csv", strings.Join(lines[:1+37], ""))
			flags := slices.Concat(onlineFlags, []string{"--data", "patients.csv", "--average", "--out", "m.json"}, c.flags)
			out := mustRun(t, dir, flags...)
			first := parseOnline(t, out)
			if g := first.start.Guarantee; len(first.releases) != 2 || first.start.Run == "" || (g.Kind == "none") != c.free || !c.free && (g.Epsilon > 1 || g.Epsilon < 0.99) {
				t.Errorf("37 records: %+v", first)
			}
			_, before, _ := dyad(t, dir, "ledger", "show", "--json")
			write(t, dir, "patients.csv", string(all))
			out = mustRun(t, dir, append(flags, "--resume")...)
			second := parseOnline(t, out)
			if second.start.Run != first.start.Run || len(second.releases) != 8 || second.releases[1].Release != 3 ||
				!slices.Equal(second.releases[0].Weights, first.releases[1].Weights) || !slices.Equal(second.releases[0].Average, first.releases[1].Average) {
				t.Fatalf("resumed: %+v", second)
			}
			second.releases = second.releases[1:] // the first repeats the last one
			// The average of the start, which is 0, and of all releases but the last.
			releases := slices.Concat(first.releases, second.releases)
			last := releases[len(releases)-1]
			for k, v := range last.Average {
				want := 0.0
				for _, r := range releases[:len(releases)-1] {
					want += r.Weights[k] / float64(len(releases))
				}
				if math.Abs(v-want) > 1e-12 {
					t.Fatalf("average %v, coordinate %d should be %v", last.Average, k, want)
				}
			}
			m, err := readModel("m.json")
			if err != nil || !slices.Equal(m.Weights, last.Average) || m.Report.Value("stream") == nil || m.Run != first.start.Run || !strings.Contains(m.Guarantee.Released, "average") {
				t.Errorf("the model file: %+v, %v", m, err)
			}
			must.AtLeast(t, strings.Count(mustRun(t, dir, "predict", "m.json", "--data", "patients.csv"), "\n"), 100, "scores")
			if _, after, _ := dyad(t, dir, "ledger", "show", "--json"); !c.free && moneyOf(t, before) != moneyOf(t, after) || c.free && !strings.Contains(after, `"epsilon": null`) {
				t.Errorf("the ledger was %s and is %s", before, after)
			}
		})
	}
}

// The measured regret is that of the definition, for the released models and for a
// grid of fixed ones.
func TestOnlineRegret(t *testing.T) {
	sizes.NotShort(t, "slow")
	const n, every = 60, 7
	dir := clinic(t, n)
	flags := []string{"online", "--data", "patients.csv", "--schema", "patients.yaml", "--records", "60", "--every", "7", "--buffer", "20", "--state", "s", "--epsilon", "50", "--l2", "0.1"}
	ran(t, dir, append(flags, "--regret")...).exits(exitInput).printsOnly("").warns("--public-data").want(!exists("s"), "no state")
	flags = append(flags, "--public-data", "--regret")
	for _, bad := range [][]string{{"--resume"}, {"--records", "50000"}} {
		ran(t, dir, append(slices.Clone(flags), bad...)...).exits(exitInput)
	}
	out := mustRun(t, dir, flags...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var got onlineRegret
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil || got.Measured == nil {
		t.Fatalf("%v: %s", err, lines[len(lines)-1])
	}
	o := parseOnline(t, strings.Join(lines[:len(lines)-1], "\n"))
	sample, _ := must.Get2((&trainedFlags{Data: dataFiles{names: []string{"patients.csv"}}, Schema: "patients.yaml"}).loadOr(&app{ctx: t.Context()}, syntheticRecords, dataset.RefusePersons, nil))(t)
	records := lib.NewData(sample).Records
	loss := engine.Logistic{}
	row := func(i int) engine.Record {
		x := make([]float64, records.Dim())
		records.Row(i, x)
		return engine.Record{X: x, Y: records.Label(i)}
	}
	value := func(w []float64, t int) float64 {
		sum := 0.0
		for i := range t {
			sum += loss.Value(w, row(t), row(i)) / float64(t)
		}
		return sum + 0.05*squaredNorm(w)
	}
	models := [][]float64{make([]float64, records.Dim())}
	for _, r := range o.releases {
		models = append(models, r.Weights)
	}
	last := every + len(o.releases)*every
	sums := func(model func(step int) []float64) (regret, general float64) {
		for step := every; step < last; step++ {
			w := model(step)
			regret += value(w, step)
			part := records
			if last < n {
				x := make([]float64, 0, last*records.Dim())
				y := make([]float64, last)
				for i := range last {
					x, y[i] = append(x, row(i).X...), records.Label(i)
				}
				part = must.Get(engine.NewRecords(x, y, records.Dim(), records.Bounds()))(t)
			}
			mean := must.Get(objective.Mean(t.Context(), loss, w, part))(t)
			general += mean + 0.05*squaredNorm(w)
		}
		return regret, general
	}
	played, playedGeneral := sums(func(step int) []float64 { return models[(step-every)/every] })
	m := got.Measured
	if m.Records != last-every || m.Updates != len(o.releases) || math.Abs(m.Played*float64(m.Records)-played) > 1e-9 || !(m.Gap < 1e-5) || !(m.GeneralisedGap < 1e-5) {
		t.Errorf("%+v, played %v", m, played)
	}
	// No model of a set of directions and lengths is better than the best one, and
	// some is close.
	close, closeGeneral := math.Inf(1), math.Inf(1)
	for _, w := range models {
		for f := 0.0; f <= 1; f += 0.25 {
			fixed := slices.Clone(w)
			for k := range fixed {
				fixed[k] *= f
			}
			best, bestGeneral := sums(func(int) []float64 { return fixed })
			close, closeGeneral = min(close, best-(played-m.Regret)), min(closeGeneral, bestGeneral-(playedGeneral-m.Generalised))
		}
	}
	if !(close > -1e-4) || close > 2 || !(closeGeneral > -1e-4) || closeGeneral > 2 {
		t.Errorf("the best of the fixed models tried is %v above the minimum, %v for the mean over all pairs", close, closeGeneral)
	}
}

func squaredNorm(w []float64) (sum float64) {
	for _, v := range w {
		sum += v * v
	}
	return sum
}
