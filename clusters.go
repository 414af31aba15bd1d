package dyad

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/cluster"
	"dyad/docs/checker"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/internal/input"
	"dyad/internal/texts"
	"dyad/privacy"
)

// clustersFormat is the format of the files of clusters (docs/formats.md).
const clustersFormat = "dyad-clusters/1"

// clustersTask is the task in files of clusters.
const clustersTask = "clusters"

// ErrClusters is wrapped by the error of Load for a file that LoadClusters reads.
var ErrClusters = errors.New("dyad: this is a file of clusters, not a model of scores or distances")

// ClusterOptions decides what a clustering does and guarantees. All options are public.
type ClusterOptions struct {
	Clusters int
	Rounds   int    // 0 means cluster.DefaultRounds
	Seed     uint64 // seed of the first centres, public
	// Clip is the clipping norm of mapped records; 0 means a public bound of their norms. Do not derive it from private
	// data.
	Clip float64 `within:"[0,)" called:"norm that mapped records are clipped to"`
	// Metric, if it is not nil, maps the records before they are clustered. It must be public or released before. Its
	// own charge stays in the ledger. Its encoder must equal the encoder of the data.
	Metric *Model
	// LookAlikes is the rule by which CheckIndividuals compares ids. It is used only if the guarantee of Metric
	// protects one individual. The guarantee of the clusters then protects one individual as well, so that a
	// ledger can compose both charges.
	LookAlikes dataset.LookAlikes
	Epsilon    float64
	Delta      *float64 // nil is privacy.DefaultDelta
}

// Clustering is a planned clustering. Print Report().Text() before anything is charged.
type Clustering struct {
	*cluster.Plan
	metric   *Model
	features int
}

// PlanClusters plans private k-means for records of the shape s. It reads no data and makes no charge. It returns an
// error if persons have several rows, because the guarantee is for single rows.
func PlanClusters(s Shape, o ClusterOptions) (*Clustering, error) {
	if err := (input.Needs{Rows: "a clustering protects only single rows; make one row per person, then set role: " +
		"ignore for the person column"}).Of(s.lacks()); err != nil {
		return nil, err
	}
	radius, dim, err := mappedShape(o.Metric, s.Features)
	if err != nil {
		return nil, err
	}
	if o.Metric != nil {
		if err := o.Metric.carries("the metric (--metric)"); err != nil {
			return nil, err
		}
	}
	if err := prefixed(input.As(input.Ranges(o))); err != nil {
		return nil, err
	}
	who := ""
	if ofIndividuals(o.Metric) {
		who = identity(o.LookAlikes)
	}
	p, err := cluster.New(cluster.Options{
		Individuals: who,
		Records:     s.Records, Clusters: o.Clusters, Dim: dim, Radius: cmp.Or(o.Clip, radius), Rounds: o.Rounds,
		Seed: o.Seed, Map: mapDigest(o.Metric),
		Budget: Options{Epsilon: o.Epsilon, Delta: o.Delta}.Budget(s.Records), Provenance: s.Provenance,
	})
	if err != nil {
		return nil, input.As(err)
	}
	return &Clustering{Plan: p, metric: o.Metric, features: s.Features}, nil
}

// ofIndividuals reports whether the guarantee of a metric protects one individual, who may be in several pairs.
func ofIndividuals(m *Model) bool { return m != nil && m.Guarantee.Unit == algorithms.OneIndividual }

// LoadOptions returns the options of dataset.Load for the records. Labels are not read. Ids are read only if
// CheckIndividuals compares them.
func (o ClusterOptions) LoadOptions() dataset.Options {
	return dataset.Options{Labels: dataset.LabelsIgnored, KeepIDs: ofIndividuals(o.Metric)}
}

// CheckIndividuals returns an error if Metric protects one individual and the ids of the records do not tell
// individuals apart (dataset.CheckIDs). The records must have been read with LoadOptions.
func (o ClusterOptions) CheckIndividuals(d *dataset.Dataset) error {
	if !ofIndividuals(o.Metric) || d.IDs == nil {
		return nil
	}
	return input.As(dataset.CheckIDs(d.IDs, d.Name(), d.IDColumn(), o.LookAlikes))
}

