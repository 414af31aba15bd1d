package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/algorithms"
	"dyad/docs/checker"
	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// judgement is a verdict on a model, with the result of the comparison with a ledger.
type judgement struct {
	checker.Verdict
	Ledger    string `json:"ledger,omitempty"`    // result of the comparison with the ledger, if there was one
	Signature string `json:"signature,omitempty"` // content of the owner's signature, if a key was given
}

// load reads a model. Its network can be a network of With.
func (a *app) load(path string) (*model, error) {
	m, err := lib.Load(path)
	if err == nil && m.Network != nil {
		a.hooks.with.builds(m.Network)
	}
	return m, err
}

// openModel reads a model named by the user. Before that, it reports on standard error which properties of the model
// are not verified. If the command names a ledger that knows the run, the model is compared with the record of the run.
// Every command reads models of others through this function (TestEveryCommandJudges).
func (a *app) openModel(path, ledgerPath string) (*model, error) {
	m, _, err := a.judged(path, ledgerPath, false)
	return m, err
}

// openClusters is like openModel, for a file of clusters.
func (a *app) openClusters(path string) (*lib.Clusters, error) {
	c, err := lib.LoadClusters(path)
	if err == nil {
		if c.Metric != nil && c.Metric.Network != nil {
			a.hooks.with.builds(c.Metric.Network)
		}
		a.say(c.Guarantee.Kind, path, c.Verdict())
	}
	return c, err
}

// judgeStarts is like openModel, for the models of --init and --models, which are read when plans are made.
func (a *app) judgeStarts(command *kong.Context) error {
	ledgerPath := ""
	var models []string
	for _, f := range command.Flags() {
		switch v := command.FlagValue(f).(type) {
		case string:
			if f.Name == "ledger" {
				ledgerPath = v
			} else if f.Name == "init" && v != "" {
				models = append(models, v)
			}
		case []string:
			if f.Name == "models" {
				models = append(models, v...)
			}
		}
	}
	for _, name := range models {
		if _, err := a.openModel(name, ledgerPath); err != nil {
			return err
		}
	}
	return nil
}

// trustedModel is like openModel, for a command whose output others take as a statement about the model. The check has
// no time limit, and a refused file is an error.
func (a *app) trustedModel(path, ledgerPath string) (*model, judgement, error) {
	return a.judged(path, ledgerPath, true)
}

// judged is openModel, or trustedModel if trusted is set.
func (a *app) judged(path, ledgerPath string, trusted bool) (m *model, r judgement, err error) {
	if m, err = a.load(path); err != nil {
		return nil, r, err
	}
	var text []byte
	listed := ledgerPath != "" && exists(ledgerPath) && (trusted || m.Guarantee.Kind != privacy.Public)
	if trusted || listed {
		if text, err = files.ReadStart(path, files.MaxModelBytes); err != nil {
			return nil, r, err
		}
	}
	if trusted {
		r.Verdict = checker.Check(text)
	} else {
		r.Verdict = m.Verdict()
	}
	if listed && r.Verdict.Verdict != checker.Refused {
		if r, err = r.compared(m, text, "", ledgerPath, true); err != nil {
			return nil, r, err
		}
	}
	if trusted && r.Verdict.Verdict == checker.Refused {
		return nil, r, badInput("%s is refused: %s. Nothing was written; \"dyad verify %s\" prints the whole verdict",
			path, r.Why, path)
	}
	a.say(m.Guarantee.Kind, path, r.Verdict)
	return m, r, nil
}

// say writes a verdict other than "verified". A model of public data has no claim to verify.
func (a *app) say(kind privacy.Kind, path string, v checker.Verdict) {
	switch {
	case v.Verdict == checker.Verified || kind == privacy.Public && v.Verdict != checker.Refused:
	case v.Verdict == checker.Refused: // written even with --quiet
		warn(a.stderr, "%s is refused: %s. Do not trust what it states about privacy", path, v.Why)
	case v.Verdict == checker.NotChecked:
		a.note("dyad: %s is not checked: dyad verify %s", path, path)
	default:
		a.note("dyad: %s is not covered by the checker: %s", path, v.Why)
	}
}

