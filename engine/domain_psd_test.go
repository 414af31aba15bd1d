package engine

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// psdInputs are matrices that trouble eigensolvers, in coordinates, of norm around 1.
func psdInputs(rng *rand.Rand, d int) map[string][]float64 {
	s := Symmetric{Dim: d}
	q, _, _ := jacobi{}.solve(randomSymmetric(rng, d), d)
	spectrum := func(f func(k int) float64) []float64 {
		lambda, w := make([]float64, d), make([]float64, s.Len())
		for k := range lambda {
			lambda[k] = f(k)
		}
		s.Pack(w, multiply(q, lambda, d))
		return w
	}
	diagonal := make([]float64, s.Len())
	for i := range d {
		diagonal[s.Index(i, i)] = float64(i%3) - 1
	}
	return map[string][]float64{
		"random":      spectrum(func(int) float64 { return rng.NormFloat64() }),
		"rank one":    spectrum(func(k int) float64 { return map[bool]float64{true: 3}[k == 0] }),
		"negative":    spectrum(func(k int) float64 { return -1 - float64(k) }),
		"clustered":   spectrum(func(k int) float64 { return 1 + 1e-13*float64(k) }),
		"graded":      spectrum(func(k int) float64 { return math.Pow(-0.1, float64(k)) }),
		"nearly zero": spectrum(func(k int) float64 { return 1e-16 * rng.NormFloat64() }),
		"inside":      spectrum(func(k int) float64 { return 0.5 / float64(d) }),
		"diagonal":    diagonal,
		"zero":        make([]float64, s.Len()),
	}
}

// inPSDBall decides exactly whether the matrix with coordinates w is positive
// semidefinite, with an LDL^T decomposition in 400 bits (a pivot below 1e-90 of the
// largest entry counts as negative), and whether its norm is at most b.
func inPSDBall(w []float64, d int, b float64) error {
	s := Symmetric{Dim: d}
	square := wide(0)
	var largest float64
	for _, v := range w {
		largest = max(largest, math.Abs(v))
		square.Add(square, new(big.Float).Mul(wide(v), wide(v)))
	}
	if square.Cmp(new(big.Float).Mul(wide(b), wide(b))) > 0 {
		return fmt.Errorf("the norm exceeds %v", b)
	}
	if largest == 0 {
		return nil
	}
	m := make([][]*big.Float, d)
	for i := range m {
		m[i] = make([]*big.Float, d)
		for j := range m[i] {
			m[i][j] = wide(w[s.Index(min(i, j), max(i, j))])
			if i != j {
				m[i][j].Quo(m[i][j], bigSqrt2)
			}
		}
	}
	least := new(big.Float).Mul(wide(largest), wide(1e-90))
	for k := range d {
		if m[k][k].Cmp(least) < 0 {
			return fmt.Errorf("pivot %d is %g", k, m[k][k])
		}
		for i := k + 1; i < d; i++ {
			f := new(big.Float).Quo(m[i][k], m[k][k])
			for j := k + 1; j < d; j++ {
				m[i][j].Sub(m[i][j], new(big.Float).Mul(f, m[k][j]))
			}
		}
	}
	return nil
}

func TestPSDBallResultIsExactlyInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	plain := 0 // results that are outside without the shift by tau
	for _, d := range []int{1, 2, 3, 5, 9, 16} {
		for name, w := range psdInputs(rng, d) {
			for _, b := range []float64{1e-5, 0.3, 1e6} {
				p, _, err := projected(PSDBall{Dim: d, B: b}, w)
				if err == nil {
					err = inPSDBall(p, d, b)
				}
				if err != nil {
					t.Errorf("%s, d = %d, B = %g: %v", name, d, b, err)
				}
			}
			s := Symmetric{Dim: d}
			a := make([]float64, d*d)
			s.Unpack(a, w)
			v, lambda, _ := solveLAPACK(a, d)
			for k := range lambda {
				lambda[k] = max(lambda[k], 0)
			}
			y := multiply(v, lambda, d)
			s.Pack(w, y)
			ProjectBall(w, 1)
			if inPSDBall(w, d, 1) != nil {
				plain++
			}
		}
	}
	if plain < 10 {
		t.Errorf("the exact test of membership accepts all but %d results of plain clipping", plain)
	}
}

// multiply is V diag(lambda) V^T.
func multiply(v, lambda []float64, d int) []float64 {
	scaled, y := make([]float64, d*d), make([]float64, d*d)
	scaleColumns(scaled, v, lambda, d)
	for i := range d {
		for j := range d {
			y[i*d+j] = dot(scaled[i*d:(i+1)*d], v[j*d:(j+1)*d])
		}
	}
	return y
}

// changed is a solver whose results are changed.
func changed(by func(v, lambda []float64, d int)) eigenSolver {
	return func(a []float64, d int) (v, lambda []float64, ok bool) {
		v, lambda, ok = solveLAPACK(a, d)
		by(v, lambda, d)
		return v, lambda, ok
	}
}

