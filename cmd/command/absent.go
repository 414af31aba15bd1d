package command

import (
	"slices"
	"strings"
)

// absent lists options that other runs have and the given commands lack, with the reason. The program shows the reason
// to a person who types such an option.
var absent = []struct{ options, commands, why string }{
	{"seed yes ledger data-id resume track", "plan train, plan compare, pairs plan, local plan",
		"a plan draws no noise, releases nothing and charges nothing"},
	{"force report", "plan compare, pairs plan",
		"this command writes no file; dyad plan --report writes a page for approval"},
	{"report", "local plan",
		"a local plan has no page; --out writes its public document"},
	{"holdout", "plan compare, pairs plan, local plan", "-n is the number of training records"},
	{"holdout", "pairs train",
		"a split would lose pairs; to map other individuals, use dyad transform"},
	{"holdout", "cluster", "clusters cannot be evaluated on other records"},
	{"seed", "online", "the noise is always secret, and --resume needs no seed"},
	{"holdout", "online", "a stream trains on all records; use dyad evaluate on other records"},
	{"store", "pairs plan, pairs train, evaluate private, evaluate exact, evaluate compare, threshold, lab curve",
		"the schema decides how records are held (store: float32)"},
	{"store", "online, local plan, local simulate, local server", "records are processed one at a time"},
	{"team", "search, evaluate private, evaluate exact, evaluate compare, threshold, cluster, online, pairs plan, pairs " +
		"train, lab curve, local plan, local simulate, local server",
		"this command runs in one process; dyad train and dyad baseline can run as a team"},
	{"paper-unsound", "plan compare, baseline, search, evaluate private, evaluate exact, evaluate compare, threshold, " +
		"cluster, pairs plan, pairs train, lab curve, local plan, local simulate, local server",
		"this option is for training in paper mode on public data (dyad train, dyad online, dyad plan)"},
	{"model hidden dim activation similarity jacobian-clip gain init-seed init", "baseline",
		"a network has no baseline; to see the cost of the noise, use dyad train --model at a large --epsilon"},
	{"seed resume", "evaluate exact", "no random number is drawn and no budget is charged"},
	{"report", "threshold", "dyad report MODEL --figures FILE writes a page, where FILE is the output file of dyad " +
		"threshold"},
	{"report", "cluster", "only models of scores or distances have a report page"},
	{"report", "local simulate", "dyad report MODEL writes the page of the saved model"},
	{"track", "search, online, local simulate", "dyad report MODEL --track writes a tracker run of the saved model"},
	{"track", "threshold, cluster, lab curve",
		"a tracker run describes one model; give --track to dyad train, dyad evaluate or dyad report"},
	{"seed holdout yes ledger data-id resume force report track", "local server",
		"users hold the records, the noise and the privacy accounts; use --dir to keep the run"},
	{"holdout yes store team paper-unsound ledger data-id resume track", "lab audit records, lab audit pairs, local audit",
		"an attack makes its own records, and no budget is charged"},
	{"force report", "local audit", "this command writes no file"},
	{"guesses", "lab audit records", "K in --set canaries=M/K is the number of guesses"},
}

// absence returns the reason why a command lacks an option that other runs have. It returns "" if the command
// has the option or no reason is known.
func absence(command, option string) string {
	for _, a := range absent {
		if slices.Contains(words(a.options), option) &&
			slices.ContainsFunc(strings.Split(a.commands, ", "), func(c string) bool { return c == command || shortName(c) == command }) {
			return a.why
		}
	}
	return ""
}