// mapDigest identifies a map with its exact weights.
func mapDigest(m *Model) string {
	if m == nil {
		return "identity"
	}
	text := fmt.Append(nil, m.Weights)
	if m.Network != nil {
		text = fmt.Append(text, m.Network.identity())
	}
	return files.Digest(text)
}

// mappedShape returns the bound of the norms of mapped records, and their dimension.
func mappedShape(m *Model, features int) (radius float64, dim int, err error) {
	norm := engine.UnitBounds().FeatureNorm
	switch {
	case m == nil:
		return norm, features, nil
	case m.Task != Metric:
		return 0, 0, input.Errorf("dyad: a model of task %q gives scores; clusters need a metric (dyad pairs "+
			"train, dyad train --task metric)", m.Task)
	case m.Encoder.Dim() != features:
		return 0, 0, input.Errorf("dyad: the metric is for %d features, but the records have %d; read the records "+
			"with the encoder of the metric", m.Encoder.Dim(), features)
	case m.Network != nil:
		radius, err = m.reach()
		return radius, m.Network.Dim, err
	}
	f, err := m.factor()
	if err == nil && f.Rank == 0 {
		err = errors.New("dyad: the metric is zero: all distances are 0")
	}
	return math.Sqrt(f.Norm) * norm * (1 + 0x1p-20), f.Rank, input.As(err)
}

// mapped returns the records as a metric maps them, row-major. Each row is a function of its record alone.
func mapped(m *Model, r *engine.Records) ([]float64, error) {
	if m != nil {
		rows, _, err := m.Transform(r)
		return rows, err
	}
	rows := make([]float64, r.Len()*r.Dim())
	for i := range r.Len() {
		r.Row(i, rows[i*r.Dim():][:r.Dim()])
	}
	return rows, nil
}

// Clusters is the content of a file of clusters: the guarantee and all values that Assign needs. It may be published.
type Clusters struct {
	Format  string           `json:"format"`
	Version string           `json:"dyad_version"`
	Created time.Time        `json:"created"`
	Task    string           `json:"task"` // "clusters"
	DataID  string           `json:"data_id"`
	Run     string           `json:"run,omitempty"` // id of the run in the ledger
	Encoder *dataset.Encoder `json:"encoder"`       // maps raw columns to features
	Metric  *Model           `json:"metric,omitempty"`
	Radius  float64          `json:"radius"` // clipping norm of mapped records
	// Counts are the released numbers of records of each cluster. Their noise has the standard deviation CountNoise.
	Counts     []float64 `json:"counts"`
	CountNoise float64   `json:"count_noise"`
	// Centres has one row for each cluster, in the coordinates of mapped records.
	Centres   [][]float64       `json:"centres"`
	Report    algorithms.Report `json:"report"`
	Plan      json.RawMessage   `json:"plan,omitempty"`    // algorithms.Plan.Record of a charged run
	Options   map[string]any    `json:"options,omitempty"` // options of the command, if it had a file of options; nothing reads them
	Guarantee privacy.Guarantee `json:"guarantee"`
	verdict   checker.Later
}

// Clustered holds clusters and the outcome of their run.
type Clustered struct {
	*Clusters
	Outcome
}

// Run carries out a planned clustering of data. The charge, the release, the files and the errors are as in
// Training.Run, except that a resumed run starts again from the beginning, which takes seconds.
func (c *Clustering) Run(ctx context.Context, d *Data, o Run) (*Clustered, error) {
	if d.Records.ByPerson() || d.Records.Units() != c.Plan.Options.Records || d.Records.Dim() != c.features {
		return nil, input.Errorf("dyad: the data do not fit a plan for %d records of %d features, one row each; "+
			"plan with Data.Shape", c.Plan.Options.Records, c.features)
	}
	if c.metric != nil {
		if _, err := d.as(c.metric.Encoder); err != nil {
			return nil, err
		}
	}
	found, end, err := kind[*Clusters]{
		of: d.Source(), fresh: true, text: (*Clusters).size, load: LoadClusters,
		made: func(o Run, r *algorithms.Result) (*Clusters, error) { return c.clusters(d, r, o) },
		work: func(p algorithms.Options) (*algorithms.Result, error) {
			job := func(context.Context) ([]float64, error) { return mapped(c.metric, d.Records) }
			return algorithms.Execute(ctx, c.Job(job), p)
		},
	}.run(ctx, o)
	if end == nil {
		return nil, err
	}
	return &Clustered{Clusters: found, Outcome: *end}, err
}