// perturbed is a solver with an error of that size in the vectors and values.
func perturbed(size float64, rng *rand.Rand) eigenSolver {
	return changed(func(v, lambda []float64, _ int) {
		for _, x := range [][]float64{v, lambda} {
			for k := range x {
				x[k] += size * rng.NormFloat64()
			}
		}
	})
}

var singlePrecision = changed(func(v, lambda []float64, _ int) {
	for _, x := range [][]float64{v, lambda} {
		for k := range x {
			x[k] = float64(float32(x[k]))
		}
	}
})

// A solver that is not accurate enough is refused, and the second one is used.
func TestPSDBallRefusesSloppySolvers(t *testing.T) {
	sizes.NotShort(t, "slow")
	rng := rand.New(rand.NewPCG(9, 10))
	for _, d := range []int{3, 8, 30} {
		c := PSDBall{Dim: d, B: 1}
		w := psdInputs(rng, d)["random"]
		want, slack := must.Get2(projected(c, w))(t)
		for name, sloppy := range map[string]eigenSolver{
			"single precision":     singlePrecision,
			"two Jacobi sweeps":    jacobi{sweeps: 2}.solve,
			"one Jacobi sweep":     jacobi{sweeps: 1}.solve,
			"vectors off by 1e-11": perturbed(1e-11, rng),
			"swapped values":       changed(func(_, lambda []float64, d int) { lambda[0], lambda[d-1] = lambda[d-1], lambda[0] }),
			"vector repeated": changed(func(v, _ []float64, d int) {
				for i := range d {
					v[i*d] = v[i*d+1]
				}
			}),
			"NaN":             changed(func(v, _ []float64, _ int) { v[0] = math.NaN() }),
			"reports failure": func([]float64, int) ([]float64, []float64, bool) { return nil, nil, false },
		} {
			if d == 3 && name == "two Jacobi sweeps" {
				continue // may be accurate
			}
			got := append([]float64(nil), w...)
			if err := c.project(got, frobenius(w)*(1+0x1p-40), sloppy); err == nil || frobenius(got) != 0 {
				t.Errorf("d = %d, %s: error %v, result of norm %v; want an error and zero", d, name, err, frobenius(got))
			}
			got = append(got[:0], w...)
			if err := c.project(got, frobenius(w)*(1+0x1p-40), sloppy, jacobi{}.solve); err != nil || distance(got, want) > 2*slack {
				t.Errorf("d = %d, %s: the second solver gave %v, off by %v", d, name, err, distance(got, want))
			}
		}
		got := append([]float64(nil), w...)
		if err := c.Project(got, frobenius(w)/1e6); err == nil || frobenius(got) != 0 {
			t.Errorf("d = %d: a norm that is stated 1e6 times too small was not noticed", d)
		}
	}
}

// The bound of clipEigenvalues covers the error of solvers of any accuracy and is
// not much larger than it.
func TestClipEigenvaluesBoundsItsError(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	tight := false
	for _, d := range []int{2, 6, 25} {
		for name, w := range psdInputs(rng, d) {
			a := make([]float64, d*d)
			Symmetric{Dim: d}.Unpack(a, w)
			v, lambda, _ := jacobi{}.solve(a, d)
			reference, exact := clipEigenvalues(a, v, lambda, d)
			for size := 1e-15; size < 1e-2; size *= 7 {
				v, lambda, _ := perturbed(size, rng)(a, d)
				y, bound := clipEigenvalues(a, v, lambda, d)
				if math.IsInf(bound, 1) {
					continue
				}
				off := distance(y, reference)
				if off > bound+exact {
					t.Errorf("%s, d = %d, error %g: off by %v, bound %v + %v", name, d, size, off, bound, exact)
				}
				tight = tight || off > bound/4
			}
		}
	}
	if !tight {
		t.Error("the bound is never within a factor 4 of the error")
	}
}

// If A is V diag(lambda) V^T for a V that is not orthogonal, there is no residual
// and the whole error is due to V.
func TestClipEigenvaluesSeesVectorsThatAreNotOrthogonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	var worst float64
	for trial := range 300 {
		d := 2 + trial%4
		size := math.Pow(10, -1-float64(trial%8))
		v, _, _ := jacobi{}.solve(randomSymmetric(rng, d), d)
		lambda := normals(rng, d)
		for k := range v {
			v[k] += size * rng.NormFloat64()
		}
		a := multiply(v, lambda, d)
		y, bound := clipEigenvalues(a, v, lambda, d)
		q, exact, _ := jacobi{}.solve(a, d)
		reference, slack := clipEigenvalues(a, q, exact, d)
		off := distance(y, reference)
		if off > bound+slack {
			t.Errorf("d = %d, error %g: off by %v, bound %v + %v", d, size, off, bound, slack)
		}
		worst = max(worst, off/bound)
	}
	t.Logf("largest share of the bound: %.3f", worst)
	if worst < 0.1 {
		t.Errorf("the error is at most %v of the bound", worst)
	}
}

