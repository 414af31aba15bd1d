package cuda

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// editEntry replaces what stands in one entry of a program.
func editEntry(ptx, entry, old, new string) string {
	head, body, found := strings.Cut(ptx, ".entry "+entry+"(")
	if !found {
		return ptx
	}
	own, rest, _ := strings.Cut(body, "ret;")
	return head + ".entry " + entry + "(" + strings.ReplaceAll(own, old, new) + "ret;" + rest
}

// weightless leaves the weights of rows out of an entry.
func weightless(ptx, entry string) string {
	old, replaced := "mul.rn.f64", "max.f64"
	switch entry {
	case "person_coefficients":
		old, replaced = "mul.rn.f64 \t%fd5, %fd4, %fd3", "mov.f64 %fd5, %fd3"
	case "metric_weigh_persons":
		old, replaced = "mul.rn.f64 \t%fd11, %fd7, %fd10", "mov.f64 %fd11, %fd10"
	}
	return editEntry(ptx, entry, old, replaced)
}

func personOptions() enginetest.Options {
	return enginetest.Options{ // of the near-linear method
		Losses: []engine.ScoreLoss{engine.Logistic{}}, MetricLosses: []engine.MetricLoss{}, Persons: true, PerPair: 2e-11, Sizes: []int{3}, Groups: [][]int{}, Radii: []float64{1},
		Unsupported: func(engine.Problem) {}, // any number of labels
	}
}

// TestPersons: sums over pairs of rows of different persons are within Roundoff of those in twice the precision, resident and in panels.
// Without the weights of rows, or with the pairs within a person, they are not.
func TestPersons(t *testing.T) {
	b := openFake(t, newFake())
	enginetest.Run(t, b, personOptions())
	if testing.Short() {
		return
	}
	for name, edit := range map[string][2]string{
		"pairs within a person":      {"sub.rn.f64", "max.f64"},
		"c without the row's weight": {"mul.rn.f64", "max.f64"},
	} {
		f := defective(func(ptx string) string { return editEntry(ptx, "weigh", edit[0], edit[1]) })
		if failed := fails(openFake(t, f), personOptions()); !f.edited || !failed {
			t.Errorf("%s: edited %v, found %v", name, f.edited, failed)
		}
	}
}

// TestPersonsPairByPair: the same of the methods that visit every pair: of losses that are not smooth, of smooth ones, and of metrics,
// also with the approximate instructions off. A pair within a person, one weight that is left out, and a unit that is wrong are found.
func TestPersonsPairByPair(t *testing.T) {
	score := personOptions()
	score.PerPair, score.Losses = 2e-5, []engine.ScoreLoss{kinky(t)["curved"]}
	metric := metricOptions(FP32)
	metric.Persons, metric.Sizes, metric.Losses = true, []int{3}, []engine.ScoreLoss{}
	for _, o := range []enginetest.Options{score, metric} {
		f := newFake()
		f.skew = 1
		b := openFake(t, f)
		b.Precision = FP32
		enginetest.Run(t, b, o)
	}
	score.Losses = []engine.ScoreLoss{engine.Logistic{}}
	b := openFake(t, newFake())
	b.Method, b.Precision = Direct, FP32
	enginetest.Run(t, b, score)
	if testing.Short() {
		return
	}
	for _, c := range []struct {
		name, entry, old, new string
		of                    enginetest.Options
	}{
		{"pairs within a person", "person_tiles", "setp.gt.u32", "setp.eq.u32", score},
		{"coefficients without the row's weight", "person_coefficients", "mul.rn.f64", "max.f64", score},
		{"products without the row's weight", "metric_weigh_persons", "mul.rn.f64", "max.f64", metric},
		{"products without the other row's weight", "metric_tiles_persons", "mul.rn.f64", "max.f64", metric},
		{"pairs within a person, of metrics", "metric_tiles_persons", "setp.gt.u32", "setp.eq.u32", metric},
	} {
		f := defective(func(ptx string) string { return editEntry(ptx, c.entry, c.old, c.new) })
		b := openFake(t, f)
		b.Method, b.Precision = Direct, FP32
		if failed := fails(b, c.of); !f.edited || !failed {
			t.Errorf("%s: edited %v, found %v", c.name, f.edited, failed)
		}
	}
}

