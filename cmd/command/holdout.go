package command

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// holdoutFlags are the flags for the use of the records that a training holds out.
type holdoutFlags struct {
	HoldoutEpsilon *float64 `not:"task model" why:"it is for linear models of scores; evaluate another model after it is saved: dyad evaluate MODEL --data FILE --holdout F --epsilon E, with --reference FILE for a metric" placeholder:"E" help:"Extra epsilon, charged for private figures of the held-out records."`
	ExactFigures   bool
}

// defaultConfidence is the confidence level of the intervals of held-out figures.
const defaultConfidence = 0.95

// heldResult is the output about held-out records.
type heldResult struct {
	Held *evaluation `json:"held_out,omitempty"` // exact figures of the held-out records
	// Baseline holds the figures of a model trained without privacy. It is set for synthetic records.
	Baseline *evaluation `json:"held_out_without_privacy,omitempty"`
	// HeldProblem tells why no figures were computed for the held-out records.
	HeldProblem string `json:"held_out_problem,omitempty"`
	// HeldPrivate holds private figures. They are a separate run in the ledger.
	HeldPrivate *privateResult `json:"held_out_private,omitempty"`
	// HeldCommand is a command that evaluates the held-out records, if the run did not.
	HeldCommand string `json:"held_out_command,omitempty"`
	// InAll is the guarantee of the training and the private figures together.
	InAll *privacy.Guarantee `json:"in_all,omitempty"`
}

// planned returns the plan of the private figures of held-out records with a shape, or nil if there are none.
func (f holdoutFlags) planned(m *model, s lib.Shape, public bool, delta *float64) (*lib.FigurePlan, error) {
	switch {
	case f.HoldoutEpsilon == nil:
		return nil, nil
	case s.Records == 0:
		return nil, badInput("--holdout-epsilon needs held-out records: --holdout F")
	case s.Candidates.Choose > 0:
		return nil, badInput("--holdout-epsilon does not work with choose_interactions; leave it out, then run " +
			"dyad evaluate MODEL --data FILE --holdout F --epsilon E")
	case f.ExactFigures || public:
		return nil, badInput("--holdout-epsilon is only for private data without --exact-figures")
	}
	return lib.PlanFigures(s, f.figures(m, delta))
}

func (f holdoutFlags) figures(m *model, delta *float64) lib.FigureOptions {
	return figureFlags{}.of(m, f.HoldoutEpsilon, delta)
}

// inAll returns the guarantee of a training and the private figures of its held-out records, composed in the
// same way as in the ledger. It returns nil without figures or without a guarantee.
func inAll(training *algorithms.Plan, held *lib.FigurePlan) (*privacy.Guarantee, error) {
	if held == nil || training.Guarantee.Kind == privacy.None {
		return nil, nil
	}
	g := training.Guarantee
	g.Released += "; of the held-out records: " + held.Guarantee.Released
	g.Derivation, g.Claim = "", nil
	g, err := privacy.Account(append(slices.Clone(training.Events()), held.Events()...),
		privacy.Budget{Delta: max(training.Guarantee.Delta, held.Guarantee.Delta)}, g)
	training.Spec.Persons(&g)
	return &g, err
}

// checkBoth returns an error if the cap of the ledger does not allow a new training together with the private
// figures of its held-out records.
func checkBoth(o lib.Run, training *algorithms.Plan, held *lib.FigurePlan, dataID string) error {
	if held == nil || o.Ledger == nil || o.Resume != "" {
		return nil
	}
	both := training.Charge(dataID)
	both.Events = append(slices.Clone(both.Events), held.Events()...)
	if err := o.Ledger.Admits(both); err != nil {
		return fmt.Errorf("cannot charge the training together with the private figures of the held-out records: %w", err)
	}
	return nil
}

// heldSuffix is appended to the id of a training to form the id of the run of its private figures. A ledger
// charges an id only once, so repeated attempts are not charged again.
const heldSuffix = ".figures"

// heldTarget returns the target of the private figures: model.figures.json for model.json.
func heldTarget(model, training string) target {
	return target{name: files.WithRun(model, "figures"), spare: true, id: training + heldSuffix}
}

