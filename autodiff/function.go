package autodiff

// MaxSize is the largest Expr.Size that is accepted from text or from a graph.
const MaxSize = 4096

// Function is a loss phi(u) with its first derivative.
type Function struct {
	// Phi is the loss.
	Phi Expr
	// DPhi is phi': either Phi.Derivative(), or a derivative from another program, such as
	// gorgonia.Grad. Check compares it with Phi.Derivative().
	DPhi Expr
}

// NewFunction returns phi with its own derivative.
func NewFunction(phi Expr) *Function { return &Function{Phi: phi, DPhi: phi.Derivative()} }

// DDPhi returns the second derivative of phi, which this package computes itself. (If
// gorgonia.Grad is applied to a gradient, its result is wrong, and it returns no error.)
func (f *Function) DDPhi() Expr { return f.Phi.Derivative().Derivative() }
