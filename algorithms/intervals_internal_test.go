package algorithms

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	power "dyad/internal/sizes"
	"dyad/privacy"
)

var weightsCSV = flag.String("weights-csv", "", "write the measured coverage of intervals of weights to this file")

// labelled is a finite population, so that expectations are sums.
type labelled struct {
	x []float64
	y []float64
	d int
}

// clipLaw draws records; heavy gives the positives three times the spread of the negatives.
func clipLaw(seed uint64, d int, share float64, heavy bool) labelled {
	rng := rand.New(rand.NewPCG(seed, 7))
	p := labelled{d: d}
	for range 30_000 {
		y, spread := -1.0, 0.25
		if rng.Float64() < share {
			if y = 1; heavy {
				spread = 0.75
			}
		}
		common := rng.NormFloat64()
		row := make([]float64, d)
		for k := range row {
			row[k] = 0.2 + spread*(0.6*common+0.8*rng.NormFloat64())/math.Sqrt(float64(d))
			if k == 0 || k == 2 {
				row[k] += 0.1 * y
			}
		}
		engine.ProjectBall(row, 1)
		p.x, p.y = append(p.x, row...), append(p.y, y)
	}
	return p
}

// expected is n times the expectation of (y - b)/(1 + |b|) clip(x - c, R)/R.
func (p labelled) expected(n int, centre []float64, b, R float64) []float64 {
	sum, row := make([]float64, p.d), make([]float64, p.d)
	for i, y := range p.y {
		for k := range row {
			row[k] = p.x[i*p.d+k] - centre[k]
		}
		engine.ProjectBall(row, R)
		for k, v := range row {
			sum[k] += (y - b) / (1 + math.Abs(b)) * v / R
		}
	}
	return over(sum, float64(len(p.y))/float64(n))
}

func (p labelled) draw(t *testing.T, rng *rand.Rand, n int) *engine.Records {
	t.Helper()
	var x, y []float64
	for range n {
		i := rng.IntN(len(p.y))
		x, y = append(x, p.x[i*p.d:][:p.d]...), append(y, p.y[i])
	}
	return must.Get(engine.NewRecords(x, y, p.d, engine.UnitBounds()))(t)
}

// copies has rows copies of each of n/rows records, as records of their own.
func (p labelled) copies(rows int) func(*testing.T, *rand.Rand, int) *engine.Records {
	return func(t *testing.T, rng *rand.Rand, n int) *engine.Records {
		once := p.draw(t, rng, n/rows)
		all := make([]int, n)
		for i := range all {
			all[i] = i / rows
		}
		return once.Subset(all)
	}
}

// persons are n persons of 1 to rows rows, copies of their first one but for every third, which is another of
// its class.
func (p labelled) persons(rows int) func(*testing.T, *rand.Rand, int) *engine.Records {
	return func(t *testing.T, rng *rand.Rand, n int) *engine.Records {
		var x, y []float64
		var of []int32
		for k := range n {
			first := rng.IntN(len(p.y))
			for r := range 1 + rng.IntN(rows) {
				i := first
				for r%3 == 2 && (i == first || p.y[i] != p.y[first]) {
					i = rng.IntN(len(p.y))
				}
				x, y, of = append(x, p.x[i*p.d:][:p.d]...), append(y, p.y[i]), append(of, int32(k))
			}
		}
		all := must.Get(engine.NewRecords(x, y, p.d, engine.UnitBounds()))(t)
		all = must.Get(all.GroupPersons(of, n, rows))(t)
		return all
	}
}

// TestWeightIntervalsOfPersonsCover: with persons for records, whose rows depend on each other, intervals cover
// what they do for records; those of rows that count as records do not.
func TestWeightIntervalsOfPersonsCover(t *testing.T) {
	p, b := clipLaw(1, 5, 0.3, false), privacy.Budget{Epsilon: 8, Delta: 1e-5}
	both, _, noise := coverage(t, p, 1000, 60, b, "", 4, 4, p.persons(4))
	if both < 0.93 || noise > 0.9 {
		t.Errorf("persons: %.3f of the intervals cover, those of the noise alone %.3f", both, noise)
	}
	if both, _, _ := coverage(t, p, 4000, 40, b, "", 4, 0, p.copies(4)); both > 0.85 {
		t.Errorf("rows of persons that count as records: %.3f of the intervals cover", both)
	}
}

