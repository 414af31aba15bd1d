package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

func sortCases() map[string][]float64 {
	rng := rand.New(rand.NewPCG(1, 9))
	cases := map[string][]float64{"empty": {}, "one": {3}, "zeros": {0, math.Copysign(0, -1), 0, -1, 1}}
	for _, n := range []int{2, 64, 65, 67, 300, 5000, 60_000} {
		random, few, wide := make([]float64, n), make([]float64, n), make([]float64, n)
		crowded := make([]float64, n) // in few parts of the range
		for i := range n {
			random[i], few[i] = rng.NormFloat64(), float64(rng.IntN(3)-1)
			crowded[i] = 1 + 1e-14*rng.Float64()
			wide[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(2000)-1000)
		}
		cases["random"+string(rune('a'+n%26))], cases["few"+string(rune('a'+n%26))], cases["wide"+string(rune('a'+n%26))] = slices.Clone(random), few, wide
		crowded[0] = 3
		cases["crowded"+string(rune('a'+n%26))] = crowded
		for i := range n / 2 { // few groups of many keys, most keys in groups of their own
			random[i] = float64(i%3) + 1e-15*random[i]
		}
		cases["clusters"+string(rune('a'+n%26))] = slices.Clone(random)
		sorted := slices.Clone(random)
		slices.Sort(sorted)
		cases["sorted"+string(rune('a'+n%26))] = sorted
	}
	return cases
}

func TestSorter(t *testing.T) {
	var sorter Sorter // of one slice after the other
	for name, x := range sortCases() {
		n := len(x)
		if n == 0 {
			sorter.Sort(nil, nil, nil, NewPlaces(0, 1), placeBits)
			continue
		}
		key, from := make([]float64, n), make([]int32, n)
		sorter.Sort(key, from, slices.Clone(x), NewPlaces(slices.Min(x), slices.Max(x)), placeBits)
		want := slices.Clone(x)
		slices.Sort(want)
		seen := make([]bool, n)
		for k := range want {
			if key[k] != want[k] {
				t.Fatalf("%s: number %d of %d is %v, want %v", name, k, n, key[k], want[k])
			}
			if at := from[k]; seen[at] || x[at] != key[k] {
				t.Fatalf("%s: number %d of %d is said to come from %d", name, k, n, at)
			}
			seen[from[k]] = true
		}
		back := make([]float64, n)
		Restore(back, key, from)
		if !slices.Equal(back, x) {
			t.Fatalf("%s: not restored", name)
		}
	}
}

// TestGroups: groups hold what the places say, in the order of the numbers, and give it
// back.
func TestGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	sizes := []int{5000, 40_000}
	for n := range 68 {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		x, group, want := make([]float64, n), make([]int32, n), make([]int32, n)
		members := make([][]float64, 0)
		lo, hi := -1.5, 0.75
		p := NewPlaces(lo, hi)
		var labels []Label
		first := [2]int32{}
		for a := range first {
			groups, shift := Groups(n / (1 + 3*a))
			first[a] = int32(len(labels))
			for range groups {
				labels, members = append(labels, Label{first[a], shift}), append(members, nil)
			}
		}
		for i := range x {
			x[i] = lo + (hi-lo)*rng.Float64()
			if i%5 == 0 {
				x[i] = []float64{lo, hi}[i%2]
			}
			a := rng.IntN(2)
			group[i] = first[a]
			place := int64((x[i] - lo) * ((1<<40 - 1) / (hi - lo)))
			want[i] = first[a] + int32(place>>labels[first[a]].Shift)
			members[want[i]] = append(members[want[i]], x[i])
		}
		count := make([]int32, len(labels))
		p.Group(group, x, labels, count)
		if !slices.Equal(group, want) {
			t.Fatalf("%d numbers: groups differ", n)
		}
		start := slices.Clone(count)
		starts(start)
		variants(t, func(t *testing.T, set *Set) {
			next, got := slices.Clone(start), make([]float64, n)
			set.Scatter(got, x, group, next)
			if !slices.Equal(got, slices.Concat(members...)) && n > 0 {
				t.Fatalf("%d numbers: groups hold %v, want %v", n, got, members)
			}
			back := make([]float64, n)
			set.Collect(back, got, group, next)
			if !slices.Equal(back, x) || !slices.Equal(next, start) {
				t.Fatalf("%d numbers: not given back", n)
			}
		})
	}
}

