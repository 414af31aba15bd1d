package algorithms

import (
	"fmt"

	"dyad/engine"
)

// momentsFacts returns the facts of every plan and the facts of moments, with lines of text. The order is records,
// moments, and the loss of gradients.
func (p *Plan) momentsFacts() Facts {
	f, loss, m := p.recordFacts(), p.lossFacts(), p.Moments()
	if m.Gradients == 0 {
		loss = loss.Values()
	}
	f.join(loss)
	f.join(p.scheduleFacts().Values())
	var own Facts
	if m.Gradients > 0 {
		own.Add("gradients", m.Gradients)
		f.Line("objective", "%s", own.Add("objective",
			fmt.Sprintf("the loss over records that are centred, clipped and scaled to norm %g",
				p.Spec.Kernel.Problem().Bounds.FeatureNorm)))
		return p.momentsReleases(f, own)
	}
	pairs, sum := "over all pairs", "sum, which points along the difference of the class means;"
	if m.Group > 0 {
		pairs = "over all pairs within parts of query groups (in a part of m records, a pair has weight 1/m)"
		sum = "sum of the differences within query groups;"
	}
	objective := fmt.Sprintf("least squares %s, (w.(x - x') - (y - y')/2)^2 + alpha/2 ||w||^2, alpha = %g; w is then",
		pairs, p.Spec.L2)
	switch {
	case m.Classes:
		objective = "W comes from the moments of both classes and minimises no objective; W is then"
	case m.Second == engine.NoSecond:
		objective = "no objective is minimised; w is the released signed " + sum + " w is then"
	}
	if m.Steps > 0 {
		objective = fmt.Sprintf("w starts at the solution of least squares over all pairs; %d damped Newton-like "+
			"steps on the logistic loss of single records follow, with a fixed intercept; w is then", m.Steps)
	}
	switch {
	case p.Spec.Kernel.Problem().ByPerson() && m.Group > 0:
		objective = "each record is a person; a pair of persons is averaged over its pairs of rows; rows of one " +
			"person form no pairs: " + objective
	case p.Spec.Kernel.Problem().ByPerson():
		objective = "a record is a person, with the mean moments of its rows; rows of one person form pairs, too: " +
			objective
	}
	f.Line("objective", "%s", own.Add("objective",
		fmt.Sprintf("%s scaled to norm r = %.6g", objective, p.Spec.Kernel.Problem().Radius)))
	return p.momentsReleases(f, own)
}

// momentsReleases adds the facts about values computed from the releases.
func (p *Plan) momentsReleases(f, own Facts) Facts {
	m := p.Moments()
	passes, centre := fmt.Sprintf("%d passes", own.Add("passes", m.passes())), "origin"
	switch m.passes() {
	case 1:
		passes = "one pass"
	case 2:
		passes = "two passes"
	}
	steps := own.AddSome("steps", m.Steps)
	switch {
	case m.CentreReleased:
		centre = "released"
	case m.Centre != nil:
		centre = "declared"
	}
	clip := own.Add("clip_radius", m.ClipRadius)
	own.Add("centre", centre)
	balance := own.AddSome("declared_share_of_positives", m.Balance)
	of := fmt.Sprintf("the records, clipped to norm %.6g around the %s centre", clip, centre)
	if m.Group > 0 {
		of = fmt.Sprintf("differences of two records of a query, in parts of at most %d records, clipped to norm %.6g",
			own.Add("largest_part", m.Group), clip)
	}
	f.Line("moments", "%s over %s; second moments: %s", passes, of, own.Add("second_moments", m.Second.String()))
	if balance != 0.0 {
		f.Line("", "share of positives %g, declared public", balance)
	}
	// These values are the standard deviations of the noise of an entry of a sum (of the signed sum over 1 +
	// |b|) and of an isometric coordinate of the second moments, and the public part of the ridge.
	if m.Classes {
		f.Line("noise", "standard deviations: %.6g in class sums; %.6g in second moments (isometric coordinates); "+
			"%.6g in the number of positives",
			own.Add("class_sum_noise", m.SumNoise), own.Add("second_moments_noise", m.SecondNoise),
			own.Add("count_noise", m.CountNoise))
	} else {
		ridge := own.Add("ridge", m.Ridge)
		f.Line("noise", "released signed sum: standard deviation %.6g per entry", own.Add("signed_sum_noise", m.SumNoise))
		if second := own.AddSome("second_moments_noise", m.SecondNoise); second != 0.0 {
			f.Line("", "second moments: %.6g per isometric coordinate; the ridge is at least %.6g", second, ridge)
		}
	}
	if noise := own.AddSome("gradient_noise", m.GradientNoise); noise != 0.0 {
		f.Line("", "gradient: %.6g an entry", noise)
	}
	if steps != 0 {
		f.Line("", "gradients of %d steps: %.6g an entry", steps, own.Add("step_noise", m.StepNoise))
	}
	switch c := m.Pairs; {
	case c != nil:
		f.Line("pairs", "%d of %d column pairs are chosen privately; the model has at most %d features",
			own.Add("pairs", c.Choose), own.Add("candidates", len(c.Products)), own.Add("most_features", c.Features))
	case m.NoPairs != "":
		f.Line("pairs", "none are chosen: %s", own.Add("no_pairs", m.NoPairs))
	}
	f.Add("moments", own)
	return f
}
