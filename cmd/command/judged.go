package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/docs/checker"
	"dyad/internal/files"
	"dyad/privacy"
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
	m, err := a.load(path)
	if err != nil {
		return nil, err
	}
	r := judgement{Verdict: m.Verdict()}
	if ledgerPath != "" && exists(ledgerPath) && m.Guarantee.Kind != privacy.Public &&
		r.Verdict.Verdict != checker.Refused {
		text, err := modelText(path)
		if err != nil {
			return nil, err
		}
		if r, err = r.compared(m, text, "", ledgerPath, true); err != nil {
			return nil, err
		}
	}
	a.say(m.Guarantee.Kind, path, r.Verdict)
	return m, nil
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
	m, err := a.load(path)
	if err != nil {
		return nil, judgement{}, err
	}
	text, err := modelText(path)
	if err != nil {
		return nil, judgement{}, err
	}
	r := judgement{Verdict: checker.Check(text)}
	if ledgerPath != "" && exists(ledgerPath) && r.Verdict.Verdict != checker.Refused {
		if r, err = r.compared(m, text, "", ledgerPath, true); err != nil {
			return nil, r, err
		}
	}
	if r.Verdict.Verdict == checker.Refused {
		return nil, r, badInput("%s is refused: %s. No page is written about this file; \"dyad verify %s\" prints the "+
			"whole verdict", path, r.Why, path)
	}
	a.say(m.Guarantee.Kind, path, r.Verdict)
	return m, r, nil
}

// modelText returns the content of a model file.
func modelText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, asInput(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, files.MaxModelBytes))
	return text, asInput(err)
}

// say writes a verdict other than "verified". A model of public data has no claim to verify.
func (a *app) say(kind privacy.Kind, path string, v checker.Verdict) {
	switch {
	case v.Verdict == checker.Verified || kind == privacy.Public && v.Verdict != checker.Refused:
	case v.Verdict == checker.Refused: // written even with --quiet
		fmt.Fprintf(a.stderr, "dyad: warning: %s is refused: %s; its statements on privacy are true of no run\n", path, v.Why)
	case v.Verdict == checker.NotChecked:
		a.note("dyad: %s is not checked: dyad verify %s", path, path)
	default:
		a.note("dyad: %s is not covered by the checker: %s", path, v.Why)
	}
}

// compared returns the judgement with the result of comparing a model and its text with a ledger. If known is set and
// the ledger has no charge of the run, the ledger belongs to other data, and the judgement is unchanged.
func (r judgement) compared(m *model, text []byte, head, path string, known bool) (judgement, error) {
	entries, away, err := readLedger(path)
	if err != nil {
		return r, err
	}
	if known {
		there := false
		for _, e := range entries {
			there = there || m.Run != "" && e.Run == m.Run && e.Charge != nil
		}
		if !there {
			return r, nil
		}
	}
	r.Ledger = "its chain holds, and it has one charge of this plan and one release, of this file"
	switch problem := recorded(m, text, head, entries); {
	case m.Run == "" && m.Plan == nil: // a model of public data, or of users of the local protocol
		r.Ledger = "its chain holds, and the model names no run"
	case errors.Is(problem, errUnplanned):
		r = judgement{Verdict: checker.Verdict{Verdict: checker.NotCovered, Why: problem.Error()},
			Ledger: "its chain holds, and it has one charge of these releases and one release, of this file"}
	case problem != nil && away != "":
		r.Verdict = checker.Verdict{Verdict: checker.NotCovered,
			Why: fmt.Sprintf("%v; the run may be in the archive %s, which is missing next to the ledger", problem, away)}
		r.Ledger = ""
	case problem != nil:
		r = judgement{Verdict: checker.Verdict{Verdict: checker.Refused, Why: problem.Error()}}
	case m.Plan == nil:
		r.Ledger = "its chain holds, and it has one charge of the model's run"
	case slices.ContainsFunc(entries, func(e ledger.Entry) bool {
		return e.Run == m.Run && e.Charge != nil &&
			e.Charge.Counted
	}):
		r.Ledger = "its chain holds, and it has one charge of this plan; as it has no hash of a stream's file, weights, " +
			"schema, texts and figures are not compared"
	}
	return r, nil
}
