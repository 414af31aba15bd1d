package algorithms

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// These are the versions of the record of a plan in a model file (docs/formats.md).
const (
	planFormat    = "dyad-plan/2"
	oldPlanFormat = "dyad-plan/1" // has one release for each event, and certificates of trainings only
)

// Record returns the plan as JSON, for model files. It has the public numbers from which somebody else can recompute
// the certificates, the noise and the guarantee (docs/theory.md#checked-models). The charge in the ledger has the
// RecordHash of the record. The record is the same in every attempt at a run.
func (p *Plan) Record() (json.RawMessage, error) {
	rows := make([]Releases, len(p.Releases))
	for i := range rows {
		rows[i] = p.Releases[i : i+1]
	}
	return p.record(planFormat, rows)
}

// oldRecord returns the record that an earlier version of this program made of the plan. The ledger has its hash if
// that version charged the run.
func (p *Plan) oldRecord() (json.RawMessage, error) {
	return p.record(oldPlanFormat, p.Releases.charged())
}

func (p *Plan) record(format string, releases []Releases) (json.RawMessage, error) {
	r := planRecord{
		Format: format, Algorithm: p.Algorithm, Mode: p.Mode.String(),
		Budget:    recordedBudget{p.Spec.Budget.Epsilon, p.Spec.Budget.Delta},
		DraftAway: slices.Contains(p.Guarantee.Warnings, DraftAway),
	}
	// Voided is set, too, so that a checker without the field DraftAway refuses the record
	r.Voided = r.DraftAway || slices.Contains(p.Guarantee.Warnings, BoundsFromData)
	old := format == oldPlanFormat
	if p.Spec.Kernel != nil {
		r.Problem = p.Spec.recordProblem()
		r.Schedule = &recordedSchedule{p.Schedule.Steps, p.Schedule.Constant, p.Schedule.Average, p.Schedule.BurnIn,
			p.Schedule.Update}
	} else if old {
		r.Budget = recordedBudget{}
	}
	if own, ok := p.own.(interface{ record(*planRecord) }); ok {
		own.record(&r)
	}
	for _, rows := range releases {
		row, event := rows.main(), rows[0].Event()
		if old {
			event = rows.Events()[0]
		}
		text, err := account.Encode(event)
		if err != nil {
			return nil, err
		}
		var release Facts
		if !old {
			release.AddSome("name", row.Name)
			release.AddSome("part", row.Part)
		}
		if (!old || p.Spec.Kernel != nil) && row.Noise != nil {
			if !old || row.Certificate.HiddenSteps() == 0 {
				release.AddSome("certificate", recordCertificate(row.Certificate))
			}
			release.Add("noise", recordNoise(row.Noise))
		}
		if theorem, _ := row.Certificate.Statement(); theorem == chooseTheorem { // checkers recompute no other choice
			release.Add("certificate", recordCertificate(row.Certificate))
		}
		release.Add("event", json.RawMessage(text))
		r.Releases = append(r.Releases, release)
	}
	return json.Marshal(r)
}

