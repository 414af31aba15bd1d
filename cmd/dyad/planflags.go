package main

import (
	"cmp"
	"fmt"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cuda"
)

// planFlags are the flags that decide what a run will do and guarantee.
type planFlags struct {
	Task      string   `default:"auc" enum:"auc,metric" help:"auc: linear scores that rank positives above negatives; metric: a Mahalanobis metric in which equal labels are close."`
	Algorithm string   `placeholder:"NAME" help:"Algorithm, see \"dyad algorithms\", or auto, which chooses one by public numbers and says why. Default: auto; dpgdsc with --mode paper, projected-gradient with --mode nonprivate."`
	Mode      string   `default:"certified" enum:"certified,paper,nonprivate" help:"certified: proved noise; paper: the paper's formula, with what it really gives; nonprivate: the baseline."`
	Epsilon   float64  `default:"1" help:"Epsilon to spend."`
	Delta     *float64 `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	L2        *float64 `name:"l2" aliases:"alpha" placeholder:"ALPHA" help:"Weight alpha of the term alpha/2 ||w||^2. Default: 0.001, or 0 for offpairc, dpgdc, dpgdc2, dpegd, moments, moment-metric and moments-descent."`
	Radius    float64  `positive:"" placeholder:"R" help:"Radius of the ball that w lives in; public. Default: a rule of n, d, epsilon and delta, or 1 for --task metric."`
	Steps     int      `positive:"" help:"Number of full-batch steps. Default: the algorithm's public rule."`
	StepSize  float64  `positive:"" placeholder:"ETA" help:"Step size. Default: the algorithm's public rule."`
	Path      float64  `positive:"" placeholder:"H" help:"Sum of the step sizes. Default: the algorithm's public rule."`
	Batch     int      `positive:"" name:"batch-records" placeholder:"M" help:"Records drawn for each step of subsampled-descent, which uses all pairs within them. Default: the algorithm's public rule."`
	momentsFlags
	lossFlags
	Workers int `positive:"" help:"CPU workers; the result has the same bits for any number. Default: all cores."`
	deviceFlag
	Precision string `default:"auto" enum:"auto,fp32,bf16x3,tf32,wgmma" placeholder:"P" help:"Arithmetic of the pairs with --task metric: fp32, which on a CPU takes half the time of float64, or on tensor cores of a GPU, with --device cuda:N, bf16x3 or tf32, which are faster, or wgmma, which is bf16x3 for compute capability 9.0 alone. Noise covers the rounding: about 1 % with noisy gradients, below 0.2 % on a CPU; algorithms that perturb only their output pay more from some thousand records on, least with fp32. Default: auto, which is float64 on a CPU, and on a GPU bf16x3 unless wgmma was measured to be faster."`
}

// open opens the device in the precision of the flag, as openDevice.
func (f *planFlags) open() (func(), error) {
	precision, err := cuda.ParsePrecision(f.Precision)
	if err != nil {
		return nil, badInput("--precision: %s", err)
	}
	if precision != cuda.AutoPrecision && f.Task != taskMetric {
		return nil, badInput("--precision is for --task metric: no other task has a choice")
	}
	return f.openDevice(f.Workers, precision)
}

// plan plans from public numbers.
func (f planFlags) plan(s lib.Shape) (*lib.Training, error) {
	return f.assertedPlan(s, engine.Assertion{})
}

// assertedPlan is plan with constants of the loss as the user asserts them.
func (f planFlags) assertedPlan(s lib.Shape, asserted engine.Assertion) (*lib.Training, error) {
	o, err := f.decided(asserted)
	if err != nil {
		return nil, err
	}
	c, err := o.Choose(s, f.device)
	if err != nil {
		return nil, err
	}
	name := c.Algorithm.Info().Name
	chosen, _ := c.Algorithm.(algorithms.Moments)
	if c.Algorithm, err = f.configure(c.Algorithm); err != nil {
		if c.Reason != "" {
			err = badInput("%w; %s was chosen by auto: %s. Leave the flag out, or name an algorithm that has it with --algorithm (\"dyad algorithms\")", err, name, c.Reason)
		}
		return nil, err
	}
	if after, ok := c.Algorithm.(algorithms.Moments); ok && c.Reason != "" && after.Steps != chosen.Steps {
		c.Reason += fmt.Sprintf("; the flags make it %d steps", after.Steps)
	}
	return o.Plan(c, s, f.device)
}

// decided are the options of the flags; the algorithm has none of its own yet.
func (f planFlags) decided(asserted engine.Assertion) (o lib.Options, err error) {
	o = lib.Options{Task: f.Task, Epsilon: f.Epsilon, Delta: f.Delta, L2: f.L2, Radius: f.Radius, Assert: asserted}
	if o.Mode, err = algorithms.ParseMode(f.Mode); err != nil {
		return o, asInput(err)
	}
	if f.Algorithm != "" && f.Algorithm != algorithms.AutoName {
		if o.Algorithm, err = algorithms.ByName(f.Algorithm); err != nil {
			return o, asInput(err)
		}
	}
	if f.named() {
		o.Loss, err = f.definition()
	}
	return o, err
}

// l2 is the weight of the L2 term: the flag's, or the default for an algorithm.
func (f planFlags) l2(algorithm string) float64 {
	if f.L2 != nil {
		return *f.L2
	}
	return algorithms.DefaultL2(algorithm)
}

// configure puts the step flags into the algorithm's options; a flag that an
// algorithm does not have is an error, not ignored.
func (f planFlags) configure(a algorithms.Algorithm) (algorithms.Algorithm, error) {
	unused := func(flags ...string) error {
		set := map[string]bool{"--steps": f.Steps != 0, "--step-size": f.StepSize != 0, "--path": f.Path != 0}
		for _, flag := range flags {
			if set[flag] {
				return badInput("%s does not take %s", a.Info().Name, flag)
			}
		}
		return nil
	}
	switch {
	case f.Path == 0:
	case f.Steps != 0 && f.StepSize != 0:
		return nil, badInput("--path is --steps times --step-size; leave one of the three out")
	case f.Mode == algorithms.Paper.String() && a.Info().Name != "dpgdc":
		return nil, badInput("%s in paper mode does not take --path: the paper gives the schedule", a.Info().Name)
	}
	if _, batches := a.(algorithms.SubsampledDescent); f.Batch != 0 && !batches {
		return nil, badInput("%s does not take --batch-records; subsampled-descent does", a.Info().Name)
	}
	switch a := a.(type) {
	case algorithms.MomentMetric:
		if f.Precision != "auto" && f.Precision != "" { // "" where there is no such flag
			return nil, badInput("moment-metric does not take --precision: its sums are in float64, and it has no pair gradients")
		}
		m, err := f.metric()
		if err != nil {
			return nil, err
		}
		return m, unused("--steps", "--step-size", "--path")
	case algorithms.Moments:
		if f.GradientShare != 0 {
			return nil, badInput("moments takes no gradients and no --gradient-share; moments-descent does")
		}
		a = f.put(a)
		if f.SecondMoments == engine.NoSecond.String() {
			a.Steps = 0 // those of auto need them
		}
		a.Steps, a.StepShare = cmp.Or(f.Steps, a.Steps), f.StepShare
		return a, unused("--step-size", "--path")
	case algorithms.MomentsDescent:
		if f.StepShare != 0 {
			return nil, badInput("moments-descent does not take --step-share; --gradient-share is the share of its gradients")
		}
		return algorithms.MomentsDescent{Moments: f.put(a.Moments), Steps: f.Steps, GradientShare: f.GradientShare}, unused("--step-size", "--path")
	}
	if f.set() != "" {
		return nil, badInput("%s does not take %s; moments and moments-descent do", a.Info().Name, f.set())
	}
	switch a := a.(type) {
	case algorithms.DPGDSC:
		return algorithms.DPGDSC{Steps: cmp.Or(f.Steps, f.fewest(a.Steps)), StepSize: f.StepSize, Path: f.Path}, nil
	case algorithms.OffPairStrC:
		return algorithms.OffPairStrC{Path: f.Path}, unused("--steps", "--step-size")
	case algorithms.OffPairC:
		return algorithms.OffPairC{Path: f.Path}, unused("--steps", "--step-size")
	case algorithms.DPGDC:
		return algorithms.DPGDC{Steps: cmp.Or(f.Steps, f.fewest(a.Steps)), StepSize: f.StepSize, Path: f.Path}, nil
	case algorithms.DPGDC2:
		return algorithms.DPGDC2{Steps: f.Steps, StepSize: f.StepSize}, unused("--path")
	case algorithms.DPEGD:
		return algorithms.DPEGD{Steps: f.Steps, StepSize: f.StepSize}, unused("--path")
	case algorithms.GradientPerturbation:
		return algorithms.GradientPerturbation{Steps: cmp.Or(f.Steps, f.fewest(a.Steps)), StepSize: f.StepSize, Path: f.Path}, nil
	case algorithms.ConvergentDescent:
		return algorithms.ConvergentDescent{Steps: f.Steps, StepSize: f.StepSize, Path: f.Path}, nil
	case algorithms.SubsampledDescent:
		return algorithms.SubsampledDescent{BatchRecords: f.Batch, Steps: f.Steps, StepSize: f.StepSize, Path: f.Path}, nil
	case algorithms.ProjectedGradient:
		return algorithms.ProjectedGradient{Steps: f.Steps, StepSize: f.StepSize}, unused("--path")
	}
	return a, unused("--steps", "--step-size", "--path")
}

// fewest is a number of steps that auto chose, 0 if a flag decides.
func (f planFlags) fewest(steps int) int {
	if f.StepSize != 0 || f.Path != 0 {
		return 0
	}
	return steps
}
