package account

// Doors for the tests of the accountants.

// SingleDelta is the exact hockey-stick divergence of one release of a subsampled
// event, in one direction.
func SingleDelta(e Event, epsilon float64, reversed bool) float64 {
	f := e.facts()
	if f.law != nil {
		return f.law().delta(epsilon, reversed)
	}
	return dominatingPair{law: GaussianLaw, kind: removed, m: f.noise.ratio(), q: 1}.delta(epsilon, reversed)
}

// FiniteRenyi, PoissonRenyi, SubsetRenyi, LaplaceRenyi, PureRenyi, NormalMass and
// LaplaceMass are the functions of the same names.
func FiniteRenyi(alpha float64, p, q []float64) float64 { return finiteRenyi(alpha, p, q) }
func PoissonRenyi(alpha, m, q float64) float64          { return poissonRenyi(alpha, m, q) }
func SubsetRenyi(alpha, m, q float64) float64           { return subsetRenyi(alpha, m, q) }
func LaplaceRenyi(alpha, loss float64) float64          { return laplaceRenyi(alpha, loss) }
func PureRenyi(alpha, epsilon float64) float64          { return pureRenyi(alpha, epsilon) }
func NormalMass(a, b float64) float64                   { return normalMass(a, b) }
func LaplaceMass(a, b float64) float64                  { return laplaceMass(a, b) }

// Transform is the forward or backward fft of x, in place, with its error bound.
func Transform(x []complex128, backward bool) (relativeError float64) {
	t := newFFT(len(x))
	if backward {
		t.backward(x)
	} else {
		t.forward(x)
	}
	return t.relativeError()
}

// GridInterval is the interval that the accountant uses, after its first answer.
func (a *PLD) GridInterval() float64 { return a.compose()[0].h }

// MillsStart and Mills are the functions of mills.go.
func MillsStart(t float64) int { return millsStart(t) }

func Mills(t float64) float64 { return mills(t) }

func HockeyStick(p, mu float64) float64 { return hockeyStick(p, mu) }

// GDPMuClosedForm is gdpMuClosedForm.
func GDPMuClosedForm(epsilon, delta float64) float64 { return gdpMuClosedForm(epsilon, delta) }
