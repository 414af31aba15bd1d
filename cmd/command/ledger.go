package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

type ledgerInitCmd struct {
	DataID  string  `arg:"" help:"Data id, as in the schema."`
	Epsilon float64 `required:"" placeholder:"EPSILON" help:"Maximum epsilon of all runs together, past runs included."`
	Delta   float64 `within:"(0,1)" required:"" placeholder:"DELTA" help:"Delta at which epsilon is counted."`
	Looking bool    `help:"Compute the total for budgets chosen after earlier releases. Default: for budgets fixed beforehand."`
	Close   bool    `help:"Allow a cap below the spent epsilon. The ledger then refuses new runs."`
	ledgerFlag
}

// Run sets the cap.
func (c *ledgerInitCmd) Run(a *app) error {
	b := privacy.Budget{Epsilon: c.Epsilon, Delta: c.Delta}
	if err := cmp.Or(b.Validate(), checkDataID("<data-id>", c.DataID)); err != nil {
		return asInput(err)
	}
	l, path, err := c.open(ledger.Options{})
	if err != nil {
		return err
	}
	before, err := l.Summary(c.DataID, b.Delta)
	if err != nil {
		return err
	}
	if c.Looking {
		before.Epsilon = before.Looking // at least the spending that the cap counts
	}
	if spent := above(before, b); spent != "" && !c.Close {
		return badInput("%s, so a cap of epsilon = %g would allow no run; give a larger cap, or add --close to "+
			"allow no further run; the cap is unchanged: %s", spent, b.Epsilon, capNow(before))
	}
	set := l.SetCap
	if c.Looking {
		set = l.SetCapByLooking
	}
	if err := set(c.DataID, b); errors.Is(err, ledger.ErrUnavailable) {
		return err
	} else if err != nil {
		return asInput(err)
	}
	text := fmt.Sprintf("runs on %q may spend at most epsilon = %g at delta = %g in all; recorded in %s\n", c.DataID,
		b.Epsilon, b.Delta, path)
	after, err := l.Summary(c.DataID, b.Delta)
	if err != nil {
		return err
	}
	text += fmt.Sprintf("the cap counts %s\n", after.CapBy)
	result := map[string]any{"data_id": c.DataID, "cap": b, "counts": after.CapBy.String(), "ledger": path}
	if before.Cap != (privacy.Budget{}) {
		result["cap_before"] = before.Cap
		text += "before: " + capNow(before) + "\n"
	}
	if spent := above(before, b); spent != "" {
		result["closed"] = true
		text += spent + ": no further run is admitted\n"
	}
	if before.Runs == 0 {
		text += fmt.Sprintf("no run on %q is recorded yet; this id is the data_id of a schema\n", c.DataID)
	}
	return a.emit(result, text)
}

// checkDataID returns an error if no schema can have the id, so that a mistyped cap does not look like a limit.
func checkDataID(what, id string) error {
	if dataset.IsDataID(id) {
		return nil
	}
	return badInput("%s is 1 to 128 letters, digits, dots, hyphens or underscores", what)
}

// above describes in words the spending if it exceeds a cap. Otherwise it returns "".
func above(s ledger.Summary, b privacy.Budget) string {
	switch {
	case s.Runs == 0 || s.Epsilon <= b.Epsilon:
		return ""
	case math.IsInf(s.Epsilon, 1):
		return fmt.Sprintf("the total spent on %q at delta = %g is infinite", s.DataID, s.Delta)
	}
	return fmt.Sprintf("epsilon = %s at delta = %g is spent on %q", privacy.FormatUp(s.Epsilon), s.Delta, s.DataID)
}

// capNow returns a text that states the cap before a change.
func capNow(s ledger.Summary) string {
	if s.Cap == (privacy.Budget{}) {
		return "there is no cap yet"
	}
	return fmt.Sprintf("at most epsilon = %g at delta = %g", s.Cap.Epsilon, s.Cap.Delta)
}

