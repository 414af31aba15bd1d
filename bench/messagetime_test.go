package bench_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
)

// BenchmarkMessageTime measures what the time of a local message tells: two kinds of messages are made in random order, and auc is how
// well time alone tells them apart (0.5: not at all). Cases "record" compare a record in the curriculum with one out of it, "tiny" two
// records under a model of subnormal numbers, with which processors are slow, "network" two
// records whose hidden units of a network are far from 0 and near to it, where tanh takes other paths, and "choice", for one record, messages whose choice is
// favoured with those whose is not. For a raw file take -benchtime 20000x -count 3.
func BenchmarkMessageTime(b *testing.B) {
	for _, c := range []timing{
		{"record", local.Prestige, 2, 1, 1}, {"record", local.Prestige, 2, 16, 1}, {"record", local.Prestige, 2, 64, 1}, {"record", local.Prestige, 2, 1024, 1},
		{"record", local.Prestige, 20, 1024, 1}, {"record", local.Prestige, 20, 1024, 6}, {"record", local.PrestigeParticipation, 2, 64, 1},
		{"record", local.Prestige, 2000, 4, 6},
		{"tiny", local.DJW, 20, 1, 1}, {"tiny", local.DJW, 20, 16, 1}, {"tiny", local.DJW, 2000, 1, 1},
		{"network", local.DJW, 2, 1, 1}, {"network", local.DJW, 20, 1, 1}, {"network", local.DJW, 20, 8, 1},
		{"choice", local.Prestige, 2, 1, 1}, {"choice", local.Prestige, 2, 1, 4}, {"choice", local.Prestige, 2, 16, 4},
	} {
		b.Run(fmt.Sprintf("%s/%s/d=%d/pairs=%d/epsilon=%g", c.kind, c.method, c.d, c.pairs, c.epsilon), c.measure)
	}
}

type timing struct {
	kind     string
	method   local.Method
	d, pairs int
	epsilon  float64
}

func (c timing) measure(b *testing.B) {
	e := must.Get(engine.NewExpression("linear", "-u", engine.ExpressionOptions{}))(b)
	protocol := local.Protocol{
		Method: c.method, Loss: e, Dim: c.d, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 10, Epochs: 1, Epsilon: c.epsilon, Pairs: c.pairs,
	}
	if c.kind == "network" {
		protocol.Radius, protocol.L2, protocol.Users, protocol.Network = 0, 0, 1<<30, &local.Network{Hidden: 8, Gain: 4}
	}
	p := must.Get(protocol.Plan())(b)
	client, st := local.NewClient(p, privacy.NewSeededSource(1)), p.Start()
	records := [2]engine.Record{{X: make([]float64, c.d), Y: 1}, {X: make([]float64, c.d), Y: 1}}
	records[0].X[0], records[1].X[0] = 1, 0.01
	if c.kind != "network" {
		st.W[0] = 5 // margins 5 and 0.05, the threshold is 1.5
	}
	if c.kind == "tiny" {
		for i := range st.W {
			st.W[i], records[0].X[i], records[1].X[i] = 0x1p-1022, math.Sqrt(1/float64(c.d))/2, 0
		}
		records[1].X[0] = 0.5 // the first has subnormal products with the model everywhere, the second in one place
	}
	var times [2][]float64
	order := rand.New(rand.NewPCG(1, 1))
	z := engine.Record{X: make([]float64, c.d), Y: 1} // one place in memory for both
	for b.Loop() {
		k := order.IntN(2)
		if c.kind == "choice" {
			k = 0
		}
		copy(z.X, records[k].X)
		began := time.Now()
		m, err := client.Message(st, z)
		took := time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		if c.method == local.PrestigeParticipation && !m.Takes {
			continue // silence is public
		}
		if c.kind == "choice" {
			g := make([]float64, c.d)
			must.Do(b, p.AddEstimate(g, m))
			if g[0] > 0 { // the gradient is -e_1, so the choice is not favoured; with several pairs nearly so
				k = 1
			}
		}
		times[k] = append(times[k], float64(took.Nanoseconds())/1000)
	}
	for k, name := range []string{"first", "second"} {
		if len(times[k]) == 0 {
			b.Skip("no message of one of the kinds: take a longer -benchtime")
		}
		slices.Sort(times[k])
		b.ReportMetric(times[k][len(times[k])/2], name+"-median-us")
	}
	b.ReportMetric(auc(times[0], times[1]), "auc")
}

// auc is the probability that a time of a is above one of b, ties counted half; both are sorted.
func auc(a, b []float64) float64 {
	sum := 0.0
	for _, t := range a {
		below, _ := slices.BinarySearch(b, t)
		equal, _ := slices.BinarySearchFunc(b[below:], t, func(x, t float64) int { return cmp.Or(cmp.Compare(x, t), -1) })
		sum += float64(below) + float64(equal)/2
	}
	return sum / float64(len(a)) / float64(len(b))
}
