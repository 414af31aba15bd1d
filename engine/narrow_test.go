package engine_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// TowardZero gives the neighbour of a number that is not farther from zero, and none is nearer.
func FuzzTowardZero(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, -0.1, 1 - 0x1p-53, 1 + 0x1p-52, 0x1p-149, 0x1.8p-149, 0x1p-150, -0x1p-1074, math.MaxFloat32, math.MaxFloat64, -math.MaxFloat64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		got := engine.TowardZero(v)
		if math.Abs(float64(got)) > math.Abs(v) || math.Signbit(float64(got)) != math.Signbit(v) {
			t.Fatalf("TowardZero(%g) = %g", v, got)
		}
		if next := math.Nextafter32(got, float32(math.Copysign(math.Inf(1), v))); math.Abs(float64(next)) <= math.Abs(v) {
			t.Fatalf("TowardZero(%g) = %g, but %g is closer", v, got, next)
		}
	})
}

// Rows in float32 have an exact norm of at most R, wherever they come from, and a row that was made
// of a projected one stays as it is: in memory, and as stored in a file.
func FuzzNarrowRecords(f *testing.F) {
	f.Add(1.0, 1.0, 1.0, 1.0, 1.0)
	f.Add(math.NaN(), 1.0, 1.0, 2.0, -3.0)
	f.Add(1e308, -1e308, 1e308, 1e-3, math.NaN())
	f.Add(0.6, 0.8, 5e-324, 1.0, -1.0)
	f.Add(1.0, 0.0, 0.0, 1.0, 1.0)
	f.Add(0.5, 0.0, 0.0, 0.5, 1.0)
	f.Add(1e-30, 1e-300, 0.0, 1e-280, 1.0)
	f.Add(1/math.Sqrt(3), 1/math.Sqrt(3), 1/math.Sqrt(3), 1.0, 1.0)
	f.Fuzz(func(t *testing.T, a, b, c, R, y float64) {
		bounds := engine.Bounds{FeatureNorm: R, LabelAbs: 1}
		if bounds.Validate() != nil || R < 1e-290 {
			return
		}
		raw := []float32{float32(a), float32(b), float32(c)}
		r := must.Get(engine.AdoptNarrowRecords(slices.Clone(raw), []float64{y}, 3, bounds))(t)
		if row := r.Rows(nil, 0, 1); !exactNormAtMost(row, R) {
			t.Errorf("row %v has a norm above %v", row, R)
		}
		projected := []float64{a, b, c}
		engine.ProjectBall(projected, R)
		encoded := make([]float32, 3)
		for k, v := range projected {
			encoded[k] = engine.TowardZero(v)
		}
		if R < 0x1p-400 || R > 0x1p500 {
			return
		}
		kept := must.Get(engine.AdoptNarrowRecords(slices.Clone(encoded), []float64{1}, 3, bounds))(t)
		if !slices.Equal(kept.Narrow(), encoded) {
			t.Errorf("rows %v, which were projected, became %v", encoded, kept.Narrow())
		}
		must.Check(engine.StoredRecords(encoded, []float64{1}, 3, bounds))(t, "encoded row")
		must.Check(engine.StoredRecords(projected, []float64{1}, 3, bounds))(t, "projected row")
	})
}

// Where the norm of a projected row is R up to its last digits, for many lengths of rows, float32 keeps
// it within R, and nothing that was projected is refused in a file.
func TestProjectedRowsAreWithinTheBall(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, d := range []int{1, 2, 3, 20, 100, 1000} {
		for range sizes.Of(50, 200) {
			x := make([]float64, d)
			for k := range x {
				x[k] = r.NormFloat64() * math.Exp(3*r.NormFloat64())
			}
			R := math.Ldexp(1+r.Float64(), r.IntN(20)-10)
			engine.ProjectBall(x, R)
			bounds := engine.Bounds{FeatureNorm: R, LabelAbs: 1}
			must.Check(engine.StoredRecords(x, []float64{1}, d, bounds))(t, d, R)
			narrow := make([]float32, d)
			for k, v := range x {
				narrow[k] = engine.TowardZero(v)
			}
			records := must.Get(engine.StoredRecords(narrow, []float64{1}, d, bounds))(t, d, R)
			if !exactNormAtMost(records.Rows(nil, 0, 1), R) {
				t.Fatalf("d = %d: the norm is above %g", d, R)
			}
		}
	}
}

