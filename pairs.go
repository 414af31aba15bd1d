package dyad

import (
	"context"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/input"
	"dyad/privacy"
)

// PairSource is the source of the pairs of a training: exactly one of File, Density and Classes is set. The pairing is
// public; features and labels are private.
type PairSource struct {
	// File is a file of labelled pairs: CSV with a header, or Parquet. One column of the schema of the records must
	// have role id. The schema needs no label column.
	File string
	// Options configures the reading of File. Without True and False the labels are "dissimilar" and "similar", or
	// "first" and "second" if the pairs are oriented. LookAlikes applies to all ids, not only to the ids in File.
	Options dataset.PairOptions
	// Density is the number of pairs to draw per individual. The pairs depend on ids and Seed only. The label of a pair
	// tells whether the labels of its two records differ.
	Density float64
	// DegreeCap is the largest number of pairs of one individual. Drawn pairs need a positive DegreeCap. If pairs
	// come from a file, only the first DegreeCap pairs of an individual are kept, and 0 keeps all pairs.
	DegreeCap int
	Seed      uint64 // public
	// Classes trains on tuples or on all pairs of the records, with the labels of the records, instead of given pairs.
	Classes bool
	// Network makes the metric of tuples nonlinear if Classes is set. If Network is nil, a matrix is learned. Compare
	// is "cosine" (also ""), which normalises the embeddings, or "distance". Clip must be 0, because the gradients of
	// tuples are clipped and Jacobians are not. Without Classes, pairs can train a network with embedding.InfoNCE,
	// which needs Compare "cosine". A Network without hidden layers is a linear map.
	Network *Network
}

// PairShape holds the public facts about individuals and their pairs.
type PairShape struct {
	Individuals, Features int
	Pairs                 int
	Classes               bool             // tuples or all pairs of records, instead of given pairs
	DegreeCap             int              // see PairSource
	Drawn                 *pairgraph.Graph // graph of drawn pairs; nil for the pairs of a file
	Network               *Network         // network with its defaults; nil for a matrix
	algorithms.Provenance
	Identity string // see pairs.Spec
}

// Pairs holds individuals with their labelled pairs or classes, read from files.
type Pairs struct {
	// Graph holds the pairs. Labels[i] is true if the individuals of pair i are dissimilar or the first is preferred.
	Graph  *pairgraph.Graph
	Labels []bool
	// Dropped is the number of pairs of the file that DegreeCap removed.
	Dropped int

	data    *Data
	order   []int32 // the rows of the individuals
	classes []int32 // classes of the individuals, if they are known
	shape   PairShape
}

// LoadSchema reads a schema for the records. If File has the pairs, the schema needs no labels.
func (s PairSource) LoadSchema(file string) (*dataset.Schema, error) {
	if s.labelled() {
		return dataset.LoadSchema(file)
	}
	return dataset.LoadUnlabelledSchema(file)
}

// LoadOptions returns the options of dataset.Load for the records.
func (s PairSource) LoadOptions() dataset.Options {
	if s.labelled() {
		return dataset.Options{KeepIDs: true}
	}
	return dataset.Options{KeepIDs: true, Labels: dataset.LabelsIgnored}
}

// labelled reports whether pairs or tuples compare the labels of records.
func (s PairSource) labelled() bool { return s.Density != 0 || s.Classes }

// Shape returns a PairShape for a plan without data. There are n individuals with d features each, and the number of
// pairs that a file lists is `listed`. If schema is nil, the origin of the records is unknown.
func (s PairSource) Shape(n, d, listed int, schema *dataset.Schema) (p PairShape, err error) {
	p = PairShape{Individuals: n, Features: d, Pairs: listed, Classes: s.Classes, DegreeCap: s.DegreeCap,
		Identity: identity(s.Options.LookAlikes)}
	if p.Network, err = s.Network.ofTuples(d); err != nil {
		return p, err
	}
	if schema != nil {
		if err := (input.Needs{Rows: schema.DataID +
			": pairs need one record for each individual, but the schema has role: person; to protect single rows, " +
			"set role: ignore"}).Of(input.Lacks{Rows: schema.ByPerson()}); err != nil {
			return p, err
		}
		p.Provenance = provenanceOf(schema)
		p.SelectedByLabel = p.SelectedByLabel && s.labelled() // pairs of a file leave out no record
	}
	if s.Density != 0 {
		if p.Drawn, err = s.draw(n); err == nil {
			p.Pairs = len(p.Drawn.Pairs())
		}
	}
	return p, err
}

