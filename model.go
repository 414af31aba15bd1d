package dyad

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/docs/checker"
	"dyad/engine"
	"dyad/engine/curves"
	"dyad/engine/dataset"
	"dyad/engine/export"
	"dyad/engine/metrics"
	"dyad/internal/files"
	"dyad/internal/input"
	"dyad/internal/texts"
	"dyad/privacy"
)

// Version is the version of the library and the program. Models record it.
const Version = "0.1.0"

// modelFormat is the format of model files (docs/formats.md). networkFormat is the format of files of networks; readers
// that know only the first format refuse them.
const (
	modelFormat   = "dyad-model/1"
	networkFormat = "dyad-model/2"
)

// format returns the format of the model's file.
func (m *Model) format() string {
	if m.Network != nil {
		return networkFormat
	}
	return modelFormat
}

// Model is the content of a model file: the guarantee and all that scoring or mapping needs. It may be published.
type Model struct {
	Format   string    `json:"format"`
	Version  string    `json:"dyad_version"`
	Created  time.Time `json:"created"`
	Task     string    `json:"task"`
	Loss     *Loss     `json:"loss,omitempty"` // nil means the logistic loss
	DataID   string    `json:"data_id"`
	Run      string    `json:"run,omitempty"` // id of the run in the ledger
	Features []string  `json:"features"`      // names of the features of the weights
	Weights  []float64 `json:"weights"`       // for encoded features; the weights of a metric are engine.Symmetric coordinates
	// WeightErrors are the standard errors of the weights, computed from what was released
	// (algorithms.Moments.Intervals). They are nil without intervals.
	WeightErrors []float64 `json:"weight_standard_errors,omitempty"`
	// LogOdds holds the log odds of the positive class, from released numbers. It is nil without second moments.
	LogOdds *metrics.LogOdds `json:"log_odds,omitempty"`
	// CurveNoise holds the covariances of the noise of the weights in the blocks of the encoder
	// (algorithms.Moments.Blocks). Curves computes its bands from them. It is nil without a basis.
	CurveNoise []float64         `json:"curve_noise,omitempty"`
	Network    *Network          `json:"network,omitempty"` // the network that the weights belong to; nil for a linear model
	Encoder    *dataset.Encoder  `json:"encoder"`           // maps raw columns to features
	Report     algorithms.Report `json:"report"`

	// Pairs is the report of a run on labelled pairs. If Pairs is set, Report has only the fields that a
	// report on pairs and a report on records have in common.
	Pairs *algorithms.Report `json:"pairs_report,omitempty"`
	// Tuples is the report of a run on records with classes.
	Tuples *algorithms.Report `json:"tuples_report,omitempty"`
	// PairLoss is the loss of a metric that was learned from pairs or from tuples.
	PairLoss *pairs.Stated `json:"pair_loss,omitempty"`

	// Plan is the algorithms.Plan.Record of a charged run, from which the guarantee can be computed again
	// (docs/verify.md). It is nil for other models.
	Plan     json.RawMessage `json:"plan,omitempty"`
	Approved string          `json:"approved,omitempty"` // Run.Approved

	// Options holds the options of the command that made the model, if they affect the guarantee. Nothing reads them.
	Options map[string]any `json:"options,omitempty"`

	// Guarantee is the guarantee of the plan, with the assumptions and warnings that the run added.
	Guarantee privacy.Guarantee `json:"guarantee"`

	read *origin // nil for a model that was not read
}

// Text returns the content of the model's file. The last member is a checksum: the SHA-256 of the file
// without this member.
func (m *Model) Text() ([]byte, error) {
	named := *m
	named.Format = cmp.Or(m.Format, m.format())
	return files.Sealed(&named)
}

// Size returns Text and an upper bound of its length. The bound depends on the weights only through their number.
func (m *Model) Size() (text []byte, most int, err error) {
	if text, err = m.Text(); err != nil {
		return nil, 0, err
	}
	blank := *m
	blank.Weights, blank.WeightErrors, blank.LogOdds, blank.CurveNoise = nil, nil, nil, nil
	without, err := blank.Text()
	most = len(without) + weightText*len(m.Weights)
	for _, numbers := range [][]float64{m.WeightErrors, make([]float64, m.LogOdds.Lines()), m.CurveNoise} {
		if len(numbers) > 0 { // plus the line of their key
			most += weightText * (len(numbers) + 2)
		}
	}
	return text, max(len(text), most), err
}

// weightText is the length of the longest line of a weight: 4 blanks, a float64 of up to 24 bytes, comma and line feed.
const weightText = 32

// Save writes the model to a file, completely or not at all. It does not replace an existing file. For a private run,
// set Run.Out instead: then nothing is lost if the program is stopped.
func (m *Model) Save(path string) error {
	text, err := m.Text()
	if err != nil {
		return err
	}
	out, err := files.NewOutput(path, false)
	if out == nil || err != nil {
		return prefixed(err)
	}
	return prefixed(out.Write(files.Shared, text))
}