// RecordHash returns the SHA-256 of a record in hex. Spaces between the tokens of the record do not change the
// hash. It returns "" for an empty or invalid record.
func RecordHash(record json.RawMessage) string {
	if len(record) == 0 {
		return ""
	}
	text, err := json.Marshal(record) // compact
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Digest returns the SHA-256, in hex, of all public numbers on which the guarantee and the weights of a run depend.
// The digest covers Plan.Record, the objective and steps that a resumed run shares with its first attempt, and the
// names and sizes of the rows of Releases. Plans with equal digests are equal.
func (p *Plan) Digest() (string, error) {
	record, err := p.Record()
	if err != nil {
		return "", err
	}
	identity, err := p.identity()
	if err != nil {
		return "", err
	}
	type row struct {
		Name               string
		Coordinates, Times int
		Share              float64
	}
	var rows []row
	for _, r := range p.Releases {
		rows = append(rows, row{r.Name, r.Coordinates, r.Times, r.Share})
	}
	text, err := json.Marshal([]any{record, identity, rows})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

type planRecord struct {
	Format     string            `json:"format"`
	Algorithm  string            `json:"algorithm"`
	Mode       string            `json:"mode"`
	Budget     recordedBudget    `json:"budget"`
	Voided     bool              `json:"bounds_from_data"`
	DraftAway  bool              `json:"draft_away,omitempty"`
	Problem    *recordedProblem  `json:"problem,omitempty"`
	Schedule   *recordedSchedule `json:"schedule,omitempty"`
	ClipRadius float64           `json:"clip_radius,omitempty"`
	Releases   []Facts           `json:"releases"` // the rows, each with its event; the ledger has one event for the rows of disjoint parts
}

type recordedBudget struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

type recordedProblem struct {
	Records    int               `json:"records"`
	PersonRows int               `json:"max_rows_per_person"`
	Features   int               `json:"features"`
	NormBound  float64           `json:"norm_bound"`
	LabelBound float64           `json:"label_bound"`
	Radius     float64           `json:"radius"`
	L2         float64           `json:"l2"`
	Groups     []recordedGroups  `json:"groups,omitempty"` // in the order of their sizes
	Loss       recordedLoss      `json:"loss"`
	Constants  recordedConstants `json:"constants"`
	Method     string            `json:"method"`
	// MeanError is the kernel's bound of ||computed - exact|| of a mean gradient. It is null for kernels of moments.
	MeanError Number `json:"mean_error"`
}

// recordedGroups describes the query groups of one size.
type recordedGroups struct {
	Size   int `json:"size"`
	Number int `json:"number"`
}

type recordedLoss struct {
	Form       string             `json:"form"` // "score", "metric", or "other"
	Name       string             `json:"name"`
	Formula    string             `json:"formula,omitempty"` // the formula of phi(u)
	Params     map[string]float64 `json:"params,omitempty"`
	Clip       float64            `json:"clip,omitempty"`
	Definition string             `json:"definition"`
}

type recordedConstants struct {
	Lipschitz    float64 `json:"lipschitz"`
	Smoothness   Number  `json:"smoothness"` // null: not smooth
	PairDiameter float64 `json:"pair_diameter"`
	Convex       bool    `json:"convex"`
	Origin       string  `json:"origin"`
}

type recordedSchedule struct {
	Steps    int     `json:"steps"`
	StepSize float64 `json:"step_size"` // 0 if steps differ
	Average  bool    `json:"average"`
	BurnIn   int     `json:"burn_in,omitempty"`
	Update   string  `json:"update,omitempty"`
}

type recordedCertificate struct {
	Theorem     string  `json:"theorem"`     // anchor in docs/theory.md
	Numbers     any     `json:"numbers"`     // numbers that the plan does not state elsewhere
	Sensitivity float64 `json:"sensitivity"` // sensitivity of the computed query
}

type recordedNoise struct {
	Law   string  `json:"law"`
	Scale float64 `json:"scale"` // sigma of Gaussian noise
	Grid  float64 `json:"grid"`
}

func recordCertificate(c privacy.Certificate) *recordedCertificate {
	theorem, numbers := c.Statement()
	if numbers == nil {
		return nil
	}
	return &recordedCertificate{theorem, numbers, c.Sensitivity()}
}

func recordNoise(m privacy.Mechanism) *recordedNoise {
	n := &recordedNoise{Law: m.Name(), Grid: m.GridSize()}
	switch m := m.(type) {
	case privacy.Gaussian:
		n.Scale = m.Sigma
	case privacy.Laplace:
		n.Scale = m.Scale
	case privacy.KNorm:
		n.Scale = m.Scale
	}
	return n
}

func (s Spec) recordProblem() *recordedProblem {
	pr, c := s.Kernel.Problem(), s.Constants
	r := &recordedProblem{
		Records: s.units(), PersonRows: pr.PersonRows, Features: pr.D,
		NormBound: pr.Bounds.FeatureNorm, LabelBound: pr.Bounds.LabelAbs, Radius: pr.Radius, L2: s.L2,
		Loss:      recordLoss(pr.Loss),
		Constants: recordedConstants{c.Lipschitz, Number(c.Smoothness), c.PairDiameter, c.Convex, c.Origin.String()},
		Method:    s.Kernel.Method(), MeanError: Number(meanRoundoff(s.Kernel, pr.Pairs())),
	}
	number := make(map[int]int)
	for _, size := range pr.Groups {
		number[size]++
	}
	for size, n := range number {
		r.Groups = append(r.Groups, recordedGroups{size, n})
	}
	slices.SortFunc(r.Groups, func(a, b recordedGroups) int { return a.Size - b.Size })
	return r
}

// recordLoss records a loss, with its scalar function if it has one.
func recordLoss(of engine.Loss) recordedLoss {
	r := recordedLoss{Form: "other", Name: of.Name(), Definition: of.Definition()}
	logistic, _ := engine.LibraryByName("logistic")
	switch l := of.(type) {
	case engine.Logistic:
		r.Form, r.Formula = "score", logistic.Text
	case engine.MahalanobisLogistic:
		r.Form, r.Formula = "metric", logistic.Text
	case engine.Score:
		r.of("score", l.Of)
	case engine.Metric:
		r.of("metric", l.Of)
	}
	return r
}

func (r *recordedLoss) of(form string, phi engine.Scalar) {
	if e, ok := phi.(*engine.Expression); ok {
		r.Form, r.Formula, r.Params, r.Clip = form, e.Formula(), e.Params(), e.Clip()
	}
}
