package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/privacy"
)

// emitBrief is like emit for a result that has a brief report, and a full report with --verbose.
func (a *app) emitBrief(v any, full, brief string) error {
	if a.verbose {
		brief = full
	}
	return a.emit(v, brief)
}

// clamped describes the treatment of values outside the schema's ranges. The number of such values would reveal
// facts about records.
const clamped = `a value outside its range is moved to the nearest end ("dyad data inspect" counts such values)`

// writeMade writes the lines about a model: its file, its training data, and the meaning of its numbers.
func (o *runOutcome) writeMade(b *strings.Builder, task, from string, s *dataset.Schema) {
	made := fmt.Sprintf("%s, from %s (%s)", cmp.Or(o.Model, "not saved (--out FILE saves it)"), from, o.visibility())
	if high := direction(s); high != "" && task == taskAUC {
		made += "; " + high
	}
	line(b, "model", "%s; %s", made, clamped)
}

// writeWords writes a guarantee in words, the total spent if it is larger, and the warnings that were not shown
// yet. planned is the guarantee that the run would have on private data.
func (a *app) writeWords(b *strings.Builder, g, planned privacy.Guarantee, spent *spending) {
	words := g.Words()
	// at most one of these warnings occurs
	for w, link := range map[string]string{algorithms.BoundsFromData: "; the guarantee would be: ",
		algorithms.DraftAway: "; if it does: "} {
		if slices.Contains(g.Warnings, w) {
			words = w + link + words
		}
	}
	if g.Kind == privacy.Public {
		if words += ", and no budget was charged"; planned.Kind != privacy.None && planned.Kind != "" {
			words += ". On private data: " + planned.Words()
		}
		g.Warnings = nil // the warnings repeat what was written above
	}
	if spent != nil && spent.Runs > 1 {
		words += "; spent in all: " + spent.text
	}
	line(b, "guarantee", "%s", words)
	if c := g.Claim; c != nil && !c.Holds {
		line(b, "warning", "%s claims epsilon = %.6g, but its noise does not give this guarantee", c.Source, c.Epsilon)
	}
	for _, w := range g.Warnings {
		if !slices.Contains(a.told, w) && w != algorithms.BoundsFromData && w != algorithms.DraftAway {
			line(b, "warning", "%s", w)
		}
	}
	if g.Kind != privacy.Public && slices.Contains(g.Assumptions, algorithms.SelectedByLabel) {
		line(b, "", "%s", algorithms.SelectedByLabel)
	}
}

// both returns the guarantee of the model and its private figures together, or of the model if there are none.
func (r *trainResult) both() (g privacy.Guarantee, figures bool) {
	if r.InAll == nil || r.HeldPrivate == nil {
		return r.Guarantee, false
	}
	g = *r.InAll
	g.Warnings, g.Assumptions = r.Guarantee.Warnings, r.Guarantee.Assumptions
	return g, true
}

// brief returns a report of a training in a few lines.
func (r *trainResult) brief(a *app, synthetic bool, planned privacy.Guarantee) string {
	var b strings.Builder
	from := fmt.Sprintf("%d %s of %s", r.Records, r.unit(), r.Data)
	if synthetic {
		from = fmt.Sprintf("%d synthetic clinical records that this program generates", r.Records)
	}
	r.writeMade(&b, r.Task, from, r.schema)
	r.writeBasis(&b)
	r.writeSummary(&b, r.Heldout, r.unit(), r.Public)
	writeWeights(&b, r.Weights) // requested by --intervals
	g, _ := r.both()
	a.writeWords(&b, g, planned, r.Spent)
	switch {
	case r.Model == "" && synthetic:
		line(&b, "next", "for your own data: dyad start FILE")
	case r.approved != "" && r.HeldPrivate != nil:
		line(&b, "next", "%s fills the approved page in",
			shell("dyad", "report", r.Model, "--figures", r.HeldPrivate.Out, "--approved", r.approved, "--out", "after.html"))
	case r.HeldCommand != "":
		line(&b, "next", "figures of the %d held-out %s: %s", r.Heldout, r.unit(), r.HeldCommand)
	default:
		r.writeNext(&b, r.Task)
	}
	return b.String()
}

// writeNext suggests commands for the next use of the model.
func (o *runOutcome) writeNext(b *strings.Builder, task string) {
	switch {
	case o.Model == "":
		line(b, "next", "dyad plan and --verbose print the derivation")
	case task == taskMetric:
		line(b, "next", "dyad transform %s --data FILE --out FILE maps records; for the derivation, see %[1]s or "+
			"use --verbose", o.Model)
	default:
		line(b, "next", "dyad predict %s --data FILE scores records; for the derivation, see %[1]s or use --verbose",
			o.Model)
	}
}

// writeSummary writes the most important measure of n held-out records or persons.
func (r *heldResult) writeSummary(b *strings.Builder, n int, unit string, public bool) {
	if r.HeldProblem != "" {
		line(b, "held out", "no figures: %s", r.HeldProblem)
	}
	if r.Held != nil {
		text := headline(r.Held) + fmt.Sprintf(", on %d held-out %s", n, unit)
		if r.Baseline != nil && r.Baseline.AUC != nil {
			text += fmt.Sprintf("; without privacy %.4f", *r.Baseline.AUC)
		}
		line(b, "held out", "%s%s%s", text,
			pick(unit == "persons", "; this figure counts rows, not persons", ""),
			pick(public, "", "; the guarantee does not cover this exact figure"))
	}
	if p := r.HeldPrivate; p != nil {
		line(b, "held out", "%d %s were evaluated privately, charged as run %s; the figures are in %s", n,
			unit, p.Run, p.Out)
		writeFigures(b, p.Figures)
	}
}

// headline returns the first exact measure of a model.
func headline(e *evaluation) string {
	first, _, _ := strings.Cut(figures(e, "%s %s\n"), "\n")
	return first
}

// brief returns a report of a private evaluation in a few lines. If no file was named for the figures, it shows
// all figures.
func (r *privateResult) brief(a *app) string {
	var b strings.Builder
	if r.Chosen != nil {
		r.writeChosen(&b)
	} else if r.whole {
		writeFigures(&b, r.Figures)
	} else {
		covering := fmt.Sprintf("(%g %% interval for sampling and noise, on %s)", 100*r.Figures.Confidence, r.units())
		if f := r.Figures.AUC; f != nil {
			line(&b, "AUC", "%s %s%s", between(*f), covering, tooWide(*f))
		}
		if f := r.Figures.Difference; f != nil {
			line(&b, "AUC", "AUC of this model minus AUC of the other: %s %s", between(*f), covering)
		}
		for _, right := range r.Figures.Right {
			line(&b, "accuracy", "%s %s, %s", between(right.Figure), covering, right.Classifier)
		}
	}
	a.writeWords(&b, r.Guarantee, r.Guarantee, r.spent)
	if r.Chosen != nil {
		line(&b, "next", "dyad predict %s --data FILE --threshold %s prints classes; all figures are in %[2]s",
			cmp.Or(r.Evaluated, "MODEL"), cmp.Or(r.Out, "T"))
	} else if r.Out != "" {
		line(&b, "next", "all figures and the derivation are in %s", r.Out)
	} else { // the data are public
		line(&b, "next", "--out FILE saves these figures and their derivation")
	}
	return b.String()
}
