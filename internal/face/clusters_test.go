package face

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dyad"
	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/engine/team"
	"dyad/internal/must"
	"dyad/privacy"
)

// A clustering by each kind of map is charged before it reads a record, is saved, and assigns what it was saved for as before
// it was saved; the radius covers every mapped record.
func TestClusterFace(t *testing.T) {
	inClinic(t)
	data, _, book := opened(t, dyad.Options{})
	metric := func(n *dyad.Network) *dyad.Model {
		p := must.Get(dyad.OpenPairs("patients.csv", "patients.yaml", dyad.PairSource{Classes: true, Network: n, Seed: 1}))(t)
		spec := pairs.Spec{Loss: embedding.Triplet{Margin: 1}, Tuple: 4, Seed: 1,
			Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}}
		if n != nil {
			spec.Loss, spec.Epochs = embedding.NPair{Temperature: 1}, 2
		}
		plan := must.Get(dyad.PlanPairs(p.Shape(), spec))(t)
		m := must.Get(plan.Run(context.Background(), p, dyad.Run{Ledger: book}))(t)
		return m.Model
	}
	before, _ := charges(t, book)
	for name, m := range map[string]*dyad.Model{"identity": nil, "matrix": metric(nil),
		"network": metric(&dyad.Network{Hidden: []int{4}, Dim: 3})} {
		p := must.Get(dyad.PlanClusters(data.Shape(), dyad.ClusterOptions{Clusters: 2, Metric: m, Epsilon: 5}))(t)
		if m != nil {
			rows, dim, err := m.Transform(data.Records)
			if err != nil || dim != p.Options.Dim {
				t.Fatalf("%s: %d dimensions, planned %d: %v", name, dim, p.Options.Dim, err)
			}
			for i := 0; i < len(rows); i += dim {
				square := 0.0
				for _, v := range rows[i : i+dim] {
					square += v * v
				}
				if r := p.Options.Radius; square > r*r {
					t.Errorf("%s: a mapped record is longer than the radius %v", name, r)
				}
			}
		}
		found, err := p.Run(context.Background(), data, dyad.Run{Ledger: book, Out: name + ".json"})
		if err != nil || found.File == "" || found.Seconds != 0 {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		saved := must.Get(dyad.LoadClusters(name + ".json"))(t)
		places := must.Get(found.Assign(data.Records))(t)
		again := must.Get(saved.Assign(data.Records))(t)
		for i := range places {
			if places[i] != again[i] || places[i] < 1 || places[i] > 2 {
				t.Fatalf("%s: record %d is in cluster %d, and in %d of the saved ones", name, i, places[i], again[i])
			}
		}
		if _, err := dyad.Load(name + ".json"); !errors.Is(err, dyad.ErrClusters) {
			t.Errorf("%s: read as a model: %v", name, err)
		}
	}
	if charged, released := charges(t, book); charged <= before+2 || charged != released {
		t.Errorf("%d charges, %d of them released", charged, released)
	}
}

// What a clustering does not do is refused before anything is charged.
func TestClustersRefuse(t *testing.T) {
	inClinic(t)
	data, plan, book := opened(t, dyad.Options{})
	scores := must.Get(plan.Run(context.Background(), data, dyad.Run{Ledger: book}))(t)
	_, exact, _ := opened(t, dyad.Options{Task: dyad.Metric, Mode: algorithms.NonPrivate})
	metric := must.Get(exact.Run(context.Background(), data, dyad.Run{Ledger: book}))(t)
	for want, change := range map[string]func(*dyad.Shape, *dyad.ClusterOptions){
		"without a guarantee":            func(_ *dyad.Shape, o *dyad.ClusterOptions) { o.Metric = metric.Model },
		"only single rows; make one row": func(s *dyad.Shape, _ *dyad.ClusterOptions) { s.PersonRows = 3 },
		"clusters need a metric":         func(_ *dyad.Shape, o *dyad.ClusterOptions) { o.Metric = scores.Model },
		"clipped to is -1":               func(_ *dyad.Shape, o *dyad.ClusterOptions) { o.Clip = -1 },
		"0 clusters":                     func(_ *dyad.Shape, o *dyad.ClusterOptions) { o.Clusters = 0 },
		"the radius is 1e-200":           func(_ *dyad.Shape, o *dyad.ClusterOptions) { o.Clip = 1e-200 },
		"epsilon is -1, must be above":   func(_ *dyad.Shape, o *dyad.ClusterOptions) { o.Epsilon = -1 },
	} {
		s, o := data.Shape(), dyad.ClusterOptions{Clusters: 2, Epsilon: 1}
		change(&s, &o)
		if _, err := dyad.PlanClusters(s, o); !errors.Is(err, dyad.ErrInput) && !errors.Is(err, algorithms.ErrAssumption) ||
			!strings.Contains(err.Error(), strings.Split(want, ",")[0]) {
			t.Errorf("%s: %v", want, err)
		}
	}
	p := must.Get(dyad.PlanClusters(data.Shape(), dyad.ClusterOptions{Clusters: 2, Epsilon: 1}))(t)
	train, _ := must.Get2(data.Split(0.5, 1))(t)
	must.Fail(p.Run(context.Background(), train, dyad.Run{Ledger: book}))(t, dyad.ErrInput, "other records")
	if _, err := p.Run(context.Background(), data, dyad.Run{Ledger: book, Team: &team.Leader{}}); !errors.Is(err,
		dyad.ErrInput) || !strings.Contains(err.Error(), "one process") {
		t.Errorf("a team: %v", err)
	}
	if charged, _ := charges(t, book); charged != 2 {
		t.Errorf("%d charges, want those of the trainings alone", charged)
	}
}

// Records held in float32 are clustered as the float64 records that they are.
func TestClustersOfFloat32(t *testing.T) {
	inClinic(t)
	var releases [][]float64
	for _, store := range []string{dataset.StoreFloat32, dataset.StoreFloat64} {
		s := must.Get(dataset.LoadUnlabelledSchema("patients.yaml"))(t)
		s.Store = dataset.StoreFloat32 // the encoder rounds the same
		d := must.Get(dataset.Load("patients.csv", s, dataset.Options{Labels: dataset.LabelsIgnored}))(t)
		data := dyad.NewData(d)
		if store == dataset.StoreFloat64 {
			n, dim := d.Records.Len(), d.Records.Dim()
			x := make([]float64, n*dim)
			for i := range n {
				d.Records.Row(i, x[i*dim:][:dim])
			}
			data.Records = must.Get(engine.NewRecords(x, make([]float64, n), dim, engine.UnitBounds()))(t)
		}
		p := must.Get(dyad.PlanClusters(data.Shape(), dyad.ClusterOptions{Clusters: 3, Epsilon: 5}))(t)
		c := must.Get(p.Run(context.Background(), data, dyad.Run{Public: true, Source: privacy.NewSeededSource(1)}))(t)
		releases = append(releases, append(c.Counts, c.Centres[0]...))
	}
	for i := range releases[0] {
		if releases[0][i] != releases[1][i] {
			t.Fatalf("released number %d is %v, and %v from the same records in float64", i, releases[0][i], releases[1][i])
		}
	}
}
