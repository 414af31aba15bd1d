package command

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

type lossesListCmd struct {
	Task   string  `default:"auc" enum:"auc,metric"`
	Radius float64 `positive:"" default:"1" placeholder:"R"`
	Plot   string  `placeholder:"FILE"`
}

type lossesCheckCmd struct {
	Loss string `arg:"" help:"Name or formula."`
	lossCheckFlags
}

type lossCheckFlags struct {
	LossParam map[string]float64 `name:"loss-param" placeholder:"K=V"`
	LossClip  float64            `positive:"" name:"loss-clip" placeholder:"C"`
	Task      string             `default:"auc" enum:"auc,metric"`
	Radius    float64            `positive:"" default:"1" placeholder:"R"`
	N         int                `positive:"" within:"[2,]" short:"n" default:"1000" help:"Show the method and algorithms for this number of records."`
	D         int                `positive:"" short:"d" default:"10"`
	Plot      string             `placeholder:"FILE"`
}

// lossAlgorithm states whether an algorithm accepts a loss.
type lossAlgorithm struct {
	Name    string `json:"name"`
	Applies bool   `json:"applies"`
	Reason  string `json:"reason,omitempty"`
	why     string // Reason without the name of the algorithm
}

// lossFacts returns the proved constants of a loss.
func lossFacts(loss engine.ScalarLoss, task string, radius float64) (f algorithms.Facts, err error) {
	b, s := engine.UnitBounds(), loss.Scalar()
	c, err := loss.Constants(b, radius)
	if err != nil {
		return f, asInput(err)
	}
	low, high := loss.MarginRange(b, radius)
	k, err := s.Bounds(low, high)
	if err != nil {
		return f, asInput(err)
	}
	f.Line("loss", "%s: phi(u) = %s, %s", f.Add("name", loss.Name()), s.Text(), marginText(task))
	f.Line("", "%s  u from %g to %g", sparkline(s.Phi), -plotReach, plotReach)
	f.Add("definition", loss.Definition())
	f.Add("task", task)
	f.Add("radius", radius)
	f.Line("margins", "u in [%.6g, %.6g] for r = %g, ||x|| <= 1, labels in [-1, 1], with a slack of 2^-18",
		f.Add("margin_low", low), f.Add("margin_high", high), radius)
	f.Line("slope", "phi' is in [%.6g, %.6g]; this bound exceeds the true one by at most %.2g %%",
		f.Add("slope_min", k.SlopeMin),
		f.Add("slope_max", k.SlopeMax), 100*f.Add("gap", k.Gap).(float64))
	f.Add("lipschitz", c.Lipschitz)
	f.Add("pair_diameter", c.PairDiameter)
	f.Add("smoothness", algorithms.Number(c.Smoothness))
	f.Add("convex", c.Convex)
	f.Line("constants", "G = %.6g, L = %s, Dg = %.6g (%s)", c.Lipschitz, smoothness(f), c.PairDiameter,
		f.Add("constants_origin", c.Origin.String()))
	f.Line("shape", "%s, %s", pick(c.Convex, "convex", "not proved to be convex"), pick(smoothness(f) != "inf",
		"smooth", "not smooth; choose an algorithm with noise in every gradient"))
	if e := f.Add("slope_error", algorithms.Number(k.SlopeError)); !math.IsInf(k.SlopeError, 1) {
		f.Line("roundoff", "a computed phi' differs from the exact value by at most %.2g", e)
	}
	return f, nil
}

// scalarLoss returns the loss of the flags in a form that can be analysed. This includes the logistic loss.
func (f lossFlags) scalarLoss(task string) (engine.ScalarLoss, error) {
	s, err := f.definition()
	if err != nil {
		return nil, err
	}
	return s.Analysed(task)
}

// smoothness returns the smoothness constant of lossFacts as text, "inf" for a loss that is not smooth.
func smoothness(f algorithms.Facts) string {
	return strings.TrimPrefix(strings.ToLower(fmt.Sprintf("%.6g", f.Value("smoothness"))), "+")
}

// Run lists the library.
func (c *lossesListCmd) Run(a *app) error {
	if err := checkPlot(c.Plot); err != nil {
		return err
	}
	var all []algorithms.Facts
	var curves []plotted
	var text strings.Builder
	for _, l := range engine.Library() {
		loss, err := lossFlags{Loss: l.Name}.scalarLoss(c.Task)
		if err != nil {
			return err
		}
		facts, err := lossFacts(loss, c.Task, c.Radius)
		if err != nil {
			return err
		}
		all, curves = append(all, facts), append(curves, plotted{l.Name, loss.Scalar().Phi})
		fmt.Fprintf(&text, "%-16s %s  phi(u) = %s\n%16s %s\n%16s G = %.6g, L = %s, Dg = %.6g, %s, %s\n", l.Name,
			sparkline(loss.Scalar().Phi), loss.Scalar().Text(),
			"", l.Title, "", facts.Value("lipschitz"), smoothness(facts), facts.Value("pair_diameter"),
			pick(facts.Value("convex") == true, "convex", "not convex"),
			pick(smoothness(facts) != "inf", "smooth", "not smooth"))
	}
	fmt.Fprintf(&text, "\nconstants for --task %s, radius %g, ||x|| <= 1 and labels in [-1, 1]; curves for u from "+
		"%g to %g\n\"dyad lab losses check NAME|EXPR\" proves the constants of any loss; \"dyad train --loss "+
		"NAME|EXPR\" uses the loss.\n", c.Task, c.Radius, -plotReach, plotReach)
	if c.Plot != "" {
		if err := writeLossPlot(c.Plot, "Built-in losses", -plotReach, plotReach, curves); err != nil {
			return err
		}
		fmt.Fprintf(&text, "plot: %s\n", c.Plot)
	}
	return a.emit(all, text.String())
}

