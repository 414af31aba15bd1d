package algorithms

import (
	"context"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

// ordered remembers the order that a pass draws.
type ordered struct {
	privacy.Session
	order []int32
}

func (o *ordered) Permutation(n int) []int32 {
	o.order = o.Session.Permutation(n)
	return o.order
}

// The offline pass is the recursion of its maths, pair by pair in the drawn order, and
// its result is the exact average.
func TestOffGIGAIsTheRecursion(t *testing.T) {
	const n, alpha = 25, 0.3
	x, y := make([]float64, 0, 2*n), make([]float64, n)
	for i := range n {
		row, label := streamRecord(i + 1)
		x, y[i] = append(x, row...), label
	}
	records, err := engine.NewRecords(x, y, 2, engine.UnitBounds())
	if err != nil {
		t.Fatal(err)
	}
	loss := engine.Logistic{}
	s, err := NewSpec(cpu.Backend{}, engine.Problem{N: n, D: 2, Bounds: engine.UnitBounds(), Loss: loss, Radius: 0.3}, alpha, privacy.Budget{}, NonPrivate)
	if err != nil {
		t.Fatal(err)
	}
	p, err := OffGIGA{}.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	public, err := privacy.NewPublicSession(privacy.NewSeededSource(4), p.Events())
	if err != nil {
		t.Fatal(err)
	}
	session := &ordered{Session: public}
	ev, err := s.Kernel.Bind(records)
	if err != nil {
		t.Fatal(err)
	}
	got, err := OffGIGA{}.Train(context.Background(), ev, p, session, Tracker{})
	if err != nil {
		t.Fatal(err)
	}
	w, total := make([]float64, 2), make([]float64, 2)
	at := func(k int) engine.Record {
		i := session.order[k]
		return engine.Record{X: x[2*i : 2*i+2], Y: y[i]}
	}
	lipschitz := s.Constants.Lipschitz + alpha*0.3
	for step := 2; step <= n; step++ {
		b := float64(step - 1)
		g := make([]float64, 2)
		for i := range step - 1 {
			loss.AddGrad(g, w, at(step-1), at(i))
		}
		eta := min(0.6/(lipschitz*math.Sqrt(b)), 1/(alpha*b))
		for k := range w {
			w[k] -= eta * (g[k]/b + alpha*w[k])
		}
		engine.ProjectBall(w, 0.3)
		for k := range w {
			total[k] += w[k] / n
		}
	}
	for k := range got {
		if math.Abs(got[k]-total[k]) > 1e-12 {
			t.Fatalf("%v, by the recursion %v", got, total)
		}
	}
	if slices.Equal(got, make([]float64, 2)) || p.Guarantee.Kind != privacy.None {
		t.Errorf("%v, %v", got, p.Guarantee)
	}
	if _, err := (OffGIGA{}).Plan(Spec{Kernel: s.Kernel, Constants: s.Constants, Mode: Certified, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}}); err == nil {
		t.Error("a certified plan of a baseline")
	}
}
