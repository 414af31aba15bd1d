package cuda

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// tinyMemory is too little for 5000 records of 3 features, but enough for two panels.
const tinyMemory = driverBytes + 64<<20 + 5000*(8+8) + 5000/16 + 2*tinyPanel + 8*3*(20+2)

// tinyPanel is 8 tiles of 3 columns.
const tinyPanel = 8 * tileRows * 8 * 3

// sumsOf returns the sums over all pairs and over a prefix, and what the kernel is.
func sumsOf(t *testing.T, b Backend, p engine.Problem, r *engine.Records, w []float64) ([]float64, *kernel) {
	t.Helper()
	k := must.Get(b.Plan(p))(t)
	e := must.Get(k.Bind(r))(t)
	defer e.Close()
	sums := make([]float64, 2*p.D)
	for i, pairs := range []engine.Pairs{engine.AllPairs{N: p.N}, engine.PrefixPairs{T: p.N - 1}} {
		for range 2 { // staging is used again
			must.Do(t, e.Sum(context.Background(), sums[i*p.D:(i+1)*p.D], engine.Gradient(w, pairs)))
		}
	}
	return sums, k.(*kernel)
}

// TestStreaming: records that do not fit into the memory of the GPU are copied panel by
// panel, and every sum has the bits of resident records.
func TestStreaming(t *testing.T) {
	p, r, w := records(t, 5000, 3, 2)
	resident, k := sumsOf(t, openFake(t, newFake()), p, r, w)
	if !k.grid.resident {
		t.Error("records that fit are not resident")
	}
	f := newFake()
	b := openFake(t, f)
	b.Memory = tinyMemory
	streamed, k := sumsOf(t, b, p, r, w)
	if panels := f.called("Launch score_moments", "Launch scores"); k.grid.resident || panels != 4*3 {
		t.Errorf("resident %v, %d panels in 4 passes", k.grid.resident, panels)
	}
	for i := range resident {
		if math.Float64bits(resident[i]) != math.Float64bits(streamed[i]) {
			t.Errorf("sum %d is %v resident and %v in panels", i, resident[i], streamed[i])
		}
	}
	if k.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Sum <= 0 {
		t.Error("no bound")
	}
	// Control: a panel that is left out shows.
	f = newFake()
	f.memory = tinyMemory
	f.edit = func(ptx string) string { // the second of three panels starts a tile too late
		return strings.Replace(ptx, "mul.lo.s64", "add.s64", 1)
	}
	k2 := must.Get(openFake(t, f).Plan(p))(t)
	e := must.Get(k2.Bind(r))(t)
	defer e.Close()
	got := make([]float64, p.D)
	if err := e.Sum(context.Background(), got, engine.Gradient(w, engine.AllPairs{N: p.N})); err == nil && got[0] == resident[0] {
		t.Error("a defect in the addresses is not seen")
	}
}

// TestPassesInPanels: the same for more columns than a block has, for which c is stored, and for
// more terms than the pass over X has registers for; and a class that ends within a panel, at its
// end, or has no records.
func TestPassesInPanels(t *testing.T) {
	const n = 1100
	for _, c := range []struct {
		d      int
		radius float64
		ends   []int // of classes
		calls  string
	}{
		{3, 1, []int{512, n}, "score_moments class_moments expand weighted_series combine"},
		{3, 1, []int{300, 300, 301, n}, "score_moments class_moments expand weighted_series combine"},
		{70, 1, []int{500, n}, "score_moments class_moments expand series weighted_sums combine"},
		{3, 2.5, []int{500, n}, "scores moments class_moments expand weighted_series combine"},
		{66, 2.5, []int{n}, "scores moments class_moments expand series weighted_sums combine"},
	} {
		if testing.Short() && (c.d > 3 || c.radius > 1) {
			continue
		}
		p, r, w := records(t, n, c.d, 2)
		y, class := make([]float64, n), 0
		for i := range y {
			for i == c.ends[class] {
				class++
			}
			y[i] = float64(class)/4 - 1
		}
		p.LabelValues, p.Radius = max(2, len(c.ends)), c.radius
		r = must.Get(engine.NewRecords(r.Dense(), y, c.d, p.Bounds))(t)
		var first []float64
		for _, panels := range []int{0, 1, 2} {
			f := newFake()
			b := openFake(t, f)
			k, err := b.Plan(p)
			must.Do(t, err)
			if panels > 0 {
				tile := uint64(8 * tileRows * c.d)
				b.Memory = driverBytes + k.(*kernel).columnBytes() + uint64(8*c.d*(k.(*kernel).grid.chunks()+2)) + uint64(2*panels)*tile
				if k, err = b.Plan(p); err != nil || k.(*kernel).grid.resident && panels == 1 {
					t.Fatal(err, k.(*kernel).grid)
				}
			}
			e := must.Get(k.Bind(r))(t)
			sum := make([]float64, c.d)
			must.Do(t, e.Sum(context.Background(), sum, engine.Gradient(w, engine.AllPairs{N: n})))
			must.CheckDo(t, e.Close())
			var calls []string
			for _, call := range f.calls {
				if name, ok := strings.CutPrefix(call, "Launch "); ok && !slices.Contains(calls, name) {
					calls = append(calls, name)
				}
			}
			must.Equal(t, strings.Join(calls, " "), c.calls, "%+v: kernels", c)
			if first == nil {
				first = sum
			}
			must.Same(t, sum, first, "%+v, panels of %d tiles: other bits than resident", c, panels)
		}
	}
}

