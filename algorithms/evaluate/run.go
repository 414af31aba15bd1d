package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/privacy"
)

// Data holds the model's scores of the records, one entry for each row.
type Data struct {
	Scores   []float64
	Positive []bool
	// Other holds the scores of the model Options.Compared.
	Other []float64
	// Correct is used instead of Scores if the plan evaluates classifiers. For each classifier, Correct has one entry
	// per row, which is true if the row is classified correctly.
	Correct [][]bool
	// First holds the index of the first row of each person and, at the end, the number of rows. It is nil if
	// each row is a record.
	First []int

	weight []int64 // the shares of rows, nil without persons
}

func (d Data) fits(p *Plan) error {
	if len(p.Options.Classifiers) == 0 {
		rows, err := d.checkScores(p.Options)
		if err == nil && p.Options.Compared != "" && len(d.Other) != rows {
			err = fmt.Errorf("evaluate: the other model has too few or too many scores for a plan of %d records",
				p.Options.Records)
		}
		return err
	}
	rows, err := d.count(p.Options)
	if err != nil {
		return err
	}
	if len(d.Correct) != len(p.Options.Classifiers) {
		return fmt.Errorf("evaluate: the data have %d classifiers, but the plan has %d",
			len(d.Correct), len(p.Options.Classifiers))
	}
	for _, of := range d.Correct {
		if len(of) != rows {
			return fmt.Errorf("evaluate: a classifier has too few or too many rows for %d %s",
				p.Options.Records, p.Options.size().Unit())
		}
	}
	return nil
}

// Job returns the evaluation of data as a job for algorithms.Execute. The Result.Weights of this job are the
// released numbers; pass them to Figures. data is called after the charge. An error of data must not depend on
// joint properties of the records.
func (p *Plan) Job(data func(context.Context) (Data, error)) algorithms.Job {
	return algorithms.Job{
		Plan:      &p.Plan,
		Withholds: true, // released numbers leave the closure only as its result
		Train: func(ctx context.Context, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
			d, err := data(ctx)
			if err == nil {
				err = d.fits(p)
			}
			if err != nil {
				return nil, err
			}
			return p.run(ctx, d.weighed(), s, t)
		},
	}
}

// run makes the releases in their order.
func (p *Plan) run(ctx context.Context, d Data, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	var out []float64
	var thresholds []float64
	for i, r := range p.Releases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v := make([]float64, r.Coordinates)
		switch r.Name {
		case centreName:
			v[0] = d.centreSum(p.Options.ScoreBound)
		case spreadName:
			v[0] = d.spreadSum(p.Options.ScoreBound, p.centre(out))
		case rankName:
			ranks := d.ranks()
			v[0], v[1] = ranks.Sum, p.rank.CountWeight()*ranks.Positives
		case cellsName:
			thresholds = p.thresholds(out)
			d.cellCounts(v, thresholds)
		case lossName:
			v[0] = d.lossSum(p.Options.Loss, p.Options.ScoreBound)
		case differenceName:
			sum, _, positives := differenceSums(d.Scores, d.Other, d.Positive)
			v[0], v[1] = float64(sum), p.rank.CountWeight()*float64(positives)
		case disagreeName:
			_, sum, _ := differenceSums(d.Scores, d.Other, d.Positive)
			v[0] = float64(sum)
		case rightName:
			d.right(v)
		}
		if err := s.Release(v, r.Certificate, r.Noise); err != nil {
			return nil, err
		}
		out = append(out, v...)
		t.Step(i+1, len(p.Releases))
	}
	return out, nil
}

// centre returns the released mean of the scores as a level.
func (p *Plan) centre(released []float64) int {
	mean := released[0] / float64(p.Options.Records)
	return int(math.RoundToEven(min(max(mean, -scoreLevels), scoreLevels)))
}

// thresholds returns the bounds of the cells. They are public thresholds, or thresholds at equal shares of a
// normal law with the released centre and spread. Options.At is added. They depend on public and released
// numbers only.
func (p *Plan) thresholds(released []float64) []float64 {
	out := slices.Clone(p.Options.Thresholds)
	if len(out) == 0 {
		// The mean distance of a normal law from its mean is sqrt(2/pi) standard deviations.
		deviation := math.Sqrt(math.Pi/2) * min(max(released[1]/float64(p.Options.Records), leastSpread), 2*scoreLevels)
		cells := p.Cells - len(p.Options.At)
		for k := 1; k < cells; k++ {
			z := math.Sqrt2 * math.Erfinv(2*float64(k)/float64(cells)-1)
			out = append(out, (float64(p.centre(released))+deviation*z)/scoreLevels*p.Options.ScoreBound)
		}
	}
	out = append(out, p.Options.At...)
	slices.Sort(out)
	return out
}

// leastSpread is the smallest spread of scores, in levels, that is used to place cells.
const leastSpread = scoreLevels / 256
