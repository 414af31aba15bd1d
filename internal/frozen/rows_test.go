package frozen

import (
	"fmt"
	"reflect"

	"dyad"
	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/cluster"
	"dyad/algorithms/curve"
	"dyad/algorithms/evaluate"
	"dyad/algorithms/local"
	"dyad/algorithms/pairs"
	"dyad/algorithms/search"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// row is a plan of the table. made is its type in its package.
type row struct {
	name string
	make func() (made any, plan *algorithms.Plan, err error)
}

// sizes are the numbers of records, persons or users, and of features.
var sizes = [4][2]int{{60, 3}, {512, 8}, {5000, 20}, {40000, 30}}

// budgets of a plan for n records; pure is the second.
func budgets(n int) [2]privacy.Budget {
	return [2]privacy.Budget{{Epsilon: 1.25, Delta: privacy.DefaultDelta(n)}, {Epsilon: 1.25}}
}

// law names the budget of a row.
func law(b privacy.Budget) string {
	if b.Delta == 0 {
		return "pure"
	}
	return "approximate"
}

// ofPlan makes a row's function of one that plans.
func ofPlan[P any](plan func() (P, error), inner func(P) *algorithms.Plan) func() (any, *algorithms.Plan, error) {
	return func() (any, *algorithms.Plan, error) {
		p, err := plan()
		if err != nil {
			return p, nil, err
		}
		return p, inner(p), nil
	}
}

// rows are all plans of the table.
func rows() (all []row) {
	for i, size := range sizes {
		n, d := size[0], size[1]
		all = append(all, trainings(n, d, i == 1)...)
		all = append(all, streams(n, d)...)
		all = append(all, pairPlans(n, d, i < 2)...)
		all = append(all, searches(n, d, i < 2)...)
		all = append(all, clusters(n, d)...)
		all = append(all, evaluations(n)...)
		all = append(all, locals(n, d)...)
		all = append(all, curves(n, d)...)
	}
	return all
}

// shapes are the units of records: rows, persons, rows where a person may have several, and rows and persons of query groups.
func shapes(n, d int, more bool) map[string]dyad.Shape {
	all := map[string]dyad.Shape{
		"record": {Records: n, Features: d, LabelValues: 2},
		"person": {Records: n, Features: d, LabelValues: 2, PersonRows: 3},
	}
	if more {
		several := all["record"]
		several.RowsPerPerson, several.SelectedByLabel, several.BoundsFromData = 3, true, true
		all["row of several"] = several
		grouped := all["record"]
		for range n / 8 {
			grouped.Groups = append(grouped.Groups, 8)
		}
		all["record in a group"] = grouped
		grouped.PersonRows = 3
		all["person in a group"] = grouped
	}
	return all
}

// trainings are those of the catalogue, with each option that is a switch, of networks, and of auto.
func trainings(n, d int, more bool) (all []row) {
	add := func(name string, s dyad.Shape, o dyad.Options, b privacy.Budget) {
		o.Epsilon, o.Delta = b.Epsilon, &b.Delta
		all = append(all, row{fmt.Sprintf("train %s, %s, n=%d d=%d", name, law(b), n, d),
			ofPlan(func() (*dyad.Training, error) { return dyad.Plan(s, o) }, func(t *dyad.Training) *algorithms.Plan { return t.Plan })})
	}
	for unit, shape := range shapes(n, d, more) {
		for _, b := range budgets(n) {
			for _, task := range []string{dyad.AUC, dyad.Metric} {
				add("auto "+task+", "+unit, shape, dyad.Options{Task: task}, b)
			}
			for _, a := range algorithms.Catalog() {
				i := a.Info()
				task := dyad.AUC
				if i.MetricsOnly {
					task = dyad.Metric
				}
				for _, m := range i.Modes {
					if m == algorithms.NonPrivate && b.Delta == 0 {
						continue // it has no budget
					}
					add(fmt.Sprintf("%s %s, %s", i.Name, m, unit), shape, dyad.Options{Task: task, Algorithm: a, Mode: m}, b)
				}
				if !more || unit != "record" {
					continue
				}
				for _, option := range switches(a) {
					if with, err := algorithms.With(a, option); err == nil {
						add(i.Name+" "+option.Field+", "+unit, shape, dyad.Options{Task: task, Algorithm: with}, b)
					}
				}
				if !i.MetricsOnly {
					add(i.Name+" network, "+unit, shape, dyad.Options{Algorithm: a, Network: &dyad.Network{Hidden: []int{4}}}, b)
				}
				if _, score := attack.Loss(i).(engine.ScoreLoss); score && !i.ScoresOnly {
					add(i.Name+" metric, "+unit, shape, dyad.Options{Task: dyad.Metric, Algorithm: a}, b)
				}
			}
		}
	}
	return all
}

// switches are the options of an algorithm that are true or false, set, and those that count steps, as 2.
func switches(a any) (all []algorithms.Option) {
	t := reflect.TypeOf(a)
	for i := range t.NumField() {
		switch f := t.Field(i); {
		case f.IsExported() && f.Type.Kind() == reflect.Bool:
			all = append(all, algorithms.Option{Field: f.Name, Value: true})
		case f.IsExported() && f.Type.Kind() == reflect.Int:
			all = append(all, algorithms.Option{Field: f.Name, Value: 2})
		}
	}
	return all
}

// streams are the online algorithms in every reading.
func streams(n, d int) (all []row) {
	for _, s := range algorithms.StreamCatalog() {
		readings := []algorithms.Stream{s}
		if with, err := algorithms.StreamWith(s, algorithms.Option{Field: "Reading", Value: algorithms.SecretState}); err == nil {
			readings = append(readings, with)
		}
		for reading, s := range readings {
			for _, m := range s.Info().Modes {
				for name, o := range map[string]algorithms.StreamOptions{
					"all earlier": {Horizon: n}, "batches": {Horizon: n, Batch: n / 20, Buffer: 10}, "reservoir": {Horizon: n, Buffer: 10, Reservoir: true}, "classes": {Horizon: n, Buffer: 10, PerClass: true},
				} {
					if n > 10000 && o.Buffer == 0 {
						continue // the sums of so long a stream take seconds
					}
					all = append(all, row{fmt.Sprintf("online %s %s, reading %d, %s, record, n=%d d=%d", s.Info().Name, m, reading, name, n, d),
						ofPlan(func() (*algorithms.Plan, error) { return streamPlan(s, o, d, m) }, func(p *algorithms.Plan) *algorithms.Plan { return p })})
				}
			}
		}
	}
	return all
}

func streamPlan(s algorithms.Stream, o algorithms.StreamOptions, d int, m algorithms.Mode) (*algorithms.Plan, error) {
	problem := engine.Problem{N: 2, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	l2 := 0.0
	if s.Info().NeedsL2 {
		l2 = 0.5
	}
	spec, err := algorithms.NewStreamSpec(cpu.Backend{}, problem, o, l2, budgets(o.Horizon)[0], m)
	if err != nil {
		return nil, err
	}
	return s.Plan(spec)
}

// pairPlans are those of labelled pairs, in every unit, method and sampling, of tuples, of all pairs and of batches;
// secret batches, whose accounting takes long, where slow is set.
func pairPlans(n, d int, slow bool) (all []row) {
	add := func(name string, s pairs.Spec) {
		s.Individuals, s.Dim, s.Bound = n, d, 1
		for _, b := range budgets(n) {
			s.Budget = b
			all = append(all, row{fmt.Sprintf("%s, %s, n=%d d=%d", name, law(b), n, d),
				ofPlan(s.Plan, func(p *pairs.Plan) *algorithms.Plan { return &p.Plan })})
		}
	}
	for m := algorithms.Certified; m <= algorithms.NonPrivate; m++ {
		for unit := pairs.Individual; unit <= pairs.OnePair; unit++ {
			for method := pairs.Gradients; method <= pairs.Moments; method++ {
				s := pairs.Spec{Mode: m, Unit: unit, Method: method, Pairs: 3 * n, Kappa: 4, Loss: embedding.Contrastive{Margin: 1}}
				if unit == pairs.OnePair {
					s.Kappa = 1
				}
				add(fmt.Sprintf("pairs %v %v, %v", method, m, unit), s)
				if method == pairs.Input {
					s.ByClass = true
					add(fmt.Sprintf("pairs %v by class %v, %v", method, m, unit), s)
				}
				if method == pairs.Gradients {
					s.Noise, s.Shrink = privacy.KNormNoise, true
					add(fmt.Sprintf("pairs K-norm, shrunk %v, %v", m, unit), s)
				}
				if method == pairs.Gradients && slow && unit != pairs.Group {
					s.Noise, s.Shrink, s.Sampling = 0, false, pairs.Poisson
					add(fmt.Sprintf("pairs Poisson %v, %v", m, unit), s)
					s.Loss, s.Network = embedding.InfoNCE{Temperature: 0.5, Symmetric: true}, pairNetwork(d)
					add(fmt.Sprintf("pairs softmax %v, %v", m, unit), s)
				}
			}
		}
		tuples := pairs.Spec{Mode: m, Tuple: 4, Seed: 5, Loss: embedding.Triplet{Margin: 1}}
		add(fmt.Sprintf("pairs tuples %v, record", m), tuples)
		tuples.Network = pairNetwork(d)
		add(fmt.Sprintf("pairs tuples network %v, record", m), tuples)
		add(fmt.Sprintf("pairs all %v, record", m), pairs.Spec{Mode: m, AllPairs: true, Loss: embedding.Contrastive{Margin: 1}})
	}
	return all
}

func pairNetwork(d int) *pairs.Network {
	net, err := embedding.NewMLP(embedding.MLP{In: d, Hidden: []int{3}, Out: 1})
	if err != nil {
		panic(err)
	}
	return &pairs.Network{Model: embedding.Model{Network: net, Output: embedding.Output{Unit: true}}, Start: net.Start(3), Origin: "public start of seed 3",
		Optimizer: algorithms.Optimizer{Update: "adam", Decay: "linear"}}
}

// searches choose among settings on every road, and among models; random stopping, whose accounting takes long,
// where slow is set.
func searches(n, d int, slow bool) (all []row) {
	for unit, shape := range shapes(n, d, false) {
		for _, b := range budgets(n) {
			for _, road := range []search.Road{search.Compose, search.RandomStopping, search.Auto} {
				if road != search.Compose && !slow {
					break
				}
				o := dyad.SearchOptions{Epsilon: b.Epsilon, Delta: &b.Delta, Road: road}
				for _, name := range []string{"moments", "moments-descent"} {
					a, err := algorithms.ByName(name)
					if err != nil {
						panic(err)
					}
					o.Settings = append(o.Settings, dyad.Setting{Name: name, Options: dyad.Options{Algorithm: a}})
				}
				all = append(all, row{fmt.Sprintf("search %s, %s, %s, n=%d d=%d", road, unit, law(b), n, d),
					ofPlan(func() (*dyad.Search, error) { return dyad.PlanSearch(shape, o) }, func(s *dyad.Search) *algorithms.Plan { return &s.Plan.Plan })})
			}
			o := search.Options{Records: n, PersonRows: shape.PersonRows, Budget: b, Models: []search.Model{{Name: "a", Digest: "1"}, {Name: "b", Digest: "2"}}}
			all = append(all, row{fmt.Sprintf("search models, %s, %s, n=%d d=%d", unit, law(b), n, d),
				ofPlan(func() (*search.Plan, error) { return search.New(o) }, func(p *search.Plan) *algorithms.Plan { return &p.Plan })})
		}
	}
	return all
}

func clusters(n, d int) (all []row) {
	for unit, individuals := range map[string]string{"record": "", "individual": "each row is another individual"} {
		for _, b := range budgets(n) {
			for _, rounds := range []int{1, 4} {
				o := cluster.Options{Records: n, Clusters: 3, Dim: d, Radius: 2, Rounds: rounds, Seed: 7, Map: "map", Individuals: individuals, Budget: b}
				all = append(all, row{fmt.Sprintf("cluster %d rounds, %s, %s, n=%d d=%d", rounds, unit, law(b), n, d),
					ofPlan(func() (*cluster.Plan, error) { return cluster.New(o) }, func(p *cluster.Plan) *algorithms.Plan { return &p.Plan })})
			}
		}
	}
	return all
}

// evaluated are the kinds of evaluation; a threshold is chosen among those of "at".
func evaluated() map[string]evaluate.Options {
	return map[string]evaluate.Options{
		"figures":     {Model: "m", ScoreBound: 2},
		"at":          {Model: "m", ScoreBound: 2, At: []float64{0}},
		"thresholds":  {Model: "m", ScoreBound: 2, Thresholds: []float64{-1, 0.5}, At: []float64{0}},
		"loss":        {Model: "m", ScoreBound: 2, Loss: &evaluate.ClampedLoss{Name: "hinge", Phi: func(u float64) float64 { return max(0, 1-u) }, High: 3}},
		"classifiers": {Model: "m", Classifiers: []string{"one", "two"}},
		"difference":  {Model: "m", Compared: "other"},
	}
}

func evaluations(n int) (all []row) {
	for kind, o := range evaluated() {
		for unit, rows := range map[string]int{"record": 0, "person": 3} {
			for _, b := range budgets(n) {
				o := o
				o.Records, o.PersonRows, o.Budget = n, rows, b
				all = append(all, row{fmt.Sprintf("evaluate %s, %s, %s, n=%d", kind, unit, law(b), n),
					ofPlan(func() (*evaluate.Plan, error) { return evaluate.New(o) }, func(p *evaluate.Plan) *algorithms.Plan { return &p.Plan })})
			}
		}
	}
	return all
}

// curves are of private data: two algorithms, two epsilons and two splits.
func curves(n, d int) (all []row) {
	for unit, shape := range shapes(n, d, true) {
		for _, b := range budgets(n) {
			o := dyad.CurveOptions{Epsilons: []float64{0.5, b.Epsilon}, Delta: &b.Delta, Training: n - n/4, Splits: 2, HeldEpsilon: 0.75}
			for _, a := range []algorithms.Algorithm{algorithms.Moments{}, algorithms.DPGDSC{}} {
				o.Settings = append(o.Settings, dyad.Setting{Name: a.Info().Name, Options: dyad.Options{Algorithm: a}})
			}
			all = append(all, row{fmt.Sprintf("curve, %s, %s, n=%d d=%d", unit, law(b), n, d), ofPlan(func() (*curve.Plan, error) {
				c, err := dyad.PlanCurve(shape, o)
				if err != nil {
					return nil, err
				}
				return c.Plan, nil
			}, func(p *curve.Plan) *algorithms.Plan { return &p.Plan })})
		}
	}
	return all
}

func locals(n, d int) (all []row) {
	for _, m := range local.Methods() {
		p := local.Protocol{Method: m, Loss: localLoss(), Dim: d, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: n, Epochs: 3, Epsilon: 1.25}
		network := p
		network.Radius, network.L2, network.Network = 0, 0, &local.Network{Hidden: 2, Seed: 3}
		for model, p := range map[string]local.Protocol{"linear": p, "network": network} {
			all = append(all, row{fmt.Sprintf("local %s %s, user, n=%d d=%d", m, model, n, d),
				ofPlan(p.Plan, func(p *local.Plan) *algorithms.Plan { return &p.Plan })})
		}
	}
	return all
}

func localLoss() engine.MarginLoss {
	l, _ := engine.LibraryByName("logistic")
	e, err := l.Expression(engine.ExpressionOptions{})
	if err != nil {
		panic(err)
	}
	return e
}
