package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/device"
	"dyad/privacy"
)

type auditRecordsCmd struct {
	Algorithm  string   `arg:"" help:"Algorithm to attack, see \"dyad lab algorithms\"."`
	Mode       string   `default:"certified" enum:"certified,paper" help:"Attack the guarantee of this mode: certified or paper."`
	Epsilon    float64  `default:"1" help:"Epsilon to spend."`
	Delta      *float64 `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	N          int      `positive:"" within:"[2,]" short:"n" default:"64" help:"Number of records."`
	PersonRows int      `positive:"" placeholder:"K" help:"Audit persons with up to K rows: the data sets differ in one person. Default: in one row."`
	D          int      `positive:"" short:"d" default:"2"`
	Choose     int      `positive:"" name:"choose-interactions" placeholder:"K" help:"As in a schema."`
	L2         *float64 `name:"l2" placeholder:"ALPHA" help:"Weight of the L2 term. Default: 0.001, or 0 if the algorithm has no L2 term."`
	Task       string   `default:"auc" enum:"auc,metric" `
	Steps      int      `positive:""`
	StepSize   float64  `positive:"" placeholder:"ETA"`
	TotalStep  float64  `positive:"" aliases:"path" placeholder:"H"`
	Batch      int      `positive:"" name:"batch-records" placeholder:"M"`
	Loss       string   `default:"linear" type:"formula" placeholder:"NAME|EXPR" help:"linear, which attains the sensitivity bounds, or a loss of train."`

	LossParam  map[string]float64 `not:"loss=linear" name:"loss-param" placeholder:"K=V"`
	LossClip   float64            `not:"loss=linear" positive:"" name:"loss-clip" placeholder:"C"`
	WorstStart bool               `needs:"task=metric" why:"scores start at 0" help:"With --task metric: start at the matrix where one record changes the gradient most. Default: a multiple of the identity."`
	Radius     float64            `positive:"" placeholder:"R" help:"Bound of ||w|| (w = weights). Default: 1 with --loss linear, otherwise by a public rule."`
	Every      int                `positive:"" default:"1" placeholder:"K"`
	Buffer     int                `help:"As in online. Default: 0 (keep all earlier records)."`
	Reservoir  bool
	Secret     bool          `name:"secret-state"`
	Method     string        `not:"plot person-rows part merge" why:"canaries are one run, which inserts rows one by one" default:"runs" enum:"runs,canaries" help:"runs: many runs on two neighbouring data sets. canaries: one run with many canary records."`
	Canaries   canaryNumbers `placeholder:"M[/K]" help:"M: number of canaries. Default and maximum: min(d, n/2). K: number of guesses. Default: M/4."`
	auditNetworkFlags
	auditFlags
}

// canaryNumbers are the number of canaries and the number of their bits that are guessed. 0 means that the audit
// chooses the number.
type canaryNumbers struct{ made, guessed int }

// UnmarshalText parses M or M/K.
func (c *canaryNumbers) UnmarshalText(text []byte) error {
	made, guessed, both := strings.Cut(string(text), "/")
	for to, s := range map[*int]string{&c.made: made, &c.guessed: guessed} {
		if n, err := strconv.Atoi(s); err == nil && n > 0 {
			*to = n
		} else if to == &c.made || both {
			return errors.New("want M or M/K; M and K must be positive whole numbers")
		}
	}
	return nil
}

// auditResult is the JSON output of audit.
type auditResult struct {
	*audit.Report
	Holds bool   `json:"holds"`
	Plot  string `json:"plot,omitempty"`
}

// Run carries out the attack.
func (c *auditRecordsCmd) Run(a *app) error {
	if c.Method == "canaries" {
		return c.report(a, c.canaries)
	}
	return c.attack(a, c.target)
}

// attack carries out the runs against a target, or a part of them, or joins the results of parts.
func (f auditFlags) attack(a *app, of func(context.Context) (audit.Target, error)) error {
	part, parts, err := f.given()
	if err != nil {
		return err
	}
	if parts > 0 {
		target, err := of(a.ctx)
		if err != nil {
			return asInput(err)
		}
		return f.writePart(a, target, part, parts)
	}
	return f.report(a, func(a *app) (*audit.Report, error) {
		target, err := of(a.ctx)
		if err != nil {
			return nil, err
		}
		if f.Merge != nil {
			return f.join(a, target)
		}
		return f.run(a, target)
	})
}

// report prints the result of an attack.
func (f auditFlags) report(a *app, attack func(*app) (*audit.Report, error)) error {
	if f.Plot != "" {
		if err := checkPlot(f.Plot); err != nil {
			return err
		}
	}
	page, err := f.output(f.Force, f.Plot)
	if err != nil {
		return err
	}
	r, stopped := attack(a)
	if r == nil || stopped != nil && !errors.Is(stopped, context.Canceled) {
		return a.asInput(stopped)
	}
	if f.Plot != "" && r.Runs > 0 {
		if err := auditFigure(r).Save(f.Plot); err != nil {
			return err
		}
	} else {
		f.Plot = ""
	}
	if err := a.emit(auditResult{r, r.Holds(), f.Plot}, auditFacts(r, f.Plot).Text()); err != nil {
		return err
	}
	if page != nil {
		if err := a.auditPage(page, r); err != nil {
			return err
		}
	}
	if !r.Holds() {
		return errCheckFailed
	}
	return stopped
}

// run attacks a target and returns the report.
func (f auditFlags) run(a *app, target audit.Target) (*audit.Report, error) {
	bar := a.describedTracker("auditing")
	o := f.options(bar)
	power, err := target.Power(a.ctx, o)
	if err != nil {
		return nil, err
	}
	a.note("dyad: %s", power)
	o.Look = func(r *audit.Report) {
		bar.describe(fmt.Sprintf("auditing, epsilon >= %.3g from %d runs", r.LowerBound, r.Runs))
	}
	return audit.Run(a.ctx, target, o)
}

// canaries carries out an audit by a single run with canaries.
func (c *auditRecordsCmd) canaries(a *app) (*audit.Report, error) {
	if stream, err := c.stream(); err != nil || stream != nil {
		return nil, err
	}
	algorithm, plan, err := c.plan()
	if err != nil {
		return nil, err
	}
	return audit.Canaries(a.ctx, algorithm, plan, audit.CanaryOptions{
		Canaries: c.Canaries.made, Guesses: c.Canaries.guessed, Confidence: c.Confidence, Seed: c.Seed,
		Tracker: a.tracker("auditing"),
	})
}

// target makes the plan and searches for the data sets to attack.
func (c *auditRecordsCmd) target(ctx context.Context) (audit.Target, error) {
	stream, err := c.stream()
	if err != nil {
		return audit.Target{}, err
	}
	if stream != nil {
		plan, err := c.streamPlan(stream)
		if err != nil {
			return audit.Target{}, err
		}
		return audit.WorstStream(ctx, plan, c.Seed)
	}
	algorithm, plan, err := c.plan()
	if err != nil {
		return audit.Target{}, err
	}
	return audit.Worst(ctx, algorithm, plan, c.Seed)
}

// stream returns the online algorithm with the given name, or nil if there is none.
func (c *auditRecordsCmd) stream() (algorithms.Stream, error) {
	online := c.Every != 1 || c.Buffer != 0 || c.Reservoir || c.Secret
	for _, s := range algorithms.StreamCatalog() {
		if s.Info().Name != c.Algorithm {
			continue
		}
		if c.PersonRows > 0 {
			return nil, badInput("--person-rows is only for batch algorithms; in a stream, each row is a record")
		}
		if c.Method == "canaries" || c.Steps != 0 || c.StepSize != 0 || c.TotalStep != 0 || c.Batch != 0 {
			return nil, badInput("--method canaries, --steps, --step-size, --total-step and --batch-records are not for "+
				"online algorithms such as %s", c.Algorithm)
		}
		if !c.Secret {
			return s, nil
		}
		s, err := algorithms.StreamWith(s, secretState)
		return s, asInput(err)
	}
	if online {
		return nil, badInput("%s is a batch algorithm; leave --every, --buffer, --reservoir and --secret-state out",
			c.Algorithm)
	}
	return nil, nil
}

// spec returns the inputs for the plans of both kinds of algorithms.
func (c *auditRecordsCmd) spec(needsL2 bool) (p engine.Problem, l2 float64, b privacy.Budget,
	mode algorithms.Mode, err error) {
	if mode, err = algorithms.ParseMode(c.Mode); err != nil {
		return p, l2, b, mode, asInput(err)
	}
	b = lib.Options{Epsilon: c.Epsilon, Delta: c.Delta}.Budget(c.N)
	if needsL2 {
		l2 = 0.001
	}
	l2 = *cmp.Or(c.L2, &l2)
	p = engine.Problem{N: c.N, D: c.D, Bounds: engine.UnitBounds(), Loss: audit.Linear{}, Radius: 1,
		PersonRows: c.PersonRows}
	switch linear := c.Loss == "linear"; {
	case c.Task == taskMetric && linear:
		p.Loss = audit.LinearMetric{}
	case !linear:
		if p.Loss, err = (lossFlags{c.Loss, c.LossParam, c.LossClip}).loss(c.Task); err != nil {
			return p, l2, b, mode, err
		}
		if c.Task == taskAUC {
			p.Radius = algorithms.DefaultRadius(c.Algorithm, c.N, c.D, b, mode, p.Loss)
		}
	}
	p.Radius = cmp.Or(c.Radius, p.Radius)
	if c.Choose > 0 {
		p = p.ChoosePairs(c.Choose)
	}
	if err := c.network(c, &p); err != nil {
		return p, l2, b, mode, err
	}
	if c.WorstStart {
		if p.Loss, err = audit.FromWorstStart(p.Loss.(engine.MetricLoss), p.Bounds, c.D, p.Radius); err != nil {
			return p, l2, b, mode, asInput(err)
		}
	}
	return p, l2, b, mode, nil
}

// auditBackend has one worker per evaluator, because the runs themselves are distributed over the cores.
var auditBackend = cpu.Backend{Workers: 1}

// plan returns the plan whose guarantee is attacked.
func (c *auditRecordsCmd) plan() (algorithms.Algorithm, *algorithms.Plan, error) {
	a, err := algorithms.ByName(c.Algorithm)
	if err != nil && exists(c.Algorithm) {
		return nil, nil, badInput(`%s is a file; name an algorithm, such as moments, or check a model with "dyad `+
			`verify"`, c.Algorithm)
	}
	if err != nil {
		return nil, nil, asInput(err)
	}
	if c.Loss != "linear" && (c.Algorithm == "moments" || c.Algorithm == "moment-metric") { // an audit must not name it
		return nil, nil, badInput("%s takes no loss (--loss, --loss-param, --loss-clip); leave them out", c.Algorithm)
	}
	options, err := planFlags{
		methodFlags:  methodFlags{Algorithm: c.Algorithm, Mode: c.Mode},
		problemFlags: problemFlags{Steps: c.Steps, StepSize: c.StepSize},
		noiseFlags:   noiseFlags{TotalStep: c.TotalStep, Batch: c.Batch},
	}.algorithmOptions()
	if err != nil {
		return nil, nil, err
	}
	if a, err = algorithms.With(a, options...); err != nil {
		return nil, nil, asInput(err)
	}
	problem, l2, b, mode, err := c.spec(a.Info().NeedsL2)
	if err != nil {
		return nil, nil, err
	}
	spec, err := algorithms.NewSpec(device.For(problem.Loss, auditBackend), problem, l2, b, mode)
	if err != nil {
		return nil, nil, asInput(err)
	}
	p, err := a.Plan(spec)
	return a, p, asInput(err)
}

