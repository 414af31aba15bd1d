package engine

import (
	"errors"
	"fmt"
	"math"
)

// PSDBall is the set of positive semidefinite Dim x Dim matrices W of Frobenius norm at
// most B, in Symmetric coordinates. It is the set C of metric learning. Dim is at least
// 1, and B is positive and finite.
type PSDBall struct {
	Dim int
	B   float64
}

var _ Domain = PSDBall{}

// errEigen is the error of Project if no solver is accurate enough.
var errEigen = errors.New("engine: PSDBall.Project: the matrix exceeds its stated norm, so no eigensolver is " +
	"accurate enough")

// Text returns "w = W positive semidefinite, ||W||_F <= r".
func (c PSDBall) Text() string { return "w = W positive semidefinite, ||W||_F <= r" }

// Diameter returns sqrt(2) B rounded up, or B if Dim is 1 (docs/theory.md#contraction).
func (c PSDBall) Diameter() float64 {
	if c.Dim == 1 {
		return c.B
	}
	return mulUp(math.Nextafter(math.Sqrt2, 2), c.B)
}

// Start returns the multiple of the identity whose norm is B up to rounding, and not
// above B. No member of the set with this norm is farther from the boundary of the
// semidefinite cone.
func (c PSDBall) Start() []float64 {
	w := make([]float64, Symmetric{Dim: c.Dim}.Len())
	for i := range c.Dim {
		w[Symmetric{Dim: c.Dim}.Index(i, i)] = c.B / math.Sqrt(float64(c.Dim))
	}
	ProjectBall(w, c.B)
	return w
}

// StartNorm returns a bound of the norm of Start: B, plus room for rounding. ProjectBall ensures this bound.
func (c PSDBall) StartNorm() float64 { return mulUp(1+RadiusSlack, c.B) }

// ProjectError bounds the distance between the result of Project and the exact
// projection, for ||w|| <= norm. With d = Dim, p = Dim(Dim+1)/2 and u = 2^-53, the bound
// is
//
//	ProjectBallError(p, B) + (d^2 + 12 d^1.5 + 40 d + 64) u norm + 2^-1000 d^2.
//
// The bound is a public number. Project measures the error of each decomposition and
// refuses a decomposition whose error exceeds the bound. To first order, Project's own
// steps have roundings of at most s = (d^2 + 8d + 6 d^1.5 + 7 d^0.5 + 3) u norm. The
// measured error may include up to 2 s. The rest of ProjectError is room for the error of
// the solver. LAPACK's symmetric QR method needs a small part of this room, and solveWide
// provably needs no more than all of it.
func (c PSDBall) ProjectError(norm float64) float64 {
	return ProjectBallError(Symmetric{Dim: c.Dim}.Len(), c.B) + psdAllowance(c.Dim, norm)
}

// psdAllowance returns ProjectError without the term ProjectBallError.
func psdAllowance(dim int, norm float64) float64 {
	d := float64(dim)
	return ((d*d+12*d*math.Sqrt(d)+40*d+64)*unitRoundoff*norm + 0x1p-1000*d*d) * (1 + 0x1p-40)
}

// Project replaces w by a vector that is exactly in C and within ProjectError(norm) of
// the exact projection of w. It takes O(d^3) operations and memory for a few d^2 numbers.
// The bits of the result do not depend on the number of threads. If w is not finite, the
// result is Start. For 2^-900 <= norm <= 2^1000 and Dim <= 2^14, Project fails only if
// ||w|| is so far above norm that the error bound does not hold. Then it sets w to zero
// and returns an error. So the success of a training does not depend on its records, and
// no guarantee depends on an eigensolver.
//
// The exact projection first clips the negative eigenvalues and then scales. For a closed
// convex cone K and a ball S around 0, P_S(P_K(M)) is the projection of M onto the
// intersection (docs/theory.md#contraction).
//
// The comments of clipEigenvalues and ProjectBall prove that the result is in C and near
// the exact projection. The last scaling multiplies the matrix by one number, up to
// roundings, and clipEigenvalues has made room for these roundings.
func (c PSDBall) Project(w []float64, norm float64) error {
	return c.project(w, norm, solveLAPACK, jacobi{}.solve, solveWide)
}

// project tries the solvers one after the other.
func (c PSDBall) project(w []float64, norm float64, solvers ...eigenSolver) error {
	s := Symmetric{Dim: c.Dim}
	if len(w) != s.Len() {
		clear(w)
		return fmt.Errorf("engine: PSDBall.Project: %d coordinates, want %d for dimension %d", len(w), s.Len(), c.Dim)
	}
	for _, v := range w {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			copy(w, c.Start())
			return nil
		}
	}
	d := c.Dim
	a := make([]float64, d*d)
	s.Unpack(a, w)
	unpackError := SymmetricError * frobenius(w) * (1 + Gamma(len(w)+8))
	allowed := psdAllowance(d, norm)
	for _, solve := range solvers {
		v, lambda, ok := solve(a, d)
		if !ok {
			continue
		}
		clipped, bound := clipEigenvalues(a, v, lambda, d)
		if total := (bound + unpackError) * (1 + 0x1p-50); !(total <= min(allowed, math.MaxFloat64)) {
			continue
		}
		s.Pack(w, clipped)
		ProjectBall(w, c.B)
		return nil
	}
	clear(w)
	return errEigen
}

