package cuda

import (
	"context"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// groupSizes has groups within a tile of rows, across its border, and over two strips.
var groupSizes = []int{3, 1, 70, 2, 1, 30}

// kinkError is the error of margins and slopes of the direct method for KinkError.
const kinkError = 8 * u32

// groupOptions are options for query groups alone.
func groupOptions(loss engine.ScoreLoss, sizes []int) enginetest.Options {
	o := options([]int{}, 1)
	o.Losses, o.Groups, o.KinkError = []engine.ScoreLoss{loss}, [][]int{sizes}, kinkError
	return o
}

// TestGroupConformance runs the suite of all backends on query groups, by both methods,
// planned as one kernel.
func TestGroupConformance(t *testing.T) {
	for _, c := range []struct {
		method  Method
		loss    engine.ScoreLoss
		perPair float64
	}{
		{AnyMethod, engine.Logistic{}, 6e-6}, {NearLinear, engine.Logistic{}, 1e-12}, {AnyMethod, library(t)["ramp"], 6e-6},
	} {
		sizes := groupSizes
		if testing.Short() {
			if c.loss == engine.ScoreLoss(engine.Logistic{}) {
				continue
			}
			sizes = []int{3, 1, 8}
		}
		b := openFake(t, newFake())
		b.Method = c.method
		o := groupOptions(c.loss, sizes)
		o.PerPair = c.perPair
		o.Unsupported = func(p engine.Problem) {
			if c.method != NearLinear || p.LabelLimit() <= maxClasses {
				t.Errorf("declined: %s, %d labels", p.Loss.Name(), p.LabelLimit())
			}
		}
		enginetest.Run(t, b, o)
		p := engine.Problem{N: 107, D: 2, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 1, Groups: groupSizes}
		if k, err := b.Plan(p); err != nil || !strings.HasSuffix(k.Method(), "within 6 groups") {
			t.Errorf("%v, %v", k, err)
		}
	}
}

// endRead is where pair_tiles compares a column with the end of a row's group.
var endRead = regexp.MustCompile(`(setp\.lt\.u32[^;]*;\s*)setp\.lt\.u32([^;]*;\s*selp)`)

func endOffByOne(ptx string) string {
	if !strings.Contains(ptx, ".entry pair_tiles") {
		return ptx
	}
	return endRead.ReplaceAllString(ptx, "${1}setp.le.u32${2}")
}

// TestGroupDefectsAreFound is its control: a group's end that is off by one where the
// kernel compares with it fails the suite.
func TestGroupDefectsAreFound(t *testing.T) {
	for _, f := range []*fakeDriver{newFake(), defective(endOffByOne)} {
		b := openFake(t, f)
		b.Method = Direct
		if failed := fails(b, groupOptions(engine.Logistic{}, []int{4, 3})); failed != (f.edit != nil) || f.edited != failed {
			t.Errorf("edited %v: failed %v", f.edited, failed)
		}
	}
}

// TestBands: every pair of a group is in one block, blocks of a launch without a pair are
// few, and small groups share launches.
func TestBands(t *testing.T) {
	repeat := func(size, times int) []int { return slices.Repeat([]int{size}, times) }
	for _, c := range []struct {
		sizes         []int
		alone, blocks int
		launches      int // at most
	}{
		{[]int{1, 1}, 1 << 30, 8, 0}, {[]int{2}, 1 << 30, 8, 1}, {[]int{5000}, 1 << 30, 1 << 20, 1}, {[]int{5000}, 1 << 30, 3, 400},
		{repeat(7, 300), 1 << 30, 1 << 20, 1}, {append(repeat(3, 40), 4000, 1, 2, 900), 4000, 1 << 20, 1}, {[]int{64, 64, 65, 1, 3000}, 1 << 30, 10, 99},
	} {
		end := endsOf(c.sizes, c.alone)
		n := len(end)
		bands := bandsOf(end, c.blocks)
		if len(bands) > c.launches {
			t.Errorf("%v: %d launches, want at most %d", c.sizes, len(bands), c.launches)
		}
		seen := make([]int, n) // pairs of a row
		for _, b := range bands {
			if b.tiles*b.strips > max(c.blocks, 1) {
				t.Errorf("%v: %+v has more than %d blocks", c.sizes, b, c.blocks)
			}
			for i := b.tile * pairRows; i < min(n, (b.tile+b.tiles)*pairRows); i++ {
				from := i/pairRows*pairRows + b.strip*pairCols
				for j := max(from, i+1); j < min(from+b.strips*pairCols, int(end[i])); j++ {
					seen[i]++
				}
			}
		}
		at := 0
		for _, size := range c.sizes {
			for i := range size {
				want := size - 1 - i
				if size >= c.alone {
					want = 0
				}
				if seen[at+i] != want {
					t.Fatalf("%v: row %d is in %d pairs, want %d", c.sizes, at+i, seen[at+i], want)
				}
			}
			at += size
		}
	}
	// A million records, as 10^5 groups and as groups of very different sizes.
	mixed := slices.Concat(repeat(50, 10000), repeat(1, 1000), []int{300000}, repeat(20, 9950))
	for _, sizes := range [][]int{repeat(10, 1e5), mixed} {
		end, blocks, useful := endsOf(sizes, 1<<30), 0, 0
		bands := bandsOf(end, 1e5)
		for _, b := range bands {
			blocks += b.tiles * b.strips
		}
		for tile := range chunksOf(len(end), pairRows) {
			useful += stripsOf(end, tile)
		}
		if len(bands) > 20 || blocks > 2*useful+idleBlocks*len(bands) {
			t.Errorf("%d launches of %d blocks, of which %d have pairs", len(bands), blocks, useful)
		}
	}
}

// bound returns a bound evaluator.
func bound(t *testing.T, b Backend, p engine.Problem, x, y []float64) *evaluator {
	t.Helper()
	k := must.Get(b.Plan(p))(t)
	r := must.Get(engine.NewRecords(slices.Clone(x), slices.Clone(y), p.D, p.Bounds))(t)
	e := must.Get(k.Bind(r))(t)
	t.Cleanup(func() {
		must.CheckDo(t, e.Close())
	})
	return e.(*evaluator)
}

// coefficientsOf returns c of every record for the problem's pairs.
func coefficientsOf(t *testing.T, e *evaluator, w []float64) []float64 {
	t.Helper()
	return coefficientsOver(t, e, w, e.problem.Pairs())
}

// coefficientsOver returns c of every record for some pairs.
func coefficientsOver(t *testing.T, e *evaluator, w []float64, pairs engine.Pairs) []float64 {
	t.Helper()
	must.Do(t, e.Sum(context.Background(), make([]float64, len(w)), engine.Gradient(w, pairs)))
	c, rows := make([]float64, e.problem.N), make([]float64, e.problem.N)
	must.Do(t, e.backend.Device.do(context.Background(), func(c *job) { c.copyOut(rows, e.c) }))
	for i := range c {
		at := i
		if e.slot != nil {
			at = int(e.slot[i])
		}
		c[i] = rows[at]
	}
	return c
}

// TestRecordStaysInItsGroup: a record that changes, its label to one that no other has,
// leaves every sum of the other groups alone to the last bit, by both methods at once; and
// it does change its own group.
func TestRecordStaysInItsGroup(t *testing.T) { recordStaysInItsGroup(t, openFake(t, newFake())) }

func recordStaysInItsGroup(t *testing.T, b Backend) {
	t.Helper()
	sizes := []int{9, 40, 3, 50}
	const d = 3
	rng := rand.New(rand.NewPCG(12, 3))
	x, y := make([]float64, 102*d), make([]float64, 102)
	for i := range x {
		x[i] = rng.Float64() - 0.5 // of norm below 1
	}
	for i := range y {
		y[i] = float64(rng.IntN(3)) - 1
	}
	p := engine.Problem{N: 102, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 4, Groups: sizes}
	k := must.Get(b.Plan(p))(t)
	// The method of large groups for those of 40 and more.
	mixed := k.(*kernel)
	must.Do(t, mixed.planNearLinear())
	mixed.nearFrom = 40
	w := []float64{0.5, -0.5, 0.2}
	run := func(x, y []float64) []float64 {
		r := must.Get(engine.NewRecords(slices.Clone(x), slices.Clone(y), d, p.Bounds))(t)
		e := must.Get(mixed.Bind(r))(t)
		defer e.Close()
		return coefficientsOf(t, e.(*evaluator), w)
	}
	before := run(x, y)
	for _, changed := range []int{3, 20, 100} { // of a direct and of two near-linear groups
		other := slices.Clone(x)
		labels := slices.Clone(y)
		other[changed*d], labels[changed] = -other[changed*d], 0.5
		after := run(other, labels)
		at, differ := 0, 0
		for _, size := range sizes {
			for i := at; i < at+size; i++ {
				if math.Float64bits(before[i]) == math.Float64bits(after[i]) {
					continue
				}
				if changed < at || changed >= at+size {
					t.Errorf("record %d changed, and the sum of record %d of another group is %v instead of %v", changed, i, after[i], before[i])
				}
				differ++
			}
			at += size
		}
		if differ < 2 {
			t.Errorf("record %d changed and %d sums did", changed, differ)
		}
	}
	// Both parts of the problem are within its bound of the exact sum.
	exact := slices.Clone(before)
	at := 0
	for _, size := range sizes {
		for i := at; i < at+size; i++ {
			exact[i] = 0
			for j := at; j < at+size; j++ {
				u := 0.0
				for m := range d {
					u += w[m] * (x[i*d+m] - x[j*d+m])
				}
				exact[i] += 2 * engine.Logistic{}.DPhi((y[i]-y[j])*u) * (y[i] - y[j])
			}
			limit := 4e-6 * float64(size)
			if size >= 40 {
				limit = 1e-12 * float64(size)
			}
			if !(math.Abs(exact[i]-before[i]) <= limit) {
				t.Errorf("record %d of a group of %d: %v instead of %v", i, size, before[i], exact[i])
			}
		}
		at += size
	}
}

// TestRecordStaysInItsTiles: a record that changes leaves every sum of every block alone
// in which it is not, to the last bit, and in its own blocks all sums but those with it.
func TestRecordStaysInItsTiles(t *testing.T) { recordStaysInItsTiles(t, openFake(t, newFake())) }

func recordStaysInItsTiles(t *testing.T, b Backend) {
	t.Helper()
	const n, changed = 140, 130
	rng := rand.New(rand.NewPCG(4, 4))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = 2*rng.Float64()-1, 2*rng.Float64()-1
	}
	p := engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: library(t)["logistic"], Radius: 1, LabelValues: engine.AnyLabels}
	b.Method = Direct
	// The sums of the block of each tile of rows, and of one row and one column alone.
	sums := func(x []float64) (all [][]int64) {
		e := bound(t, b, p, x, y)
		coefficientsOf(t, e, []float64{0.9})
		m := e.pairs.(*spliced)
		for tile := range chunksOf(n, pairRows) {
			must.Do(t, b.Device.do(context.Background(), func(c *job) {
				c.clear(m.sums, 8*n)
				m.launch(c, band{tile: tile, tiles: 1, strips: 1})
				part := make([]int64, n)
				c.copyBack(part, m.sums)
				all = append(all, part)
			}))
		}
		return all
	}
	before := sums(x)
	other := slices.Clone(x)
	other[changed] = -other[changed]
	after := sums(other)
	for tile := range before {
		// Rows have a column with the changed record; columns only if it is a row of the tile.
		for j := range n {
			row := j/pairRows == tile && j < changed
			column := changed/pairRows == tile && j > changed
			if moved := before[tile][j] != after[tile][j]; moved && !row && !column && j != changed {
				t.Errorf("the sum of record %d in tile %d moved without a pair with the changed record", j, tile)
			} else if !moved && j == changed {
				t.Errorf("tile %d: the changed record's sum did not move", tile)
			}
		}
	}
}

