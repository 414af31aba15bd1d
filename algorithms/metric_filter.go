package algorithms

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"dyad/engine"
)

// classMoments holds the released moments of both classes in units of R, with the standard deviations of their
// noise. s1 is the standard deviation for an entry of a sum, s2 for an isometric coordinate, and sn for the
// number of positives. Matrices are in isometric coordinates.
type classMoments struct {
	n, d                           int
	positives, s1, s2, sn          float64
	sumPlus, sumMinus, plus, minus []float64
}

// These are constants of momentMetric. In measurements, the results were about equal for identity shares from
// 0.1 to 0.3 and for thresholds from 1 to 2 deviations (bench/results/metric-moments-study.csv).
const (
	identityShare = 0.2 // the share of the identity in the mean squared distance
	jointShare    = 0.2 // the share of the full matrix G in the remainder; the root of its diagonal has the rest
	deviations    = 1.5 // the number of standard deviations by which a part must exceed its noise

	largestNoise = 1e60 // no moment is significant above this noise; powers of the noise are finite
)

// momentMetric returns the metric W computed from released moments, in isometric coordinates and of any length:
//
//	W = share I/tr(C) + (1 - share) (joint G/tr(G C) + (1 - joint) D/tr(D C)),  D = diag(G)^(1/2),
//	G = beta beta^T + H C H,  beta = C^-1 E[(y - b) x],  H = C^-1 E[(y - b) x x^T] C^-1,
//
// where b = E[y], records are centred and C is their covariance. For normal records beta is the mean gradient
// of E[y | x] and H is its mean Hessian (Stein's lemma). So G is, up to the second order, the expected outer
// product of the gradients of E[y | x]. G is long in directions along which labels change, whether the means or
// the variances of the classes differ. Parts that are within the noise of the moments and the sampling error
// become 0. If all parts are, W is the identity. W is post-processing (docs/theory.md#metric-from-moments). If
// the moments are larger than records with usual noise can produce, W is also the identity. So W is always
// finite and positive definite.
func momentMetric(m classMoments) []float64 {
	n, d := float64(m.n), float64(m.d)
	sym := engine.Symmetric{Dim: m.d}
	if !(m.s1+m.s2+m.sn < largestNoise) {
		return multipleOfIdentity(m.d, 1)
	}
	b := min(max((2*m.positives/n-1)/(1+12*m.sn*m.sn/(n*n)), 2/n-1), 1-2/n)
	f, a := math.Sqrt(2*(1+b*b)), 1-b*b
	noiseV := f * m.s1

	// mean is the sum of all records, v is the sum of (y - b) x; moments are centred at the mean.
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
	c := newPooled(total, m.d, n, math.Sqrt2*m.s2)
	if !(c.trace > 0) {
		return multipleOfIdentity(m.d, 1)
	}

	// beta is the linear part, in the coordinates of the eigenvectors.
	beta := mat.NewVecDense(m.d, nil)
	ev := math.Sqrt(noiseV*noiseV + a*c.trace/d)
	signal := square(v)
	if keep := 1 - sq((math.Sqrt(d)+deviations)*ev)/signal; keep > 0 {
		for k := range v {
			v[k] *= beyond(v[k], ev)
		}
		beta.MulVec(c.u, mat.NewVecDense(m.d, v))
		damp := c.ridge + noiseV*noiseV/min(max(signal-d*noiseV*noiseV, 1e-300)/c.trace, n/d+1)
		for i := range m.d {
			beta.SetVec(i, beta.AtVec(i)*math.Sqrt(keep)/(c.xi[i]+damp))
		}
	}

	// h is the quadratic part.
	h := c.significant(diff, f*m.s2, a)
	for i := range m.d {
		for j := range m.d {
			h.Set(i, j, h.At(i, j)/((c.xi[i]+c.ridge)*(c.xi[j]+c.ridge)))
		}
	}
	var g, outer mat.Dense
	g.Product(h, mat.NewDiagDense(m.d, c.xi), h)
	g.Scale(n, &g)
	outer.Outer(1, beta, beta)
	g.Add(&g, &outer)
	return c.metric(&g)
}

// PairMoments holds the released moments of clipped differences of pairs, in units of the clip radius. Matrices
// are in isometric coordinates.
type PairMoments struct {
	Dim            int
	Pairs          int       // the public number of pairs
	Similar        float64   // number of similar pairs
	SumS, SumD     []float64 // sums of x x^T over similar and over dissimilar pairs
	Noise, OfCount float64   // standard deviations of the noise of a coordinate and of Similar
}

