package metrics

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// slowPlacements are V10 (of the positives) and V01 (of the negatives).
func slowPlacements(s, y []float64) (v10, v01 []float64) {
	for i := range s {
		var sum, n float64
		for j := range s {
			if (y[i] > 0) == (y[j] > 0) {
				continue
			}
			n++
			if y[i] > 0 {
				sum += wins(s[i], s[j])
			} else {
				sum += wins(s[j], s[i])
			}
		}
		if y[i] > 0 {
			v10 = append(v10, sum/n)
		} else {
			v01 = append(v01, sum/n)
		}
	}
	return v10, v01
}

// slowVariance is the sum over the classes of variance/size of their placements.
func slowVariance(placements ...[]float64) (sum float64) {
	for _, v := range placements {
		var mean float64
		for _, x := range v {
			mean += x / float64(len(v))
		}
		for _, x := range v {
			sum += (x - mean) * (x - mean) / float64(len(v)-1) / float64(len(v))
		}
	}
	return sum
}

// slowJackknife leaves out each record in turn.
func slowJackknife(s, y []float64) float64 {
	full, sizes, sums := slowAUC(s, y), [2]float64{}, [2]float64{}
	for i := range s {
		without := slowAUC(slices.Delete(slices.Clone(s), i, i+1), slices.Delete(slices.Clone(y), i, i+1))
		class := 0
		if y[i] > 0 {
			class = 1
		}
		sizes[class]++
		sums[class] += (without - full) * (without - full)
	}
	return sums[0]*(sizes[0]-1)/sizes[0] + sums[1]*(sizes[1]-1)/sizes[1]
}

func binaryData(r *rand.Rand, n int) (a, y []float64) {
	a, y = make([]float64, n), make([]float64, n)
	levels := 2 + r.IntN(30)
	for i := range y {
		y[i] = float64(2*r.IntN(2) - 1)
		a[i] = float64(r.IntN(levels)) / 3
	}
	copy(y, []float64{1, -1, 1, -1})
	return a, y
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(1e-3, math.Abs(want))
}

func TestDeLongEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 200 {
		a, y := binaryData(r, 4+r.IntN(40))
		e := must.Get(DeLong(a, y))(t)
		must.Equal(t, e.AUC, slowAUC(a, y), "AUC")
		v10, v01 := slowPlacements(a, y)
		if want := slowVariance(v10, v01); !near(e.Variance, want, 1e-12) {
			t.Fatalf("variance %v, want %v", e.Variance, want)
		}
		if want := slowJackknife(a, y); !near(e.Variance, want, 1e-10) {
			t.Fatalf("variance %v, the jackknife gives %v", e.Variance, want)
		}
	}
}

// m copies of every record leave the placements as they are and multiply the sums
// of squares by m; this long input takes the radix sort.
func TestDeLongOfCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	a, y := binaryData(r, 60)
	small := must.Get(DeLong(a, y))(t)
	const m = 4 * radixFrom / 20
	var longA, longY []float64
	for range m {
		longA, longY = append(longA, a...), append(longY, y...)
	}
	long := must.Get(DeLong(longA, longY))(t)
	must.Equal(t, long.AUC, small.AUC, "AUC")
	v10, v01 := slowPlacements(a, y)
	var want float64
	for _, v := range [][]float64{v10, v01} {
		var sum float64
		for _, p := range v {
			sum += (p - small.AUC) * (p - small.AUC)
		}
		size := float64(m * len(v))
		want += m * sum / size / (size - 1)
	}
	must.Near(t, long.Variance/want, 1, 1e-12, "variance over its definition")
}

// The ratings of 109 images of Hanley & McNeil 1982, Table I: 58 normal, 51
// abnormal. Statistics programs that use DeLong's formula report area 0.8932,
// standard error 0.0307, 95 % interval 0.83295 to 0.95339.
func TestDeLongPublishedExample(t *testing.T) {
	var s, y []float64
	for class, counts := range map[float64][]int{-1: {33, 6, 6, 11, 2}, 1: {3, 2, 2, 11, 33}} {
		for rating, n := range counts {
			for range n {
				s, y = append(s, float64(rating+1)), append(y, class)
			}
		}
	}
	e, err := DeLong(s, y)
	deviation := math.Sqrt(e.Variance)
	if err != nil || math.Abs(e.AUC-0.8932) > 5e-5 || math.Abs(deviation-0.0307) > 5e-5 {
		t.Fatalf("%+v, %v", e, err)
	}
	z := must.Get(normalQuantile(0.95))(t)
	if low, high := e.AUC-z*deviation, e.AUC+z*deviation; math.Abs(low-0.83295) > 5e-6 || math.Abs(high-0.95339) > 5e-6 {
		t.Errorf("interval %v to %v", low, high)
	}
}