// TestPanelsNeedMemory: where not even two panels fit, the plan says how much is needed.
func TestPanelsNeedMemory(t *testing.T) {
	p, _, _ := records(t, 5000, 3, 2)
	f := newFake()
	f.memory = tinyMemory - 2*tinyPanel
	if _, err := openFake(t, f).Plan(p); !errors.Is(err, engine.ErrUnsupported) || !strings.Contains(err.Error(), "GiB") {
		t.Errorf("got %v", err)
	}
}

// TestSlices: every pair is in one slice, slices start at blocks, and no slice has more
// pairs than asked for unless it is one block.
func TestSlices(t *testing.T) {
	for _, c := range []struct{ rows, cols, pairs int }{
		{1, 1, 1}, {300, 5000, 64 * 1024}, {300, 5000, 1}, {200, 3000, 1 << 40}, {5000, 300, 3 * 64 * 1024},
	} {
		seen := make([]int8, c.rows*c.cols)
		for _, s := range slicesOf(c.rows, c.cols, 64, 1024, c.pairs) {
			if s.row%64 != 0 || s.col%1024 != 0 || s.rows*s.cols > max(c.pairs, 64*1024) {
				t.Errorf("%+v: slice %+v", c, s)
			}
			for i := s.row; i < s.row+s.rows; i++ {
				for j := s.col; j < s.col+s.cols; j++ {
					seen[i*c.cols+j]++
				}
			}
		}
		for _, n := range seen {
			if n != 1 {
				t.Errorf("%+v: a pair is in %d slices", c, n)
				break
			}
		}
	}
	// At n = 10^6 and n = 10^8 a launch on 132 multiprocessors has at most 2^32 132 / 8
	// pairs, and the blocks fit into a grid.
	for _, n := range []int{1e6, 1e8} {
		const pairs = 132 * (launchWork / factoredWork)
		for _, s := range slicesOf(n, n, factoredRows, factoredCols, pairs) {
			if s.rows*s.cols > pairs || s.cols > 65535*factoredCols {
				t.Fatalf("%d records: %+v", n, s)
			}
		}
	}
}

// TestCancellation: both methods that visit every pair stop between launches, and the
// evaluator works on afterwards.
func TestCancellation(t *testing.T) {
	for _, labels := range []int{2, 5} {
		n := sizes.Of(600, 1100)
		if testing.Short() {
			if labels == 2 {
				continue
			}
			n = 450
		}
		p, r, w := records(t, n, 1, labels)
		kernelName := map[int]string{2: "Launch logistic_tiles", 5: "Launch pair_tiles"}[labels]
		f := newFake()
		b := openFake(t, f)
		b.Method = Direct
		k := must.Get(b.Plan(p))(t)
		e := must.Get(k.Bind(r))(t)
		ctx, cancel := context.WithCancel(context.Background())
		launches := 0
		f.fail = func(call string) error {
			if call == kernelName {
				if launches++; launches == 3 {
					cancel()
				}
			}
			return nil
		}
		var m *direct
		switch method := e.(*evaluator).pairs.(type) {
		case *factored:
			m = &method.direct
		case *spliced:
			m = &method.direct
		}
		m.limit = 1 // one block a launch
		dst := make([]float64, p.D)
		if err := e.Sum(ctx, dst, engine.Gradient(w, engine.AllPairs{N: p.N})); !errors.Is(err, context.Canceled) || launches != 3 {
			t.Errorf("%d labels: %v after %d launches", labels, err, launches)
		}
		m.limit = 0
		whole, sliced := make([]float64, p.D), make([]float64, p.D)
		launches = 10
		if err := e.Sum(context.Background(), whole, engine.Gradient(w, engine.AllPairs{N: p.N})); err != nil || launches != 11 {
			t.Errorf("%v, %d launches", err, launches-10)
		}
		m.limit = 64 * 1024
		launches = 10
		if err := e.Sum(context.Background(), sliced, engine.Gradient(w, engine.AllPairs{N: p.N})); err != nil || launches < 13 || whole[0] != sliced[0] {
			t.Errorf("%d labels: %v; %v in one launch, %v in %d", labels, err, whole[0], sliced[0], launches-10)
		}
		must.CheckDo(t, e.Close())
	}
}
