package face

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cuda"
	"dyad/engine/dataset"
	"dyad/engine/device"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
)

// quick is a network that trains in a moment.
func quick(task string) dyad.Options {
	n := &dyad.Network{Hidden: []int{4}}
	if task == dyad.Metric {
		n.Dim = 3
	}
	return dyad.Options{Task: task, Epsilon: 2, Network: n,
		Algorithm: algorithms.GradientPerturbation{Steps: 4, Optimizer: algorithms.NetworkOptimizer()}}
}

func syntheticClinic(t *testing.T, n int) *dyad.Data {
	t.Helper()
	d := must.Get(dataset.SyntheticClinical(n, 1))(t)
	return dyad.NewData(d)
}

// A network is planned, trained, saved, loaded and used; what a file says of it is what it computes, and
// every reader of the first format refuses it.
func TestNetworkRoad(t *testing.T) {
	data := syntheticClinic(t, 200)
	for _, task := range []string{dyad.AUC, dyad.Metric} {
		plan := must.Get(dyad.Plan(data.Shape(), quick(task)))(t)
		file := filepath.Join(t.TempDir(), "m.json")
		run := dyad.Run{Public: true, Source: privacy.NewSeededSource(4), Out: file}
		made := must.Get(plan.Run(context.Background(), data, run))(t)
		m := must.Get(dyad.Load(file))(t)
		if m.Format != "dyad-model/2" || m.Network == nil || len(m.Weights) != plan.Coordinates() {
			t.Fatalf("%s: format %s, network %v, %d weights for %d coordinates", task, m.Format, m.Network, len(m.Weights),
				plan.Coordinates())
		}
		e := must.Get(m.Evaluate(context.Background(), data, dyad.EvaluateOptions{Among: data.Records}))(t)
		text := must.Get(os.ReadFile(file))(t)
		if task == dyad.Metric {
			rows, dim, err := m.Transform(data.Records)
			if err != nil || dim != 3 || len(rows) != 600 || len(e.KNN) != 2 ||
				e.KNN[0].Learned == e.KNN[0].Identity && e.KNN[1].Learned == e.KNN[1].Identity {
				t.Errorf("metric: %d numbers of dimension %d, %+v, %v", len(rows), dim, e.KNN, err)
			}
			for i := range 200 {
				if norm := math.Hypot(math.Hypot(rows[3*i], rows[3*i+1]), rows[3*i+2]); math.Abs(norm-1) > 1e-3 {
					t.Errorf("row %d of a cosine embedding has norm %v", i, norm)
				}
			}
		} else {
			s, err := m.Score(data.Records)
			if err != nil || len(s) != 200 || e.AUC == nil || e.Objective == nil {
				t.Errorf("%d scores, %+v, %v", len(s), e, err)
			}
			embedded, err1 := m.Embed(data.Records)
			weights, _, err2 := m.Readout()
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			x := make([]float64, 1)
			for i := range s {
				if embedded.Row(i, x); math.Abs(x[0]*weights[0]-s[i]) > 1e-9*weights[0] || math.Abs(x[0]) > 1 {
					t.Fatalf("score %d is %v, the read-out gives %v", i, s[i], x[0]*weights[0])
				}
			}
		}
		plain, _, _ := strings.Cut(string(text), ",\n  \"checksum\"") // as if an earlier version had written it
		for from, to := range map[string]string{"dyad_version": "dyad_version", "dyad-model/2": "dyad-model/1",
			`"features": 12`: `"features": 11`, `"kind": "mlp"`: `"kind": "tree"`,
			`"activation": "tanh"`: `"activation": "relu"`,
			"[\n      4\n    ]":    "[65536, 65536]", `"features": 12,`: `"features": 9000000000000000000,`} { // sizes that no memory holds
			if !strings.Contains(plain, from) {
				t.Fatalf("the file has no %s", from)
			}
			bad := filepath.Join(t.TempDir(), "bad.json")
			must.Do(t, os.WriteFile(bad, []byte(strings.ReplaceAll(plain, from, to)+"\n}\n"), 0o600))
			if _, err := dyad.Load(bad); (err == nil) != (from == to) {
				t.Errorf("%s: a file with %s in place of %s: %v", task, to, from, err)
			}
		}
		// It may be the start of another, and the report says so.
		o := quick(task)
		o.Network.Init = made.Model
		again := must.Get(dyad.Plan(data.Shape(), o))(t)
		if all := strings.Join(again.Guarantee.Assumptions, "; "); !strings.Contains(all,
			"the start is a model of public data") {
			t.Errorf("the report does not say where the start is from: %s", all)
		}
		must.Equal(t, again.Spec.Kernel.Problem().Domain().Start()[0], made.Weights[0], "the start is not that of the model")
	}
}