// By hand: AUC 2/3, V10 = (0, 1, 1) of variance 1/3, V01 = (2/3, 2/3).
func TestDeLongByHand(t *testing.T) {
	y := []float64{-1, -1, 1, 1, 1}
	if e, err := DeLong([]float64{0.3, 0.6, 0.2, 0.7, 0.9}, y); err != nil || e.AUC != 2.0/3 || e.Variance != 1.0/9 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := DeLong([]float64{0.1, 0.2, 0.6, 0.7, 0.8}, y); err != nil || e.AUC != 1 || e.Variance != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestRowsOfPersonsAreNoSample: rows that are repeated tell nothing more, and a person with both classes counts in both
// sums and in their product (Obuchowski 1997).
func TestRowsOfPersonsAreNoSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		n := 8 + rng.IntN(20)
		scores, labels, twice, first := make([]float64, n), make([]float64, n), [2][]float64{}, []int{0}
		for i := range n {
			scores[i], labels[i] = float64(rng.IntN(9)), float64(2*(i%2)-1)
			rows := 2
			twice[0] = append(twice[0], slices.Repeat(scores[i:i+1], rows)...)
			twice[1] = append(twice[1], slices.Repeat(labels[i:i+1], rows)...)
			first = append(first, first[i]+rows)
		}
		want := must.Get(DeLong(scores, labels))(t)
		if got := must.Get(deLongOfPersons(twice[0], twice[1], first))(t); got.AUC != want.AUC ||
			!near(got.Variance, want.Variance, 1e-12) {
			t.Errorf("%+v, and %+v with every row twice", want, got)
		}
		other := func(scores []float64) (out []float64) {
			for _, v := range scores {
				out = append(out, math.Mod(7*v, 5))
			}
			return out
		}
		one := must.Get(DeLongDifference(scores, other(scores), labels, nil))(t)
		if got := must.Get(DeLongDifference(twice[0], other(twice[0]), twice[1], first))(t); !near(got.Variance,
			one.Variance, 1e-12) {
			t.Errorf("%+v, and %+v with every row twice", one, got)
		}
	}
	// By hand: V10 = (1, 2/3, 1), V01 = (1, 1, 2/3), AUC 8/9; four persons, two of them with a row of each class.
	e := must.Get(deLongOfPersons([]float64{5, 1, 2, 1, 6, 3}, []float64{1, -1, 1, -1, 1, -1}, []int{0, 2, 4, 5, 6}))(t)
	if !near(e.Variance, 46.0/2187, 1e-12) {
		t.Errorf("%+v, want %v", e, 46.0/2187)
	}
	must.Fail(deLongOfPersons([]float64{1, 2, 3, 4}, []float64{1, 1, -1, -1}, []int{0, 2, 4}))(t, ErrOneRecord, "one person")
}

func TestIntervalValues(t *testing.T) {
	e := AUCEstimate{AUC: 0.9, Variance: 0.0009}
	const z = 1.959963984540054
	g, h := math.Log(9), z*0.03/0.09
	low, high, err := e.Interval(0.95)
	if err != nil || !near(low, 1/(1+math.Exp(h-g)), 1e-13) || !near(high, 1/(1+math.Exp(-h-g)), 1e-13) {
		t.Errorf("%v to %v (%v), want %v to %v", low, high, err, 1/(1+math.Exp(h-g)), 1/(1+math.Exp(-h-g)))
	}
	perfect, err := DeLong([]float64{1, 2, 3, 4}, []float64{-1, -1, 1, 1})
	if err != nil || perfect.AUC != 1 || perfect.Variance != 0 {
		t.Fatalf("%+v, %v", perfect, err)
	}
	if _, _, err := perfect.Interval(0.95); !errors.Is(err, ErrDegenerate) {
		t.Errorf("an interval from a variance of 0: %v", err)
	}
	for _, level := range []float64{0, 1, -1, math.NaN()} {
		if _, _, err := e.Interval(level); err == nil {
			t.Errorf("level %v was accepted", level)
		}
	}
}

func TestDeLongErrors(t *testing.T) {
	must.Fail(DeLong([]float64{1, 2, 3}, []float64{1, -1, -1}))(t, ErrOneRecord, "one positive")
	must.Fail(DeLong([]float64{1, 2, 3}, []float64{-1, -1, -1}))(t, ErrOneClass, "no positive")
	must.Err(DeLong([]float64{1, math.NaN()}, []float64{1, -1}))(t, "a NaN score was accepted")
}

// The radix sort against the library's, and the 128-bit sum against math/big.
func TestSortKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 100, radixFrom, 3*radixFrom + 1} {
		for _, levels := range []int{1, 3, 1 << 40} {
			x := make([]uint64, n)
			for i := range x {
				v := float64(r.IntN(levels)-levels/2) * 0x1p-20
				x[i] = orderKey(v)
			}
			want := slices.Clone(x)
			slices.Sort(want)
			sortKeys(x)
			must.Same(t, x, want, "n = %d, %d levels: sorted", n, levels)
		}
	}
	ordered := []float64{math.Inf(-1), -1e300, -1, -5e-324, 0, 5e-324, 1, math.Inf(1)}
	for i, v := range ordered[1:] {
		if orderKey(ordered[i]) >= orderKey(v) {
			t.Errorf("keys of %v and %v are out of order", ordered[i], v)
		}
	}
	must.Equal(t, orderKey(math.Copysign(0, -1)), orderKey(0), "-0 and 0 differ")
}

func TestWideSum(t *testing.T) {
	var w wide
	big := uint64(1)<<33 - 1
	for range 1000 {
		w.addProduct(big, big)
	}
	// 1000 (2^33 - 1)^2 = 1000 (2^66 - 2^34 + 1)
	must.Equal(t, w.int().String(), "73786976277658337281000", "sum")
}

func BenchmarkDeLong1e6(b *testing.B) {
	s, y := benchmarkScores(1_000_000)
	for b.Loop() {
		must.Get(DeLong(s, y))(b)
	}
}

func BenchmarkAUC1e7(b *testing.B) {
	s, y := benchmarkScores(10_000_000)
	for b.Loop() {
		must.Get(AUC(s, y))(b)
	}
}

func benchmarkScores(n int) (s, y []float64) {
	r := rand.New(rand.NewPCG(1, 1))
	s, y = make([]float64, n), make([]float64, n)
	for i := range s {
		y[i] = float64(2*r.IntN(2) - 1)
		s[i] = r.NormFloat64() + y[i]
	}
	return s, y
}