// TestScatterRange: numbers that are out of range fail as in the plain loops, after those
// before them have moved, and nothing outside the slices is written.
func TestScatterRange(t *testing.T) {
	fails := func(f func()) (failed bool) {
		defer func() { failed = recover() != nil }()
		f()
		return false
	}
	variants(t, func(t *testing.T, set *Set) {
		for _, c := range []struct {
			name        string
			group, next []int32
			fails       bool
		}{
			{"in range", []int32{0, 1, 0}, []int32{0, 2}, false},
			{"group too large", []int32{0, 2, 0}, []int32{0, 2}, true},
			{"group negative", []int32{0, -1, 0}, []int32{0, 2}, true},
			{"place too large", []int32{0, 1, 0}, []int32{0, 3}, true},
			{"place negative", []int32{0, 1, 0}, []int32{0, -1}, true},
			{"too few groups", []int32{0, 1}, []int32{0, 2}, true},
		} {
			room, x := make([]float64, 9), []float64{1, 2, 3}
			next := slices.Clone(c.next)
			must.Equal(t, fails(func() { set.Scatter(room[3:6:6], x, c.group[:len(c.group):len(c.group)], next) }), c.fails, "%s: Scatter fails", c.name)
			if len(c.group) == 3 && room[3] != 1 {
				t.Errorf("%s: the first number is not moved: %v", c.name, room)
			}
			back := make([]float64, 9)
			next = slices.Clone(c.next)
			for g := range next {
				next[g]++
			}
			if c.name == "in range" {
				next = []int32{2, 3}
			}
			must.Equal(t, fails(func() { set.Collect(back[3:6:6], x, c.group[:len(c.group):len(c.group)], next) }), c.fails, "%s: Collect fails", c.name)
			for _, r := range [][]float64{room, back} {
				if !slices.Equal(r[:3], make([]float64, 3)) || !slices.Equal(r[6:], make([]float64, 3)) {
					t.Errorf("%s: outside the slice is %v", c.name, r)
				}
			}
		}
	})
}

func TestCompensatedSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	exact, size := new(big.Float).SetPrec(300), 0.0
	var hi, lo, naive, worst float64
	for k := range 3000 {
		v := rng.NormFloat64() * math.Exp(10*rng.Float64())
		exact.Add(exact, big.NewFloat(v))
		size += math.Abs(v)
		naive += v
		hi, lo = compensated(hi, lo, v)
		if diff := offBy(hi+lo, exact); diff > 0x1p-52*size {
			t.Fatalf("sum of %d terms is off by %v of %v", k+1, diff, size)
		}
		worst = max(worst, offBy(naive, exact)/size)
	}
	if worst < 0x1p-52 {
		t.Errorf("a plain sum has the same accuracy, %v", worst)
	}
}

// addSteps adds a step in all parts, to rows and columns.
func addSteps(row, col Sums, s, t Ordered, d float64, p Step) {
	var m Merge
	for k := 0; k < len(s.Value)+len(t.Value); k += MergeSteps {
		m.AddSteps(row, col, s, t, d, p, k)
	}
}

// orderedNumbers are sorted; with ties they are multiples of 1/10.
func orderedNumbers(rng *rand.Rand, n int, ties bool) Ordered {
	x := Ordered{Value: make([]float64, n), Before: make([]float64, n+1)}
	for i := range x.Value {
		x.Value[i] = rng.NormFloat64()
		if ties {
			x.Value[i] = float64(rng.IntN(9)-4) / 10
		}
	}
	slices.Sort(x.Value)
	x.AddBefore()
	return x
}

