package command

import (
	"dyad/algorithms/evaluate"
	"dyad/internal/files"
	"dyad/internal/input"
)

type thresholdCmd struct {
	measuredFlags
	Data       dataFiles `required:"" xor:"records" needs:"epsilon" placeholder:"FILE" help:"As in train, with labels, in the format of the training data."`
	Figures    string    `required:"" xor:"records" not:"epsilon delta roc-thresholds holdout n labels resume seed public-data" why:"the figures are released, and nothing else is read" placeholder:"FILE" help:"As in report. No data are read, and no budget is charged."`
	Aim        string    `enum:"balanced,accuracy,sensitivity,specificity" default:"balanced" placeholder:"AIM" help:"balanced: maximise sensitivity + specificity. accuracy: maximise accuracy. sensitivity: reach --at-least in sensitivity, then maximise specificity. specificity: the reverse."`
	AtLeast    float64   `positive:"" name:"at-least" placeholder:"F" help:"Required sensitivity or specificity (--aim). The lower end of its interval must reach it."`
	Epsilon    *float64  `placeholder:"EPSILON" help:"Epsilon of the released operating points, charged to the ledger."`
	Delta      *float64  `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Thresholds []float64 `name:"roc-thresholds" placeholder:"T" help:"Public thresholds to choose among. Default: 0, and values from a released mean and deviation of the scores."`
	N          int       `positive:"" short:"n" help:"As in plan: number of persons in the file, if it differs from the schema."`
	Out        string    `writes:"figures" short:"o" default:"threshold.json" placeholder:"FILE" help:"Report with the threshold, for dyad predict --threshold FILE."`
	runFlags
}

// Run chooses a threshold.
func (c *thresholdCmd) Run(a *app) error {
	aim := evaluate.Aim{Name: c.Aim, AtLeast: c.AtLeast}
	if err := aim.Validate(); err != nil {
		return badInput("%v; set it with --aim and --at-least", err)
	}
	m, err := a.openModel(c.Model, c.Ledger)
	if err != nil {
		return err
	}
	if err := needs(m, input.Needs{Scores: c.Model +
		" is a metric, which gives distances and not scores; it has no threshold"}); err != nil {
		return err
	}
	if c.Figures != "" {
		return c.fromFigures(a, m, aim)
	}
	e := evaluatePrivateCmd{
		evaluatedFlags: evaluatedFlags{measuredFlags: c.measuredFlags},
		releaseFlags: releaseFlags{Data: c.Data, N: c.N, Epsilon: c.Epsilon, Delta: c.Delta, Out: c.Out,
			runFlags: c.runFlags},
		figureFlags: figureFlags{Thresholds: c.Thresholds}, aim: &aim,
	}
	return e.private(a, m, nil, c.PublicData)
}

// fromFigures chooses a threshold from released figures.
func (c *thresholdCmd) fromFigures(a *app, m *model, aim evaluate.Aim) error {
	out, err := files.NewOutput(c.Out, c.Force, c.Model, c.Figures, c.Ledger)
	if err != nil {
		return err
	}
	r, err := readFigures(c.Figures, m)
	if err != nil {
		return err
	}
	if r.Chosen, err = r.Figures.Threshold(aim); err != nil {
		return badInput("%s: %v", c.Figures, err)
	}
	r.Out, r.Plan = c.Out, nil // the result follows from the release and is another file
	text, err := indented(r)
	if err != nil {
		return err
	}
	if err := out.Write(files.Shared, text); err != nil {
		return err
	}
	return a.emit(r, r.brief(a))
}