// TestPersonsInPanels: rows of persons that do not fit into the GPU have sums of the same bits.
func TestPersonsInPanels(t *testing.T) {
	p, r, w := records(t, 5000, 3, 2)
	p, r = personsOf(t, p, r, 1, 3, 1, 7, 50)
	b := openFake(t, newFake())
	planned := must.Get(b.Plan(p))(t)
	k := planned.(*kernel)
	var sums [2][]float64
	for i, memory := range []uint64{0, k.columnBytes() + personRoom(p) + driverBytes + uint64(8*p.D*(k.grid.chunks()+2)) + 60000} {
		b.Memory = memory
		planned := must.Get(b.Plan(p))(t)
		if of, err := planned.(*kernel).ofPersons(r); err != nil || of.grid.resident != (i == 0) {
			t.Fatalf("resident %v, %v", of.grid.resident, err)
		}
		sums[i] = must.Get(sumOf(b, p, r, w))(t)
	}
	if apartBy(sums[0], sums[1]) != 0 {
		t.Errorf("%v in panels, %v resident", sums[1], sums[0])
	}
}

// TestPersonTermsAreTheirOwn: the sum adds the terms of two persons each, computed from a data set of these two, up to
// the roundings of float64: so neither the place of a row, nor how many rows others have, is in a term, also where the
// last bit of a slope in float32 decides a jump (docs/theory.md#person-terms, #person-metrics-gpu). One unit of a term
// is seen.
func TestPersonTermsAreTheirOwn(t *testing.T) {
	const most, d = 70, 3
	rng := rand.New(rand.NewPCG(73, 26))
	losses := []engine.Loss{engine.MahalanobisLogistic{}}
	for _, l := range throughSigmoid(t, 0.5)[:sizes.Of(1, 3)] {
		losses = append(losses, l)
	}
	for _, loss := range losses {
		_, metric := loss.(engine.MetricLoss)
		b := openFake(t, newFake())
		p := engine.Problem{D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1, LabelValues: engine.AnyLabels, PersonRows: most}
		w := make([]float64, loss.ParamDim(d))
		w[0] = 0.5
		if metric {
			w[1], w[d] = 0.3, 0.2
		}
		type person struct{ x, y []float64 }
		var all []person
		for _, m := range []int{1, 65, 2, 7, 1, 3, 70} {
			var q person
			for range m {
				x, y := []float64{0, rng.Float64() / 2, rng.Float64() / 2}, 1.0
				switch rng.IntN(3) {
				case 0:
					x[0] = 0.8*rng.Float64() - 0.4
				case 1:
					x[0] = 0.25
				}
				if rng.IntN(2) == 0 {
					y = -1
				}
				q.x, q.y = append(q.x, x...), append(q.y, y)
			}
			all = append(all, q)
		}
		sum := func(of ...person) ([]float64, Backend, engine.Problem) {
			var x, y []float64
			first := []int{0}
			for _, q := range of {
				x, y = append(x, q.x...), append(y, q.y...)
				first = append(first, len(y))
			}
			p := p
			p.N = len(of)
			r := must.Get(must.Get(engine.NewRecords(x, y, d, p.Bounds))(t).WithPersons(first, most))(t)
			s := must.Get(sumOf(b, p, r, w))(t)
			return s, b, p
		}
		whole, b, p := sum(all...)
		total := make([]float64, len(w))
		for i := range all {
			for j := range i {
				pair, _, _ := sum(all[j], all[i])
				for k, v := range pair {
					total[k] += v
				}
			}
		}
		k := must.Get(b.Plan(p))(t)
		unit, limit := 0.0, 1e-13*norm2(whole)
		switch k := k.(type) {
		case *kernel:
			unit = 2 * k.unit * personFixed
		case *metricKernel: // and of products in fixed point, of a few spans
			unit, limit = 2*k.unit*k.grid, 4*float64(p.N*(p.N+1))*k.fixedError()
		}
		if away := apartBy(whole, total); !(away <= limit) || limit >= unit {
			t.Errorf("%s, %s: the sum is %.3g from that of its persons, limit %.3g, a unit %.3g", loss.Name(), k.Method(), away, limit, unit)
		}
	}
}

