package local_test

import (
	"context"
	"math"
	"testing"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
)

// unusable are records that contribute nothing.
func unusable() map[string]engine.Record {
	inf, nan := math.Inf(1), math.NaN()
	return map[string]engine.Record{
		"missing value": {X: []float64{nan, 0.1, 0.1}, Y: 1}, "infinity": {X: []float64{0.1, inf, 0}, Y: -1}, "minus infinity": {X: []float64{0, 0, -inf}, Y: 1},
		"far beyond the bound": {X: []float64{0.1, 1e300, 0}, Y: 1}, "label 0": {X: []float64{0.9, 0, 0}, Y: 0}, "label 2": {X: []float64{0.9, 0, 0}, Y: 2},
		"no label": {X: []float64{0.9, 0, 0}, Y: nan}, "label of size infinity": {X: []float64{0.9, 0, 0}, Y: inf},
	}
}

// A record that cannot be used sends what a record out of the curriculum with features 0
// sends, bit for bit, and draws as much: no server can tell, and the user is not silent.
func TestUnusableRecordsSendTheMessageOfZero(t *testing.T) {
	for _, m := range []local.Method{local.Prestige, local.DJW, local.PrestigeParticipation} {
		for _, pairs := range []int{1, 8} {
			p := protocol(m)
			p.Loss, p.Pairs = linear{}, pairs
			q := plan(t, p)
			st := q.Start()
			st.W[0] = q.Radius
			answers := func(z engine.Record) (all []local.Message) {
				src := privacy.NewSeededSource(8)
				c := local.NewClient(q, src)
				for range 200 {
					msg := must.Get(c.Message(st, z))(t, m)
					all = append(all, msg)
				}
				return append(all, local.Message{Direction: randomiser.DirectionMessage{Choice: uint16(src.Uint64())}})
			}
			same := func(a, b []local.Message) bool {
				for i := range a {
					if a[i].Takes != b[i].Takes || a[i].Direction != b[i].Direction {
						return false
					}
				}
				return true
			}
			zero := answers(engine.Record{X: make([]float64, 3), Y: 1})
			if same(zero, answers(engine.Record{X: []float64{0.9, 0, 0}, Y: 1})) {
				t.Errorf("%s: a record in the curriculum sends the messages of zero: the test sees nothing", m)
			}
			for name, z := range unusable() {
				if !same(zero, answers(z)) {
					t.Errorf("%s, %s: other messages than those of a zero gradient", m, name)
				}
			}
		}
	}
}

// For prestige-label the answer to another label is a coin's: half of each response.
func TestUnusableLabelsAreAnswered(t *testing.T) {
	const n = 1 << 14
	c := local.NewClient(plan(t, protocol(local.PrestigeLabel)), privacy.NewSeededSource(3))
	for _, y := range []float64{0, 0.5, 3, math.NaN(), math.Inf(-1)} {
		sum := 0.0
		for range n {
			a, err := c.Label(y)
			if err != nil || a != 1 && a != -1 {
				t.Fatal(a, err)
			}
			sum += a
		}
		if math.Abs(sum) > 6*math.Sqrt(n) {
			t.Errorf("label %v: mean answer %v, want 0", y, sum/n)
		}
	}
	// A simulation has the labels before it, and refuses others.
	x := []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}
	records := must.Get(engine.NewRecords(x, []float64{1, 0.5}, 3, engine.Bounds{FeatureNorm: 1, LabelAbs: 1}))(t)
	p := protocol(local.DJW)
	p.Users = 2
	must.Err(local.Simulate(context.Background(), plan(t, p), records, privacy.NewSeededSource(1), nil))(t, "a label of 0.5 was simulated")
}

// The number of words that a message draws does not depend on the record, nor on the
// model; of participation, given its answer.
func TestDrawsDoNotDependOnTheRecord(t *testing.T) {
	for _, m := range []local.Method{local.Prestige, local.DJW, local.PrestigeParticipation} {
		p := protocol(m)
		p.Pairs = 4
		q := plan(t, p)
		next := map[bool]uint64{}
		for seed := range uint64(30) {
			clear(next)
			for _, w := range []float64{0, 0x1p-1074, 1, q.Radius} {
				st := q.Start()
				st.W[0] = w
				for _, x := range [][]float64{{0, 0, 0}, {1, 0, 0}, {-0.5, 0.5, 0.5}, {1e-310, 0, 0}, {math.NaN(), 0, 0}} {
					src := privacy.NewSeededSource(seed)
					msg := must.Get(local.NewClient(q, src).Message(st, engine.Record{X: x, Y: 1}))(t)
					at := src.Uint64()
					if want, ok := next[msg.Takes]; ok && at != want {
						t.Fatalf("%s, w = %v, x = %v: another number of words", m, w, x)
					}
					next[msg.Takes] = at
				}
			}
		}
	}
}

// A gradient that a user of participation sends is estimated without bias, and so is zero.
func TestParticipationIsUnbiased(t *testing.T) {
	const n = 1 << 15
	for _, share := range []float64{0, 0.2, 0.8} {
		for _, pairs := range []int{1, 6} {
			p := protocol(local.PrestigeParticipation)
			p.Loss, p.ResponseShare, p.Pairs, p.Epsilon = linear{}, share, pairs, 3
			q := plan(t, p)
			c, st := local.NewClient(q, privacy.NewSeededSource(5)), q.Start()
			st.W[0] = q.Radius
			for _, z := range []engine.Record{{X: []float64{0.6, -0.3, 0.2}, Y: 1}, {X: []float64{-0.6, 0.3, 0.2}, Y: 1}} {
				selected := z.X[0] > 0
				sum, square, taken := make([]float64, 3), make([]float64, 3), 0.0
				for range n {
					msg := must.Get(c.Message(st, z))(t)
					if !msg.Takes {
						continue
					}
					g := make([]float64, 3)
					must.Do(t, q.AddEstimate(g, msg))
					taken++
					for i, v := range g {
						sum[i], square[i] = sum[i]+v, square[i]+v*v
					}
				}
				for i := range sum {
					want := 0.0
					if selected {
						want = -z.X[i]
					}
					mean := sum[i] / taken
					if se := math.Sqrt((square[i]/taken - mean*mean) / taken); math.Abs(mean-want) > 4.5*se {
						t.Errorf("share %v, %d pairs, selected %v: coordinate %d has mean %v, want %v within %v", share, pairs, selected, i, mean, want, 4.5*se)
					}
				}
			}
		}
	}
}
