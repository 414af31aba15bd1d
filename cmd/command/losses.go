package command

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/input"
	"dyad/privacy"
)

type lossesListCmd struct {
	Task   string  `default:"auc" enum:"auc,metric"`
	Radius float64 `positive:"" default:"1" placeholder:"R"`
	Plot   string  `placeholder:"FILE"`
}

// Help returns a text with examples.
func (lossesListCmd) Help() string {
	return `Examples:
  dyad lab losses
  dyad lab losses --task metric
  dyad lab losses --plot losses.svg`
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
	N         int                `positive:"" within:"[2,]" short:"n" default:"1000" help:"Number of records, for the method and the algorithms."`
	D         int                `positive:"" short:"d" default:"10"`
	Plot      string             `placeholder:"FILE"`
}

// Help returns a text with examples.
func (lossesCheckCmd) Help() string {
	return "Formulas in u have + - * / ^, the comparisons < <= > >= (1 or 0), pi, e, names of --set loss-param, and\n" +
		strings.Join(engine.Functions(), " ") + `.
The bounds are proved by interval arithmetic for every record with ||x|| <= 1 and labels in [-1, 1], and every
w of the radius. Nothing is read and no budget is charged.

Examples:
  dyad lab losses check 'log1p(exp(-u))'
  dyad lab losses check 'max(0, m - u)' --set loss-param=m=0.5
  dyad lab losses check gompertz --set loss-param=c=3
  dyad lab losses check 'exp(-u)' --task metric --set radius=2
  dyad lab losses check 'exp(-u)' --set loss-clip=2
  dyad lab losses check '-log(normcdf(u))'`
}

// lossConstants holds the constants of a loss as plain values.
type lossConstants struct {
	Name       string   `json:"name"`
	Definition string   `json:"definition"`
	Task       string   `json:"task"`
	Radius     float64  `json:"radius"`
	MarginLow  float64  `json:"margin_low"`
	MarginHigh float64  `json:"margin_high"`
	SlopeMin   float64  `json:"slope_min"`
	SlopeMax   float64  `json:"slope_max"`
	Gap        float64  `json:"gap"` // bound on the relative excess of the slope bound over the true value
	Lipschitz  float64  `json:"lipschitz"`
	Diameter   float64  `json:"pair_diameter"`
	Smoothness *float64 `json:"smoothness"` // smoothness constant, null if the loss is not smooth
	Convex     bool     `json:"convex"`
	Origin     string   `json:"constants_origin"`
	SlopeError *float64 `json:"slope_error"` // bound on the rounding error of a computed slope, null if there is none
	Plot       string   `json:"plot,omitempty"`

	Method     string          `json:"method,omitempty"`
	Algorithms []lossAlgorithm `json:"algorithms,omitempty"`
}

// lossAlgorithm states whether an algorithm accepts a loss.
type lossAlgorithm struct {
	Name    string `json:"name"`
	Applies bool   `json:"applies"`
	Reason  string `json:"reason,omitempty"`
}

// constantsOf returns the lossConstants of a loss without method and algorithms.
func constantsOf(loss engine.ScalarLoss, task string, radius float64) (lossConstants, error) {
	b := engine.UnitBounds()
	c, err := loss.Constants(b, radius)
	if err != nil {
		return lossConstants{}, asInput(err)
	}
	lo, hi := loss.MarginRange(b, radius)
	k, err := loss.Scalar().Bounds(lo, hi)
	if err != nil {
		return lossConstants{}, asInput(err)
	}
	out := lossConstants{
		Name: loss.Name(), Definition: loss.Definition(), Task: task, Radius: radius,
		MarginLow: lo, MarginHigh: hi, SlopeMin: k.SlopeMin, SlopeMax: k.SlopeMax, Gap: k.Gap,
		Lipschitz: c.Lipschitz, Diameter: c.PairDiameter, Convex: c.Convex, Origin: c.Origin.String(),
	}
	if !math.IsInf(c.Smoothness, 0) {
		out.Smoothness = &c.Smoothness
	}
	if !math.IsInf(k.SlopeError, 0) {
		out.SlopeError = &k.SlopeError
	}
	return out, nil
}