type ledgerShowCmd struct {
	DataID string  `arg:"" optional:"" help:"Data id to show. Default: all."`
	Delta  float64 `within:"(0,1)" default:"1e-5" help:"Delta at which epsilon is computed."`
	ledgerFlag
}

// spending is a privacy.Summary for output. Epsilon is nil if it is infinite.
type spending struct {
	DataID     string          `json:"data_id"`
	Runs       int             `json:"runs"`
	SeededRuns int             `json:"seeded_runs,omitempty"`
	Unit       string          `json:"unit,omitempty"`
	Mixed      bool            `json:"mixed_units,omitempty"` // units differ, so there is no total
	Mu         float64         `json:"mu,omitempty"`
	Epsilon    *float64        `json:"epsilon"`           // total epsilon if budgets were fixed beforehand
	Looking    *float64        `json:"epsilon_if_chosen"` // total epsilon if budgets were chosen after seeing earlier results
	Delta      float64         `json:"delta"`
	Cap        *privacy.Budget `json:"cap,omitempty"`
	CapCounts  string          `json:"cap_counts,omitempty"`
	Archived   int             `json:"archived_runs,omitempty"`
	Charges    []chargedRun    `json:"charges,omitempty"`
	Unfinished []unfinishedRun `json:"unfinished_runs,omitempty"`
	Kept       []keptRun       `json:"models_without_a_name,omitempty"`
	text       string
}

func spendingOf(l *ledger.Ledger, id string, delta float64) (*spending, error) {
	s, err := l.Summary(id, delta)
	if err != nil {
		return nil, err
	}
	out := &spending{DataID: id, Runs: s.Runs, SeededRuns: s.SeededRuns, Unit: s.Unit, Mixed: s.Mixed, Delta: s.Delta,
		text: s.String()}
	if !math.IsInf(s.Epsilon, 0) {
		out.Mu, out.Epsilon = s.Mu, &s.Epsilon
	}
	if !math.IsInf(s.Looking, 0) {
		out.Looking = &s.Looking
	}
	if s.Cap != (privacy.Budget{}) {
		out.Cap, out.CapCounts = &s.Cap, s.CapBy.String()
	}
	return out, nil
}

// chargedRun is a charged run, stated at its own delta.
type chargedRun struct {
	Run       string    `json:"run"`
	Algorithm string    `json:"algorithm"`
	Charged   time.Time `json:"charged"`
	Guarantee string    `json:"guarantee"`
	// FromData is true if ranges were taken from the data. The guarantee then does not hold.
	FromData bool `json:"ranges_from_data,omitempty"`
	// DraftAway is true if ranges may have been taken from the data. The guarantee then may not hold.
	DraftAway bool `json:"ranges_not_compared,omitempty"`
	Seeded    bool `json:"seeded,omitempty"`

	approved string // SHA-256 of the approved page, or ""
}

// chargedRuns returns the runs that the given lines of a ledger charge to a data id.
func chargedRuns(entries []ledger.Entry, id string) (runs []chargedRun) {
	for _, e := range entries {
		if e.Charge == nil || e.DataID != id {
			continue
		}
		guarantee, _, _ := strings.Cut(e.Charge.Guarantee, " (neighbours: ")
		runs = append(runs, chargedRun{
			Run: e.Run, Algorithm: e.Charge.Algorithm, Charged: e.Time, Guarantee: guarantee,
			FromData:  strings.Contains(e.Charge.Guarantee, algorithms.BoundsFromData),
			DraftAway: strings.Contains(e.Charge.Guarantee, algorithms.DraftAway), Seeded: e.Charge.SeededNoise,
			approved: e.Charge.Approved,
		})
	}
	return runs
}

func (r chargedRun) text() string {
	return fmt.Sprintf("    %s  %s: %s", r.Charged.Format(time.DateTime), r.Algorithm, r.Guarantee) +
		pick(r.FromData, "; RANGES FROM THE DATA: this guarantee does not hold", "") +
		pick(r.DraftAway, "; RANGES NOT COMPARED: this guarantee holds only if they do not come from the data", "") +
		pick(r.Seeded, "; SEEDED NOISE: this guarantee does not hold", "") + "\n"
}