// draw returns the graph of pairs drawn among n individuals.
func (s PairSource) draw(n int) (*pairgraph.Graph, error) {
	if s.DegreeCap == 0 {
		return nil, input.Errorf("dyad: to draw pairs, set --degree-cap, the maximum number of pairs of an individual")
	}
	drawn, err := pairgraph.Draw(n, s.Density, s.DegreeCap, s.Seed)
	if err != nil {
		return nil, input.As(err)
	}
	return pairgraph.New(n, drawn)
}

// OpenPairs reads records by a schema file, and reads or draws their pairs. It makes no charge.
func OpenPairs(path, schema string, s PairSource) (*Pairs, error) {
	if (s.File != "") != (s.Density == 0 && !s.Classes) || s.Density != 0 && s.Classes {
		return nil, input.Errorf("dyad: choose one of three: name a file of pairs, draw pairs, or learn from classes")
	}
	read, err := s.LoadSchema(schema)
	if err != nil {
		return nil, input.As(err)
	}
	d, err := load(path, read, s.LoadOptions())
	if err != nil {
		return nil, err
	}
	return s.Of(d)
}

// Of reads or draws pairs of the records in d. Load d with the options that s.LoadOptions returns.
func (s PairSource) Of(d *dataset.Dataset) (*Pairs, error) {
	n := d.Records.Len()
	if err := (input.Needs{TwoClasses: "the labels of this schema are graded; drawn pairs and tuples need two classes"}).Of(input.Lacks{TwoClasses: s.labelled() && d.Schema().IsGraded()}); err != nil {
		return nil, err
	}
	p := &Pairs{data: &Data{Records: d.Records, IDs: d.IDs, encoder: d.Encoder, labelled: d.HasLabels, files: d.Files,
		parts: d.DataFiles, pack: d.Pack}, order: make([]int32, n)}
	for i := range p.order {
		p.order[i] = int32(i)
	}
	var err error
	if p.shape, err = s.Shape(n, d.Encoder.Dim(), 0, d.Schema()); err != nil {
		return nil, err
	}
	switch {
	case s.Classes:
		if p.order, err = d.Order(s.Options.LookAlikes); err == nil {
			p.classes = pairs.ClassesOf(d.Records, p.order)
			p.Graph, err = pairgraph.New(n, nil)
		}
	case s.Density != 0:
		p.Graph, p.classes, p.Labels, err = d.Drawn(s.Options.LookAlikes, p.shape.Drawn.Pairs())
		p.shape.Drawn = p.Graph
	default:
		p.Graph, p.Labels, p.Dropped, err = d.Listed(s.File, s.Options, s.DegreeCap)
		p.data.files = append(p.data.files, s.File)
	}
	if err != nil {
		return nil, input.As(err)
	}
	p.shape.Pairs = len(p.Graph.Pairs())
	return p, nil
}

// Shape returns the public facts about the pairs.
func (p *Pairs) Shape() PairShape { return p.shape }

// Schema returns the schema that the records were read by.
func (p *Pairs) Schema() *dataset.Schema { return p.data.Schema() }

// identity returns the assumption of the guarantee about which ids are one individual.
func identity(l dataset.LookAlikes) string {
	if l == dataset.AllowLookAlikes {
		return "ids that look alike but differ in a byte are different individuals (--look-alike-ids allow)"
	}
	return "every record is a different individual; ids, if any, also differ without case, quotes, outer white " +
		"space, invisible characters and variants of characters (NFKC)"
}

