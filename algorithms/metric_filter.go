package algorithms

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"dyad/engine"
)

// classMoments are the released moments of both classes in units of R, with the standard
// deviations of their noise: s1 of an entry of a sum, s2 of an isometric coordinate, sn of the
// number of positives. Matrices are in isometric coordinates.
type classMoments struct {
	n, d                           int
	positives, s1, s2, sn          float64
	sumPlus, sumMinus, plus, minus []float64
}

// Constants of momentMetric; identity shares of 0.1 to 0.3 and 1 to 2 deviations are about equal
// (bench/results/metric-moments-study.csv).
const (
	identityShare = 0.2 // of the mean squared distance that is left to the identity
	jointShare    = 0.2 // of the rest that goes to the full matrix G, not to the root of its diagonal
	deviations    = 1.5 // of its noise by which a part must stand out

	largestNoise = 1e60 // nothing stands out of more; its powers are finite
)

// momentMetric is the metric W of released moments, in isometric coordinates and of any length:
//
//	W = share I/tr(C) + (1 - share) (joint G/tr(G C) + (1 - joint) D/tr(D C)),  D = diag(G)^(1/2),
//	G = beta beta^T + H C H,  beta = C^-1 E[(y - b) x],  H = C^-1 E[(y - b) x x^T] C^-1,
//
// where b = E[y], records are centred and C is their covariance. For normal records beta is the
// mean gradient of E[y | x] and H its mean Hessian (Stein's lemma), so G is the expected outer
// product of its gradients up to the second order: it is long in directions along which labels
// change, whether means or variances of the classes differ. What does not stand out of the
// noise of the moments and of the error of a sample is 0; if nothing does, W is the identity.
// It is post-processing (docs/theory.md#metric-from-moments). Moments beyond all that records and
// usual noise reach give the identity, so that it is finite and positive definite always.
func momentMetric(m classMoments) []float64 {
	n, d := float64(m.n), float64(m.d)
	sym := engine.Symmetric{Dim: m.d}
	w := make([]float64, sym.Len())
	identity := func(weight float64) []float64 {
		for i := range m.d {
			w[sym.Index(i, i)] += weight
		}
		return w
	}
	if !(m.s1+m.s2+m.sn < largestNoise) {
		return identity(1)
	}
	b := min(max((2*m.positives/n-1)/(1+12*m.sn*m.sn/(n*n)), 2/n-1), 1-2/n)
	f, a := math.Sqrt(2*(1+b*b)), 1-b*b
	noiseV, noiseD, noiseM := f*m.s1, f*m.s2, math.Sqrt2*m.s2

	// Sums of all records, and of (y - b) times them, centred at the mean.
	mean, v := make([]float64, m.d), make([]float64, m.d)
	for k := range mean {
		mean[k] = m.sumPlus[k] + m.sumMinus[k]
		v[k] = m.sumPlus[k] - m.sumMinus[k] - b*mean[k]
	}
	keep := max(0, 1-2*d*m.s1*m.s1/max(square(mean), math.SmallestNonzeroFloat64))
	for k := range mean {
		mean[k] *= keep / n
	}
	total, diff := make([]float64, sym.Len()), make([]float64, sym.Len())
	for i := range m.d {
		for j := i; j < m.d; j++ {
			k, unit := sym.Index(i, j), 1.0
			if i != j {
				unit = math.Sqrt2
			}
			sum := m.plus[k] + m.minus[k]
			total[k] = sum - unit*n*mean[i]*mean[j]
			diff[k] = m.plus[k] - m.minus[k] - b*sum - unit*(v[i]*mean[j]+mean[i]*v[j])
		}
	}
	values, vectors := sym.Eigen(total)
	xi, trace := cleanSpectrum(values, noiseM, n, 1)
	if !(trace > 0) {
		return identity(1)
	}
	u := mat.NewDense(m.d, m.d, nil) // eigenvectors are its rows
	for i, row := range vectors {
		u.SetRow(i, row)
	}

	// The linear part, in the coordinates of the eigenvectors.
	ridge := noiseM*math.Sqrt(d) + 1e-3*trace/d
	beta := mat.NewVecDense(m.d, nil)
	ev := math.Sqrt(noiseV*noiseV + a*trace/d)
	signal := square(v)
	if keep := 1 - sq((math.Sqrt(d)+deviations)*ev)/signal; keep > 0 {
		for k := range v {
			v[k] *= beyond(v[k], ev)
		}
		beta.MulVec(u, mat.NewVecDense(m.d, v))
		damp := ridge + noiseV*noiseV/min(max(signal-d*noiseV*noiseV, 1e-300)/trace, n/d+1)
		for i := range m.d {
			beta.SetVec(i, beta.AtVec(i)*math.Sqrt(keep)/(xi[i]+damp))
		}
	}

	// The quadratic part: entries of the diagonal beyond their noise, then eigenvalues of the
	// rest beyond the edge of theirs.
	clean := mat.NewSymDense(m.d, nil)
	for i := range m.d {
		var q float64
		for k := range m.d {
			q += xi[k] * sq(u.At(k, i))
		}
		q = max(q, 0.02*trace/d)
		k := sym.Index(i, i)
		x := diff[k] * beyond(diff[k], (math.Sqrt(2*math.Log(d))+deviations/2)*math.Sqrt(noiseD*noiseD+2*a*q*q/n))
		clean.SetSym(i, i, x)
		diff[k] -= x
	}
	edge := (math.Sqrt(2*d) + deviations) * math.Sqrt(noiseD*noiseD+2*a*sq(trace/d)/n)
	rest, directions := sym.Eigen(diff)
	for i, l := range rest {
		if l *= beyond(l, edge); l != 0 {
			clean.SymRankOne(clean, l, mat.NewVecDense(m.d, directions[i]))
		}
	}
	var h, g mat.Dense
	h.Product(u, clean, u.T())
	for i := range m.d {
		for j := range m.d {
			h.Set(i, j, h.At(i, j)/((xi[i]+ridge)*(xi[j]+ridge)))
		}
	}
	g.Product(&h, mat.NewDiagDense(m.d, xi), &h)
	g.Scale(n, &g)
	var outer mat.Dense
	outer.Outer(1, beta, beta)
	g.Add(&g, &outer)

	var full, diagonal float64
	for i := range m.d {
		full += g.At(i, i) * xi[i]
	}
	h.Product(u.T(), &g, u) // G
	roots := make([]float64, m.d)
	for i := range m.d {
		roots[i] = math.Sqrt(max(h.At(i, i), 0))
		var c float64
		for k := range m.d {
			c += xi[k] * sq(u.At(k, i))
		}
		diagonal += roots[i] * c
	}
	if !(diagonal > 0 && full > 0) {
		return identity(1)
	}
	for i := range m.d {
		for j := i; j < m.d; j++ {
			unit := 1.0
			if i != j {
				unit = math.Sqrt2
			}
			w[sym.Index(i, j)] = (1 - identityShare) * jointShare * unit * h.At(i, j) / full
		}
		w[sym.Index(i, i)] += (1 - identityShare) * (1 - jointShare) * roots[i] / diagonal
	}
	return identity(identityShare / trace)
}

// beyond is the factor sqrt(1 - (edge/x)^2) that takes noise off a number, 0 within the edge.
func beyond(x, edge float64) float64 {
	if !(math.Abs(x) > edge) {
		return 0
	}
	return math.Sqrt(1 - sq(edge/x))
}

func sq(x float64) float64 { return x * x }

func square(x []float64) (s float64) {
	for _, v := range x {
		s += v * v
	}
	return s
}