// TestPersonsReplacedInSums: a person that is replaced, one row by 60 in the other direction, moves a gradient
// sum by its pairs with the other persons, each with one term's weight; without weights by far more.
func TestPersonsReplacedInSums(t *testing.T) {
	const persons, rows = 30, 60
	for _, c := range []struct {
		loss   engine.Loss
		method Method
		w      []float64
		most   float64 // of a term
		entry  string
	}{
		{engine.Logistic{}, NearLinear, []float64{-1, 0}, 4, "weigh"}, // slope 1, labels and features 2 apart, in one of the two data sets
		{engine.Logistic{}, Direct, []float64{-1, 0}, 4, "person_coefficients"},
		{kinky(t)["hinge"], AnyMethod, []float64{-1, 0}, 4, "person_coefficients"},
		{engine.MahalanobisLogistic{}, AnyMethod, []float64{-0.9, 0, 0}, 4, "metric_weigh_persons"},
	} {
		p := engine.Problem{N: persons, D: 2, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 1, LabelValues: 2, PersonRows: rows}
		sum := func(f *fakeDriver, many bool) []float64 {
			first, x, y := []int{0}, []float64{}, []float64{}
			for k := range persons {
				m, label := 1+k%3, float64(k%2*2-1)
				if k == 4 {
					if m, label = 1, 1; many {
						m, label = rows, -1
					}
				}
				for range m {
					x, y = append(x, label, 0), append(y, label)
				}
				first = append(first, len(y))
			}
			r := must.Get(must.Get(engine.NewRecords(x, y, p.D, p.Bounds))(t).WithPersons(first, rows))(t)
			b := openFake(t, f)
			b.Method = c.method
			return must.Get(sumOf(b, p, r, c.w))(t)
		}
		move := func(f *fakeDriver) float64 { return apartBy(sum(f, false), sum(f, true)) }
		most := 2 * (persons - 1) * c.most // pairs both ways
		moved := move(newFake())
		if !(moved <= most) || moved == 0 {
			t.Errorf("%s: a person moves the sum by %v, at most %v is allowed", c.entry, moved, most)
		}
		without := move(defective(func(ptx string) string { return weightless(ptx, c.entry) }))
		if t.Logf("%s: %.3g of %.3g, without the weights of rows %.3g", c.entry, moved, most, without); without < most {
			t.Errorf("%s: without the weights of rows a person moves the sum by %v only", c.entry, without)
		}
	}
}

// TestPersonsRefused: what has no sums over persons on a GPU.
func TestPersonsRefused(t *testing.T) {
	p := engine.Problem{N: 9, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2, PersonRows: 4}
	for name, change := range map[string]func(p *engine.Problem, b *Backend){
		"many persons, pair by pair": func(p *engine.Problem, b *Backend) { p.N, b.Method = mostPersons+1, Direct },
		"metric in bf16x3":           func(p *engine.Problem, b *Backend) { p.Loss, b.Precision = engine.MahalanobisLogistic{}, BF16x3 },
		"metric with a kink":         func(p *engine.Problem, _ *Backend) { p.Loss = engine.Metric{Of: hinge(t)} },
		"rows":                       func(p *engine.Problem, _ *Backend) { p.N, p.PersonRows = 1<<20, 1<<10 },
	} {
		p, b := p, openFake(t, newFake())
		change(&p, &b)
		refused(b.Plan(p))(t, name)
	}
}

