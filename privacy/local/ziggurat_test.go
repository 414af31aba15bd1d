package local_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/local"
	"dyad/privacy/privtest"
)

func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// checkNormal tests numbers against the normal law: the distribution function, counts of
// cells that end at the layers' neighbourhood and at the tail, and two moments within 6
// standard errors.
func checkNormal(z []float64) error {
	if err := privtest.CheckCDF(append([]float64(nil), z...), normalCDF, alpha); err != nil {
		return err
	}
	// Cells of 1/16 up to 3.5; the tail beyond x_1 = 3.654 is cut at 3.8 and 4.
	ends := []float64{3.6541528853610088, 3.8, 4, math.Inf(1)}
	for k := 56; k > 0; k-- {
		ends = append([]float64{float64(k) / 16}, ends...)
	}
	counts, probs := make([]int, 2*len(ends)), make([]float64, 2*len(ends))
	last := 0.0
	for i, e := range ends {
		// The difference of upper tails keeps its digits.
		probs[2*i] = 0.5 * (math.Erfc(last/math.Sqrt2) - math.Erfc(e/math.Sqrt2))
		probs[2*i+1], last = probs[2*i], e
	}
	var mean, square float64
	for _, v := range z {
		i := 0
		for math.Abs(v) >= ends[i] {
			i++
		}
		if counts[2*i]++; v < 0 {
			counts[2*i]--
			counts[2*i+1]++
		}
		mean, square = mean+v, square+v*v
	}
	if err := privtest.CheckMultinomial(counts, probs, alpha); err != nil {
		return err
	}
	n := float64(len(z))
	if math.Abs(mean/n) > 6/math.Sqrt(n) || math.Abs(square/n-1) > 6*math.Sqrt(2/n) {
		return fmt.Errorf("mean %v, mean square %v", mean/n, square/n)
	}
	return nil
}

// The numbers of a seed are normal, and neighbours are not correlated. The same test
// refutes the law with a defect in the tail, the widths, one wedge or the signs.
func TestDirectionNumbersAreNormal(t *testing.T) {
	sizes.NotShort(t, "sampling on one goroutine")
	const n = 1 << 20
	z := make([]float64, n)
	local.Normals([32]byte{9}, z)
	must.CheckDo(t, checkNormal(z))
	for lag := 1; lag <= 3; lag++ {
		var same, squares float64
		for i := lag; i < n; i++ {
			same += z[i] * z[i-lag]
			squares += (z[i]*z[i] - 1) * (z[i-lag]*z[i-lag] - 1)
		}
		if math.Abs(same)/math.Sqrt(n) > 6 || math.Abs(squares)/2/math.Sqrt(n) > 6 {
			t.Errorf("numbers %d apart are correlated: %v, squares %v standard errors", lag, same/math.Sqrt(n), squares/2/math.Sqrt(n))
		}
	}
	coins := rand.New(rand.NewPCG(1, 2))
	for name, spoil := range map[string]func(float64) float64{
		"without the tail": func(v float64) float64 { return math.Copysign(math.Min(math.Abs(v), 3.65), v) },
		"wider":            func(v float64) float64 { return v * 1.01 },
		"tail too far": func(v float64) float64 {
			if math.Abs(v) > 3.6541528853610088 {
				v += math.Copysign(0.5, v)
			}
			return v
		},
		"one wedge missing": func(v float64) float64 {
			for math.Abs(v) > 1 && math.Abs(v) < 1.004 {
				v = coins.NormFloat64()
			}
			return v
		},
		"more positive": func(v float64) float64 { return v + 0.01 },
	} {
		bad := make([]float64, n)
		for i, v := range z {
			bad[i] = spoil(v)
		}
		if checkNormal(bad) == nil {
			t.Errorf("%s: passed as normal", name)
		}
	}
}

// The table covers the area under f with layers of equal area and ends at 0, and its
// functions are exp and log as far as their doc says.
func TestZigguratTable(t *testing.T) {
	x, f := local.ZigguratTable()
	tail := math.Sqrt(math.Pi/2) * math.Erfc(x[1]/math.Sqrt2)
	area := x[1]*math.Exp(-x[1]*x[1]/2) + tail
	check := func(what string, got, want float64) {
		must.Near(t, got, want, 1e-12*math.Abs(want), "%s", what)
	}
	check("width of the base", x[0], area/math.Exp(-x[1]*x[1]/2))
	for i := 1; i < 256; i++ {
		check(fmt.Sprintf("area of layer %d", i), x[i]*(f[i+1]-f[i]), area)
		check(fmt.Sprintf("f of layer %d", i), f[i], math.Exp(-x[i]*x[i]/2))
	}
	// A wrong x_1 does not close the top layer: the areas are equal only for this one.
	must.Near(t, f[255]+area/x[255], 1, 1e-11, "the top layer ends at")
	worst := 0.0
	for v := 0.0; v < 8; v += 1.0 / 512 {
		worst = max(worst, math.Abs(local.ExpMinus(v)/math.Exp(-v)-1))
	}
	if worst > 0x1p-40 || worst == 0 {
		t.Errorf("exp(-v) is off by %v relative, stated 2^-40", worst)
	}
	for v := 8.0; v < 64; v += 1.0 / 16 {
		if e := math.Abs(local.ExpMinus(v)/math.Exp(-v) - 1); e > 0x1p-20 {
			t.Fatalf("exp(-%v) is off by %v relative, stated 2^-20", v, e)
		}
	}
}

// User and server decode a seed on different machines: every bit of the numbers is part
// of the protocol. A change of this hash needs another version of the protocol.
func TestDirectionNumbersAreFixed(t *testing.T) {
	hash := func(seed [32]byte) string {
		h := sha256.New()
		z := make([]float64, 1<<18+1)
		local.Normals(seed, z)
		var b [8]byte
		for _, v := range z {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
			h.Write(b[:])
		}
		return fmt.Sprintf("%x", h.Sum(nil))
	}
	const want = "f325acfdb9fcd0bfbe153b0bca2fb59ed6f3166468bb99e4988a8166b2de073f"
	must.Equal(t, hash([32]byte{1, 2, 3}), want, "the numbers have hash")
	if hash([32]byte{1, 2, 4}) == want {
		t.Error("another seed has the same hash")
	}
	// In pieces of even length the numbers are the same.
	whole, parts := make([]float64, 64), make([]float64, 64)
	local.Normals([32]byte{5}, whole)
	local.Normals([32]byte{5}, parts[:20])
	for i := range 20 {
		if whole[i] != parts[i] {
			t.Fatalf("number %d depends on the length asked for", i)
		}
	}
}