// A row just above R, a label that is too large and values that are not finite are refused in a file:
// the first would be within R after any other rounding than the one toward zero.
func TestStoredRecordsRefuseWhatIsOutside(t *testing.T) {
	const R = 0.1 // float32(0.1) is above it
	bounds := engine.Bounds{FeatureNorm: R, LabelAbs: 1}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		x, y float64
		ok   bool
	}{
		{0.05, 1, true}, {0, -1, true}, {float64(engine.TowardZero(R * (1 - 0x1p-40))), 1, true}, {float64(float32(R)), 1, false},
		{0.2, 1, false}, {nan, 1, false}, {inf, 1, false}, {0.05, nan, false}, {0.05, inf, false}, {0.05, -1.01, false},
	} {
		_, err := engine.StoredRecords([]float32{float32(c.x)}, []float64{c.y}, 1, bounds)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, engine.ErrStored) {
			t.Errorf("x = %g, y = %g: %v", c.x, c.y, err)
		}
	}
	must.Err(engine.StoredRecords([]float32{1, 2}, []float64{1}, 1, bounds))(t, "two values for one record of one feature were taken")
}

// Ranges and subsets of every storage have the rows they name.
func TestStorageOfSubsets(t *testing.T) {
	const n, d = 50, 3
	r := rand.New(rand.NewPCG(7, 8))
	x, narrow, y := make([]float64, n*d), make([]float32, n*d), make([]float64, n)
	for i := range x {
		narrow[i] = float32(r.Float64() / 2)
		x[i] = float64(narrow[i])
	}
	for i := range y {
		y[i] = r.Float64()
	}
	wide := must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	heap := must.Get(engine.AdoptNarrowRecords(slices.Clone(narrow), slices.Clone(y), d, engine.UnitBounds()))(t)
	file, wideFile := must.Get(engine.StoredRecords(narrow, y, d, engine.UnitBounds()))(t), must.Get(engine.StoredRecords(x, y, d, engine.UnitBounds()))(t)
	start, index, value := []int64{0}, []int32(nil), []float64(nil)
	for i := range n {
		for k := range d {
			index, value = append(index, int32(k)), append(value, x[i*d+k])
		}
		start = append(start, int64((i+1)*d))
	}
	sparse := must.Get(engine.NewSparseRecords(start, index, value, slices.Clone(y), d, engine.UnitBounds()))(t)
	rows := []int{3, 4, 5, 20, 19, 18, 3, 49, 0, 1}
	for name, all := range map[string]*engine.Records{"float64": wide, "float32": heap, "float32 file": file, "float64 file": wideFile, "sparse": sparse} {
		check := func(what string, got *engine.Records, want []int) {
			t.Helper()
			if got.Len() != len(want) {
				t.Fatalf("%s, %s: %d rows, want %d", name, what, got.Len(), len(want))
			}
			block := got.Rows(nil, 0, got.Len())
			row := make([]float64, d)
			for k, i := range want {
				got.Row(k, row)
				if !slices.Equal(row, x[i*d:(i+1)*d]) || !slices.Equal(block[k*d:(k+1)*d], row) || got.Label(k) != y[i] {
					t.Fatalf("%s, %s: row %d is %v, want %v", name, what, k, row, x[i*d:(i+1)*d])
				}
			}
		}
		check("subset", all.Subset(rows), rows)
		check("subset of a subset", all.Subset(rows).Subset([]int{8, 0, 1}), []int{0, 3, 4})
		check("range", all.Range(7, 20), []int{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
		check("range of a subset", all.Subset(rows).Range(2, 5), rows[2:5])
		check("subset of a range", all.Range(7, 20).Subset([]int{12, 0}), []int{19, 7})
		if all.InFile() != all.Subset(rows).InFile() || all.InFile() && all.Subset(rows).Dense() != nil {
			t.Errorf("%s: subsets of files are views of them", name)
		}
	}
}
