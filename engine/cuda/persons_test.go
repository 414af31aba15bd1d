package cuda

import (
	"errors"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/algotest"
	"dyad/engine"
	"dyad/engine/enginetest"
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

func personOptions() enginetest.Options {
	return enginetest.Options{
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
		f, edited := newFake(), false
		f.edit = func(ptx string) string {
			changed := editEntry(ptx, "weigh", edit[0], edit[1])
			edited = edited || changed != ptx
			return changed
		}
		if failed := fails(openFake(t, f), personOptions()); !edited || !failed {
			t.Errorf("%s: edited %v, found %v", name, edited, failed)
		}
	}
}

// TestPersonsInPanels: rows of persons that do not fit into the GPU have sums of the same bits.
func TestPersonsInPanels(t *testing.T) {
	p, r, w := records(t, 5000, 3, 2)
	p, r = personsOf(t, p, r, 1, 3, 1, 7, 50)
	b := openFake(t, newFake())
	planned, err := b.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	k := planned.(*kernel)
	var sums [2][]float64
	for i, memory := range []uint64{0, k.columnBytes() + personRoom(p) + driverBytes + uint64(8*p.D*(k.grid.chunks()+2)) + 60000} {
		b.Memory = memory
		planned, err := b.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		if of, err := planned.(*kernel).ofPersons(r); err != nil || of.grid.resident != (i == 0) {
			t.Fatalf("resident %v, %v", of.grid.resident, err)
		}
		if sums[i], err = sumOf(b, p, r, w); err != nil {
			t.Fatal(err)
		}
	}
	if apartBy(sums[0], sums[1]) != 0 {
		t.Errorf("%v in panels, %v resident", sums[1], sums[0])
	}
}

// TestPersonsReplacedInSums: a person that is replaced, one row by 60 in the other direction, moves a gradient
// sum by its pairs with the other persons, each with one term's weight; without weights by far more.
func TestPersonsReplacedInSums(t *testing.T) {
	const persons, rows = 30, 60
	p := engine.Problem{N: persons, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2, PersonRows: rows}
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
		r, err := engine.NewRecords(x, y, p.D, p.Bounds)
		if err == nil {
			r, err = r.WithPersons(first, rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := sumOf(openFake(t, f), p, r, []float64{-1, 0})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	move := func(f *fakeDriver) float64 { return apartBy(sum(f, false), sum(f, true)) }
	const most = 2 * (persons - 1) * 2 * 2 // pairs both ways; slope 1, labels and features 2 apart, in one of the two data sets
	if moved := move(newFake()); !(moved <= most) || moved == 0 {
		t.Errorf("a person moves the sum by %v, at most %v is allowed", moved, float64(most))
	}
	f := newFake()
	f.edit = func(ptx string) string { return editEntry(ptx, "weigh", "mul.rn.f64", "max.f64") }
	if moved := move(f); moved < most {
		t.Errorf("without the weights of rows a person moves the sum by %v only", moved)
	}
}

// TestPersonsRefused: what has no weights on a GPU.
func TestPersonsRefused(t *testing.T) {
	p := engine.Problem{N: 9, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2, PersonRows: 4}
	for name, change := range map[string]func(p *engine.Problem, b *Backend){
		"direct": func(_ *engine.Problem, b *Backend) { b.Method = Direct },
		"kinked": func(p *engine.Problem, _ *Backend) { p.Loss = kinky(t)["hinge"] },
		"metric": func(p *engine.Problem, _ *Backend) { p.Loss = engine.MahalanobisLogistic{} },
		"rows":   func(p *engine.Problem, _ *Backend) { p.N, p.PersonRows = 1<<20, 1<<10 },
	} {
		p, b := p, openFake(t, newFake())
		change(&p, &b)
		if _, err := b.Plan(p); !errors.Is(err, engine.ErrUnsupported) || !strings.Contains(err.Error(), "--device cpu") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPersonReplayOnGPU: what is released from the sums of a GPU moves by no more than the plan is charged for if all rows of a
// person are replaced, and by a good part of it; without the weights of rows by more.
func TestPersonReplayOnGPU(t *testing.T) {
	const persons, most, d = 13, 9, 3
	data := algotest.RandomPersons(persons, most, d, engine.UnitBounds(), 7)
	near := algotest.PersonNeighbours(data, 3, most, 8)
	counts := make([]int, persons)
	for k := range counts {
		counts[k] = 1 + k%most
	}
	worst, neighbour := algotest.WorstPersons(counts, d, 8, engine.UnitBounds())
	for _, a := range []algorithms.Algorithm{algorithms.GradientPerturbation{Steps: 2}, algorithms.Moments{}} {
		replay := func(f *fakeDriver) (float64, error) {
			p := engine.Problem{N: persons, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 0.5, LabelValues: 2, PersonRows: most}
			spec, err := algorithms.NewSpec(openFake(t, f), p, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := a.Plan(spec)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Guarantee.Unit != "one person" {
				t.Errorf("%s protects %s", a.Info().Name, plan.Guarantee.Unit)
			}
			ratio, err := algotest.Replay(a, plan, data, near, 9)
			more, err2 := algotest.Replay(a, plan, worst, []*engine.Records{neighbour}, 9)
			return max(ratio, more), errors.Join(err, err2)
		}
		ratio, err := replay(newFake())
		if t.Logf("%s: %.3g of the certificate", a.Info().Name, ratio); err != nil || !(ratio > 0.05 && ratio <= 1) {
			t.Errorf("%s: the largest move is %v of the certificate, %v", a.Info().Name, ratio, err)
		}
		f := newFake()
		f.edit = func(ptx string) string {
			return editEntry(editEntry(ptx, "weigh", "mul.rn.f64", "max.f64"), "weigh_rows", "mul.rn.f64", "max.f64")
		}
		if ratio, err := replay(f); err == nil && ratio <= 1 {
			t.Errorf("%s without the weights of rows: %v of the certificate", a.Info().Name, ratio)
		}
	}
}
