package command

import (
	"fmt"
	"strings"

	lib "dyad"
	"dyad/algorithms/local/localaudit"
	"dyad/privacy"
)

type localAuditCmd struct {
	Method     string  `arg:"" enum:"prestige,prestige-participation,prestige-label,djw,prestige-printed" help:"Method to attack: prestige, prestige-participation, prestige-label, djw or prestige-printed."`
	Loss       string  `default:"-u" type:"formula" placeholder:"NAME|EXPR" help:"Loss. The loss -u has the largest gradients."`
	Epsilon    float64 `positive:"" default:"1" help:"Local epsilon of one visit."`
	Epochs     int     `aliases:"visits" positive:"" default:"1" help:"Number of epochs whose messages the adversary sees. The claim covers all of them."`
	D          int     `positive:"" short:"d" default:"2"`
	Pairs      int     `positive:"" name:"direction-pairs" default:"1"`
	Share      float64 `positive:"" name:"response-share" placeholder:"F" help:"Share of epsilon for the randomised response. Default: 0.2 for prestige-printed, otherwise by a public rule."`
	Radius     float64 `positive:"" placeholder:"R" help:"Bound of ||w|| and of margins, for a linear model. Default: 5."`
	Runs       int     `positive:"" default:"20000" help:"Runs for each record. Half of them only select the attack."`
	Confidence float64 `positive:"" default:"0.999" help:"Confidence of the bound."`
	Seed       uint64  `default:"1" help:"Seed of the audit. The same seed gives the same bounds."`
	localNetworkFlags
}

// localAuditResult is the JSON output of local audit.
type localAuditResult struct {
	*localaudit.Report
	Holds bool `json:"holds"`
}

// Run carries out the attack.
func (c *localAuditCmd) Run(a *app) error {
	f := localFlags{
		Method: c.Method, Loss: c.Loss, Epsilon: c.Epsilon, Epochs: max(3, c.Epochs), Batch: 1, Pairs: c.Pairs,
		ResponseShare: c.Share, L2: 1, Radius: c.Radius,
		localNetworkFlags: c.localNetworkFlags,
	}
	users := 1
	if c.ModelKind == "mlp" { // a network requires many users, but an attack concerns one user
		users, f.L2 = 1<<40, 0
	}
	p, err := f.plan(lib.Shape{Records: users, Features: c.D})
	if err != nil {
		return err
	}
	r, err := localaudit.Attack(a.ctx, p.Plan, localaudit.Options{Runs: c.Runs, Visits: c.Epochs,
		Confidence: c.Confidence, Seed: c.Seed})
	if err != nil {
		return a.asInput(err)
	}
	return a.emitCheck(localAuditResult{r, r.Holds()}, localAuditText(r), r.Holds())
}

func localAuditText(r *localaudit.Report) string {
	var b strings.Builder
	network := pick(r.Network != "", fmt.Sprintf(", network %s, %d parameters", r.Network, r.Parameters), "")
	line(&b, "method", "%s, %s loss, d = %d%s", r.Method, r.Loss, r.Features, network)
	line(&b, "attack", "%s", r.Instance)
	line(&b, "", "%d visits per run and %d runs per record; half of the runs choose the event, the other half "+
		"count it; seed %d", r.Visits,
		r.Runs, r.Seed)
	line(&b, "", "one record sends a gradient with frequency %.4f, the other with frequency %.4f", r.Sends[0], r.Sends[1])
	line(&b, "claimed", "epsilon %s by %s", privacy.FormatUp(r.Claim), r.Source)
	line(&b, "audited", "epsilon >= %.6g with confidence %g (Clopper-Pearson; %d of %d against %d of %d)",
		r.LowerBound, r.Confidence, r.Event.Likely, r.Event.LikelyRuns, r.Event.Rare, r.Event.RareRuns)
	if r.Estimate != 0 {
		line(&b, "", "estimated epsilon: %.4f (standard error %.4f), which is %.3f times the claim", r.Estimate,
			r.StandardError,
			r.Estimate/r.Claim)
	}
	switch {
	case !r.Holds():
	case r.HalfRefuted:
		line(&b, "control", "the attack would detect a leak of twice the claim")
	default:
		line(&b, "control", "the attack would NOT refute half of the claim; try more --runs, fewer --epochs or a "+
			"smaller --epsilon")
	}
	verdict := pick(r.Holds(), "the claim is not refuted, but this does not prove the claim", "THE CLAIM IS REFUTED")
	line(&b, "verdict", "%s", verdict)
	return b.String()
}