// TestMergeCounts: the pairs of every row and column, up to the last, by every way through
// the merge. A step at s - Shift = t belongs to the pair; the control is the other rule.
func TestMergeCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	sizes := [][2]int{{5 * MergeSteps, 3 * MergeSteps}, {2*MergeSteps + 17, 40}, {3, 2*MergeSteps + 1}, {MergeSteps, MergeSteps}}
	for n := range 68 {
		sizes = append(sizes, [2]int{n, rng.IntN(68)}, [2]int{rng.IntN(68), n})
	}
	var other int
	for _, n := range sizes {
		for _, shift := range []float64{-7, -0.3, 0, 0.2, 7} {
			s, y := orderedNumbers(rng, n[0], shift != 0.2), orderedNumbers(rng, n[1], shift != 0.2)
			row, col := Sums{High: make([]float64, n[0])}, Sums{High: make([]float64, n[1])}
			addSteps(row, col, s, y, 2, Step{Shift: shift, Slope: 0.5})
			for i, v := range s.Value {
				limit := v - shift
				at, found := slices.BinarySearch(y.Value, limit)
				if found {
					other++
				}
				for at < len(y.Value) && y.Value[at] <= limit {
					at++
				}
				if row.High[i] != float64(at) {
					t.Fatalf("%d x %d, shift %v: row %d has %v pairs, want %d", n[0], n[1], shift, i, row.High[i], at)
				}
			}
			for j, v := range y.Value {
				at, _ := slices.BinarySearchFunc(s.Value, v, func(x, v float64) int {
					if x-shift < v {
						return -1
					}
					return 1
				})
				if col.High[j] != -float64(n[0]-at) {
					t.Fatalf("%d x %d, shift %v: column %d has %v pairs, want %d", n[0], n[1], shift, j, -col.High[j], n[0]-at)
				}
			}
		}
	}
	if other == 0 {
		t.Error("no pair is at the step: two rules give the same counts")
	}
}

func TestSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	skipped, plainWorse := 0, 0
	for trial := range 200 {
		n, m := rng.IntN(68), rng.IntN(68)
		if trial == 99 { // several parts
			n, m = sizes.Of(1000, 3000)+rng.IntN(300), sizes.Of(1000, 3000)
		}
		s, y := orderedNumbers(rng, n, trial%2 == 0), orderedNumbers(rng, m, trial%2 == 0)
		shift, d, a, b := float64(rng.IntN(9)-4)/10, 0.5+rng.Float64(), rng.NormFloat64(), rng.NormFloat64()
		steps := []Step{{shift, a, b}, {0.1, -a, 0}, {-0.3, a / 2, b / 2}}
		low := Sums{make([]float64, n), make([]float64, n)}
		row, col, colLow := Sums{High: make([]float64, n)}, Sums{High: make([]float64, m)}, Sums{make([]float64, m), make([]float64, m)}
		wantRow, wantCol := make([]float64, n), make([]float64, m)
		for _, p := range steps {
			addSteps(row, col, s, y, d, p)
			addSteps(low, colLow, s, y, d, p)
		}
		for k := 0; k < n+m; k += MergeSteps {
			all := Step{math.Inf(-1), a, b}
			AddAll(row, col, s, y, d, all, k)
			AddAll(low, colLow, s, y, d, all, k)
		}
		for i, v := range s.Value {
			for j, w := range y.Value {
				for _, p := range append(steps, Step{math.Inf(-1), a, b}) {
					if w > v-p.Shift {
						skipped++
						continue
					}
					x := d * (p.Slope + p.Rise*d*(v-w))
					wantRow[i] += x
					wantCol[j] -= x
				}
			}
		}
		limit := 1e-13 + 1e-15*float64((n+m)*(n+m)) // of the plain sums here
		near := func(name string, x Sums, low []float64, want []float64) {
			for i := range want {
				v := x.High[i]
				if low != nil {
					v += low[i]
				}
				if !(math.Abs(v-want[i]) <= limit) {
					t.Fatalf("trial %d: %s %d is %v, want %v", trial, name, i, v, want[i])
				}
			}
		}
		near("row", row, nil, wantRow)
		near("column", col, nil, wantCol)
		near("row", low, low.Low, wantRow)
		near("column", colLow, colLow.Low, wantCol)
		for i := range low.High {
			if low.High[i]+low.Low[i] != row.High[i] {
				plainWorse++
			}
		}
	}
	if skipped == 0 {
		t.Error("every pair takes every step")
	}
	if plainWorse == 0 {
		t.Error("low parts change nothing")
	}
}