// Run analyses one loss.
func (c *lossesCheckCmd) Run(a *app) error {
	if err := checkPlot(c.Plot); err != nil {
		return err
	}
	f := lossFlags{c.Loss, c.LossParam, c.LossClip}
	loss, err := f.scalarLoss(c.Task)
	if err != nil {
		return err
	}
	facts, err := lossFacts(loss, c.Task, c.Radius)
	if err != nil {
		return err
	}
	trained, err := f.loss(c.Task) // the loss with its own kernels, if it has any
	if err != nil {
		return err
	}
	problem := engine.Problem{N: c.N, D: c.D, Bounds: engine.UnitBounds(), Loss: trained, Radius: c.Radius}
	var method string
	if kernel, err := (cpu.Backend{}).Plan(problem); err != nil {
		method = plain(err)
	} else {
		method = kernel.Method()
	}
	if facts.AddSome("plot", c.Plot) != "" {
		s := loss.Scalar()
		low, high := loss.MarginRange(engine.UnitBounds(), c.Radius)
		if err := writeLossPlot(c.Plot, loss.Name()+": "+s.Text(), low, high,
			[]plotted{{"phi", s.Phi}, {"phi'", s.DPhi}}); err != nil {
			return err
		}
	}
	facts.Line("engine", "%s at n = %d, d = %d", facts.Add("method", method), c.N, c.D)
	label, first := "algorithms", map[string]string{}
	for _, a := range facts.Add("algorithms", applicable(problem)).([]lossAlgorithm) {
		verdict := "applies"
		if !a.Applies {
			if verdict = "refuses, as " + first[a.why]; first[a.why] == "" {
				verdict, first[a.why] = "refuses: "+a.Reason, a.Name
			}
		}
		facts.Line(label, "%-22s %s", a.Name, verdict)
		label = ""
	}
	if c.Plot != "" {
		facts.Line("plot", "%s", c.Plot)
	}
	return a.emit(facts, facts.Text())
}

// applicable asks every algorithm for a plan of the problem and returns the results.
func applicable(p engine.Problem) []lossAlgorithm {
	var all []lossAlgorithm
	budget := privacy.Budget{Epsilon: 1, Delta: privacy.DefaultDelta(p.N)}
	ask := func(info algorithms.Info, plan func(mode algorithms.Mode, l2 float64) (*algorithms.Plan, error)) {
		mode, l2 := algorithms.Certified, 0.0
		if !info.Supports(mode) {
			mode = algorithms.NonPrivate
		}
		if info.NeedsL2 {
			l2 = 0.01
		}
		made, err := plan(mode, l2)
		l := lossAlgorithm{Name: info.Name}
		switch {
		case err != nil:
			l.Reason, l.why = plain(err), err.Error()
			if r, ok := errors.AsType[*algorithms.Refusal](err); ok {
				l.why = r.Why.Error()
			}
		case made.Aim.Loss == "" || made.Aim.Loss == p.Loss.Name():
			l.Applies = true
		default:
			l.why = fmt.Sprintf("minimises the %s loss only", made.Aim.Loss)
			if made.Aim.Loss == "no loss" {
				l.why = "minimises no loss"
			}
			l.Reason = info.Name + " " + l.why
		}
		all = append(all, l)
	}
	for _, a := range algorithms.Catalog() {
		ask(a.Info(), func(mode algorithms.Mode, l2 float64) (*algorithms.Plan, error) {
			spec, err := algorithms.NewSpec(cpu.Backend{}, p, l2, budget, mode)
			if err != nil {
				return nil, err
			}
			return a.Plan(spec)
		})
	}
	for _, s := range algorithms.StreamCatalog() {
		ask(s.Info(), func(mode algorithms.Mode, l2 float64) (*algorithms.Plan, error) {
			spec, err := algorithms.NewStreamSpec(cpu.Backend{}, p, algorithms.StreamOptions{Horizon: p.N}, l2, budget, mode)
			if err != nil {
				return nil, err
			}
			return s.Plan(spec)
		})
	}
	return all
}