// TestGroupMethodIsPublic: the method follows from the sizes of the groups, the schema and
// the loss.
func TestGroupMethodIsPublic(t *testing.T) {
	b := openFake(t, newFake())
	for _, c := range []struct {
		sizes  []int
		labels int
		loss   engine.Loss
		method Method
		want   string // "" for none
	}{
		{[]int{500, 8191}, 2, engine.Logistic{}, AnyMethod, "direct, within 2 groups"},
		{[]int{500, 8192}, 2, engine.Logistic{}, AnyMethod, "near-linear from 8192 records on, direct, within 2 groups"},
		{[]int{1, 8192, 9000}, 5, engine.Logistic{}, AnyMethod, "near-linear, within 3 groups"},
		{[]int{500, 8192}, engine.AnyLabels, engine.Logistic{}, AnyMethod, "direct, within 2 groups"},
		{[]int{500, 8192}, 2, library(t)["hinge"], AnyMethod, "direct, within 2 groups"},
		{[]int{500, 8192}, 2, engine.Logistic{}, Direct, "direct, within 2 groups"},
		{[]int{500, 600}, 2, engine.Logistic{}, NearLinear, "near-linear, within 2 groups"},
		{[]int{500, 600}, 2, library(t)["hinge"], NearLinear, ""},
	} {
		p := engine.Problem{D: 3, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 1, LabelValues: c.labels, Groups: c.sizes}
		for _, size := range c.sizes {
			p.N += size
		}
		b.Method = c.method
		k, err := b.Plan(p)
		if c.want == "" && err == nil || c.want != "" && (err != nil || k.Method() != c.want) {
			t.Errorf("%v, %d labels, %s: %v, %v", c.sizes, c.labels, c.loss.Name(), k, err)
			continue
		}
		if err == nil && !(k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum > k.(*kernel).Bounds(engine.Query{Pairs: p.Pairs()}).OneRecord()) && k.Method() != "near-linear, within 2 groups" {
			t.Errorf("%v: Roundoff %v, NeighbourRoundoff %v", c.sizes, k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum, k.(*kernel).Bounds(engine.Query{Pairs: p.Pairs()}).OneRecord())
		}
	}
}

// TestAutoPlansGroupsOnCPU: times are of pairs of all records, so auto takes the CPU for
// groups, whatever they say, and says why.
func TestAutoPlansGroupsOnCPU(t *testing.T) {
	b := openFake(t, newFake())
	p := engine.Problem{N: 100, D: 3, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	a := Auto{CPU: cpu.Backend{}, GPU: b, Models: Models{{GPU: b.Device.Info().Name, Method: "near-linear", PerNumber: 1e-15}}}
	if _, device, why, err := a.Choose(p); err != nil || device != "cuda:0" {
		t.Errorf("all pairs on %s, %s: %v", device, why, err)
	}
	p.Groups = []int{40, 60}
	k, device, why, err := a.Choose(p)
	if err != nil || device != "cpu" || !strings.Contains(why, "without query groups") || !strings.HasSuffix(k.Method(), "within 2 groups") {
		t.Errorf("groups on %s, %s: %v", device, why, err)
	}
}
