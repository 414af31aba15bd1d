package bench_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/privacy"
)

// The public data of the comparison: objects with two records each, of one of some clusters.
const (
	softmaxObjects  = 1500
	softmaxClusters = 12
	softmaxSignal   = 4 // features that clusters are in; the others are noise
	softmaxDim      = 16
	softmaxRows     = 4 // of embeddings
)

// objects are records 2i and 2i + 1 of object i, and their clusters; the centres are the same for every seed.
func objects(count int, seed uint64) (x []float64, class []int32) {
	centres := make([]float64, softmaxClusters*softmaxSignal)
	for c, r := 0, rand.New(rand.NewPCG(9, 9)); c < len(centres); c++ {
		centres[c] = 0.25 * r.NormFloat64()
	}
	r := rand.New(rand.NewPCG(seed, 10))
	x, class = make([]float64, 2*count*softmaxDim), make([]int32, 2*count)
	for i := range class {
		if class[i] = int32(r.IntN(softmaxClusters)); i%2 == 1 {
			class[i] = class[i-1]
		}
		for k := range softmaxDim {
			if v := r.NormFloat64(); k < softmaxSignal {
				x[i*softmaxDim+k] = centres[int(class[i])*softmaxSignal+k] + 0.07*v
			} else {
				x[i*softmaxDim+k] = 0.25 * v
			}
		}
	}
	return x, class
}

// softmaxWays are the trainings that are compared, by name: similar pairs by a batch softmax, and records with classes by tuples and by
// all pairs. All are of the same records and the unit is one record.
func softmaxWays(epsilon float64) map[string]pairs.Spec {
	out := map[string]pairs.Spec{}
	common := pairs.Spec{Individuals: 2 * softmaxObjects, Dim: softmaxDim, Bound: 1, Rows: softmaxRows, Budget: privacy.Budget{Epsilon: epsilon, Delta: 1e-5}}
	for name, hidden := range map[string][]int{"linear": nil, "mlp": {8}} {
		net := embedding.MLP{In: softmaxDim, Hidden: hidden, Out: softmaxRows}
		network := &pairs.Network{Model: embedding.Model{Network: net, Output: embedding.Output{Unit: true}}, Start: net.Start(1), Origin: "public start of seed 1", Optimizer: algorithms.Optimizer{Update: "adam", Decay: "linear"}}
		for _, t := range []float64{0.5, 1, 2, 5, 20} {
			for _, symmetric := range []bool{false, true} {
				s := common
				s.Rows, s.Network, s.Loss = 0, network, embedding.InfoNCE{Temperature: t, Symmetric: symmetric}
				s.Pairs, s.Kappa, s.Sampling, s.Batch, s.Epochs, s.Clip = softmaxObjects, 1, pairs.Poisson, softmaxObjects/5, 6, 0.5
				out[fmt.Sprintf("%s %g,%s", s.Loss.Name(), t, name)] = s
			}
		}
		s := common
		s.Rows, s.Network, s.Loss, s.Tuple, s.Epochs = 0, network, embedding.NPair{Temperature: 1}, 4, 30
		out["npair of 4,"+name] = s
	}
	s := common
	s.Loss, s.Tuple, s.Epochs, s.StepSize = embedding.NPair{Temperature: 0.1}, 4, 30, 30
	out["npair of 4,matrix"] = s
	s.Loss, s.Tuple, s.AllPairs, s.Epochs, s.StepSize = embedding.Contrastive{Margin: 0.3}, 0, true, 10, 300
	out["all pairs,matrix"] = s
	return out
}