// unfinishedRun is a charged run without a line in the ledger that ends it.
type unfinishedRun struct {
	Run       string    `json:"run"`
	Algorithm string    `json:"algorithm"`
	Guarantee string    `json:"guarantee,omitempty"`
	Charged   time.Time `json:"charged"`
	Resumable bool      `json:"resumable"`
	// Stream is true if the run releases results continually. Its state file continues the run.
	Stream bool `json:"stream,omitempty"`
}

func unfinishedRuns(l *ledger.Ledger, id string) (runs []unfinishedRun, err error) {
	entries, err := l.Unfinished(id)
	for _, e := range entries {
		r := unfinishedRun{Run: e.Run, Algorithm: e.Charge.Algorithm, Guarantee: e.Charge.Guarantee, Charged: e.Time,
			Resumable: e.Charge.Resumable}
		if len(e.Charge.Events) == 1 {
			_, r.Stream = e.Charge.Events[0].(account.StreamEvent)
		}
		runs = append(runs, r)
	}
	return runs, err
}

func (r unfinishedRun) text() string {
	text := fmt.Sprintf("    unfinished run %s: %s, charged %s\n", r.Run, r.Algorithm, r.Charged.Format(time.DateTime)) +
		pick(r.Guarantee != "", "      charged for "+r.Guarantee+"\n", "")
	switch {
	case r.Resumable:
		return text + "      it released nothing; to continue at no further cost, repeat its command with --resume " + r.Run +
			"\n"
	case r.Stream:
		return text + "      this run releases results during the stream. To continue it at no further cost, " +
			"repeat its dyad " +
			"online command with --resume and the same state " +
			"file\n"
	}
	return text + "      it may have released its results, so it cannot be resumed\n"
}

// keptRun is a file stored by an attempt at a run: the released model, which does not have its name yet, or a
// file that will be removed.
type keptRun struct {
	Run      string `json:"run"`
	File     string `json:"file"`
	Released bool   `json:"released"`
}

// keptRuns searches the places named in the lines of a ledger, the folder of the ledger, and the temporary files.
func keptRuns(entries []ledger.Entry, path, id string) (kept []keptRun) {
	found, charges := map[string][]string{}, map[string]string{} // maps from the id of a run
	for _, dir := range []string{filepath.Dir(path), os.TempDir()} {
		list, _ := os.ReadDir(dir)
		for _, file := range list {
			if run, ok := files.RunOfKept(file.Name()); ok {
				found[run] = append(found[run], filepath.Join(dir, file.Name()))
			}
		}
	}
	finished := map[string]bool{}
	for _, e := range entries {
		if e.Type == "finish" {
			finished[e.Run] = true
			if _, err := os.Lstat(e.Kept.Place); charges[e.Run] == id && e.Kept.Place != "" && err == nil {
				kept = append(kept, keptRun{e.Run, e.Kept.Place, true})
			}
		}
		if e.Charge != nil {
			charges[e.Run] = e.DataID
		}
	}
	for _, e := range entries {
		if e.Charge != nil && e.DataID == id && !finished[e.Run] {
			for _, file := range found[e.Run] {
				kept = append(kept, keptRun{e.Run, file, false})
			}
		}
	}
	return kept
}

func (r keptRun) text() string {
	if r.Released {
		return fmt.Sprintf("    the result of run %s has the temporary name %s; to rename it, repeat the run's "+
			"command with --resume %s\n",
			r.Run, r.File, r.Run)
	}
	return fmt.Sprintf("    an attempt at run %s left the file %s; keep it as private as the records; after the "+
		"attempt, the next run with this ledger removes it\n", r.Run, r.File)
}