// What a network cannot do is refused with the reason, before anything is charged.
func TestNetworkRefusals(t *testing.T) {
	shape := syntheticClinic(t, 64).Shape()
	secret := &dyad.Model{Task: dyad.AUC, Weights: make([]float64, 4*13+4),
		Network: &dyad.Network{Kind: "mlp", Features: 12, Hidden: []int{4}, Dim: 1, Activation: "tanh"}}
	secret.Guarantee.Kind = privacy.None
	unknown := *secret
	unknown.Guarantee.Kind = ""
	nothing := *secret
	nothing.Guarantee.Kind = privacy.ApproxDP
	float32s := must.Get(device.Open(device.Options{Precision: cuda.FP32}))(t)
	for _, m := range []*dyad.Model{&unknown, &nothing} {
		o := quick(dyad.AUC)
		o.Network.Init = m
		if _, err := dyad.Plan(shape, o); err == nil || !strings.Contains(err.Error(), "without a guarantee") {
			t.Errorf("a start with the guarantee %+v: %v", m.Guarantee, err)
		}
	}
	for want, c := range map[string]struct {
		change func(o *dyad.Options)
		on     *device.Device
	}{
		"does not train networks": {change: func(o *dyad.Options) { o.Algorithm = algorithms.DPGDSC{} }},
		"moments does not":        {change: func(o *dyad.Options) { o.Algorithm = algorithms.Moments{} }},
		"in certified mode":       {change: func(o *dyad.Options) { o.Mode = algorithms.NonPrivate }},
		"takes no radius":         {change: func(o *dyad.Options) { o.Radius = 1 }},
		"gives one score":         {change: func(o *dyad.Options) { o.Network.Dim = 2 }},
		"GB of memory":            {change: func(o *dyad.Options) { o.Network.Hidden = []int{65536, 65536} }},
		"at most 2":               {change: func(o *dyad.Options) { o.Network.Hidden = []int{2, 2, 2} }},
		"have their own loss": {change: func(o *dyad.Options) {
			o.Task, o.Network.Compare,
				o.Loss.Name = dyad.Metric, "contrastive", "hinge"
		}},
		"without a guarantee":             {change: func(o *dyad.Options) { o.Network.Init = secret }},
		"must be a network with the same": {change: func(o *dyad.Options) { o.Network.Init = &dyad.Model{} }},
		"takes no precision":              {func(o *dyad.Options) { o.Task = dyad.Metric }, float32s},
		"delta > 0":                       {change: func(o *dyad.Options) { o.Delta = new(float64) }},
	} {
		o := quick(dyad.AUC)
		o.On = c.on
		c.change(&o)
		must.Fail(dyad.Plan(shape, o))(t, want)
	}
}

// Every algorithm but those whose guarantee is one of single gradients refuses networks, by the program
// and by itself: a clipped term is the gradient of no function.
func TestAlgorithmsRefuseNetworks(t *testing.T) {
	shape := syntheticClinic(t, 64).Shape()
	takes := map[string]bool{algorithms.GradientPerturbation{}.Info().Name: true,
		algorithms.SubsampledDescent{}.Info().Name: true, algorithms.DPGDC2{}.Info().Name: true}
	planned := 0
	for _, a := range algorithms.Catalog() {
		for _, task := range []string{dyad.AUC, dyad.Metric} {
			o := quick(task)
			o.Algorithm = a
			if _, err := dyad.Plan(shape, o); (err == nil) != takes[a.Info().Name] {
				t.Errorf("%s, %s: %v", a.Info().Name, task, err)
			}
			loss := must.Get(o.Network.PairLoss(task, shape.Features, o.Loss))(t)
			for _, mode := range []algorithms.Mode{algorithms.Certified, algorithms.Paper} {
				for _, l2 := range []float64{0, 0.01} {
					p := engine.Problem{N: 50, D: shape.Features, Bounds: engine.UnitBounds(), Loss: loss, Radius: loss.Radius()}
					s := must.Get(algorithms.NewSpec(embedding.Backend{Workers: 1}, p, l2,
						privacy.Budget{Epsilon: 1, Delta: 1e-5}, mode))(t)
					if _, err := a.Plan(s); err == nil {
						if planned++; !takes[a.Info().Name] || mode != algorithms.Certified {
							t.Errorf("%s, %s, %v mode, L2 weight %g: plans a network", a.Info().Name, task, mode, l2)
						}
					}
				}
			}
		}
	}
	for _, a := range algorithms.StreamCatalog() {
		loss := must.Get(quick(dyad.AUC).Network.PairLoss(dyad.AUC, shape.Features, dyad.Loss{}))(t)
		p := engine.Problem{N: 50, D: shape.Features, Bounds: engine.UnitBounds(), Loss: loss, Radius: loss.Radius()}
		for _, mode := range []algorithms.Mode{algorithms.Certified, algorithms.Paper, algorithms.NonPrivate} {
			s := must.Get(algorithms.NewSpec(embedding.Backend{Workers: 1}, p, 0.01,
				privacy.Budget{Epsilon: 1, Delta: 1e-5}, mode))(t)
			must.Err(a.Plan(s))(t, "%s, %v mode: plans a network", a.Info().Name, mode)
		}
	}
	must.Equal(t, planned, 12, "plans")
}

// A run on public data does not hide that its start was trained on private data: its model would be public,
// and could start others without a word.
func TestPublicRunsTakePublicStarts(t *testing.T) {
	data := syntheticClinic(t, 64)
	o := quick(dyad.AUC)
	start := &dyad.Model{Task: dyad.AUC, DataID: "private", Weights: make([]float64, 4*13+4),
		Network: &dyad.Network{Kind: "mlp", Features: 12, Hidden: []int{4}, Dim: 1, Activation: "tanh"}}
	o.Network.Init = start
	for _, kind := range []privacy.Kind{privacy.ApproxDP, privacy.Public} {
		start.Guarantee = privacy.Guarantee{Kind: kind, Epsilon: 1, Delta: 1e-5}
		plan, err := dyad.Plan(data.Shape(), o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Run(context.Background(), data, dyad.Run{Public: true, Source: privacy.NewSeededSource(4)})
		must.Equal(t, err != nil && strings.Contains(err.Error(), "from a model of private data"), kind != privacy.Public,
			"a start with the guarantee %s: %v", kind, err)
	}
}