// TestSlopeTile: the same numbers as PairTile.
func TestSlopeTile(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	f := func(u float64) float64 { return math.Atan(u) - 1 }
	for n := range 20 {
		for m := range 20 {
			for _, skip := range []int{-n, 1, 3} {
				s, u, y, z := normals(rng, n), normals(rng, m), labels(rng, n, 3), labels(rng, m, 3)
				row, col, wantRow, wantCol := make([]float64, n), make([]float64, m), make([]float64, n), make([]float64, m)
				PairTile(wantRow, wantCol, s, y, u, z, skip, f)
				SlopeTile(row, col, s, y, u, z, skip, make([]float64, m), each(f))
				if !slices.Equal(row, wantRow) || !slices.Equal(col, wantCol) {
					t.Fatalf("%d x %d, skip %d: %v %v, want %v %v", n, m, skip, row, col, wantRow, wantCol)
				}
			}
		}
	}
}

func TestClamp(t *testing.T) {
	for _, c := range [][2]float64{{-2, -1}, {-1, -1}, {0.25, 0.25}, {0.5, 0.5}, {7, 0.5}, {math.NaN(), -1}, {math.Inf(1), 0.5}} {
		must.Equal(t, Clamp(c[0], -1, 0.5), c[1], "Clamp(%v, -1, 0.5)", c[0])
	}
	v := []float64{3, math.NaN(), 0}
	ClampedSlopes(func([]float64) {}, -1, 1)(v)
	must.Same(t, v, []float64{1, -1, 0}, "ClampedSlopes")
}

// BenchmarkSorted times the steps of the sorted sums, in nanoseconds of one number of two
// labels.
func BenchmarkSorted(b *testing.B) {
	set := must.Get(Select(Best))(b)
	rng := rand.New(rand.NewPCG(5, 9))
	const n = 1_000_000
	x, group, from := make([]float64, n), make([]int32, n), make([]int32, n)
	for i := range x {
		x[i] = min(max(rng.NormFloat64(), -4), 4)
	}
	p := NewPlaces(-4, 4)
	groups, shift := Groups(n / 2)
	labels := make([]Label, 2*groups)
	for g := range labels {
		labels[g] = Label{int32(g / groups * groups), shift}
	}
	for i := range group {
		group[i] = int32(rng.IntN(2) * groups)
	}
	start, next := make([]int32, len(labels)), make([]int32, len(labels))
	p.Group(group, x, labels, start)
	starts(start)
	work, key := make([]float64, n), make([]float64, n)
	var sorter Sorter
	var merge Merge
	half := int(start[groups])
	for _, k := range []struct {
		name string
		run  func()
	}{
		{"group", func() { clear(next); p.Group(group, x, labels, next) }},
		{"scatter", func() { copy(next, start); set.Scatter(work, x, group, next) }},
		{"sort", func() {
			copy(next, start)
			set.Scatter(work, x, group, next)
			for g, i := range start {
				j := next[g]
				sorter.Sort(key[i:j], from[i:j], work[i:j], p, shift)
			}
		}},
		{"steps", func() {
			s, t := Ordered{Value: key[:half]}, Ordered{Value: key[half:]}
			for k := 0; k < n; k += MergeSteps {
				merge.AddSteps(Sums{High: work[:half]}, Sums{High: work[half:]}, s, t, 2, Step{Shift: 0.5, Slope: 1}, k)
			}
		}},
		{"restore", func() {
			for g, i := range start {
				j := next[g]
				Restore(work[i:j], key[i:j], from[i:j])
			}
		}},
		{"collect", func() { copy(next, start[1:]); next[len(next)-1] = n; set.Collect(work, key, group, next) }},
	} {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				k.run()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/n, "ns/number")
		})
	}
}
