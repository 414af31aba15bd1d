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
		"this command writes no file; dyad plan --report writes the page that is approved before a training"},
	{"report", "local plan",
		"the file of --out is the published document; dyad plan --report writes the page that is approved before a training"},
	{"holdout", "plan compare, pairs plan, local plan", "-n is the number of training records"},
	{"holdout", "pairs train",
		"a split would lose every pair whose two individuals fall into different parts; dyad transform maps " +
			"individuals outside the training data"},
	{"holdout", "cluster", "clusters cannot be evaluated on other records"},
	{"seed", "online", "a seeded run must continue from its seed, and the state file that --resume reads has no seed; " +
		"the noise is always secret"},
	{"holdout", "online", "a stream uses every record when it arrives, so no records are held out; dyad evaluate " +
		"measures the model on other records"},
	{"store", "pairs plan, pairs train, evaluate private, evaluate exact, evaluate compare, threshold, lab curve",
		"the schema decides how records are held (store: float32)"},
	{"store", "online, local plan, local simulate, local server", "records are processed one at a time"},
	{"team", "search, evaluate private, evaluate exact, evaluate compare, threshold, cluster, online, pairs plan, pairs " +
		"train, lab curve, local plan, local simulate, local server",
		"this command runs in one process; dyad train and dyad baseline can run as a team"},
	{"paper-unsound", "plan compare, baseline, search, evaluate private, evaluate exact, evaluate compare, threshold, " +
		"cluster, pairs plan, pairs train, lab curve, local plan, local simulate, local server",
		"dyad train, dyad online and dyad plan have this option, which is for training with --mode paper on public " +
			"data"},
	{"model hidden dim activation similarity jacobian-clip gain init-seed init", "baseline",
		"a network is always trained with noise, so it has no baseline; dyad train --model at a large --epsilon shows " +
			"how much the noise costs"},
	{"seed resume", "evaluate exact", "no random number is drawn and no budget is charged"},
	{"report", "threshold", "dyad report MODEL --figures FILE writes a page, where FILE is the output file of dyad " +
		"threshold"},
	{"report", "cluster", "only models of scores or distances have a page"},
	{"report", "local simulate", "dyad report MODEL writes the page of the saved model"},
	{"track", "search, online, local simulate", "dyad report MODEL --track writes a tracker run of the saved model"},
	{"track", "threshold, cluster, lab curve",
		"a tracker run describes one model or its figures; dyad train, dyad evaluate and dyad report have --track"},
	{"seed holdout yes ledger data-id resume force report track", "local server",
		"the server holds no records: each user adds the noise and keeps the privacy account, and the folder of --dir " +
			"stores the run"},
	{"holdout yes store team paper-unsound ledger data-id resume track", "lab audit records, lab audit pairs, local audit",
		"an attack makes its own records, and no budget is charged"},
	{"force report", "local audit", "this command writes no file"},
	{"guesses", "lab audit records", "the number of guesses is the second number of canaries: --set canaries=M/K"},
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
