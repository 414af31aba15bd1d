package engine

// Domain is the closed convex set C of parameters. Its vectors have the length ParamDim
// of the loss, and the norm is Euclidean.
type Domain interface {
	// Text describes the set, for reports.
	Text() string
	// Diameter is the largest distance between two points of the set, rounded up.
	Diameter() float64
	// Start is a point of the set that depends on public numbers only.
	Start() []float64
	// StartNorm is an upper bound of ||Start()||. It allocates no memory, so planning does not have to allocate Start.
	StartNorm() float64
	// Project replaces w by a point of C within distance ProjectError(norm) of the exact
	// projection, where norm bounds ||w||. A vector that is not finite becomes Start. If
	// Project cannot reach this accuracy, it sets w to zero and returns an error.
	Project(w []float64, norm float64) error
	// ProjectError bounds the distance between the result of Project and the exact projection.
	ProjectError(norm float64) float64
}

// Ball is the centred ball of radius R in Dim dimensions.
type Ball struct {
	Dim int
	R   float64
}

var _ Domain = Ball{}

// Text returns "||w|| <= r".
func (b Ball) Text() string { return "||w|| <= r" }

// Diameter returns 2R.
func (b Ball) Diameter() float64 { return 2 * b.R }

// Start returns the centre.
func (b Ball) Start() []float64 { return make([]float64, b.Dim) }

// StartNorm returns 0.
func (b Ball) StartNorm() float64 { return 0 }

// Project calls ProjectBall. It never fails.
func (b Ball) Project(w []float64, _ float64) error {
	ProjectBall(w, b.R)
	return nil
}

// ProjectError returns ProjectBallError.
func (b Ball) ProjectError(float64) float64 { return ProjectBallError(b.Dim, b.R) }

// ConstrainedLoss is a Loss whose parameters are in a set that is smaller than the ball.
type ConstrainedLoss interface {
	Loss
	// Domain is the set C for d features. It is contained in the ball of the given radius.
	Domain(d int, radius float64) Domain
}

// Domain returns the set of parameters: the Domain of a ConstrainedLoss, or the ball of
// radius p.Radius for any other loss.
func (p Problem) Domain() Domain {
	if l, ok := p.Loss.(ConstrainedLoss); ok {
		return l.Domain(p.D, p.Radius)
	}
	return Ball{Dim: p.Loss.ParamDim(p.D), R: p.Radius}
}