// scalarLoss returns the loss of the flags in a form that can be analysed. This includes the logistic loss.
func (f lossFlags) scalarLoss(task string) (engine.ScalarLoss, error) {
	s, err := f.definition()
	if err != nil {
		return nil, err
	}
	e, err := s.Scalar()
	if err != nil {
		return nil, err
	}
	if task == taskMetric {
		return engine.Metric{Of: e}, nil
	}
	return engine.Score{Of: e}, nil
}

func (c lossConstants) smooth() string {
	if c.Smoothness == nil {
		return "inf"
	}
	return fmt.Sprintf("%.6g", *c.Smoothness)
}

// Run lists the library.
func (c *lossesListCmd) Run(a *app) error {
	if c.Plot != "" {
		if err := checkPlot(c.Plot); err != nil {
			return err
		}
	}
	var all []lossConstants
	var curves []plotted
	var text strings.Builder
	for _, l := range engine.Library() {
		loss, err := lossFlags{Loss: l.Name}.scalarLoss(c.Task)
		if err != nil {
			return err
		}
		k, err := constantsOf(loss, c.Task, c.Radius)
		if err != nil {
			return err
		}
		all, curves = append(all, k), append(curves, plotted{l.Name, loss.Scalar().Phi})
		fmt.Fprintf(&text, "%-16s %s  phi(u) = %s\n%16s %s\n%16s G = %.6g, L = %s, Dg = %.6g, %s, %s\n", l.Name,
			sparkline(loss.Scalar().Phi), loss.Scalar().Text(),
			"", l.Title, "", k.Lipschitz, k.smooth(), k.Diameter, either(k.Convex, "convex", "not convex"),
			either(k.Smoothness != nil, "smooth", "not smooth"))
	}
	fmt.Fprintf(&text, "\nconstants for --task %s, radius %g, ||x|| <= 1 and labels in [-1, 1]; curves for u from %g to "+
		"%g\n\"dyad lab losses check NAME|EXPR\" proves the constants of any loss, \"dyad train --loss NAME|EXPR\" uses it.\n", c.Task, c.Radius, -plotReach, plotReach)
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
	if c.Plot != "" {
		if err := checkPlot(c.Plot); err != nil {
			return err
		}
	}
	f := lossFlags{c.Loss, c.LossParam, c.LossClip}
	loss, err := f.scalarLoss(c.Task)
	if err != nil {
		return err
	}
	k, err := constantsOf(loss, c.Task, c.Radius)
	if err != nil {
		return err
	}
	trained, err := f.loss(c.Task) // the loss with its own kernels, if it has any
	if err != nil {
		return err
	}
	problem := engine.Problem{N: c.N, D: c.D, Bounds: engine.UnitBounds(), Loss: trained, Radius: c.Radius}
	if kernel, err := (cpu.Backend{}).Plan(problem); err != nil {
		k.Method = strings.TrimPrefix(message(err), "dyad: ")
	} else {
		k.Method = kernel.Method()
	}
	k.Algorithms = applicable(problem)
	if c.Plot != "" {
		k.Plot = c.Plot
		s := loss.Scalar()
		if err := writeLossPlot(c.Plot, loss.Name()+": "+s.Text(), k.MarginLow, k.MarginHigh,
			[]plotted{{"phi", s.Phi}, {"phi'", s.DPhi}}); err != nil {
			return err
		}
	}
	return a.emit(k, k.text(loss.Scalar(), c.N, c.D))
}