// compared returns the judgement with the result of comparing a model and its text with a ledger. If known is set and
// the ledger has no charge of the run, the ledger belongs to other data, and the judgement is unchanged.
func (r judgement) compared(m *model, text []byte, head, path string, known bool) (judgement, error) {
	l, _, err := ledgerFlag{path}.openExisting(ledger.Options{})
	if err != nil {
		return r, err
	}
	entries, away, err := l.History() // verifies the ledger and its archives
	if err != nil {
		return r, err
	}
	if known {
		if m.Run == "" || !slices.ContainsFunc(entries,
			func(e ledger.Entry) bool { return e.Run == m.Run && e.Charge != nil }) {
			return r, nil
		}
	}
	r.Ledger = "the ledger is intact; it has one charge of this plan and one release of this file"
	switch problem := recorded(m, text, head, entries); {
	case m.Run == "" && m.Plan == nil: // a model of public data, or of users of the local protocol
		r.Ledger = "the ledger is intact; the model names no run"
	case errors.Is(problem, errUnplanned):
		r = judgement{Verdict: checker.Verdict{Verdict: checker.NotCovered, Why: problem.Error()},
			Ledger: "the ledger is intact; it has one charge for the releases of this plan, and one entry for this " +
				"file"}
	case problem != nil && away != "":
		r.Verdict = checker.Verdict{Verdict: checker.NotCovered,
			Why: fmt.Sprintf("%v; the run may be in the missing archive %s; put the archive next to the ledger", problem, away)}
		r.Ledger = ""
	case problem != nil:
		r = judgement{Verdict: checker.Verdict{Verdict: checker.Refused, Why: problem.Error()}}
	case m.Plan == nil:
		r.Ledger = "the ledger's hash chain is intact, and the ledger has one charge of the model's run"
	case slices.ContainsFunc(entries, func(e ledger.Entry) bool {
		return e.Run == m.Run && e.Charge != nil &&
			e.Charge.Counted
	}):
		r.Ledger = "the ledger is intact and has one charge of this plan; it cannot show that the stream wrote " +
			"this file"
	}
	for _, by := range choosers(entries, files.Digest(text), m.Run) {
		if r.Ledger != "" {
			r.Ledger += fmt.Sprintf("; run %s, charged to data id %q, chose this file among others", by.Run, by.DataID)
		}
	}
	return r, nil
}

