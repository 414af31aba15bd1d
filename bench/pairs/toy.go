package main

import (
	"fmt"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
)

// toyTask is the data of [Li20] Section VII-A: two normal classes of 100 points each in
// the plane, 50 pairs within each class and 50 between, without a cycle.
func toyTask(seed int) (*task, error) {
	const each = 100
	r := rand.New(rand.NewPCG(uint64(seed), 0x746f79))
	t := &task{d: 2, classes: make([]bool, 2*each), x: make([]float64, 4*each)}
	for v := range t.classes {
		t.classes[v] = v >= each
		a, b := 0.12*r.NormFloat64(), 0.12*r.NormFloat64()
		shift := -0.1
		if t.classes[v] {
			shift = 0.1
		}
		// Classes differ along one axis, and vary most along the other.
		t.x[2*v], t.x[2*v+1] = shift+0.5*a, b
	}
	root := make([]int, 2*each) // of the trees
	for v := range root {
		root[v] = v
	}
	find := func(v int) int {
		for root[v] != v {
			v = root[v]
		}
		return v
	}
	left := [3]int{50, 50, 50} // within the classes, and between
	var list []pairgraph.Pair
	for left != [3]int{} {
		a, b := r.IntN(2*each), r.IntN(2*each)
		kind := 2
		if t.classes[a] == t.classes[b] {
			kind = 0
			if t.classes[a] {
				kind = 1
			}
		}
		if x, y := find(a), find(b); left[kind] > 0 && x != y {
			root[x] = y
			left[kind]--
			list = append(list, pairgraph.Pair{A: int32(a), B: int32(b)})
			t.labels = append(t.labels, kind == 2)
		}
	}
	var err error
	t.graph, err = pairgraph.New(2*each, list)
	return t, err
}

// toy is Figure 8a: the objective along the run at epsilon 2, m = 1, h = 0.5, |B| = 30,
// T = 10.
func (s settings) toy() ([]row, axes, error) {
	a := axes{title: "Toy data, epsilon 2", x: "epoch", value: "objective"}
	fmt.Println("# Section VII-A: 200 points, 150 pairs without a cycle: kappa = 1; d' = 2, epsilon 2, m = 1, h = 0.5, " +
		"|B| = 30, T = 10, eta0 = 1")
	var jobs []func() ([]row, error)
	for i := range s.repeats {
		t, err := toyTask(i)
		if err != nil {
			return nil, a, err
		}
		if i == 0 {
			fmt.Printf("# kappa' = %d, largest degree %d in the first repeat\n", t.graph.KappaBound(pairgraph.Transitive),
				t.graph.MaxDegree())
		}
		for _, m := range []method{
			methods[0], methods[1], {"DPP-S Laplace (sound)", func(s *pairs.Spec) { s.Shrink = true }}, methods[2],
			{"Node DP Laplace", func(s *pairs.Spec) { s.Unit, s.Kappa = pairs.Individual, t.graph.MaxDegree() }},
			{"printed DPP (gives 2 eps)", func(s *pairs.Spec) { s.Mode = algorithms.Paper }},
		} {
			jobs = append(jobs, func() ([]row, error) {
				return t.progress(m.name, toySpec(t, m), i, nil)
			})
		}
	}
	rows, err := s.each(jobs)
	return rows, a, err
}
