package evaluate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Options are the public inputs of an evaluation.
type Options struct {
	Records int // the number n of records, or of persons if PersonRows > 0; 2 to 2^26
	// PersonRows is the public maximum number of rows of a person. It is 0 if each row is a record.
	PersonRows int
	Budget     privacy.Budget
	algorithms.Provenance
	// Model identifies the model exactly, for example by a hash, so that a run is resumed only with the model
	// of its first attempt.
	Model string

	// ScoreBound is B > 0, at most 2^1000, a bound of the magnitude of scores. It must be public or computed
	// from the released model. Larger scores are clamped if a release depends on the size of scores.
	ScoreBound float64
	// Thresholds are the bounds of the cells of the ROC curve. They are public, increasing and at most 2^1000
	// in magnitude. If there are none, thresholds are placed by a released centre and spread of the scores.
	Thresholds []float64
	// At holds further public thresholds for operating points and the accuracy. They are
	// increasing, at most 2^1000 in magnitude, and not in Thresholds.
	At []float64
	// Loss is the pair loss whose mean is released. If it is nil, no loss is released.
	Loss *ClampedLoss

	// Classifiers are names of classifiers, which need no scores. If there are any, only the numbers of records
	// that they classify correctly are released.
	Classifiers []string

	// Compared identifies another model exactly. If it is set, only the difference of the AUCs of both models
	// on the same records is released.
	Compared string
}

// ClampedLoss is a pair loss phi(2 (s - s')), where s is the score of a positive record and s' the score of a
// negative record. It is clamped to [Low, High].
type ClampedLoss struct {
	Name      string
	Phi       func(margin float64) float64
	Low, High float64 // finite, Low < High
}

// The names of the releases.
const (
	centreName = "centre of the scores"
	spreadName = "spread of the scores"
	rankName   = "rank sum and number of positives"
	cellsName  = "numbers of records by class and score"
	lossName   = "sum of losses over pairs of classes"
	rightName  = "numbers of records classified correctly"
)

// Plan describes the releases of an evaluation and their guarantee. It is computed from public numbers.
type Plan struct {
	algorithms.Plan
	Options Options
	Cells   int // the number of intervals of scores, 0 without scores
	rank    privacy.ClassPairSum
}

// The public rule for shares of the budget. lossShare applies if a loss is released. placeShare and cellsShare
// are shares of the remaining budget.
const (
	placeShare = 0.04 // for each of centre and spread
	cellsShare = 0.30
	lossShare  = 0.20
)

// fewestCells and mostCells bound the number of cells that the program places.
const (
	fewestCells = 10
	mostCells   = 24
)

// query is a query whose certificate bounds its sensitivity.
type query interface {
	Certify() (privacy.Certificate, error)
}

// New plans an evaluation.
func New(o Options) (*Plan, error) {
	o.Thresholds, o.At = slices.Clone(o.Thresholds), slices.Clone(o.At)
	if err := o.validate(); err != nil {
		return nil, err
	}
	p := &Plan{Options: o}
	var err error
	var rows algorithms.Releases
	pure := o.Budget.Delta == 0
	add := func(name string, coordinates int, share float64, q query) {
		c, e := q.Certify()
		err = errors.Join(err, e)
		rows = append(rows, algorithms.Release{Name: name, Coordinates: coordinates, Share: share, Certificate: c})
	}
	if m := len(o.Classifiers); m > 0 {
		add(rightName, m, 1, privacy.RightCounts{Classifiers: m, Manhattan: pure, Error: o.rounding(float64(m))})
	} else if o.Compared != "" {
		p.differenceReleases(add)
	} else {
		rest := 1.0
		if o.Loss != nil {
			rest -= lossShare
		}
		place := placeShare * rest
		p.Cells = len(o.Thresholds) + 1
		if len(o.Thresholds) > 0 {
			place = 0
		} else {
			p.Cells = cellsRule(o.Records, o.Budget)
			for _, name := range []string{centreName, spreadName} {
				add(name, 1, place, privacy.ScoreSum{Levels: scoreLevels, Manhattan: pure,
					Error: o.rounding(2 * scoreLevels), Name: name})
			}
		}
		p.Cells += len(o.At)
		n := float64(o.Records)
		p.rank = RankQuery(o.Records, o.PersonRows, pure)
		add(rankName, 2, rest*(1-cellsShare)-2*place, p.rank)
		add(cellsName, 2*p.Cells, rest*cellsShare, privacy.CellCounts{Cells: 2 * p.Cells, Manhattan: pure,
			Error: o.rounding(1), Name: cellsName})
		if o.Loss != nil {
			// n+ n- <= n^2/4 terms, and one conversion to float64.
			add(lossName, 1, lossShare, privacy.ClassPairSum{
				Records: o.Records, Levels: lossLevels, Manhattan: pure, Error: n * n * lossLevels * 0x1p-55 * (1 + 0x1p-40),
				Name: lossName})
		}
	}
	if err != nil {
		return nil, err
	}
	if err := rows.Calibrate(o.Budget); err != nil {
		return nil, err
	}
	p.Plan = algorithms.Plan{Algorithm: "evaluation", Mode: algorithms.Certified, Objective: o.objective()}
	released, why := rows.Told()
	composed := "; the budget shares are fixed beforehand and each certificate holds given the earlier releases, so " +
		"the releases compose (docs/theory.md#evaluation-budget)"
	if o.PersonRows > 0 {
		composed += "; a person counts as the mean over its rows, so no person counts more than one row " +
			"(docs/theory.md#person-figures)"
	}
	g := o.Provenance.Records(o.PersonRows).Guarantee(released+", with "+rows[0].Noise.Name()+" noise", why+composed,
		o.Public(), "the model is public, or was charged to the same data id")
	if err := p.Promise(o.Budget, o.Records, o.Provenance, g, rows); err != nil {
		return nil, err
	}
	p.Facts = p.facts()
	return p, nil
}