// recorded returns an error if the ledger does not belong to the model, or if it has no line with the hash head, unless
// head is "". For a model without a plan, it compares only the properties that a ledger of this kind and version
// contains.
func recorded(m *model, text []byte, head string, entries []ledger.Entry) error {
	var charges, ends []ledger.Entry
	if head != "" && !slices.ContainsFunc(entries, func(e ledger.Entry) bool { return e.Hash == head }) {
		return errors.New("the signed head is not in this ledger, so this is another ledger or an older copy")
	}
	for _, e := range entries {
		switch {
		case !e.Known:
			return fmt.Errorf("line %d of the ledger (%q) was written by a later version of dyad; use that version "+
				"to check this run", e.Seq+1, e.Type)
		case e.Run != m.Run:
		case e.Charge != nil:
			charges = append(charges, e)
		case e.Status != "":
			ends = append(ends, e)
		}
	}
	planned, stream := m.Plan != nil, len(charges) == 1 && charges[0].Charge.Counted
	if len(ends) == 0 && (stream || !planned) {
		ends = append(ends, ledger.Entry{Status: ledger.StatusReleased}) // a stream that continues
	}
	if len(charges) != 1 || len(ends) != 1 || ends[0].Status != ledger.StatusReleased {
		return fmt.Errorf("the ledger must have one charge and one release, but has %d charges and %d final "+
			"entries for run %q",
			len(charges), len(ends), m.Run)
	}
	c, g := charges[0].Charge, m.Guarantee
	plan, hash := algorithms.RecordHash(m.Plan), files.Digest(text)
	if stream { // models of a stream are functions of many releases and have no hash in the ledger
		hash, g.Released = "", strings.TrimSuffix(g.Released, ofAverage)
	}
	if c.Algorithm == "search" && !planned { // charged by an earlier version, which left it out
		plan = c.Plan
	}
	// of an earlier version, in the words of the protocol
	if strings.HasPrefix(c.Algorithm, "local-") && g.Unit == algorithms.OneUser && c.Unit == algorithms.OneRecord {
		g.Unit, g.Relation, g.Released = c.Unit, c.Relation, c.Released
	}
	earlier := planned && c.Plan == "" // the run was charged by an earlier version, and resumed by this one
	if earlier {
		plan = ""
	}
	for _, f := range []struct{ what, ledger, model string }{
		{"hash of the file", ends[0].Kept.Digest, hash},
		{"hash of the plan", c.Plan, plan},
		{"data id", c.DataID, m.DataID},
		{"guarantee", printedNumbers(c.Guarantee), printedNumbers(g.String())},
		{"unit", c.Unit, g.Unit},
		{"relation", c.Relation, g.Relation},
		{"release", c.Released, g.Released},
		{approvedPage, c.Approved, m.Approved}, // both are "" for earlier versions
	} {
		if f.ledger != f.model && (planned || f.ledger != "" || f.what == approvedPage) {
			return fmt.Errorf("the %s is %q in the ledger and %q in the model", f.what, f.ledger, f.model)
		}
	}
	switch err := sameEvents(m.Plan, c.Events); {
	case err != nil:
		return err
	case c.SeededNoise && !slices.Contains(g.Warnings, privacy.SeededWarning):
		return errors.New("the ledger states that the noise came from a seed, but the model does not")
	case earlier:
		return errUnplanned
	}
	return nil
}

// errUnplanned is the error for a charge by an earlier version, which stored no hash of a plan. Its other
// properties equal the model's.
var errUnplanned = errors.New("the run is from an earlier version, which stored no hash of the plan")

const approvedPage = "hash of the approved page"

// printedNumbers returns epsilon, delta and mu as written in the words of a guarantee.
func printedNumbers(guarantee string) string {
	numbers, _, _ := strings.Cut(guarantee, " for ")
	return numbers
}

// sameEvents compares the events that a plan states with those that were charged.
func sameEvents(plan json.RawMessage, charged []account.Event) error {
	var p struct {
		Releases []struct {
			Part  int
			Event json.RawMessage
		}
	}
	if len(plan) > 0 && json.Unmarshal(plan, &p) != nil {
		return errors.New("the plan of the model cannot be read")
	}
	var events []json.RawMessage
	for i := 0; i < len(p.Releases); {
		r := p.Releases[i]
		var parts []account.Event
		for ; r.Part > 0 && i < len(p.Releases) && p.Releases[i].Part == r.Part+len(parts); i++ {
			var text bytes.Buffer
			_ = json.Compact(&text, p.Releases[i].Event) // cannot fail for a document that was parsed
			parts = append(parts, account.Decode(text.Bytes()))
		}
		if len(parts) == 0 {
			i++
		} else if r.Event, _ = account.Encode(account.ParallelEvent{Parts: parts}); r.Event == nil {
			return fmt.Errorf("release %d of the plan has parts that cannot be charged together", i)
		}
		events = append(events, r.Event)
	}
	if len(plan) > 0 && len(events) != len(charged) {
		return fmt.Errorf("the plan of the model has %d releases, and the ledger charges %d", len(events), len(charged))
	}
	for i, stated := range events {
		var text bytes.Buffer
		event, err := account.Encode(charged[i])
		if err != nil || json.Compact(&text, stated) != nil || !bytes.Equal(text.Bytes(), event) {
			return fmt.Errorf("release %d of the plan differs from the charged release %s", i+1, charged[i])
		}
	}
	return nil
}

// ofAverage is appended to the description of the release in the guarantee of a model that is not the last release.
const ofAverage = "; this model is the average of the iterates"