// text returns the analysis as aligned lines.
func (c lossConstants) text(s engine.Scalar, n, d int) string {
	var b strings.Builder
	line(&b, "loss", "%s: phi(u) = %s, %s", c.Name, s.Text(), marginText(c.Task))
	line(&b, "", "%s  u from %g to %g", sparkline(s.Phi), -plotReach, plotReach)
	line(&b, "margins", "u in [%.6g, %.6g] for r = %g, ||x|| <= 1, labels in [-1, 1], with a slack of 2^-18", c.MarginLow,
		c.MarginHigh, c.Radius)
	line(&b, "slope", "phi' in [%.6g, %.6g], at most %.2g %% above the truth", c.SlopeMin, c.SlopeMax, 100*c.Gap)
	line(&b, "constants", "G = %.6g, L = %s, Dg = %.6g (%s)", c.Lipschitz, c.smooth(), c.Diameter, c.Origin)
	smooth := "smooth"
	if c.Smoothness == nil {
		smooth = "not smooth: only for algorithms that add noise to every gradient"
	}
	line(&b, "shape", "%s, %s", either(c.Convex, "convex", "not proved to be convex"), smooth)
	if c.SlopeError != nil {
		line(&b, "roundoff", "a computed phi' is within %.2g of the exact one", *c.SlopeError)
	}
	line(&b, "engine", "%s at n = %d, d = %d", c.Method, n, d)
	label, first := "algorithms", map[string]string{}
	for _, a := range c.Algorithms {
		verdict := "applies"
		if !a.Applies {
			reason := strings.Replace(a.Reason, a.Name, "", 1)
			if verdict = "refuses, as " + first[reason]; first[reason] == "" {
				verdict, first[reason] = "refuses: "+a.Reason, a.Name
			}
		}
		line(&b, label, "%-22s %s", a.Name, verdict)
		label = ""
	}
	if c.Plot != "" {
		line(&b, "plot", "%s", c.Plot)
	}
	return b.String()
}

// applicable asks every algorithm for a plan of the problem and returns the results.
func applicable(p engine.Problem) []lossAlgorithm {
	var all []lossAlgorithm
	budget := privacy.Budget{Epsilon: 1, Delta: privacy.DefaultDelta(p.N)}
	add := func(name string, err error) {
		l := lossAlgorithm{Name: name, Applies: err == nil}
		if err != nil {
			l.Reason = strings.TrimPrefix(message(unwrapInput(err)), "dyad: ")
		}
		all = append(all, l)
	}
	for _, a := range algorithms.Catalog() {
		info := a.Info()
		mode, l2 := algorithms.Certified, 0.0
		if !info.Supports(mode) {
			mode = algorithms.NonPrivate
		}
		if info.NeedsL2 {
			l2 = 0.01
		}
		spec, err := algorithms.NewSpec(cpu.Backend{}, p, l2, budget, mode)
		var plan *algorithms.Plan
		if err == nil {
			plan, err = a.Plan(spec)
		}
		switch {
		case err != nil || plan.Aim.Loss == "" || plan.Aim.Loss == p.Loss.Name():
		case plan.Aim.Loss == "no loss":
			err = fmt.Errorf("%s minimises no loss", info.Name)
		default:
			err = fmt.Errorf("%s minimises the %s loss only", info.Name, plan.Aim.Loss)
		}
		add(info.Name, err)
	}
	for _, s := range algorithms.StreamCatalog() {
		mode, l2 := algorithms.Certified, 0.0
		if !s.Info().Supports(mode) {
			mode = algorithms.NonPrivate
		}
		if s.Info().NeedsL2 {
			l2 = 0.01
		}
		spec, err := algorithms.NewStreamSpec(cpu.Backend{}, p, algorithms.StreamOptions{Horizon: p.N}, l2, budget, mode)
		if err == nil {
			_, err = s.Plan(spec)
		}
		add(s.Info().Name, err)
	}
	return all
}

func either(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

// unwrapInput removes the mark of exitInput.
func unwrapInput(err error) error {
	var bad input.Error
	if errors.As(err, &bad) {
		return bad.Unwrap()
	}
	return err
}