// TestPersonReplayOnGPU: what is released from the sums of a GPU moves by no more than the plan is charged for if all rows of a
// person are replaced, and by a good part of it; without the weights of rows by more.
func TestPersonReplayOnGPU(t *testing.T) {
	const persons, most, d = 13, 9, 3
	data := attack.RandomPersons(persons, most, d, engine.UnitBounds(), 7)
	near := attack.PersonNeighbours(data, 3, most, 8)
	counts := make([]int, persons)
	for k := range counts {
		counts[k] = 1 + k%most
	}
	worst, neighbour := attack.WorstPersons(counts, d, 8, engine.UnitBounds())
	for _, c := range []struct {
		a      algorithms.Algorithm
		loss   engine.Loss
		method Method
		entry  string // that has the weights
	}{
		{algorithms.GradientPerturbation{Steps: 2}, engine.Logistic{}, AnyMethod, "weigh"},
		{algorithms.GradientPerturbation{Steps: 2}, engine.Logistic{}, Direct, "person_coefficients"},
		{algorithms.GradientPerturbation{Steps: 2}, kinky(t)["hinge"], AnyMethod, "person_coefficients"},
		{algorithms.GradientPerturbation{Steps: 1}, engine.MahalanobisLogistic{}, AnyMethod, "metric_weigh_persons"},
		{algorithms.Moments{}, engine.Logistic{}, AnyMethod, "weigh_rows"},
	} {
		a := c.a
		replay := func(f *fakeDriver) (float64, error) {
			p := engine.Problem{N: persons, D: d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 0.5, LabelValues: 2, PersonRows: most}
			on := openFake(t, f)
			on.Method = c.method
			spec := must.Get(algorithms.NewSpec(on, p, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
			plan := must.Get(a.Plan(spec))(t)
			must.Equal(t, plan.Guarantee.Unit, "one person", "%s protects", a.Info().Name)
			ratio, err := attack.Replay(a, plan, data, near, 9)
			more, err2 := attack.Replay(a, plan, worst, []*engine.Records{neighbour}, 9)
			return max(ratio, more), errors.Join(err, err2)
		}
		ratio, err := replay(newFake())
		if t.Logf("%s, %s: %.3g of the certificate", a.Info().Name, c.entry, ratio); err != nil || !(ratio > 0.05 && ratio <= 1) {
			t.Errorf("%s, %s: the largest move is %v of the certificate, %v", a.Info().Name, c.entry, ratio, err)
		}
		f := defective(func(ptx string) string { return weightless(ptx, c.entry) })
		if ratio, err := replay(f); err == nil && ratio <= 1 {
			t.Errorf("%s, %s without the weights of rows: %v of the certificate", a.Info().Name, c.entry, ratio)
		}
	}
}

// TestPersonMetricNeighbours: a replaced person, with another number of rows, so that those after it lie in other places and spans, changes
// the error of a metric's sum by at most twice what QueryBounds.Neighbour says.
func TestPersonMetricNeighbours(t *testing.T) {
	rows, d := sizes.Of(120, 1500), 3
	b := openFake(t, newFake())
	p, r, w := metricProblem(t, rows, d)
	p, data := personsOf(t, p, r, 1, 3, 1, 7, 20)
	k := must.Get(b.Plan(p))(t)
	bound := k.Bounds(engine.Query{Pairs: p.Pairs()}).OneRecord()
	off := func(r *engine.Records) []float64 {
		got, want := must.Get(sumOf(b, p, r, w))(t), must.Get(sumOf(cpu.Backend{}, p, r, w))(t)
		for i := range got {
			got[i] -= want[i]
		}
		return got
	}
	before, most := off(data), 0.0
	for _, near := range attack.PersonNeighbours(data, 3, p.PersonRows, 5) {
		most = max(most, apartBy(off(near), before))
	}
	whole := k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum
	if t.Logf("%d persons: the error changes by %.3g, at most %.3g; the sum may be off by %.3g", p.N, most, 2*bound, whole); !(most <= 2*bound) || most < bound/1e4 || bound > whole {
		t.Errorf("%d persons: the error changes by %v, the bound is %v, Roundoff %v", p.N, most, 2*bound, whole)
	}
}

// TestPersonsWithinGroups: gradients of persons within query groups are the sums of those of each group, within the bounds of a GPU and of
// the CPU, by the method of each group's size.
func TestPersonsWithinGroups(t *testing.T) {
	p, r, w := records(t, 120, 3, 2)
	p, r = personsOf(t, p, r, 1, 3, 2)
	p.Radius, p.Groups = 1, []int{20, 1, 9, 20, 10}
	var sums [2][]float64
	var bound float64
	for i, b := range []engine.Backend{openFake(t, newFake()), cpu.Backend{}} {
		k := must.Get(engine.Grouped{Backend: b}.Plan(p))(t)
		e := must.Get(k.Bind(r))(t)
		sums[i] = make([]float64, p.D)
		must.Do(t, errors.Join(e.Sum(t.Context(), sums[i], engine.Gradient(w, p.Pairs())), e.Close()))
		bound += k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum
	}
	if apart := apartBy(sums[0], sums[1]); !(apart <= bound && bound < 1e-3*norm2(sums[1])) {
		t.Errorf("%v on a GPU and %v on a CPU are %.3g apart, and the bounds give %.3g", sums[0], sums[1], apart, bound)
	}
}