// PairMetric computes a metric from released moments of pairs and returns it in isometric coordinates. It is
// the matrix of Koestinger et al. 2012,
//
//	M = (inv(Sigma_S) - inv(Sigma_D))+,
//
// where Sigma_S and Sigma_D are the second moments of similar and of dissimilar pairs. Parts of their
// difference that do not exceed their noise are set to 0. M is mixed with the root of its diagonal and the
// identity, as in moment-metric. The mean squared distance of all pairs is 1. Let p be the share of similar
// pairs, q = 1 - p, C = p Sigma_S + q Sigma_D, and e the eigenvalues of C^(-1/2) (Sigma_D - Sigma_S) C^(-1/2).
// Then M is C^(-1/2) f(e) C^(-1/2) with f(e) = 1/(1 - q e) - 1/(1 + p e), and the plus keeps the eigenvalues e
// > 0. The result is post-processing (docs/theory.md#pair-moments).
func PairMetric(m PairMoments) []float64 {
	if !(m.Noise+m.OfCount < largestNoise) {
		return multipleOfIdentity(m.Dim, 1)
	}
	n := float64(m.Pairs)
	p := min(max(0.5+(m.Similar/n-0.5)/(1+12*m.OfCount*m.OfCount/(n*n)), 1/n), 1-1/n)
	q := 1 - p
	total, diff := make([]float64, len(m.SumS)), make([]float64, len(m.SumS))
	for k := range total {
		total[k] = m.SumS[k] + m.SumD[k]
		diff[k] = 2 * (p*m.SumD[k] - q*m.SumS[k])
	}
	c := newPooled(total, m.Dim, n, math.Sqrt2*m.Noise)
	if !(c.trace > 0) {
		return multipleOfIdentity(m.Dim, 1)
	}
	white := c.significant(diff, 2*math.Hypot(p, q)*m.Noise, 4*p*q)
	root := mat.NewDiagDense(m.Dim, nil)
	for i, x := range c.xi {
		root.SetDiag(i, 1/math.Sqrt(x+c.ridge))
	}
	white.Product(root, white, root)
	sym := engine.Symmetric{Dim: m.Dim}
	sym.Pack(diff, white.RawMatrix().Data)
	values, vectors := sym.Eigen(diff)
	white.Zero()
	for i, e := range values {
		if e /= 2 * p * q; e > 0 { // C is Xi/n, and diff has p n and q n in place of p and q
			e = min(e, 0.9/q)
			v := mat.NewVecDense(m.Dim, vectors[i])
			white.RankOne(white, e/((1-q*e)*(1+p*e)), v, v)
		}
	}
	white.Product(root, white, root)
	return c.metric(white)
}

// pooled holds the second moments of n terms of both classes, cleaned of noise: the eigenvalues xi of their sum
// in ascending order, and its eigenvectors as the rows of u.
type pooled struct {
	n, trace, ridge float64
	xi              []float64
	u               *mat.Dense
}

func newPooled(total []float64, dim int, n, noise float64) pooled {
	values, vectors := engine.Symmetric{Dim: dim}.Eigen(total)
	c := pooled{n: n, u: mat.NewDense(dim, dim, nil)}
	c.xi = momentsSpectrum(values, noise, n, 1)
	for _, x := range c.xi {
		c.trace += x
	}
	c.ridge = noise*math.Sqrt(float64(dim)) + 1e-3*c.trace/float64(dim)
	for i, row := range vectors {
		c.u.SetRow(i, row)
	}
	return c
}

// at returns entry i of the diagonal of the sum.
func (c pooled) at(i int) (q float64) {
	for k, x := range c.xi {
		q += x * sq(c.u.At(k, i))
	}
	return q
}

// significant returns the significant part of a released sum of (y - b) x x^T with a = 1 - b^2, in the
// coordinates of the eigenvectors. It keeps the entries of the diagonal that exceed their noise and sampling
// error, and then the eigenvalues of the remainder that exceed the edge of their noise. It overwrites diff.
func (c pooled) significant(diff []float64, noise, a float64) *mat.Dense {
	dim := len(c.xi)
	d, sym := float64(dim), engine.Symmetric{Dim: dim}
	clean := mat.NewSymDense(dim, nil)
	for i := range dim {
		q := max(c.at(i), 0.02*c.trace/d)
		k := sym.Index(i, i)
		x := diff[k] * beyond(diff[k], (math.Sqrt(2*math.Log(d))+deviations/2)*math.Sqrt(noise*noise+2*a*q*q/c.n))
		clean.SetSym(i, i, x)
		diff[k] -= x
	}
	edge := (math.Sqrt(2*d) + deviations) * math.Sqrt(noise*noise+2*a*sq(c.trace/d)/c.n)
	rest, directions := sym.Eigen(diff)
	for i, l := range rest {
		if l *= beyond(l, edge); l != 0 {
			clean.SymRankOne(clean, l, mat.NewVecDense(dim, directions[i]))
		}
	}
	var along mat.Dense
	along.Product(c.u, clean, c.u.T())
	return &along
}

// metric mixes g with the root of its diagonal and the identity, weighted by their mean squared distances. g is
// in the coordinates of the eigenvectors.
func (c pooled) metric(g *mat.Dense) []float64 {
	dim := len(c.xi)
	var full, diagonal float64
	for i, x := range c.xi {
		full += g.At(i, i) * x
	}
	var h mat.Dense
	h.Product(c.u.T(), g, c.u)
	roots := make([]float64, dim)
	for i := range dim {
		roots[i] = math.Sqrt(max(h.At(i, i), 0))
		diagonal += roots[i] * c.at(i)
	}
	if !(diagonal > 0 && full > 0) {
		return multipleOfIdentity(dim, c.n/c.trace)
	}
	w, sym := multipleOfIdentity(dim, c.n*identityShare/c.trace), engine.Symmetric{Dim: dim}
	for i := range dim {
		for j := i; j < dim; j++ {
			unit := math.Sqrt2
			if i == j {
				unit = 1
				w[sym.Index(i, i)] += c.n * (1 - identityShare) * (1 - jointShare) * roots[i] / diagonal
			}
			w[sym.Index(i, j)] += c.n * (1 - identityShare) * jointShare * unit * h.At(i, j) / full
		}
	}
	return w
}

func multipleOfIdentity(dim int, x float64) []float64 {
	w := make([]float64, engine.Symmetric{Dim: dim}.Len())
	for i := range dim {
		w[engine.Symmetric{Dim: dim}.Index(i, i)] = x
	}
	return w
}

// beyond returns the factor sqrt(1 - (edge/x)^2) that removes noise from a number. It returns 0 if |x| is
// within the edge.
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
