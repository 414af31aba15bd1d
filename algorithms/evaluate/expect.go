package evaluate

import "math"

// Expect predicts the interval of the AUC of an evaluation from public numbers alone. It assumes that the AUC of the
// model is auc in (0, 1), that a share in (0, 1) of the records is positive, and that the scores of each class are
// normally distributed. If the plan has no scores, it returns the zero Figure.
func (p *Plan) Expect(auc, share, confidence float64) Figure {
	if p.Cells == 0 {
		return Figure{}
	}
	rank := p.Releases.Find(rankName).Deviation()
	n := float64(p.Options.Records)
	s := &statistics{n: n, positives: share * n, laplace: p.Options.Budget.Delta == 0,
		cellNoise: p.Releases.Find(cellsName).Deviation(), rankNoise: rank / 2, positivesNoise: rank / p.rank.CountWeight()}
	s.count()
	s.rank = (auc - 0.5) * s.pairs
	// The classes are N(shift, 1) and N(0, 1). The cells have equal shares of a normal law with the mean and the
	// standard deviation of both classes together.
	shift := 2 * math.Erfinv(2*auc-1)
	middle, spread := share*shift, math.Sqrt(1+share*(1-share)*shift*shift)
	below := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
	last := [2]float64{}
	for k := 1; k <= p.Cells; k++ {
		t := math.Inf(1)
		if k < p.Cells {
			t = middle + spread*math.Sqrt2*math.Erfinv(2*float64(k)/float64(p.Cells)-1)
		}
		for class, of := range [2]float64{n - s.positives, s.positives} {
			at := of * below(t-float64(class)*shift)
			s.cells[class] = append(s.cells[class], at-last[class])
			last[class] = at
		}
	}
	f := &Figures{Records: p.Options.Records, Confidence: confidence}
	if p.Options.PersonRows > 0 {
		f.Unit = personUnit
	}
	f.auc(s)
	return *f.AUC
}