const bradleyTerry = "bradley-terry"

// defaultRows is the largest default for the number of dimensions that a metric maps to.
const defaultRows = 16

// PairTraining is a planned training on pairs. Print Report().Text() before anything is charged.
type PairTraining struct{ *pairs.Plan }

// PlanPairs plans a training on the pairs that s describes. The individuals, features, pairs, bound and provenance come
// from s. The loss, the budget and all other settings come from spec. Zero fields of spec get public defaults. Rows
// becomes 16, or the number of features if that is smaller. For preferences it is 1. A network has its own dimension.
// It gets Adam and 100 epochs (5 with InfoNCE). A batch of pairs has 50 in paper mode, and else a twentieth of the
// pairs, but at least 50. Kappa becomes 1 if the unit is one pair, and the degree cap if the unit is an individual. If
// the unit is a group of drawn pairs, Kappa becomes kappa' of their public graph. Moments use all rows and no batch.
func PlanPairs(s PairShape, spec pairs.Spec) (*PairTraining, error) {
	spec.Individuals, spec.Dim, spec.Provenance, spec.Identity = s.Individuals, s.Features, s.Provenance, s.Identity
	if spec.Loss == nil {
		return nil, input.Errorf("dyad: training on pairs needs a loss; set pairs.Spec.Loss")
	}
	preferences := spec.Loss.Name() == bradleyTerry
	_, softmax := spec.Loss.(embedding.InfoNCE)
	switch {
	case preferences && (spec.Rows > 1 || s.Drawn != nil || s.Classes):
		return nil, input.Errorf("dyad: bradley-terry learns one row of weights from --pairs; leave --rows and " +
			"--density out")
	case preferences:
		spec.Rows = 1
	case s.Network != nil && !s.Classes && !softmax:
		return nil, input.Errorf("dyad: with this loss, a network cannot learn from pairs of individuals; use " +
			"--tuple or --loss infonce, or dyad train --model mlp")
	case s.Network != nil && (spec.Rows != 0 || spec.Network != nil):
		return nil, input.Errorf("dyad: PairSource.Network sets the dimension; leave pairs.Spec.Rows and " +
			"pairs.Spec.Network out")
	case s.Network != nil:
		if err := s.Network.describeTuples(&spec); err != nil {
			return nil, err
		}
	case spec.Rows == 0 && spec.Method != pairs.Moments:
		spec.Rows = min(defaultRows, s.Features)
	}
	if !s.Classes {
		spec.Pairs, spec.ByClass = s.Pairs, s.Drawn != nil
		if spec.Batch == 0 && spec.Method != pairs.Moments {
			if spec.Batch = 50; spec.Mode != algorithms.Paper {
				spec.Batch = max(50, s.Pairs/20)
			}
		}
		if spec.Kappa == 0 {
			spec.Kappa = defaultKappa(spec.Unit, s.Drawn, s.DegreeCap)
		}
	}
	spec.Bound = pairs.PublicBound(spec.Norm(), s.Features)
	p, err := spec.Plan()
	return &PairTraining{p}, input.As(err)
}

// defaultKappa returns the default of Kappa, a public number, or 0 if there is no default.
func defaultKappa(unit pairs.Unit, drawn *pairgraph.Graph, cap int) int {
	switch {
	case unit == pairs.OnePair:
		return 1
	case unit == pairs.Group && drawn != nil:
		return max(1, drawn.KappaBound(pairgraph.Transitive))
	case unit == pairs.Individual:
		return cap
	}
	return 0
}

// DefaultDelta returns the default delta. It is 0 for a specification that allows only pure epsilon.
func (s PairShape) DefaultDelta(spec pairs.Spec) float64 {
	if !s.Classes && (spec.Mode == algorithms.Paper || spec.Method == pairs.Input || spec.Method == pairs.Labels) {
		return 0
	}
	return privacy.DefaultDelta(s.Individuals)
}