// dataIDs returns the data ids in the ledger in the order of their first appearance.
func dataIDs(entries []ledger.Entry) (ids []string) {
	for _, e := range entries {
		named := []string{e.DataID}
		if e.Archive != nil {
			for _, t := range e.Archive.Totals {
				named = append(named, t.DataID)
			}
		}
		for _, id := range named {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Run shows the spending.
func (c *ledgerShowCmd) Run(a *app) error {
	l, path, err := c.openExisting(ledger.Options{})
	if err != nil {
		return err
	}
	entries, err := l.Entries()
	if err != nil {
		return err
	}
	ids := dataIDs(entries)
	if c.DataID != "" {
		if !slices.Contains(ids, c.DataID) {
			return badInput("the data id %q has no charge; the data ids in %s are %q", c.DataID, path, ids)
		}
		ids = []string{c.DataID}
	}
	all := []*spending{}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", path)
	for _, id := range ids {
		s, err := spendingOf(l, id, c.Delta)
		if err != nil {
			return err
		}
		s.Charges = chargedRuns(entries, id)
		if s.Unfinished, err = unfinishedRuns(l, id); err != nil {
			return err
		}
		s.Kept, s.Archived = keptRuns(entries, l.Path(), id), s.Runs-len(s.Charges)
		all = append(all, s)
		fmt.Fprintf(&b, "  %s\n", s.text)
		if s.Archived > 0 {
			fmt.Fprintf(&b, "    in the archive: %d of the runs; the total includes them\n", s.Archived)
		}
		for _, r := range s.Charges {
			b.WriteString(r.text())
		}
		for _, r := range s.Unfinished {
			b.WriteString(r.text())
		}
		for _, r := range s.Kept {
			b.WriteString(r.text())
		}
	}
	if len(ids) == 0 {
		b.WriteString("  no budget was charged\n")
	}
	return a.emit(all, b.String())
}

type ledgerVerifyCmd struct {
	Witness string `placeholder:"FILE" help:"Somebody else's file with an earlier head. The ledger must still contain this head. The file then gets the new head."`
	ledgerFlag
}

// Run verifies the chain.
func (c *ledgerVerifyCmd) Run(a *app) error {
	l, path, err := c.openExisting(ledger.Options{})
	if err != nil {
		return err
	}
	v, err := l.Verify()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s is intact: none of its %d lines was changed or lost\n", path, v.Lines)
	if v.HeadBehind || v.TornBytes > 0 {
		text += "the last write was interrupted; the next run repairs the ledger, and no charge is lost\n"
	}
	answer := map[string]any{"ledger": path, "ok": true, "lines": v.Lines, "torn_bytes": v.TornBytes}
	if v.Away != "" {
		text += fmt.Sprintf("the archive %s is not next to the ledger, so its lines were not checked\n", v.Away)
		answer["archive_away"] = v.Away
	}
	if c.Witness != "" { // the second keeper compares the last head that it knows, and then gets the new head
		lines, compared, err := l.Witness(c.Witness)
		if err != nil {
			return err
		}
		answer["witness"], answer["compared"] = c.Witness, compared
		text += fmt.Sprintf(pick(compared, "the ledger continues from the head in %s; this file now has the new "+
			"head (line %d)\n",
			"there was no file %s, so no earlier head was compared; this file now has the head of line %d\n"),
			c.Witness, lines)
	}
	return a.emit(answer, text)
}

type ledgerCompactCmd struct{ ledgerFlag }

// Run compacts the ledger.
func (c *ledgerCompactCmd) Run(a *app) error {
	l, path, err := c.openExisting(ledger.Options{Trace: a.at})
	if err != nil {
		return err
	}
	done, err := l.Compact()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s has no finished run to archive\n", path)
	if done.Runs > 0 {
		text = fmt.Sprintf("%s: finished runs moved to %s in the same folder: %d; lines: %d before, %d now; the "+
			"totals are unchanged\n", path, done.File, done.Runs, done.Before, done.After)
	}
	return a.emit(map[string]any{"ledger": path, "runs": done.Runs, "archive": done.File, "lines_before": done.Before,
		"lines": done.After}, text)
}