// coverage is the share of weights whose 95 % interval covers, and with the sampling or the
// noise left out of the interval. draw draws n records, or persons with up to personRows rows.
func coverage(t *testing.T, p labelled, n, runs int, b privacy.Budget, second string, seed uint64, personRows int, draw func(*testing.T, *rand.Rand, int) *engine.Records) (both, noiseless, noiseOnly float64) {
	t.Helper()
	a := Moments{Intervals: true, Second: second}
	spec := must.Get(NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: n, D: p.d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, PersonRows: personRows}, 0, b, Certified))(t)
	plan := must.Get(a.Plan(spec))(t)
	rng, m := rand.New(rand.NewPCG(seed, 3)), plan.Moments()
	for run := range runs {
		ev := must.Get(plan.Spec.Kernel.Bind(draw(t, rng, n)))(t)
		session := must.Get(privacy.NewPublicSession(privacy.NewSeededSource(seed<<20+uint64(run)), plan.Events()))(t)
		r := m.released(p.d)
		must.Do(t, m.collect(context.Background(), ev, session, plan.Releases, r, 0, func(int) {}))
		f := must.Get(m.fit(context.Background(), r.sum(), r.second(), float64(n)))(t)
		truth := f.sum(momentsSolution(f.along(p.expected(n, r.centre, r.offset, m.ClipRadius)), f.values, f.lambda))
		w := f.sum(f.w)
		full := m.weightErrors(f, r.share, r.offset, 1)
		quiet := *m
		quiet.SumNoise = 0
		without := quiet.weightErrors(f, r.share, r.offset, 1)
		for k := range w {
			far := math.Abs(w[k] - truth[k])
			count := func(to *float64, e float64) {
				if far <= 1.959964*e {
					*to += 1 / float64(runs*p.d)
				}
			}
			count(&both, full[k])
			count(&noiseless, without[k])
			count(&noiseOnly, math.Sqrt(max(full[k]*full[k]-without[k]*without[k], 0)))
		}
	}
	return both, noiseless, noiseOnly
}

// TestWeightIntervalsCover: 95 % intervals cover the minimiser of the released objective in the
// population in about 95 % of the runs. Intervals that leave out the noise where it is large, or the sampling
// where that is, do not.
func TestWeightIntervalsCover(t *testing.T) {
	runs, out := 60, *weightsCSV
	sizes := []int{1000}
	if out != "" {
		runs, sizes = 200, []int{300, 1000, 3000}
	}
	text := "# coverage of 95 % intervals of the weights of moments, mean over weights; written by go test ./algorithms -run TestWeightIntervalsCover -weights-csv FILE\n" +
		"# noise_only and sampling_only: with the other part left out of the interval\nlaw,n,d,positives,epsilon,delta,second,runs,covered,sampling_only,noise_only\n"
	for i, law := range []struct {
		name  string
		share float64
		heavy bool
	}{{"balanced", 0.5, false}, {"rare", 0.1, false}, {"positives spread", 0.3, true}} {
		p := clipLaw(uint64(i), 5, law.share, law.heavy)
		for _, n := range sizes {
			for _, epsilon := range []float64{0.5, 8} {
				for _, second := range []string{"", "diagonal"} {
					if out == "" && !power.Full() && (epsilon == 8) == (second == "") {
						continue
					}
					b := privacy.Budget{Epsilon: epsilon, Delta: 1e-5}
					both, sampling, noise := coverage(t, p, n, runs, b, second, uint64(n+i), 0, p.draw)
					where := fmt.Sprintf("%s,%d,5,%g,%g,%g,%s,%d", law.name, n, law.share, epsilon, b.Delta, map[string]string{"": "full", "diagonal": "diagonal"}[second], runs)
					text += fmt.Sprintf("%s,%.4f,%.4f,%.4f\n", where, both, sampling, noise)
					must.AtLeast(t, both, 0.9, "%s: %.3f of the intervals cover", where, both)
					if epsilon == 0.5 && n <= 1000 && sampling > 0.9 {
						t.Errorf("%s: intervals of the sampling alone cover %.3f", where, sampling)
					}
					if epsilon == 8 && n >= 1000 && noise > 0.9 {
						t.Errorf("%s: intervals of the noise alone cover %.3f", where, noise)
					}
				}
			}
		}
	}
	if out != "" {
		must.Do(t, os.WriteFile(out, []byte(text), 0o666))
	}
	t.Log(text)
}

func TestIntervalsAreRefusedWhereNoneHold(t *testing.T) {
	spec := must.Get(NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 1000, D: 3, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, Certified))(t)
	for _, a := range []Moments{{Intervals: true, Steps: 2}, {Intervals: true, Second: "none"}} {
		must.Err(a.Plan(spec))(t, "%+v is planned", a)
	}
}