// Fits returns an error if the pairs do not match the plan, or if an individual is in more pairs than the plan allows.
func (p *PairTraining) Fits(d *Pairs) error {
	spec, s := p.Spec, d.shape
	switch {
	case spec.Provenance != s.Provenance || spec.Identity != s.Identity || spec.ByClass != (s.Drawn != nil):
		return input.Errorf("dyad: the plan does not fit these pairs; plan with Pairs.Shape")
	case (spec.Network != nil) != (s.Network != nil) || spec.Network != nil && spec.Network.Origin != s.Network.origin():
		return input.Errorf("dyad: the plan and the source have different networks; plan with Pairs.Shape")
	case !s.Classes && spec.Unit == pairs.Individual && p.Mode != algorithms.NonPrivate &&
		d.Graph.MaxDegree() > spec.Kappa:
		return input.Errorf("dyad: an individual is in more than kappa = %d pairs; drop pairs with --degree-cap, "+
			"or plan for a larger --kappa", spec.Kappa)
	}
	return nil
}

// Run is Training.Run for pairs. The device Run.On computes the sums that it supports. Moments are summed on the CPU
// by the number of workers of Run.On, or by one worker if this number is 0.
func (p *PairTraining) Run(ctx context.Context, d *Pairs, o Run) (*Trained, error) {
	if err := p.Fits(d); err != nil {
		return nil, err
	}
	spec := p.Spec
	data, err := pairs.DataOf(d.data.Records, d.order, spec.Norm(), spec.Bound, d.Graph, d.Labels)
	if err != nil {
		return nil, err
	}
	return o.do(ctx, d.data.Source(),
		func(r *algorithms.Result) *Model { return d.model(p.Plan, r) },
		func(options algorithms.Options) (*algorithms.Result, error) {
			all := pairs.Options{Options: options, Networks: o.On.Terms(), Workers: max(o.On.Workers(), 1)}
			if _, softmax := spec.Loss.(embedding.InfoNCE); !d.shape.Classes && !softmax && spec.Method != pairs.Moments {
				all.Engine = o.On.Pairs()
			}
			return pairs.Run(ctx, data, d.classes, p.Plan, all)
		})
}

// model returns the model of a result. Scores keep their weights. A metric gets the coordinates of W^T W, which gives
// the distances of W x.
func (d *Pairs) model(p *pairs.Plan, r *algorithms.Result) *Model {
	s, report := p.Spec, p.Report()
	report.Guarantee = r.Guarantee
	var f algorithms.Facts
	f.Add("algorithm", p.Algorithm)
	f.AddSome("paper", report.Word("paper"))
	f.Add("mode", p.Mode.String())
	f.Add("records", s.Individuals)
	f.Add("features", s.Dim)
	f.Add("norm_bound", 1)
	f.Add("loss", s.Loss.Name())
	f.Add("schedule", s.StepRule())
	f.Add("steps", p.Batches*s.Epochs)
	f.AddSome("noise", report.Word("noise"))
	m := d.data.model(AUC, r)
	m.Report = algorithms.Report{Facts: f, Events: report.Events, Guarantee: r.Guarantee}
	if s.Loss.Name() != bradleyTerry {
		m.Task, m.Weights, m.PairLoss = Metric, r.Weights, &pairs.Stated{Name: s.Loss.Name(), Tuple: s.Tuple}
		if m.Network = d.shape.Network; m.Network == nil {
			m.Weights = engine.Symmetric{Dim: s.Dim}.Gram(r.Weights)
		}
		if name, value := s.Loss.Parameter(); name == "temperature" {
			m.PairLoss.Temperature = value
		} else {
			m.PairLoss.Margin = value
		}
	}
	if m.Pairs = &report; d.shape.Classes {
		m.Pairs, m.Tuples = nil, &report
	}
	return m
}
