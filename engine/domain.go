package engine

// Domain is the closed convex set C of parameters. Vectors have the loss's
// ParamDim and the Euclidean norm.
type Domain interface {
	// Text describes the set, for reports.
	Text() string
	// Diameter is the largest distance of two points, rounded up.
	Diameter() float64
	// Start is a point of the set that depends on public numbers only.
	Start() []float64
	// StartNorm is at least ||Start()||. It allocates nothing, so that a plan does not.
	StartNorm() float64
	// Project replaces w by a point of C within ProjectError(norm) of the exact
	// projection, where norm bounds ||w||. A vector that is not finite becomes
	// Start. It fails, with w zeroed, if it cannot keep that promise.
	Project(w []float64, norm float64) error
	// ProjectError is the bound that Project keeps.
	ProjectError(norm float64) float64
}

// Ball is the centred ball of radius R in Dim dimensions.
type Ball struct {
	Dim int
	R   float64
}

var _ Domain = Ball{}

// Text returns "||w|| <= R".
func (b Ball) Text() string { return "||w|| <= r" }

// Diameter is 2R.
func (b Ball) Diameter() float64 { return 2 * b.R }

// Start is the centre.
func (b Ball) Start() []float64 { return make([]float64, b.Dim) }

// StartNorm is 0.
func (b Ball) StartNorm() float64 { return 0 }

// Project is ProjectBall; it never fails.
func (b Ball) Project(w []float64, _ float64) error {
	ProjectBall(w, b.R)
	return nil
}

// ProjectError is ProjectBallError.
func (b Ball) ProjectError(float64) float64 { return ProjectBallError(b.Dim, b.R) }

// ConstrainedLoss is a Loss whose parameters live in a smaller set than the ball.
type ConstrainedLoss interface {
	Loss
	// Domain is the set C for d features, contained in the ball of that radius.
	Domain(d int, radius float64) Domain
}

// Domain is the set of parameters: the loss's own, or the ball of radius Radius.
func (p Problem) Domain() Domain {
	if l, ok := p.Loss.(ConstrainedLoss); ok {
		return l.Domain(p.D, p.Radius)
	}
	return Ball{Dim: p.Loss.ParamDim(p.D), R: p.Radius}
}