// streamPlan returns the plan of an online algorithm.
func (c *auditRecordsCmd) streamPlan(s algorithms.Stream) (*algorithms.Plan, error) {
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

// auditNetworkFlags are the flags for a network as the audited model.
type auditNetworkFlags struct {
	ModelKind string  `name:"model" default:"linear" placeholder:"KIND" not:"radius worst-start" why:"its layers have balls of their own, and its start is drawn" help:"As in train. Networks need gradient-perturbation, dpgdc2 or subsampled-descent."`
	Hidden    []int   `needs:"model=mlp" placeholder:"N"`
	Dim       int     `needs:"model=mlp|model=FILE" positive:"" placeholder:"M"`
	Clip      float64 `needs:"model=mlp|model=FILE" name:"jacobian-clip" positive:"" placeholder:"C"`

	with With
}

// network sets the loss of a network in the problem of an audit. Linear losses become logistic in this case.
func (f auditNetworkFlags) network(c *auditRecordsCmd, p *engine.Problem) error {
	n, err := networkFlags{ModelKind: f.ModelKind, Hidden: f.Hidden, Dim: f.Dim, Clip: f.Clip}.network(f.with)
	if n == nil || err != nil {
		return err
	}
	var of lib.Loss
	if c.Loss != "linear" {
		if of, err = (lossFlags{c.Loss, c.LossParam, c.LossClip}).definition(); err != nil {
			return err
		}
	}
	loss, err := n.PairLoss(c.Task, p.D, of)
	if err == nil {
		p.Loss, p.Radius = loss, loss.Radius()
	}
	return err
}
