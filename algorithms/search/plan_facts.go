package search

import (
	"fmt"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/privacy"
)

// names returns the names of the candidates.
func (p *Plan) names() (all []string) {
	for _, s := range p.Options.Settings {
		all = append(all, s.Name)
	}
	for _, m := range p.Options.Models {
		all = append(all, m.Name)
	}
	return all
}

// promise fills in the guarantee.
func (p *Plan) promise() error {
	o := p.Options
	p.Algorithm, p.Mode = "search", algorithms.Certified
	p.Objective = fmt.Sprintf("%s of at most %d runs; candidates %s", o.Road, o.Runs, strings.Join(p.objectives(), "; "))
	g := o.Provenance.Records(o.PersonRows).Guarantee("", "",
		fmt.Sprintf("public: n = %d, the candidates (%s) and their options, the schema and all other options", o.Records,
			strings.Join(p.names(), ", ")))
	switch o.Road {
	case NoisyMax:
		g.Released = "which of the models is chosen"
		g.Derivation = fmt.Sprintf("permute-and-flip chooses with epsilon %.6g: %s (docs/theory.md#choice)",
			p.choice, p.rank.Derivation())
		g.Assumptions = append(g.Assumptions,
			"each model is public, or was charged to the same data id")
	case Compose:
		g.Released = "the models of all settings, and which of them is chosen"
		g.Derivation = fmt.Sprintf("%d trainings and one choice are composed; permute-and-flip chooses by rank "+
			"sums with epsilon %.6g: %s (docs/theory.md#choice)", len(p.Trainings), p.choice,
			p.rank.Derivation())
	case RandomStopping:
		g.Released = "the model and the score of the best of a secret number of runs"
		g.Derivation = fmt.Sprintf("the number of runs is secret and uniform from 1 to %d; one run with its score "+
			"is %.6g-GDP (docs/theory.md#stopping-profile)", o.Runs, p.selection.Event.Mu)
		g.Assumptions = append(g.Assumptions, fmt.Sprintf("the program always makes all %d runs; the running time "+
			"of the search stays secret",
			o.Runs))
	}
	if o.PersonRows > 0 {
		g.Derivation += "; the rank sum has the same sensitivity for persons as for records " +
			"(docs/theory.md#person-figures)"
	}
	for _, t := range p.Trainings { // the assumptions of the trainings, which differ only in their constants
		if a := t.Constants(); a != "" && !slices.Contains(g.Assumptions, a) {
			g.Assumptions = append(g.Assumptions, a)
		}
	}
	if err := p.Promise(o.Budget, o.Records, o.Provenance, g, p.Releases); err != nil {
		return err
	}
	if p.Guarantee.Epsilon > o.Budget.Epsilon {
		return fmt.Errorf("search: the plan costs epsilon %v, which is more than the budget of %v",
			p.Guarantee.Epsilon, o.Budget.Epsilon)
	}
	p.Facts = p.facts()
	return nil
}

// objectives returns the values that a resumed search must share with its first attempt.
func (p *Plan) objectives() []string {
	var all []string
	for _, m := range p.Options.Models {
		all = append(all, m.Digest)
	}
	for i, t := range p.Trainings {
		text := fmt.Sprintf("%s = %s, %s", p.Options.Settings[i].Name, t.Algorithm, t.Objective)
		if t.Spec.Kernel != nil {
			pr := t.Spec.Kernel.Problem()
			text += fmt.Sprintf(" %s, d = %d, alpha = %v, r = %v", pr.Loss.Name(), pr.D, t.Spec.L2, pr.Radius)
		}
		all = append(all, text)
	}
	return all
}

// advice returns the results of measurements against the search (bench/results/search-summary.csv). Among
// settings that differ in algorithm and regularisation only, the default with the whole budget was better than
// any search, by .001 to .010 of the AUC. Among settings with different features, random stopping gained .008
// to .018.
func (p *Plan) advice() string {
	for _, s := range p.Options.Settings {
		if s.Features != p.Options.Settings[0].Features {
			return ""
		}
	}
	if len(p.Options.Settings) == 0 {
		return ""
	}
	return "all settings have the same features; in our measurements, dyad train with default options and the " +
		"whole budget was better"
}

func (p *Plan) facts() (f algorithms.Facts) {
	o := p.Options
	n := float64(o.Records)
	f.Line("search", "%d candidates, compared by the AUC on n = %d %s; method: %s", f.Add("candidates", len(p.names())),
		f.Add("records", o.Records), o.size().Unit(), f.Add("road", string(o.Road)))
	o.size().Tell(&f)
	f.Line("", "%s", f.Add("reason", p.Reason))
	if advice := p.advice(); f.AddSome("advice", advice) != "" {
		f.Line("", "%s", advice)
	}
	var settings []algorithms.Facts
	for i, name := range p.names() {
		var s algorithms.Facts
		s.Add("name", name)
		if len(p.Trainings) == 0 {
			f.Line("candidate", "%s", name)
		} else {
			t := p.Trainings[i]
			s.Add("algorithm", t.Algorithm)
			s.Add("mu", muOf(t.Events()...))
			noise := ""
			if t.Noise() != nil {
				noise = ", " + s.Add("noise", t.Noise().String()).(string)
			}
			f.Line("candidate", "%s: %s%s", name, t.Algorithm, noise)
		}
		settings = append(settings, s)
	}
	f.Add("settings", settings)
	if o.Road == RandomStopping {
		f.Line("runs", "%d; the best of the first K runs is released; the secret K is uniform from 1 to %[1]d; "+
			"these K runs include a given setting with probability %.2[2]g", f.Add("runs", o.Runs), f.Add("tried", p.tried()))
		f.Line("score", "%s on the rank sum and the number of positives. If the classes have equal size, the AUC "+
			"gets noise of standard deviation %.3g", f.Add("score_noise", p.score.String()),
			f.Add("auc_noise_balanced", 2*p.score.Sigma/(n*n)))
	} else {
		f.Line("choice", "epsilon %.6g; for classes of equal size, a candidate whose AUC is g below the best is "+
			"rejected with probability 1 - exp(-g/%.3g)",
			f.Add("choice_epsilon", p.choice),
			f.Add("choice_gap", 4*p.rank.Sensitivity()/p.choice/(n*n)))
	}
	if len(p.Trainings) > 0 {
		f.Line("paid", "one setting alone, with this noise, would cost epsilon %.6g at delta %s; the choice among "+
			"settings costs the rest",
			f.Add("alone_epsilon", p.Alone.Epsilon), privacy.FormatUp(p.Alone.Delta))
	}
	return f
}