// clusters returns the clusters of a result.
func (c *Clustering) clusters(d *Data, r *algorithms.Result, o Run) (*Clusters, error) {
	found, err := c.Read(r.Weights)
	if err != nil {
		return nil, prefixed(err)
	}
	report := c.Report()
	report.Guarantee = r.Guarantee
	return &Clusters{
		Format: clustersFormat, Version: Version, Created: o.Created.UTC().Truncate(time.Second), Task: clustersTask,
		DataID: cmp.Or(o.DataID, d.Source().DataID), Run: r.Run, Encoder: d.encoder, Metric: c.metric,
		Radius: c.Plan.Options.Radius,
		Counts: found.Counts, CountNoise: found.CountNoise, Centres: found.Centres, Report: report, Plan: r.Record,
		Options: o.Options, Guarantee: r.Guarantee,
	}, nil
}

// size returns the content of the file, which ends with a checksum as the content of a model file does, and an upper
// bound of its length that depends only on public numbers.
func (c *Clusters) size() (text []byte, most int, err error) {
	if text, err = files.Sealed(c); err != nil {
		return nil, 0, err
	}
	blank := *c
	blank.Counts, blank.Centres, blank.CountNoise = nil, nil, 0
	without, err := files.Sealed(blank)
	most = weightText
	for _, row := range c.Centres {
		most += weightText * (len(row) + 3) // plus the brackets of the row, and the number
	}
	return text, max(len(text), most+len(without)), err
}

// LoadClusters reads and checks a file of clusters.
func LoadClusters(path string) (*Clusters, error) {
	c, text := &Clusters{}, checker.Passing{}
	err := files.ReadChecked(path, "file of clusters", c, &text, func(seal *files.Seal) error {
		switch {
		case c.Format != clustersFormat:
			return fmt.Errorf("has format %q, but this program reads clusters of format %q", c.Format, clustersFormat)
		case !seal.Present() || !seal.Intact(c.Plan != nil):
			return files.ErrChanged
		}
		text.Plan, c.verdict = c.Plan, text.Later()
		return files.Damaged(c.complete())
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// complete reports a missing part of loaded clusters.
func (c *Clusters) complete() error {
	if c.Encoder == nil || len(c.Centres) == 0 || len(c.Counts) != len(c.Centres) || !(c.Radius > 0) ||
		math.IsInf(c.Radius, 0) {
		return errors.New("clusters need an encoder, centres, a count for each centre, and a finite radius above 0")
	}
	blank := *c
	blank.Encoder, blank.Metric, blank.Centres, blank.Counts = nil, nil, nil, nil
	if err := errors.Join(texts.Check(blank), c.Guarantee.Validate()); err != nil {
		return err
	}
	if c.Metric != nil {
		if err := c.Metric.complete(); err != nil {
			return fmt.Errorf("its metric: %w", err)
		}
	}
	_, dim, err := mappedShape(c.Metric, c.Encoder.Dim())
	for _, row := range c.Centres {
		if err == nil && len(row) != dim {
			err = fmt.Errorf("a centre has %d coordinates, but mapped records have %d", len(row), dim)
		}
	}
	return err
}

// Assign returns the number of the cluster of each record, starting at 1, in the order of the records. The records must
// be encoded by Encoder. The result is information about the records and has no guarantee.
func (c *Clusters) Assign(r *engine.Records) ([]int, error) {
	if r.Dim() != c.Encoder.Dim() {
		return nil, input.Errorf("dyad: the clusters are for records with %d features, not %d; read the records "+
			"with Clusters.Encoder", c.Encoder.Dim(), r.Dim())
	}
	rows, err := mapped(c.Metric, r)
	if err != nil {
		return nil, err
	}
	places := cluster.Assign(c.Centres, rows, c.Radius)
	for i := range places {
		places[i]++
	}
	return places, nil
}
