package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

func difference(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for k := range x {
		z[k] = x[k] - y[k]
	}
	return z
}

func distance(x, y []float64) float64 { return frobenius(difference(x, y)) }

// For the tests of package engine_test.
var (
	Frobenius, Distance         = frobenius, distance
	RandomRecords, RandomMember = randomRecords, randomMember
)

// normals are n random numbers.
func normals(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for k := range x {
		x[k] = rng.NormFloat64()
	}
	return x
}

// scaledBy is f times x.
func scaledBy(x []float64, f float64) []float64 {
	y := make([]float64, len(x))
	for k, v := range x {
		y[k] = f * v
	}
	return y
}

// projected returns the projection of a copy and the bound of its error.
func projected(c Domain, w []float64) ([]float64, float64, error) {
	p := append([]float64(nil), w...)
	length := frobenius(w) * (1 + 0x1p-40)
	err := c.Project(p, length)
	return p, c.ProjectError(length), err
}

// domainLaw returns an error if c.Project is seen not to be the projection onto a
// convex set of that Diameter, for random points at distances around size.
func domainLaw(c Domain, size float64, rng *rand.Rand) error {
	start := c.Start()
	p := len(start)
	if norm := frobenius(start); !(norm*(1-0x1p-40) <= c.StartNorm()) {
		return fmt.Errorf("Start has the norm %v, above StartNorm %v", norm, c.StartNorm())
	}
	const round = 1e-14
	point := func() []float64 {
		w := normals(rng, p)
		return scaledBy(w, size*math.Exp(1.5*rng.NormFloat64())/frobenius(w))
	}
	if s, slack, err := projected(c, start); err != nil || distance(s, start) > slack {
		return fmt.Errorf("Start is not a member: moved by %v (%v)", distance(s, start), err)
	}
	var widest float64
	members := [][]float64{start}
	for range 60 {
		a, b := point(), point()
		if rng.IntN(2) == 0 { // a near pair
			f := math.Exp(-8 * rng.Float64())
			for k := range b {
				b[k] = a[k] + f*b[k]
			}
		}
		pa, slackA, err := projected(c, a)
		pb, slackB, err2 := projected(c, b)
		again, slack, err3 := projected(c, pa)
		opposite, _, err4 := projected(c, scaledBy(a, -1))
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return err
		}
		if distance(again, pa) > slack {
			return fmt.Errorf("not idempotent: moved by %v, bound %v", distance(again, pa), slack)
		}
		if distance(pa, pb) > distance(a, b)*(1+round)+slackA+slackB {
			return fmt.Errorf("expands %v to %v", distance(a, b), distance(pa, pb))
		}
		members = append(members, pa)
		for _, z := range members {
			v, u := difference(a, pa), difference(z, pa)
			inner := dot(v, u)
			room := (slackA+round*frobenius(a))*(frobenius(v)+frobenius(u)+slackA) + round*frobenius(v)*frobenius(u)
			if inner > room {
				return fmt.Errorf("variational inequality: <w - Pw, z - Pw> = %v, room %v", inner, room)
			}
		}
		widest = max(widest, distance(pa, opposite))
	}
	if d := c.Diameter(); widest > d*(1+round) || widest < 0.99*d {
		return fmt.Errorf("Diameter is %v, found %v", d, widest)
	}
	start[0] = math.NaN()
	if s, _, err := projected(c, start); err != nil || distance(s, c.Start()) != 0 {
		return fmt.Errorf("a vector that is not finite became %v (%v), want Start", s, err)
	}
	return nil
}

func TestDomainLaws(t *testing.T) {
	for _, d := range []int{1, 2, 3, 7, 20} {
		for _, r := range []float64{1e-3, 1, 50} {
			for _, c := range []Domain{Ball{Dim: d, R: r}, PSDBall{Dim: d, B: r}} {
				must.CheckDo(t, domainLaw(c, 2*r, rand.New(rand.NewPCG(5, 6))), fmt.Sprintf("%T/%d/%g", c, d, r))
			}
		}
	}
}

// wrongDomain is a Domain with a defect.
type wrongDomain struct {
	Domain
	project  func(w []float64)
	start    []float64
	diameter float64
}

func (c wrongDomain) Project(w []float64, norm float64) error {
	if c.project == nil {
		return c.Domain.Project(w, norm)
	}
	c.project(w)
	return nil
}

func (c wrongDomain) Start() []float64 {
	if c.start != nil {
		return append([]float64(nil), c.start...)
	}
	return c.Domain.Start()
}

func (c wrongDomain) Diameter() float64 {
	if c.diameter > 0 {
		return c.diameter
	}
	return c.Domain.Diameter()
}

// TestDomainLawsCatchDefects is the control of TestDomainLaws.
func TestDomainLawsCatchDefects(t *testing.T) {
	c := PSDBall{Dim: 4, B: 1}
	s := Symmetric{Dim: 4}
	finite := func(w []float64, then func()) {
		if math.IsNaN(w[0]) {
			copy(w, c.Start())
			return
		}
		then()
	}
	spectral := func(w []float64, change func(float64) float64) {
		a := make([]float64, 16)
		s.Unpack(a, w)
		v, lambda, _ := solveLAPACK(a, 4)
		for k := range lambda {
			lambda[k] = change(lambda[k])
		}
		s.Pack(w, multiply(v, lambda, 4))
	}
	clip := func(l float64) float64 { return max(l, 0) }
	for name, wrong := range map[string]wrongDomain{
		"scales before it clips": {project: func(w []float64) {
			finite(w, func() { ProjectBall(w, 1); spectral(w, clip) })
		}},
		"takes absolute eigenvalues": {project: func(w []float64) {
			finite(w, func() { spectral(w, math.Abs); ProjectBall(w, 1) })
		}},
		"clips each eigenvalue at 1/2": {project: func(w []float64) {
			finite(w, func() { spectral(w, func(l float64) float64 { return min(max(l, 0), 0.5) }); ProjectBall(w, 1) })
		}},
		"does not clip": {project: func(w []float64) { finite(w, func() { ProjectBall(w, 1) }) }},
		"rounds to 1e-9": {project: func(w []float64) {
			finite(w, func() {
				_ = c.Project(w, frobenius(w)*(1+0x1p-40))
				for k := range w {
					w[k] = math.Floor(w[k]*1e9) / 1e9
				}
			})
		}},
		"lets NaN through": {project: func(w []float64) {
			if !math.IsNaN(w[0]) {
				_ = c.Project(w, frobenius(w)*(1+0x1p-40))
			}
		}},
		"Start outside":      {start: []float64{0.9, 0, 0, 0, 0.9, 0, 0, 0, 0, 0}},
		"Diameter too small": {diameter: 1.4},
		"Diameter too large": {diameter: 2},
	} {
		wrong.Domain = c
		must.ErrDo(t, domainLaw(wrong, 2, rand.New(rand.NewPCG(5, 6))), "%s: not caught", name)
	}
}