// All solvers need less than half of the room that ProjectError leaves them, 6 d^1.5 + 28 d
// units of u norm, so accurate solvers are not refused; and the bound is small.
func TestPSDBallAllowance(t *testing.T) {
	sizes.NotShort(t, "slow")
	rng := rand.New(rand.NewPCG(13, 14))
	for _, d := range []int{1, 2, 3, 4, 8, 31, 64, 130} {
		worst := [3]float64{-1, -1, -1} // missing room, as a share of it
		room := (6*math.Sqrt(float64(d)) + 28) * float64(d) * unitRoundoff
		for name, w := range psdInputs(rng, d) {
			a := make([]float64, d*d)
			Symmetric{Dim: d}.Unpack(a, w)
			for k, solve := range []eigenSolver{solveLAPACK, jacobi{}.solve, solveWide} {
				if k == 1 && d > 64 || k == 2 && d > sizes.Of(8, 31) {
					continue
				}
				v, lambda, ok := solve(a, d)
				if !ok {
					t.Errorf("%s, d = %d: solver %d failed", name, d, k)
					continue
				}
				_, bound := clipEigenvalues(a, v, lambda, d)
				length := frobenius(w)
				left := psdAllowance(d, length) - bound - SymmetricError*length
				if length > 0 {
					worst[k] = max(worst[k], 1-left/(room*length))
				}
			}
		}
		t.Logf("d = %3d: share of the room that is used: LAPACK %.2f, Jacobi %.2f, in 200 bits %.2f", d, worst[0], worst[1], worst[2])
		if max(worst[0], worst[1], worst[2]) > 0.5 {
			t.Errorf("d = %d: the solvers use %v of their room", d, worst)
		}
		if e := (PSDBall{Dim: d, B: 1}).ProjectError(2); e > 2e-13*float64(d) {
			t.Errorf("d = %d: ProjectError(2) = %v", d, e)
		}
	}
}

func TestPSDBallExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	const d = 6
	for name, w := range psdInputs(rng, d) {
		for _, size := range []float64{1e-300, 1e-160, 1e-20, 1e20, 1e160, 1e300} {
			for _, b := range []float64{1e-100, 1, 1e100} {
				x := scaledBy(w, size)
				p, _, err := projected(PSDBall{Dim: d, B: b}, x)
				if err == nil {
					err = inPSDBall(p, d, b)
				}
				if err != nil {
					t.Errorf("%s times %g, B = %g: %v", name, size, b, err)
				}
			}
		}
	}
	largest := make([]float64, Symmetric{Dim: d}.Len())
	for k := range largest {
		largest[k] = math.MaxFloat64
	}
	c := PSDBall{Dim: d, B: 1}
	if err := c.Project(largest, 1e308); err == nil || frobenius(largest) != 0 {
		t.Error("entries that overflow were not refused")
	}
	must.ErrDo(t, c.Project(largest[:4], 1), "a vector that is too short was not refused")
}

func TestPSDBallSameBitsForAnyThreads(t *testing.T) {
	d := 150 // beyond the block size of gonum's parallel products
	if testing.Short() {
		d = 80
	}
	w := psdInputs(rand.New(rand.NewPCG(17, 18)), d)["random"]
	var first []float64
	for _, threads := range []int{1, 2, 7} {
		previous := runtime.GOMAXPROCS(threads)
		p, _, err := projected(PSDBall{Dim: d, B: 1}, w)
		runtime.GOMAXPROCS(previous)
		must.Do(t, err)
		if first == nil {
			first = p
		}
		if !slices.EqualFunc(p, first, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
			t.Fatalf("%d threads: other bits", threads)
		}
	}
}

// Where the float64 solvers fail, the one in 200 bits does not, on any matrix of any size: no
// record can end a training.
func TestPSDBallProjectsWhateverTheSolversDo(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	fails := func([]float64, int) ([]float64, []float64, bool) { return nil, nil, false }
	for _, d := range []int{1, 2, 3, 5, 12} {
		for name, w := range psdInputs(rng, d) {
			for _, size := range []float64{1e-270, 1e-100, 1, 1e100, 1e300} {
				x := scaledBy(w, size)
				c := PSDBall{Dim: d, B: size}
				want, slack := must.Get2(projected(c, x))(t, fmt.Sprintf("%s, d = %d, size %g", name, d, size))
				got := append([]float64(nil), x...)
				if err := c.project(got, frobenius(x)*(1+0x1p-40), fails, singlePrecision, solveWide); err != nil {
					t.Errorf("%s, d = %d, size %g: %v", name, d, size, err)
				} else if off := distance(got, want); off > 2*slack {
					t.Errorf("%s, d = %d, size %g: off by %v of %v", name, d, size, off, slack)
				}
			}
		}
	}
	// What the first two solvers cannot do is seen: without the third it is an error.
	w := psdInputs(rng, 5)["random"]
	must.ErrDo(t, (PSDBall{Dim: 5, B: 1}).project(w, frobenius(w)*(1+0x1p-40), fails, singlePrecision), "a failure of all solvers was not noticed")
}
