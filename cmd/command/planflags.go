package command

import (
	"reflect"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cuda"
	"dyad/engine/device"
)

// planFlags are the flags that determine a run and its guarantee.
type planFlags struct {
	methodFlags
	budgetFlags
	problemFlags
	noiseFlags
}

// methodFlags are the flags that choose an algorithm and the distribution of its noise.
type methodFlags struct {
	Algorithm string `placeholder:"NAME" help:"Algorithm, see \"dyad lab algorithms\", or auto, which chooses one by public numbers and says why. Default: auto; dpgdsc with --mode paper, projected-gradient with --mode nonprivate."`
	Mode      string `default:"certified" enum:"certified,paper,nonprivate" help:"certified: proved noise; paper: the paper's formula, with what it really gives; nonprivate: the baseline."`
	unsoundFlag
}

// budgetFlags are the flags for the privacy budget of a run.
type budgetFlags struct {
	Epsilon float64  `default:"1" help:"Epsilon to spend."`
	Delta   *float64 `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
}

// problemFlags are the flags for the objective and its domain, with or without noise.
type problemFlags struct {
	Task     string   `default:"auc" enum:"auc,metric" help:"auc: linear scores that rank positives above negatives; metric: a Mahalanobis metric in which equal labels are close."`
	L2       *float64 `name:"l2" aliases:"alpha" placeholder:"ALPHA" help:"Weight alpha of the term alpha/2 ||w||^2. Default: 0.001, or 0 for offpairc, dpgdc, dpgdc2, dpegd, moments, moment-metric and moments-descent, or 3/n for projected-gradient without --task metric."`
	Radius   float64  `positive:"" xor:"radius" placeholder:"R" help:"Radius of the ball that w lives in; public. Default: a rule of n, d, epsilon and delta, or 1 for --task metric."`
	Steps    int      `positive:"" help:"Number of full-batch steps. Default: the algorithm's public rule."`
	StepSize float64  `positive:"" placeholder:"ETA" help:"Step size. Default: the algorithm's public rule."`
	Ridge    float64  `positive:"" placeholder:"M" help:"Ridge factor of moments, a multiple of the noise of the second moments. Default: the public rule."`
	lossFlags
	ownFlags
	Workers int `positive:"" help:"CPU workers; the result has the same bits for any number. Default: all cores."`
	deviceFlag
	Precision string `needs:"task=metric" why:"no other task has a choice" default:"auto" enum:"auto,fp32,bf16x3" placeholder:"P" help:"Arithmetic of the pairs with --task metric: auto, fp32, or on a GPU bf16x3; docs/guide-gpu.md#precision has their costs. The noise covers the rounding. Default: auto, float64 on a CPU."`
}

// noiseFlags are the options of algorithms with noise.
type noiseFlags struct {
	TotalStep float64 `positive:"" xor:"length" aliases:"path" placeholder:"H" help:"Sum of the step sizes. Default: the algorithm's public rule."`
	Batch     int     `positive:"" name:"batch-records" placeholder:"M" help:"Records drawn for each step of subsampled-descent, which uses all pairs within them. Default: the algorithm's public rule."`
	momentsFlags
	networkFlags
}

// open opens the device in the precision of the flag, like openDevice. A plan may name a GPU that this machine
// does not have.
func (f *planFlags) open(plan bool) (func(), error) {
	precision, err := cuda.ParsePrecision(f.Precision)
	if err != nil {
		return nil, asInput(err)
	}
	return f.openAs(device.Options{Workers: f.Workers, Precision: precision, ForPlan: plan})
}

// plan returns the plan, computed from public numbers.
func (f planFlags) plan(s lib.Shape) (*lib.Training, error) {
	return f.assertedPlan(s, engine.Assertion{})
}

// assertedPlan is like plan, with constants of the loss that the user asserts.
func (f planFlags) assertedPlan(s lib.Shape, asserted engine.Assertion) (*lib.Training, error) {
	o, err := f.decided(asserted)
	if err != nil {
		return nil, err
	}
	c, err := o.Choose(s)
	if err != nil {
		return nil, err
	}
	options, err := f.algorithmOptions()
	if err != nil {
		return nil, err
	}
	if c, err = c.With(options...); err != nil {
		return nil, asInput(err)
	}
	return o.Plan(c, s)
}

// decided returns the options set by the flags. Options of the algorithm are not included yet.
func (f planFlags) decided(asserted engine.Assertion) (o lib.Options, err error) {
	o = lib.Options{Task: f.Task, Epsilon: f.Epsilon, Delta: f.Delta, L2: f.L2, Radius: f.Radius, Assert: asserted,
		PaperUnsound: f.PaperUnsound, On: f.device}
	if o.Mode, err = algorithms.ParseMode(f.Mode); err != nil {
		return o, asInput(err)
	}
	if f.Algorithm != "" && f.Algorithm != algorithms.AutoName {
		if o.Algorithm, err = f.algorithm(f.Algorithm); err != nil {
			return o, err
		}
	}
	if o.Network, err = f.network(f.with); err == nil && f.named() {
		o.Loss, err = f.ownLoss(f.lossFlags)
	}
	return o, err
}

// l2 returns the coefficient of the L2 term: the value of the flag, or the default of an algorithm.
func (f planFlags) l2(a algorithms.Algorithm, n int) float64 {
	if f.L2 != nil {
		return *f.L2
	}
	return algorithms.DefaultL2(a, n, f.Task == taskMetric)
}

// algorithmOptions returns the options of algorithms that are set by flags.
func (f planFlags) algorithmOptions() (set []algorithms.Option, err error) {
	switch {
	case f.TotalStep == 0:
	case f.Steps != 0 && f.StepSize != 0:
		return nil, badInput("--total-step is --steps times --step-size; leave one of the three out")
	case f.Mode == algorithms.Paper.String() && f.Algorithm != "dpgdc":
		return nil, badInput("paper mode does not take --total-step: the paper gives the schedule, and only dpgdc has " +
			"one of its own")
	}
	for _, o := range f.options() {
		if !reflect.ValueOf(o.Value).IsZero() {
			set = append(set, o)
		}
	}
	return append(set, f.ownOptions()...), nil
}

// options returns the options of the catalogue's algorithms, with the values of the flags.
func (f planFlags) options() []algorithms.Option {
	return append(f.optimizerOptions(f.Algorithm), []algorithms.Option{
		{Name: "--steps", Field: "Steps", Value: f.Steps}, {Name: "--step-size", Field: "StepSize", Value: f.StepSize},
		{Name: "--total-step", Field: "TotalStep", Value: f.TotalStep},
		{Name: "--batch-records", Field: "BatchRecords", Value: f.Batch},
		{Name: "--second-moments", Field: "Second", Value: strings.TrimPrefix(f.SecondMoments, "auto")},
		{Name: "--clip-radius", Field: "ClipRadius", Value: f.ClipRadius}, {Name: "--ridge", Field: "Ridge", Value: f.Ridge},
		{Name: "--count-share", Field: "CountShare", Value: f.CountShare},
		{Name: "--centre-share", Field: "CentreShare", Value: f.CentreShare},
		{Name: "--second-share", Field: "SecondShare", Value: f.SecondShare},
		{Name: "--step-share", Field: "StepShare", Value: f.StepShare},
		{Name: "--public-centre", Field: "Centre", Value: f.PublicCentre},
		{Name: "--class-balance", Field: "Balance", Value: f.ClassBalance},
		{Name: "--intervals", Field: "Intervals", Value: f.Intervals},
		{Name: "--gradient-share", Field: "GradientShare", Value: f.GradientShare},
	}...)
}