func (o Options) validate() error {
	bad := func(format string, args ...any) error {
		return algorithms.Refused("evaluation", ": "+format, args...)
	}
	if err := o.Budget.Validate(); err != nil {
		return err
	}
	if problem := o.size().Problem(); problem != "" {
		return bad("%s", problem)
	}
	if o.Compared != "" {
		return o.validateCompared()
	}
	if len(o.Classifiers) > 0 {
		if o.Loss != nil || len(o.Thresholds)+len(o.At) > 0 {
			return bad("classifiers have no scores, so leave out thresholds and loss")
		}
		return nil
	}
	if !(o.ScoreBound > 0 && o.ScoreBound <= largestScore) {
		return bad("the bound of scores is %v, want a positive number of at most 2^1000", o.ScoreBound)
	}
	if len(o.Thresholds)+len(o.At) > maxThresholds {
		return bad("there are %d thresholds, want at most %d; more thresholds mean more noise",
			len(o.Thresholds)+len(o.At), maxThresholds)
	}
	for _, list := range [][]float64{o.Thresholds, o.At} {
		for i, t := range list {
			if !(math.Abs(t) <= largestScore) || i > 0 && t <= list[i-1] {
				return bad("thresholds must increase and lie between -2^1000 and 2^1000")
			}
		}
	}
	for _, t := range o.At {
		if slices.Contains(o.Thresholds, t) {
			return bad("threshold %g is given twice", t)
		}
	}
	if l := o.Loss; l != nil {
		if !(l.Low < l.High) || math.IsInf(l.High-l.Low, 0) || l.Phi == nil {
			return bad("the range of the loss is %v to %v; want finite Low < High, and a function Phi",
				l.Low, l.High)
		}
	}
	return nil
}

func (o Options) size() Size { return Size{o.Records, o.PersonRows} }

const maxThresholds = 1000

// largestScore bounds thresholds and the bound of scores, so that no placed threshold and no difference overflows.
const largestScore = 0x1p1000

// cellsRule returns the number of cells that the program places. It is larger if the noise is smaller.
func cellsRule(n int, b privacy.Budget) int {
	mu := b.Epsilon / 2
	if b.Delta > 0 {
		mu = account.GDPMu(b.Epsilon, b.Delta)
	}
	return int(min(max(math.Cbrt(float64(n)*mu), fewestCells), mostCells))
}

// Public returns the assumption of the guarantee about the numbers that it treats as public.
func (o Options) Public() string {
	if len(o.Classifiers) > 0 {
		return fmt.Sprintf("public: n = %d, the classifiers (%s) and the records in them, the schema and all options",
			o.Records, strings.Join(o.Classifiers, ", "))
	}
	if o.Compared != "" {
		return fmt.Sprintf("public: n = %d, the schemas and all options", o.Records)
	}
	text := fmt.Sprintf("public: n = %d, the bound %.6g of scores, the schema and all options", o.Records, o.ScoreBound)
	if len(o.Thresholds)+len(o.At) > 0 {
		text += ", thresholds included"
	}
	return text
}

// objective describes the inputs that a resumed run must share with its first attempt.
func (o Options) objective() string {
	text := fmt.Sprintf("model %s, classifiers %q, bound of scores %v, thresholds %v and %v", o.Model, o.Classifiers,
		o.ScoreBound, o.Thresholds, o.At)
	if o.Compared != "" {
		text += ", compared with model " + o.Compared
	}
	if o.Loss != nil {
		text += fmt.Sprintf(", loss %s in [%v, %v]", o.Loss.Name, o.Loss.Low, o.Loss.High)
	}
	return text
}

func (p *Plan) facts() (f algorithms.Facts) {
	f.Line("evaluation", "of a released model on n = %d %s", f.Add("records", p.Options.Records), p.Options.size().Unit())
	p.Options.size().Tell(&f)
	if bound := f.AddSome("score_bound", p.Options.ScoreBound); bound != 0.0 {
		f.Line("scores", "at most %.6g in magnitude, in %d cells", bound, f.Add("cells", p.Cells))
	}
	switch n := float64(p.Options.Records); {
	case p.Options.Compared != "":
		p.differenceFact(&f)
	case p.Cells > 0:
		// V/(n+ n-) at n+ = n/2, where V is half of the rank sum.
		noise := 2 * p.Releases.Find(rankName).Deviation() / (n * n)
		f.Line("", "the noise of the AUC has standard deviation %.3g or more, so the 95 %% interval is AUC +- %.2g "+
			"or wider", f.Add("auc_noise_balanced", noise), 1.96*noise)
	default:
		f.Line("", "noise of an accuracy: standard deviation %.3g", f.Add("accuracy_noise", p.Releases[0].Deviation()/n))
	}
	return f
}

// ScoreBound returns a positive bound of scores: at least the norm of w times the norm bound of records.
func ScoreBound(w []float64, featureNorm float64) float64 {
	norm := 0.0
	for _, v := range w {
		norm = math.Hypot(norm, v)
	}
	if norm *= featureNorm * (1 + 0x1p-20); norm > 0 {
		return norm
	}
	return 1
}