// clipEigenvalues takes a symmetric d x d matrix A, any d x d matrix V and any d numbers
// lambda. It returns a symmetric matrix Y and a bound of ||Y - P(A)||_F, where P sets
// negative eigenvalues to 0. The bound is small if A is near V diag(lambda) V^T and V is
// nearly orthogonal. The bound holds wherever V and lambda come from, and it is NaN if V
// or lambda contains a NaN. The bound covers the error of Pack(Y). If the bound is
// finite, every symmetric matrix whose entries differ from f Y, f > 0, by relative errors
// of at most gamma(4) (two for Pack, two for ProjectBall), is positive semidefinite.
//
// Proof. Let L = diag(lambda), L+ its clipping, E = A - V L V^T, F = V^T V - I, k =
// ||F||_F, and V = Q H with Q orthogonal and H = (I + F)^(1/2) semidefinite. Then H - I =
// G F with G = (H + I)^-1, which commutes with F and has norm at most 1. V L V^T - Q L
// Q^T = Q (K L + L K + K L K) Q^T with K = H - I, so its Frobenius norm is at most (2 +
// k) ||K L|| <= (2 + k) ||F L||. The same holds for L+, and ||F L+|| <= ||F L||. P is
// non-expansive and P(Q L Q^T) = Q L+ Q^T, hence
//
//	||V L+ V^T - P(A)|| <= ||E|| + 2 (2 + k) ||F L||.
//
// Rounding: let |.| be entrywise and t = sum_j lambda_j+ ||v_j||^2 = tr(V L+ V^T). The
// computed Z of V L+ V^T has |Z - V L+ V^T| <= gamma(d+1) |V| L+ |V|^T. The right side is
// gamma(d+1) times a sum of matrices lambda_j+ |v_j||v_j|^T, so its norm is at most
// gamma(d+1) t. Likewise the error of the computed E is at most gamma(d+2) (||A|| + sum_j
// |lambda_j| ||v_j||^2). The error of column j of the computed F is at most gamma(d+1)
// (|V|^T |v_j| + e_j), a vector of norm at most gamma(d+1) (||V||_F ||v_j|| + 1). Y = Z +
// tau I with tau = gamma(d+8) t (1 + 2^-20). This tau is large enough: f (V L+ V^T + tau
// I) has eigenvalues of at least f tau. The errors that are added to this matrix have a
// norm of at most f times gamma(d+1) t + gamma(5) (t + gamma(d+1) t + tau sqrt d), where
// 5 = 4 + 1 counts the rounding of adding tau. This norm is below f tau if gamma(d+8)
// sqrt d < 2^-24, which is checked. The same terms and tau sqrt(d) are in the bound.
// Underflow takes less than 2^-1072 d from an entry. In norm this is less than the extra
// 2^-1060 d^2 that tau and the bound contain. (Underflow in ProjectBall is below u f t
// for B > 2^-900.) If t = 0 then Y = 0. QED
func clipEigenvalues(a, v, lambda []float64, d int) (y []float64, bound float64) {
	root := math.Sqrt(float64(d))
	up := 1 + 4*Gamma(d*d+64) // covers the rounding of norms and of these formulas
	if !(Gamma(d+8)*root < 0x1p-24) {
		return nil, math.Inf(1)
	}
	columns := transpose(v, d)
	squares := make([]float64, d) // ||v_j||^2
	var total float64
	for j := range squares {
		squares[j] = dot(columns[j*d:(j+1)*d], columns[j*d:(j+1)*d]) * up
		total += squares[j]
	}
	length := math.Sqrt(total) * up // ||V||_F

	gramError, weighted := make([]float64, d*d), make([]float64, d)
	for j := range d {
		column := gramError[j*d : (j+1)*d]
		for i := range column {
			column[i] = dot(columns[i*d:(i+1)*d], columns[j*d:(j+1)*d])
		}
		column[j]--
		weighted[j] = math.Abs(lambda[j]) * (frobenius(column)*up + Gamma(d+1)*(length*math.Sqrt(squares[j])+1)) * up
	}
	k := (frobenius(gramError) + Gamma(d+1)*(total+root)) * up
	nonOrthogonal := 2 * (2 + k) * frobenius(weighted) * up

	scaled, residual := make([]float64, d*d), gramError
	var sum float64 // of |lambda_j| ||v_j||^2
	for j, l := range lambda {
		sum += math.Abs(l) * squares[j]
	}
	scaleColumns(scaled, v, lambda, d)
	for i := range d {
		for j := i; j < d; j++ {
			r := a[i*d+j] - dot(scaled[i*d:(i+1)*d], v[j*d:(j+1)*d])
			residual[i*d+j], residual[j*d+i] = r, r
		}
	}
	decomposition := (frobenius(residual) + Gamma(d+2)*(frobenius(a)+sum)) * up

	var trace float64
	clip := make([]float64, d)
	for j, l := range lambda {
		clip[j] = max(l, 0)
		trace += clip[j] * squares[j]
	}
	trace *= up
	lost := 0x1p-1060 * float64(d) * float64(d)
	tau := 0.0
	if trace > 0 {
		tau = Gamma(d+8)*trace*(1+0x1p-20) + lost
	}
	scaleColumns(scaled, v, clip, d)
	y = make([]float64, d*d)
	for i := range d {
		for j := i; j < d; j++ {
			z := dot(scaled[i*d:(i+1)*d], v[j*d:(j+1)*d])
			y[i*d+j], y[j*d+i] = z, z
		}
		y[i*d+i] += tau
	}
	rounding := (Gamma(d+1)+Gamma(5)*(1+0x1p-20))*trace + tau*root
	return y, (decomposition+nonOrthogonal+rounding)*up + 8*lost
}
