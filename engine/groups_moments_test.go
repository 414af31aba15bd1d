package engine_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
)

// The sums over pairs within groups of many sizes, in parts and in several blocks, equal those of the definition.
func TestGroupMomentsMatchTheirDefinition(t *testing.T) {
	for _, c := range []struct {
		d      int
		groups []int
		most   int // rows of a person
	}{{1, []int{2}, 0}, {3, []int{1, 2, 3, 1, 6, 2, 64, 1}, 0}, {2, []int{65, 300, 64, 129, 7}, 0}, {4, []int{1, 2000}, 0}, {2, []int{2}, 4}, {3, []int{1, 40, 2, 21, 22}, 3}, {2, []int{5, 1, 2}, 40}} {
		units := 0
		for _, s := range c.groups {
			units += s
		}
		first := []int{0}
		for k := range units {
			first = append(first, first[k]+1+k*7%max(1, c.most))
		}
		n := first[units]
		b := engine.Bounds{FeatureNorm: 3, LabelAbs: 0.5}
		p := engine.Problem{N: units, PersonRows: c.most, D: c.d, Bounds: b, Loss: engine.Logistic{}, Radius: 1, Groups: c.groups, LabelValues: engine.AnyLabels}
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		x, y := make([]float64, n*c.d), make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range y {
			y[i] = rng.Float64() - 0.5
		}
		records := must.Get(engine.NewRecords(x, y, c.d, b))(t)
		if c.most > 0 {
			records = must.Get(records.WithPersons(first, c.most))(t)
		}
		kernel := must.Get(engine.PlanGroupMoments(cpu.Backend{}, p))(t)
		ev := must.Get(kernel.Bind(records))(t)
		const R = 0.7
		packed := engine.Symmetric{Dim: c.d}
		got := engine.NewMoments(c.d, engine.FullSecond)
		must.Do(t, ev.Sum(context.Background(), got.All, engine.Query{Radius: R, Signed: true, Second: engine.FullSecond}))
		sum, second := make([]float64, c.d), make([]float64, packed.Len())
		from, largest, weight := 0, 0, 0.0
		for _, s := range c.groups {
			most := max(2, 64/max(1, c.most))
			parts := (s + most - 1) / most
			all := map[int]bool{}
			for part := range parts {
				var places []int
				for i := 0; i*parts+part < s; i++ {
					width := min(parts, s-i*parts)
					places = append(places, from+i*parts+(part+int(uint64(uint32(i)*2654435769)*uint64(width)>>32))%width)
				}
				for _, v := range places {
					all[v] = true
				}
				m := float64(len(places))
				largest, weight = max(largest, len(places)), weight+(m-1)/2
				pair := func(u, v int, weight float64) {
					a, b, difference, square := make([]float64, c.d), make([]float64, c.d), make([]float64, c.d), 0.0
					records.Row(u, a)
					records.Row(v, b)
					for k := range a {
						difference[k] = a[k] - b[k]
						square += difference[k] * difference[k]
					}
					by := min(1, R/math.Sqrt(square))
					whole := make([]float64, c.d*c.d)
					for k := range difference {
						sum[k] += (y[u] - y[v]) * by * difference[k] * weight // labels within 1/2
						for l := range difference {
							whole[k*c.d+l] = by * difference[k] * by * difference[l] * weight
						}
					}
					one := make([]float64, packed.Len())
					packed.Pack(one, whole)
					for k, v := range one {
						second[k] += v
					}
				}
				for j, v := range places {
					for _, u := range places[:j] {
						rows := float64((first[u+1] - first[u]) * (first[v+1] - first[v]))
						for i := first[u]; i < first[u+1]; i++ {
							for k := first[v]; k < first[v+1]; k++ {
								pair(i, k, 1/(m*rows))
							}
						}
					}
				}
			}
			must.Equal(t, len(all), s, "records of the parts of a group")
			from += s
		}
		if !(engine.Distance(got.Sum, sum) <= 1e-10 && engine.Distance(got.Second, second) <= 1e-10) {
			t.Errorf("groups %v: sums %v and %v, want %v and %v", c.groups, got.Sum, got.Second, sum, second)
		}
		if m, w := engine.Together(p); m != largest || w != weight {
			t.Errorf("groups %v: parts of %d with weight %v, want %d and %v", c.groups, m, w, largest, weight)
		}
		if e := kernel.Bounds(engine.Query{Radius: R, Second: engine.FullSecond}); !(e.Sum > 0x1p-53*weight*R && e.Sum < 1e-10 && e.Second > 0x1p-53*weight*R*R && e.Second < 1e-10) {
			t.Errorf("groups %v: errors %+v", c.groups, e)
		}
		must.ErrDo(t, ev.Sum(context.Background(), got.All, engine.Query{Radius: R, Second: engine.FullSecond}), "sums without labels are not refused")
	}
}

// TestPartsOfGroupsMixLabels: in every order of labels that a file is likely to have, sorted or alternating, the parts of a
// group have nearly as many pairs of different labels as parts that are drawn.
func TestPartsOfGroupsMixLabels(t *testing.T) {
	for _, n := range []int{86, 300, 1000} {
		for _, period := range []int{2, 3, 4, 5, 6, 8, 10, 16, n} {
			p := engine.Problem{N: n, D: 1, Bounds: engine.Bounds{FeatureNorm: 1, LabelAbs: 1}, Loss: engine.Logistic{}, Radius: 1, Groups: []int{n}, LabelValues: engine.AnyLabels}
			y, positives := make([]float64, n), 0.0
			for i := range y {
				if y[i] = -1; i%period < period/2 {
					y[i], positives = 1, positives+1
				}
			}
			kernel := must.Get(engine.PlanGroupMoments(cpu.Backend{}, p))(t)
			ev := must.Get(kernel.Bind(must.Get(engine.NewRecords(y, y, 1, p.Bounds))(t)))(t)
			got := engine.NewMoments(1, engine.FullSecond)
			must.Do(t, ev.Sum(context.Background(), got.All, engine.Query{Radius: 1, Signed: true, Second: engine.FullSecond}))
			share := positives / float64(n)
			_, weight := engine.Together(p)
			must.Within(t, got.Sum[0]/(weight*2*share*(1-share)), 0.8, 1.25, "n = %d, period %d: pairs of different labels", n, period)
		}
	}
}
