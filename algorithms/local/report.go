package local

import (
	"fmt"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Restate replaces the guarantee of the plan by g, the guarantee of a run, and updates the facts for reports.
// candidates and folds describe the choice by ChooseL2 before the run. candidates is 0 if there was no choice.
func (p *Plan) Restate(g privacy.Guarantee, candidates, folds int) {
	p.Guarantee, p.Facts = g, p.facts(g)
	p.Releases = p.messages(candidates, folds)
}

// messages returns the releases of one user.
func (p *Plan) messages(candidates, folds int) algorithms.Releases {
	if p.Guarantee.Kind == privacy.None {
		return algorithms.Releases{{Name: p.Guarantee.Released, Cost: account.NonPrivateEvent{}}}
	}
	return algorithms.Releases{{Name: "messages of one user", Times: p.Messages(candidates, folds),
		Cost: account.PureEvent{Epsilon: privacy.BelowDecimal(p.Epsilon)}}}
}

// facts returns the facts that the plan reports about itself and a guarantee.
func (p *Plan) facts(g privacy.Guarantee) (f algorithms.Facts) {
	trust := "each user makes the messages private; the server is not trusted"
	switch p.Method {
	case SGD, Curriculum:
		trust = "the baseline without privacy"
	case PrestigePrinted:
		trust = "Algorithm 1 to the letter, without a guarantee"
	}
	f.Add("algorithm", p.Algorithm)
	f.Add("paper", "Han et al. 2019")
	f.Add("mode", "local")
	f.Line("method", "%s ([Han19]): %s", p.Method, trust)
	f.Line("users", "n = %d with one record each, visited once in each of %d epochs; d = %d features, ||x|| <= %g",
		f.Add("records", p.Users), p.Epochs, f.Add("features", p.Dim), f.Add("norm_bound", p.FeatureNorm))
	phi := p.Loss.Name()
	if s, ok := p.Loss.(engine.Scalar); ok {
		phi += ": " + s.Text()
	}
	if p.Network == nil {
		radius := f.Add("radius", p.Radius)
		f.Line("loss", "%s, u = y (w.x + b), b = %g; objective + lambda/2 ||w||^2, lambda = %g; ||w|| <= %g", phi, p.Bias,
			f.Add("l2", p.L2), radius)
	} else {
		p.networkFacts(&f, phi)
	}
	f.Add("loss", p.Loss.Name())
	f.Line("constants", "L = %.6g, norm of a decoded message B = %.6g", f.Add("lipschitz", p.Lipschitz), p.EstimateNorm)
	if p.Network == nil {
		f.Add("schedule", "R/(lambda B sqrt t)")
	} else {
		f.Add("schedule", "rate sqrt(batch)/(B sqrt t)")
	}
	f.Line("schedule", "step t has size %.6g/sqrt(t) and averages %d messages", p.StepSize(1), p.Batch)
	if p.Gradual() {
		margins := fmt.Sprintf("margins of at least %.4g in the first epoch", p.ThresholdAt(1))
		if p.Epochs > 2 {
			margins += fmt.Sprintf(", %.4g in the second", p.ThresholdAt(2))
		}
		if p.Epochs > 1 {
			margins += fmt.Sprintf(", %.4g in the last", p.ThresholdAt(p.Epochs))
		}
		f.Line("curriculum", "%s", margins)
	}
	switch g.Kind {
	case privacy.LocalDP:
		f.Line("epsilon", "%.6g per visit, %s per user in total", p.Epsilon, privacy.FormatUp(g.Epsilon))
	case privacy.LabelLDP:
		f.Line("epsilon", "%.6g; each user answers only once", p.Epsilon)
	}
	return f
}

// networkFacts adds the facts of a network instead of radius and lambda.
func (p *Plan) networkFacts(f *algorithms.Facts, phi string) {
	n := p.Network
	f.Line("model", "%s with %d parameters; start: seed %d and gain %g; the weights of each layer stay within a ball",
		f.Add("network", p.NetworkName()), f.Add("parameters", p.Parameters), f.Add("network_seed", n.Seed),
		f.Add("gain", n.Gain))
	f.Line("loss", "%s with u = y (f(x) + b): label y, network f, bias b = %g; gradients are clipped to norm C = %.6g",
		phi, p.Bias,
		f.Add("clip", n.Clip))
	if least := p.SmallestUsers(); least > 0 {
		f.Line("users needed", "at least %.0f; with %.0f users, the mean message has noise below %g of the largest "+
			"gradient", f.Add("smallest_users", least),
			f.Add("enough_users", p.EnoughUsers()), enoughShare)
	}
}