// releaseHeld releases private figures of the held-out records of a model. The model is released and stored but
// not yet named, because it receives its name after its figures have theirs. If there are no figures,
// r.HeldPrivate is nil.
func (c *trainCmd) releaseHeld(a *app, r *trainResult, of *model, name string, held *lib.Data) error {
	flags, o := c.runFlags, c.figures(of, c.Delta)
	flags.Resume = ""
	o.Names.Data, o.Names.Model = r.Data, name
	o.Names.Ledger, _ = c.path()
	p, err := lib.PlanFigures(held.Shape(), o)
	if err != nil {
		return err
	}
	as := runOutcome{DataID: r.DataID}
	run, err := flags.execution(a, &as, heldTarget(name, of.Run), 0, "evaluating")
	if err != nil {
		return err
	}
	figures, away := a.release(p, lib.FigureData{Data: held, Apart: true}, run)
	if done, away := settled(away); !done {
		return away
	}
	as.Run, r.HeldPrivate = figures.Run, figures
	as.spent(a, run.Ledger, p.Options.Budget.Delta, p.Options.Records)
	return errors.Join(asResult(away), figures.told(as.Spent))
}

// withoutHeld reports that private figures are missing for a saved model, and how to get them.
func (c *trainCmd) withoutHeld(a *app, r *trainResult, err error) error {
	r.InAll, r.HeldProblem = nil, plain(err)
	r.HeldCommand = c.heldAgain(r.Model, err)
	fail(a.stderr, "dyad: run %s is complete, and its model is %s; the private held-out figures are missing: %s", r.Run,
		r.Model, r.HeldProblem)
	if r.HeldCommand != "" {
		fail(a.stderr, "dyad: for them: %s", r.HeldCommand)
	}
	if code := exitCode(err); code == exitResource || code == exitCancelled {
		return err
	}
	return errNoHeld // not the exit code of bad input, because a run was charged
}

var errNoHeld = errors.New("dyad: the model is saved without its private figures")

// resumeHeld releases the private figures of a resumed run whose model has just received its name. If figures
// are already stored, it gives them their name. An existing charge is used.
func (c *trainCmd) resumeHeld(a *app, model string) error {
	e := evaluatePrivateCmd{
		evaluatedFlags: evaluatedFlags{measuredFlags: measuredFlags{Model: model, Holdout: c.Holdout, SplitSeed: c.SplitSeed,
			Confidence: defaultConfidence, labelsFlag: c.labelsFlag}},
		releaseFlags: releaseFlags{Data: c.Data, Epsilon: c.HoldoutEpsilon, Delta: c.Delta, runFlags: c.runFlags},
		held:         heldTarget(model, c.Resume),
	}
	l, _, err := c.openExisting(ledger.Options{LockWait: a.hooks.lockWait})
	if err != nil {
		return err
	}
	entries, err := l.Entries()
	if err != nil {
		return err
	}
	e.Resume = ""
	for _, one := range entries {
		if one.Run != e.held.id {
			continue
		}
		if e.Resume = one.Run; one.Type == "finish" && !exists(one.Kept.Place) {
			a.note("dyad: run %s has evaluated the held-out records already", one.Run)
			return nil
		}
	}
	m, err := readModel(model)
	if err != nil {
		return err
	}
	inner := *a
	if a.json { // the model was already reported
		inner.stdout = io.Discard
	}
	return e.private(&inner, m, nil, false)
}

// named reports whether the run of --resume released the model that has this name. If it did, only the figures of its
// held-out records can be missing.
func (c *trainCmd) named(model string) (bool, error) {
	path, err := c.path()
	if c.Resume == "" || c.HoldoutEpsilon == nil || err != nil || !exists(path) || !exists(model) {
		return false, nil
	}
	l, _, err := c.openExisting(ledger.Options{})
	if err != nil {
		return false, err
	}
	run, err := l.Released(c.Resume)
	if err != nil || run.Kept.Digest == "" {
		return false, nil // the resumed run reports what is wrong
	}
	text, err := os.ReadFile(model)
	return err == nil && files.Digest(text) == run.Kept.Digest, nil
}

// evaluateHeld adds exact figures of the held-out records to the result of a training that is complete, charged
// and saved, or it adds the command for private figures. A problem is reported and does not end the run.
func (c *trainCmd) evaluateHeld(a *app, r *trainResult, run *lib.Trained, held, train *lib.Data) error {
	switch {
	case r.Public || c.ExactFigures:
		var err error
		if r.Held, err = run.Evaluate(a.ctx, held, lib.EvaluateOptions{Among: train.Records}); err != nil {
			r.HeldProblem = plain(err)
		} else if !c.Data.given() && c.Task == taskAUC && c.Mode == algorithms.Certified.String() {
			if r.Baseline, err = c.baseline(a, train, held); err != nil {
				return err
			}
		}
	default:
		r.HeldCommand = c.heldCommand(r.Model)
	}
	return a.ctx.Err()
}