// origin is the file that a model was read from.
type origin struct {
	sum     string // the checksum of the file, "" without one
	verdict checker.Later
}

// loss returns the pair loss that the model was trained with.
func (m *Model) loss() (engine.Loss, error) {
	of := *cmp.Or(m.Loss, &Loss{})
	if m.Network == nil {
		return of.Of(m.Task)
	}
	n, err := m.Network.filled(m.Task, m.Network.Features)
	if m.Task != AUC && m.Task != Metric {
		err = fmt.Errorf("its task is %q, not %q or %q", m.Task, AUC, Metric)
	}
	if err != nil || !n.same(m.Network) || n.Gain != m.Network.Gain {
		return nil, input.Errorf("dyad: the network of the model is incomplete (%v)", err)
	}
	n.Init = m // the weights of the file are the initial weights: none are drawn, whatever sizes the file claims
	return n.loss(of)
}

// Load reads a model file and checks its texts, numbers and network. Model.Verdict checks the guarantee of the file.
func Load(path string) (*Model, error) {
	m, text := &Model{}, checker.Passing{}
	err := files.ReadChecked(path, "model", m, &text, func(seal *files.Seal) error {
		text.Plan = m.Plan
		m.read = &origin{sum: seal.Sum(), verdict: text.Later()}
		switch {
		case !seal.Intact(m.Plan != nil):
			return files.ErrChanged
		case m.Format == clustersFormat:
			return ErrClusters
		case m.Format != modelFormat && m.Format != networkFormat || m.Format != m.format():
			return fmt.Errorf("has format %q; want %q, or %q for a network", m.Format,
				modelFormat, networkFormat)
		}
		return files.Damaged(m.complete())
	})
	if errors.Is(err, ErrClusters) {
		err = input.As(fmt.Errorf("%w: %s; to assign records to the clusters, use dyad predict", ErrClusters, path))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// complete reports a missing part of a loaded model, and refuses texts and numbers that a model cannot have.
func (m *Model) complete() error {
	blank := *m
	// the schema has the names of features
	blank.Weights, blank.WeightErrors, blank.LogOdds, blank.CurveNoise, blank.Encoder, blank.Features = nil, nil,
		nil, nil, nil, nil
	if err := cmp.Or(texts.Check(blank), m.Guarantee.Validate()); err != nil {
		return err
	}
	loss, err := m.loss()
	if err != nil {
		return fmt.Errorf("the loss of the model: %w", err)
	}
	if m.Encoder == nil || len(m.Weights) != loss.ParamDim(m.Encoder.Dim()) ||
		m.Network != nil && m.Network.Features != m.Encoder.Dim() {
		return errors.New("the encoder is missing, or its features do not fit the model")
	}
	if len(m.WeightErrors) > 0 && len(m.WeightErrors) != len(m.Weights) {
		return fmt.Errorf("it has %d standard errors, but %d weights", len(m.WeightErrors), len(m.Weights))
	}
	wrong := func(x float64) bool { return !(math.Abs(x) <= math.MaxFloat64) }
	if slices.ContainsFunc(m.WeightErrors, func(e float64) bool { return wrong(e) || e < 0 }) {
		return errors.New("a standard error of its weights is negative or not finite")
	}
	if i := slices.IndexFunc(m.Weights, wrong); i >= 0 {
		return fmt.Errorf("weight %d is not finite", i+1)
	}
	if err := m.LogOdds.Check(len(m.Weights)); err != nil || m.CurveNoise == nil {
		return err
	}
	return curves.Check(m.Encoder, m.CurveNoise)
}

// Curves returns a curve for each column: what the column adds to a linear score. If the model file has CurveNoise,
// each curve has a band for its noise. The curves follow from the model alone, so its guarantee covers them.
func (m *Model) Curves() ([]curves.Curve, error) {
	if m.Task != AUC || m.Network != nil || m.Encoder.Schema().Features > 0 {
		return nil, input.Errorf("dyad: curves need a linear score of named columns; this model (task %q) has none", m.Task)
	}
	return curves.Of(m.Encoder, m.Weights, m.CurveNoise), nil
}

// Surfaces returns the contributions of the schema's interactions to a linear score. The contributions of single
// columns are the Curves. If the schema has no interactions, Surfaces returns nil. Like the curves, the surfaces follow
// from the model alone.
func (m *Model) Surfaces() ([]curves.Surface, error) {
	if _, err := m.Curves(); err != nil {
		return nil, err
	}
	return curves.Surfaces(m.Encoder, m.Weights), nil
}

// Open reads a data file in the format of the training data, to be scored or mapped. It does not read labels, and they
// may be missing. The records keep the order of the file.
func (m *Model) Open(path string) (*Data, error) {
	d, err := dataset.Load(path, m.Encoder.Schema(),
		dataset.Options{Labels: dataset.LabelsIgnored, KeepIDs: true, Persons: dataset.IgnorePersons})
	if err != nil {
		return nil, input.As(err)
	}
	return &Data{Records: d.Records, IDs: d.IDs, encoder: d.Encoder, files: d.Files, parts: d.DataFiles, pack: d.Pack}, nil
}

// Score returns one score for each record, in the order of the records. Records with a higher score rank as more
// positive. The scores are information about the records and have no guarantee.
func (m *Model) Score(r *engine.Records) ([]float64, error) {
	if err := (input.Needs{Scores: fmt.Sprintf("a model of task %q has no scores; call Transform to map records by "+
		"the metric", m.Task)}).Of(input.Lacks{Scores: m.Task != AUC}); err != nil {
		return nil, err
	}
	r, linear, err := m.embedded(r)
	if err != nil {
		return nil, err
	}
	return metrics.Scores(r, linear.Weights)
}

// Transform maps each record x to L x, where L^T L = W is the matrix of the metric, or to f(x) for a network f. The
// Euclidean distances of the output are the learned distances. It returns n rows of dim numbers each, row-major; dim is
// 0 for the zero metric. The rows are information about the records and have no guarantee.
func (m *Model) Transform(r *engine.Records) (rows []float64, dim int, err error) {
	why := fmt.Sprintf("a model of task %q is not a metric; call Score", m.Task)
	if err := (input.Needs{Metric: why}).Of(input.Lacks{Metric: m.Task != Metric}); err != nil {
		return nil, 0, err
	}
	if m.Network != nil {
		return m.embeddings(r)
	}
	factor, err := m.factor()
	if err != nil {
		return nil, 0, err
	}
	rows, err = metrics.Transform(r, factor)
	return rows, factor.Rank, err
}

// Matrix returns the row-major matrix of a Mahalanobis metric, nil for other models.
func (m *Model) Matrix() []float64 {
	if m.Task != Metric || m.Network != nil {
		return nil
	}
	return metricMatrix(m.Weights, m.Encoder.Dim())
}

// factor returns the linear map of a metric. It returns an error if the weights of an edited file are not a metric.
func (m *Model) factor() (metrics.MetricFactor, error) {
	f, err := metrics.FactorMetric(m.Matrix(), m.Encoder.Dim())
	if err != nil {
		err = input.Errorf("dyad: the weights of the model are not a metric; use the unedited model file: %w", err)
	}
	return f, err
}

// metricMatrix returns the row-major d x d matrix of a metric model's weights.
func metricMatrix(w []float64, d int) []float64 {
	m := make([]float64, d*d)
	engine.Symmetric{Dim: d}.Unpack(m, w)
	return m
}

// Export returns the model in a format of other programs (export.Formats), with its guarantee in words and its
// checksum. table is the name of the table that SQL selects from; "" means records.
func (m *Model) Export(format, table string) ([]byte, error) {
	f, err := m.function()
	if err != nil {
		return nil, err
	}
	text, err := f.Write(format, table)
	return text, input.As(err)
}

// function returns the function of raw columns that Score or Transform computes.
func (m *Model) function() (*export.Function, error) {
	checksum, err := m.checksum()
	if err != nil {
		return nil, err
	}
	f := &export.Function{Encoder: m.Encoder, Output: cmp.Or(map[string]string{Metric: "z"}[m.Task], "score"), About: []export.Fact{
		{Name: "guarantee", Text: m.Guarantee.Words()},
		{Name: "data_id", Text: m.DataID},
		{Name: "task", Text: m.Task},
		{Name: "model", Text: checksum},
		{Name: "dyad_version", Text: m.Version},
	}}
	if m.Network != nil {
		net, err := m.Network.plain()
		if err == nil {
			err = f.AddNetwork(net, export.Activation(m.Network.Activation), m.Weights)
		}
		return f, input.As(err)
	}
	layer := export.Layer{Name: "weights", Rows: 1, Cols: m.Encoder.Dim(), W: m.Weights}
	if m.Task == Metric {
		factor, err := m.factor()
		if err != nil {
			return nil, err
		}
		if factor.Rank == 0 {
			return nil, input.Errorf("dyad: the metric is zero: all distances are 0")
		}
		layer = export.Layer{Name: "factor", Rows: factor.Rank, Cols: factor.Dim, W: factor.L}
	}
	f.Layers = []export.Layer{layer}
	return f, nil
}

// checksum returns the checksum of the model's file as it was read or would be written.
func (m *Model) checksum() (string, error) {
	if m.read != nil && m.read.sum != "" {
		return m.read.sum, nil
	}
	text, err := m.Text()
	if err != nil {
		return "", err
	}
	return files.SumOf(text), nil
}