// TestNoiseOfASoftmax compares the noise of one release at epsilon 2: its standard deviation in units of the clip is the noise
// multiplier times the sensitivity; relative is the expected norm of the noise over the largest norm of the released mean. The last
// column is the sigma of a softmax whose replaced pair counts as one that is removed and one that is added.
func TestNoiseOfASoftmax(t *testing.T) {
	c := claim{file: "softmax-noise.csv", columns: "loss,model,releases,sensitivity,noise_multiplier,sigma,relative,sigma_removed_and_added", keys: 2}
	ways := softmaxWays(2)
	for _, name := range sortedKeys(ways) {
		c.lines = append(c.lines, claimed{name, true, func(t *testing.T) []float64 {
			p := must.Get(ways[name].Plan())(t)
			sigma, sensitivity, before := p.Noise().(privacy.Gaussian).Sigma, p.Certificate().Sensitivity(), p.Noise().(privacy.Gaussian)
			if s := p.Spec; s.Sampling == pairs.Poisson {
				c, err := privacy.PairSample{Group: s.Kappa, Pairs: s.Pairs, Rate: float64(s.Batch) / float64(s.Pairs), Expected: 1 / sensitivity}.Certify()
				if err == nil {
					before, err = privacy.CalibrateGaussian(c, s.Budget, p.Batches*s.Epochs)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			return []float64{float64(p.Batches * p.Spec.Epochs), sensitivity, sigma / sensitivity, sigma, p.NoiseToSignal(), before.Sigma}
		}})
	}
	c.check(t, 1e-3, 0)
}

// TestRecallOfASoftmax trains at epsilon 2, 8 and 1000 and compares recall at 1 and 5 on held-out objects: the part of the records with
// another record of their cluster among the 1 or 5 nearest, without the other record of the object. "features" are the records as they are.
func TestRecallOfASoftmax(t *testing.T) {
	c := claim{file: "softmax-recall.csv", columns: "loss,model,epsilon,seed,recall_at_1,recall_at_5", keys: 4}
	for _, epsilon := range []float64{2, 8, 1000} {
		seeds := uint64(2)
		if epsilon > 2 {
			seeds = 1
		}
		ways := softmaxWays(epsilon)
		for _, name := range sortedKeys(ways) {
			if strings.Contains(name, " 0.5,") || strings.Contains(name, "ntxent") && !strings.Contains(name, " 5,") {
				continue // noise alone, or as infonce
			}
			for seed := range seeds {
				often := seed == 0 && epsilon == 2 && (name == "infonce 5,linear" || name == "npair of 4,linear")
				c.lines = append(c.lines, claimed{fmt.Sprintf("%s,%g,%d", name, epsilon, seed), often, func(t *testing.T) []float64 {
					return recallOf(t, ways[name], seed)
				}})
			}
		}
	}
	for seed := range uint64(2) {
		c.lines = append(c.lines, claimed{fmt.Sprintf("none,features,0,%d", seed), true, func(*testing.T) []float64 {
			x, class := objects(softmaxObjects/2, 100+seed)
			return []float64{recall(x, softmaxDim, class, 1), recall(x, softmaxDim, class, 5)}
		}})
	}
	c.check(t, 0, 0.03)
}

func sortedKeys(m map[string]pairs.Spec) []string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// recallOf trains by a specification and evaluates on other objects.
func recallOf(t *testing.T, s pairs.Spec, seed uint64) []float64 {
	p := must.Get(s.Plan())(t)
	x, class := objects(softmaxObjects, seed)
	var list []pairgraph.Pair
	for i := range s.Pairs {
		list = append(list, pairgraph.Pair{A: int32(2 * i), B: int32(2*i + 1)})
	}
	g := must.Get(pairgraph.New(s.Individuals, list))(t)
	data := must.Get(embedding.NewData(x, s.Dim, embedding.L2, 1, g, make([]bool, len(list))))(t)
	if s.Pairs > 0 {
		class = nil
	}
	run := must.Get(pairs.Run(context.Background(), data, class, p, pairs.Options{Options: algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)}}))(t)
	x, class = objects(softmaxObjects/2, 100+seed)
	z := make([]float64, len(class)*softmaxRows)
	if s.Network != nil {
		must.Do(t, s.Network.Model.Embed(z, run.Weights, x, len(class)))
	} else {
		for i := range class {
			for r := range softmaxRows {
				for k := range softmaxDim {
					z[i*softmaxRows+r] += run.Weights[r*softmaxDim+k] * x[i*softmaxDim+k]
				}
			}
		}
	}
	return []float64{recall(z, softmaxRows, class, 1), recall(z, softmaxRows, class, 5)}
}

// recall is the part of the records of which one of the k nearest ones of other objects has their class.
func recall(z []float64, dim int, class []int32, k int) float64 {
	found := 0
	for i, c := range class {
		nearest := make([]float64, 0, len(class))
		own := math.Inf(1)
		for j := range class {
			if j/2 == i/2 {
				continue
			}
			q := 0.0
			for e := range dim {
				q += (z[i*dim+e] - z[j*dim+e]) * (z[i*dim+e] - z[j*dim+e])
			}
			if nearest = append(nearest, q); class[j] == c {
				own = min(own, q)
			}
		}
		slices.Sort(nearest)
		if own <= nearest[k-1] {
			found++
		}
	}
	return float64(found) / float64(len(class))
}
