package main

import (
	"fmt"
	"strings"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

type auditCmd struct {
	Algorithm  string             `arg:"" help:"Algorithm to attack, see \"dyad algorithms\"."`
	Mode       string             `default:"certified" enum:"certified,paper" help:"certified or paper; the attacked claim is the guarantee that the report of the mode prints."`
	Epsilon    float64            `default:"1" help:"Epsilon to spend."`
	Delta      *float64           `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	N          int                `positive:"" short:"n" default:"64" help:"Number of records."`
	D          int                `positive:"" short:"d" default:"2" help:"Number of features."`
	L2         *float64           `name:"l2" placeholder:"ALPHA" help:"Weight of the L2 term. Default: 0.001, or 0 if the algorithm takes none."`
	Task       string             `default:"auc" enum:"auc,metric" help:"auc: losses of score differences; metric: losses of a Mahalanobis metric."`
	Loss       string             `default:"linear" type:"formula" placeholder:"NAME|EXPR" help:"linear: the loss of the task on which sensitivity bounds are attained; or any loss of train."`
	LossParam  map[string]float64 `name:"loss-param" placeholder:"K=V" help:"As for train."`
	LossClip   float64            `positive:"" name:"loss-clip" placeholder:"C" help:"As for train."`
	Radius     float64            `positive:"" placeholder:"R" help:"Radius of the ball that w lives in. Default: 1, or the public rule for other losses than linear."`
	Every      int                `positive:"" default:"1" placeholder:"K" help:"Online algorithms: new records per update and release."`
	Buffer     int                `help:"Online algorithms: earlier records that a new one is paired with; 0: all."`
	Reservoir  bool               `help:"Online algorithms: the buffer is a uniform sample of all earlier records."`
	Secret     bool               `name:"secret-state" help:"Online algorithms: keep the noiseless iterate secret and release noisy copies."`
	Method     string             `default:"runs" enum:"runs,canaries" help:"runs: many runs on two neighbouring data sets; canaries: one run with many canary records."`
	BlackBox   bool               `help:"The adversary does not know the coins; every run is whole. Slower and weaker."`
	Runs       int                `positive:"" default:"4000" help:"Runs on each of the two data sets; half of them choose the attack."`
	Canaries   int                `positive:"" placeholder:"M" help:"Canary records, at most min(d, n/2), which is the default."`
	Guesses    int                `positive:"" placeholder:"K" help:"Canaries whose bit is guessed. Default: a quarter."`
	Confidence float64            `positive:"" default:"0.999" help:"Confidence of the bound."`
	Seed       uint64             `default:"1" help:"Seed of all randomness; the same seed gives the same output."`
	Workers    int                `positive:"" help:"CPU workers; the result is the same for any number. Default: all cores."`
	Plot       string             `placeholder:"FILE" help:"Plot what the attack achieves against what the claim allows, as SVG or PNG by the ending."`
}

// Help shows examples.
func (auditCmd) Help() string {
	return `Runs the algorithm on two data sets that differ in one record, guesses from the released vectors which one it
was, and prints the epsilon that the success of the guesses proves to be exceeded. A bound above the claim refutes
it (exit code 1). A bound below it is no proof of privacy. No data file is read and nothing is charged.

Examples:
  dyad audit dpgdsc --runs 1000
  dyad audit dpgdsc --epsilon 2 --delta 0 -d 1 --runs 1000 --json
  dyad audit dpgdsc --mode paper --l2 0.1 --loss logistic --runs 500
  dyad audit offpairc -n 40 --runs 1000 --plot audit.svg
  dyad audit offpairstrc -n 40 --l2 0.01 --black-box --runs 500
  dyad audit dpgdsc --task metric --runs 500
  dyad audit onpairc -n 16 --runs 300
  dyad audit onpairstrc -n 12 --secret-state --radius 1000 --epsilon 4 --runs 300
  dyad audit dpgdsc --method canaries -n 256 -d 64`
}

// auditResult is the JSON output of audit.
type auditResult struct {
	*audit.Report
	Holds bool   `json:"holds"`
	Plot  string `json:"plot,omitempty"`
}

// Run attacks.
func (c *auditCmd) Run(a *app) error {
	if c.Plot != "" {
		if c.Method == "canaries" {
			return badInput("--plot needs many runs; leave it or --method canaries out")
		}
		if err := checkPlot(c.Plot); err != nil {
			return err
		}
	}
	r, err := c.attack(a)
	if err != nil {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		return asInput(err)
	}
	if c.Plot != "" {
		if err := writeAuditPlot(c.Plot, r); err != nil {
			return err
		}
	}
	if err := a.emit(auditResult{r, r.Holds(), c.Plot}, auditText(r, c.Plot)); err != nil {
		return err
	}
	if !r.Holds() {
		return errCheckFailed
	}
	return nil
}

// attack plans and audits.
func (c *auditCmd) attack(a *app) (*audit.Report, error) {
	stream, err := c.stream()
	if err != nil {
		return nil, err
	}
	tracker := a.tracker("auditing")
	o := audit.Options{Runs: c.Runs, Confidence: c.Confidence, Seed: c.Seed, Workers: c.Workers, Tracker: tracker}
	if c.BlackBox {
		o.Access = audit.BlackBox
	}
	var target audit.Target
	if stream != nil {
		plan, err := c.streamPlan(stream)
		if err != nil {
			return nil, err
		}
		target, err = audit.WorstStream(a.ctx, plan, c.Seed)
		if err != nil {
			return nil, err
		}
		return audit.Run(a.ctx, target, o)
	}
	algorithm, plan, err := c.plan()
	if err != nil {
		return nil, err
	}
	if c.Method == "canaries" {
		return audit.Canaries(a.ctx, algorithm, plan, audit.CanaryOptions{
			Canaries: c.Canaries, Guesses: c.Guesses, Confidence: c.Confidence, Seed: c.Seed, Tracker: tracker,
		})
	}
	if target, err = audit.Worst(a.ctx, algorithm, plan, c.Seed); err != nil {
		return nil, err
	}
	return audit.Run(a.ctx, target, o)
}

// stream is the online algorithm of that name, nil if it is not one.
func (c *auditCmd) stream() (algorithms.Stream, error) {
	online := c.Every != 1 || c.Buffer != 0 || c.Reservoir || c.Secret
	for _, s := range algorithms.StreamCatalog() {
		if s.Info().Name != c.Algorithm {
			continue
		}
		if c.Method == "canaries" {
			return nil, badInput("--method canaries is for batch algorithms; leave it out")
		}
		if !c.Secret {
			return s, nil
		}
		switch s := s.(type) {
		case algorithms.OnPairC:
			s.Reading = algorithms.SecretState
			return s, nil
		case algorithms.OnPairStrC:
			s.Reading = algorithms.SecretState
			return s, nil
		}
		return nil, badInput("%s has no --secret-state", c.Algorithm)
	}
	if online {
		return nil, badInput("--every, --buffer, --reservoir and --secret-state are for online algorithms, and %s is none", c.Algorithm)
	}
	return nil, nil
}

// spec is what the plans of both kinds are made from.
func (c *auditCmd) spec(needsL2 bool) (p engine.Problem, l2 float64, b privacy.Budget, mode algorithms.Mode, err error) {
	if mode, err = algorithms.ParseMode(c.Mode); err != nil {
		return p, l2, b, mode, asInput(err)
	}
	if c.N < 2 || c.D < 1 {
		return p, l2, b, mode, badInput("-n must be at least 2 and -d at least 1")
	}
	b = privacy.Budget{Epsilon: c.Epsilon, Delta: privacy.DefaultDelta(c.N)}
	if c.Delta != nil {
		b.Delta = *c.Delta
	}
	if needsL2 {
		l2 = 0.001
	}
	if c.L2 != nil {
		l2 = *c.L2
	}
	p = engine.Problem{N: c.N, D: c.D, Bounds: engine.UnitBounds(), Loss: audit.Linear{}, Radius: 1}
	switch linear := c.Loss == "linear"; {
	case c.Task == taskMetric && linear:
		p.Loss = audit.LinearMetric{}
	case !linear:
		if p.Loss, err = (lossFlags{c.Loss, c.LossParam, c.LossClip}).loss(c.Task); err != nil {
			return p, l2, b, mode, err
		}
		if c.Task == taskAUC {
			p.Radius = algorithms.DefaultRadius(c.N, c.D, b, mode)
		}
	}
	if c.Radius != 0 {
		p.Radius = c.Radius
	}
	return p, l2, b, mode, nil
}

// One worker per evaluator: the runs themselves are spread over the cores.
var auditBackend = cpu.Backend{Workers: 1}

// plan is the plan whose guarantee is attacked.
func (c *auditCmd) plan() (algorithms.Algorithm, *algorithms.Plan, error) {
	a, err := algorithms.ByName(c.Algorithm)
	if err != nil {
		return nil, nil, asInput(err)
	}
	problem, l2, b, mode, err := c.spec(a.Info().NeedsL2)
	if err != nil {
		return nil, nil, err
	}
	spec, err := algorithms.NewSpec(auditBackend, problem, l2, b, mode)
	if err != nil {
		return nil, nil, asInput(err)
	}
	p, err := a.Plan(spec)
	return a, p, asInput(err)
}

// streamPlan is plan for an online algorithm.
func (c *auditCmd) streamPlan(s algorithms.Stream) (*algorithms.StreamPlan, error) {
	problem, l2, b, mode, err := c.spec(s.Info().NeedsL2)
	if err != nil {
		return nil, err
	}
	o := algorithms.StreamOptions{Horizon: c.N, Batch: c.Every, Buffer: c.Buffer, Reservoir: c.Reservoir}
	spec, err := algorithms.NewStreamSpec(auditBackend, problem, o, l2, b, mode)
	if err != nil {
		return nil, asInput(err)
	}
	p, err := s.Plan(spec)
	return p, asInput(err)
}

func auditText(r *audit.Report, plot string) string {
	var b strings.Builder
	variant := ""
	if r.Variant != "" {
		variant = ", " + r.Variant
	}
	line(&b, "algorithm", "%s, %s mode%s, %s loss, n = %d, d = %d", r.Algorithm, r.Mode, variant, r.Loss, r.Records, r.Features)
	line(&b, "attack", "%s; %s", r.Access, r.Instance)
	if r.Runs > 1 {
		line(&b, "", "%d runs on each of two neighbours, half of them to choose the attack; seed %d", r.Runs, r.Seed)
		line(&b, "", "the exact vectors move %.4g of what the certificate allows", r.Move)
	}
	claim := fmt.Sprintf("epsilon %.6g at delta %.6g (%.6g-GDP)", r.Epsilon, r.Delta, r.Mu)
	if r.Delta == 0 {
		claim = fmt.Sprintf("epsilon %.6g (pure: delta = 0)", r.Epsilon)
	}
	line(&b, "claimed", "%s", claim)
	line(&b, "audited", "epsilon >= %.6g with confidence %g", r.LowerBound, r.Confidence)
	for _, bound := range r.Bounds {
		line(&b, "", "%s: epsilon >= %.6g with confidence %g; assumes %s", bound.Method, bound.Epsilon, bound.Confidence, bound.Assumes)
		line(&b, "", "  %s", bound.Attack)
	}
	if s := r.Shift; s != nil {
		line(&b, "", "gap/sd of the scores: %.4f, standard error %.4f (the claim allows %.4f)", s.Mu, s.StandardError, r.Mu)
	}
	line(&b, "low bits", "%d released values, %d off the noise grid; %d noise vectors repeat", r.Values, r.OffGrid, r.Repeated)
	verdict := "the claim is not refuted (this is no proof of it)"
	if !r.Holds() {
		verdict = "THE CLAIM IS REFUTED"
	}
	if e := r.PaperEpsilon; e > 0 {
		paper := "is not refuted"
		if r.LowerBound > e {
			paper = "IS REFUTED"
		}
		verdict += fmt.Sprintf("; the paper's claim, epsilon %g, %s", e, paper)
	}
	line(&b, "verdict", "%s", verdict)
	if plot != "" {
		line(&b, "plot", "%s", plot)
	}
	return b.String()
}