// heldAgain returns the command for missing figures. The command continues a charged run, or saves the figures
// that the run released. heldAgain returns "" if that run has ended, because the command would charge again.
func (c *trainCmd) heldAgain(model string, err error) string {
	command := strings.Replace(c.heldCommand(model), "--epsilon E", fmt.Sprintf("--epsilon %g", *c.HoldoutEpsilon), 1)
	if c.Delta != nil {
		command += fmt.Sprintf(" --delta %g", *c.Delta)
	}
	of := new(algorithms.ChargedError)
	switch {
	case !errors.As(err, &of):
	case of.Resumable || of.Kept.Digest != "":
		command += " --resume " + of.Run
	default:
		return ""
	}
	return command
}

// heldCommand returns a command that evaluates the held-out records privately.
func (c *trainCmd) heldCommand(model string) string {
	return fmt.Sprintf("dyad evaluate %s %s --holdout %g --set split-seed=%d --epsilon E", model, c.Data.flags(),
		*c.Holdout, c.SplitSeed) + pick(c.Labels != "", " --labels "+c.Labels, "") +
		pick(c.Ledger != "", " --ledger "+c.Ledger, "") + // both charges go to one ledger
		pick(c.Task == taskMetric, " --reference PUBLIC_FILE", "")
}

// writeHeld writes the results for n held-out records or persons.
func (r *heldResult) writeHeld(b *strings.Builder, n int, unit string, public bool) {
	if r.HeldProblem != "" {
		line(b, "held out", "no figures: %s", r.HeldProblem)
	}
	if r.Held != nil {
		objective := ""
		if r.Held.Objective != nil {
			objective = fmt.Sprintf(", objective %.6g", *r.Held.Objective)
		}
		line(b, "held out", "%d %s%s", n, unit, objective)
		b.WriteString(figures(r.Held, "            %s: %s\n"))
		if r.Baseline != nil && r.Baseline.AUC != nil {
			line(b, "", "AUC without privacy: %.4f", *r.Baseline.AUC)
		}
		if unit == "persons" {
			line(b, "", "these figures count rows, not persons")
		}
		if !public {
			line(b, "", "these figures were computed from private records and are not covered by the guarantee")
		}
	}
	if r.HeldCommand != "" {
		line(b, "held out", "%d %s were not scored; to release private figures of them, run:", n, unit)
		line(b, "", "%s", r.HeldCommand)
	}
	if p := r.HeldPrivate; p != nil {
		line(b, "held out", "%d %s were evaluated privately", n, unit)
		b.WriteString(p.Report.Text())
		p.outcome().writeLedger(b)
		writeFigures(b, p.Figures)
		line(b, "report", "%s", p.Out)
	}
	if r.InAll != nil {
		line(b, "in all", "%s", r.InAll.String())
	}
}

// plannedHoldout holds the flags of a plan that includes the cost of held-out figures.
type plannedHoldout struct {
	Holdout        *float64 `within:"[0,1)" placeholder:"F" xor:"held"`
	HoldoutEpsilon *float64 `not:"task" why:"a metric is evaluated against a public file when it is saved: dyad evaluate MODEL --reference FILE" placeholder:"E" help:"As in train. Also plan held-out figures; print the total charge."`

	// HoldoutRecords is an old flag that --holdout replaced. With it, -n is the number of training records.
	HoldoutRecords int `hidden:"" positive:"" needs:"holdout-epsilon" not:"holdout" placeholder:"M" help:"Records held out besides the n training records."`

	held int // number of held-out records
}

// split returns the number of training records among n records, by the rule of dataset.Split.
func (f *plannedHoldout) split(n int) int {
	if f.held = f.HoldoutRecords; f.Holdout == nil || *f.Holdout == 0 {
		return n
	}
	train := int(math.Round(float64(n) * (1 - *f.Holdout)))
	f.held = n - train
	return train
}

// heldPlan is the JSON output of a plan with held-out figures.
type heldPlan struct {
	Training algorithms.Report  `json:"training"`
	HeldOut  algorithms.Report  `json:"held_out"`
	Purpose  string             `json:"for_the_purpose"` // whether the figures will be accurate enough
	InAll    *privacy.Guarantee `json:"in_all,omitempty"`
}

// heldFigures returns the plan of the figures of held-out records, or nil if there are none.
func (f plannedHoldout) heldFigures(p *algorithms.Plan, task string, delta *float64) (*lib.FigurePlan, error) {
	problem := p.Spec.Kernel.Problem()
	s := lib.Shape{Records: f.held, PersonRows: problem.PersonRows, Provenance: p.Spec.Provenance}
	return holdoutFlags{HoldoutEpsilon: f.HoldoutEpsilon}.planned(&model{Task: task, Weights: []float64{problem.Radius}},
		s, false, delta)
}
