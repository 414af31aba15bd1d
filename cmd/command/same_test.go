package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/internal/must"
)

// The commands of two kinds of run whose options have a meaning and defaults of their own.
const (
	ofLocal = "local plan, local simulate, local server"
	ofPairs = "lab audit pairs, pairs train, pairs plan"
	audits  = "lab audit records, lab audit pairs, local audit"
	ofPlans = "plan train, plan compare, local plan, local server, pairs plan"
)

// otherwise are the options that some commands have in another way. The commands of a row have the option alike; from that of the commands in
// no row it differs in exactly what the row lists, and the row has its default. The last column is the reason.
var otherwise = []struct{ options, commands, differ, why string }{
	{"algorithm", "lab curve", "type help", "a list of them"},
	{"algorithm", "baseline", "help", "those without privacy"},
	{"algorithm", "online", "help", "those of streams"},
	{"answers", "data synth", "help", "it is written, to be read by the others"},
	{"batch", "account", "default= placeholder help", "records of a release; no flag says how a run draws them"},
	{"batch", ofPairs, "default= placeholder help", "pairs; local runs have messages"},
	{"buffer", "lab audit records", "default=", "an attack is on few records, and all are paired"},
	{"clip", "cluster", "placeholder help", "mapped records are shortened, not gradients"},
	{"clip", ofPairs, "placeholder help", "the gradient of a pair; local runs have that of a user"},
	{"confidence", audits, "default=0.999 help", "a bound that refutes a claim must hardly ever be wrong"},
	{"d", audits, "default=2", "an attack makes its records"},
	{"d", "lab losses check", "default=10", "an example of a training"},
	{"data", "local client", "type help", "one record"},
	{"data", "online", "type default=- help", "a stream, read once and without seeking"},
	{"delta", "account", "type default=1e-5 placeholder help", "there are no records that a default could be a rule of"},
	{"delta", "ledger show", "type default=1e-5 placeholder help", "at which a sum is told; nothing is spent"},
	{"delta", "ledger init", "type help", "an owner must choose it"},
	{"delta", ofPairs, "help", "0 is the default of pure mechanisms"},
	{"delta", "online", "help", "no algorithm of streams has pure epsilon"},
	{"device", "lab bench", "type default=cpu placeholder help", "a list, of which auto is none"},
	{"dir", "local server", "help", "the log of messages is what the server keeps"},
	{"dir", "man", "placeholder help", "pages are what the command keeps"},
	{"epochs", ofPairs, "default= placeholder help",
		"a rule; a user of a local run is asked as often as the default says"},
	{"epochs", "local audit", "default=1 help", "those that an attack sees"},
	{"epsilon", "account", "default= placeholder help", "what is searched for; without it noise is given"},
	{"epsilon", "evaluate private, evaluate compare", "type default= placeholder help",
		"nothing is released unless it is given"},
	{"epsilon", "threshold", "type default= placeholder help", "nothing is released unless it is given"},
	{"epsilon", "lab curve", "type default= placeholder help", "a list of them"},
	{"epsilon", "baseline", "type default=",
		"taken with the flags of a training, and not used; a note tells so if it is given"},
	{"epsilon", "ledger init", "default= placeholder help", "an owner must choose the total"},
	{"epsilon", ofLocal, "help", "of one visit, at the user"},
	{"epsilon", "local audit", "help", "of one visit, and the attack says of how many"},
	{"features", "data synth", "default= placeholder help", "it asks for a pack of other records"},
	{"follow", "online", "help", "more of a file; a client waits for more of an epoch"},
	{"force", "train, search, evaluate private, evaluate compare, lab curve, local simulate, baseline, pairs train, " +
		"cluster, threshold", "help", "what was charged is kept in another file, if its name was taken"},
	{"format", "lab curve", "type default=svg,pdf help", "several pictures"},
	{"hidden", ofLocal + ", local audit", "type help", "one layer"},
	{"holdout", "lab curve", "type default=0.3 help", "a curve is of records that test"},
	{"holdout", "evaluate private, evaluate exact, evaluate compare, threshold", "help",
		"the part that a training held out is taken"},
	{"init-seed", "cluster", "default=1 placeholder help", "of centres; files of clusters have this default"},
	{"key", "local server", "placeholder help", "of TLS"},
	{"key", "local token", "placeholder help", "a secret, to make tokens with; verify has a public one"},
	{"l2", "lab audit records", "help", "the default is that of the audited algorithm"},
	{"l2", "lab influence", "type default=0.01 placeholder help", "the fit has no mechanism with a rule"},
	{"l2", ofLocal, "type placeholder help", "a rule without the number of records; 0 is not taken"},
	{"l2", "online", "type help", "no default: the one algorithm that needs it asks for it"},
	{"ledger", "verify", "help", "without it no ledger is read"},
	{"loss", ofPairs, "default=contrastive placeholder help", "what labels of pairs mean, not a function"},
	{"loss", "pairs inspect", "default=contrastive placeholder", "what labels of pairs mean, not a function"},
	{"loss", "lab audit records", "default=linear help", "the loss that attains the bounds"},
	{"loss", "local audit", "default=-u help", "the loss that attains the bounds"},
	{"loss", ofLocal, "default=logistic help", "of the margin of a record, not of a pair"},
	{"method", "lab audit records", "default=runs help", "of the attack"},
	{"method", ofLocal, "default=prestige help", "the protocol"},
	{"mode", "lab audit records", "help", "without privacy there is no claim to attack"},
	{"model", ofPairs, "help", "a metric, or embeddings by a network"},
	{"model", "plan train, plan compare, train, lab audit records", "help",
		"a network may be a file; local ones have one layer"},
	{"n", "data synth", "help", "how many are made, with a default in words"},
	{"n", "evaluate private, evaluate compare", "help", "with --plan or for persons alone"},
	{"n", "lab audit pairs", "default=16 help", "an attack makes its records"},
	{"n", "lab audit records", "default=64 help", "an attack makes its records"},
	{"n", "lab curve", "type placeholder help", "a list of them"},
	{"n", "lab losses check", "default=1000 help", "an example of a training"},
	{"n", "local plan, local server", "help", "users"},
	{"n", "local simulate", "default=10000 help", "users that are made"},
	{"n", "pairs plan", "help", "individuals"},
	{"noise", "account", "help", "any law; a run has only those of pure epsilon to choose from"},
	{"pairs", "lab audit pairs", "type placeholder help", "how many: an attack makes them"},
	{"pairs", "pairs plan", "type placeholder help", "how many: a plan opens no file"},
	{"person-rows", "account", "default=1 help", "a guarantee is told besides that of a record"},
	{"protocol", "local token", "help", "the file is given out before; a client may ask a server"},
	{"quick", "lab reproduce", "help", "the smallest part of every plan"},
	{"radius", "lab audit records", "help", "that of the loss that attains the bounds"},
	{"radius", "lab losses list, lab losses check", "default=1",
		"constants need one, and there are no records for a rule"},
	{"radius", ofLocal + ", local audit", "help", "a rule of margins"},
	{"radius", "online", "default=1 help", "the rule of a training is one of the number of records"},
	{"records", "account", "default= placeholder help", "of a batch"},
	{"records", "lab bench", "default= help", "hidden, for tests"},
	{"records", "online", "default= help", "the most that are paid for; -n"},
	{"report", "plan train", "help", "the page to approve"},
	{"resume", "online", "type placeholder help", "the state file says which run"},
	{"roc-thresholds", "threshold", "help", "of which one is chosen"},
	{"runs", "lab bench", "placeholder help", "timed ones"},
	{"runs", "local audit", "default=20000 help", "half of those on each data set of the other attacks"},
	{"runs", "search", "placeholder help", "trainings of random stopping"},
	{"schema", "data synth", "help", "it is written"},
	{"schema", ofPlans, "help", "a plan opens no data file"},
	{"seed", "data synth", "type default=1 help", "the same file each time"},
	{"seed", audits, "type default=1 help", "the same bound each time; no noise is to stay secret"},
	{"similarity", ofPairs, "help", "no loss of its own"},
	{"splits", "lab reproduce", "help", "the first of a plan, which has their number"},
	{"step-size", ofPairs, "placeholder help", "it falls with the root of the step"},
	{"step-size", ofLocal + ", local audit", "placeholder help", "in units of the noise"},
	{"steps", "account", "default=1 help", "releases"},
	{"store", "data pack, data synth", "help", "a pack is the file that mmap needs"},
	{"threshold", "predict", "type default= placeholder help", "a file of dyad threshold, too; without it no classes"},
	{"top", "lab influence", "default=5 help", "of both ends of a ranking"},
	{"workers", "lab bench", "default=1 placeholder help", "times of one core are compared"},
}

// meaning is what an option is in a command. A help that begins with "As in" is the one of that command, with what this command does.
func meaning(f *kong.Flag) map[string]string {
	return map[string]string{"type": fmt.Sprint(f.Target.Type()), "default": f.Default, "placeholder": f.PlaceHolder,
		"help": cmp.Or(f.Help, whole.texts[f.Name])}
}

// differ says in what an option is another one.
func differ(a, b map[string]string) (all string) {
	for _, what := range []string{"type", "default", "placeholder", "help"} {
		switch {
		case a[what] == b[what], what == "help" && (strings.HasPrefix(a[what], "As in ") ||
			strings.HasPrefix(b[what], "As in ")):
		case what == "default":
			all += " default=" + b[what]
		default:
			all += " " + what
		}
	}
	return strings.TrimSpace(all)
}

// An option of a name has one type, one default, one placeholder and one help in all commands, hidden ones included, but for otherwise.
func TestOneNameOneOption(t *testing.T) {
	parser := must.Get(wholeGrammar())(t)
	type group struct {
		row      int // -1: in none
		commands []string
		is       map[string]string
	}
	all, compared := map[string][]*group{}, 0
	for _, leaf := range parser.Model.Leaves(false) {
		command := leaf.Path()
		for _, f := range leaf.Flags {
			if slices.ContainsFunc(parser.Model.Flags, func(g *kong.Flag) bool { return g.Name == f.Name }) {
				t.Errorf("dyad %s --%s is a flag of every command", command, f.Name)
			}
			if f.Name == "out" { // each has the name of its own file
				continue
			}
			row := slices.IndexFunc(otherwise, func(o struct{ options, commands, differ, why string }) bool {
				return slices.Contains(words(o.options), f.Name) && slices.Contains(strings.Split(o.commands, ", "), command)
			})
			i := slices.IndexFunc(all[f.Name], func(g *group) bool { return g.row == row })
			if i < 0 {
				all[f.Name] = append(all[f.Name], &group{row: row, commands: []string{command}, is: meaning(f)})
				continue
			}
			g := all[f.Name][i]
			if d := differ(g.is, meaning(f)); d != "" {
				t.Errorf("dyad %s --%s differs from the flag of %s in: %s; it is %q", command, f.Name, g.commands[0], d, meaning(f))
			}
			if strings.HasPrefix(g.is["help"], "As in ") {
				g.is["help"] = meaning(f)["help"]
			}
			g.commands, compared = append(g.commands, command), compared+1
		}
	}
	for i, o := range otherwise {
		for _, name := range words(o.options) {
			main, own := slices.IndexFunc(all[name], func(g *group) bool { return g.row == -1 }),
				slices.IndexFunc(all[name], func(g *group) bool { return g.row == i })
			if main < 0 || own < 0 || o.why == "" {
				t.Errorf("row %v: the commands with --%s are %v", o, name, all[name])
				continue
			}
			m, g := all[name][main], all[name][own]
			must.Equal(t, len(g.commands), len(strings.Split(o.commands, ", ")), "row %v: only %v have --%s", o,
				g.commands, name)
			if d := differ(m.is, g.is); d != o.differ {
				t.Errorf("dyad %s --%s differs from the flag of %s in %q, and its row has %q", g.commands[0], name,
					m.commands[0], d, o.differ)
			}
		}
	}
	if compared < 400 {
		t.Errorf("%d options were compared", compared)
	}
	t.Logf("%d options compared, %d rows", compared, len(otherwise))
}

// A run has every option that runs share, or a reason why not, which it tells. Every run has the flags of all commands.
func TestRunsShareTheirOptions(t *testing.T) {
	runs := strings.Split("plan train, plan compare, train, baseline, search, evaluate private, evaluate exact, evaluate "+
		"compare, threshold, cluster, online, lab curve, local plan, local simulate, local server, local audit, lab audit "+
		"records, lab audit pairs, pairs train, pairs plan", ", ")
	shared := words("seed holdout yes store team paper-unsound ledger data-id resume force report track")
	parser := must.Get(wholeGrammar())(t)
	for _, name := range words("json config set quiet verbose log-format") {
		if !slices.ContainsFunc(parser.Model.Flags, func(f *kong.Flag) bool { return f.Name == name }) {
			t.Errorf("--%s is no flag of every command", name)
		}
	}
	dir, cells := t.TempDir(), 0
	for _, leaf := range parser.Model.Leaves(false) {
		command := leaf.Path()
		resumes := slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == "resume" })
		if !slices.Contains(runs, command) {
			if resumes || slices.Contains(recipeCommands, command) {
				t.Errorf("dyad %s is a run, and in no row", command)
			}
			continue
		}
		for _, name := range shared {
			cells++
			has, why, rows := slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == name }),
				absence(command, name), 0
			for _, a := range absent {
				if slices.Contains(words(a.options), name) && slices.Contains(strings.Split(a.commands, ", "), command) {
					rows++
				}
			}
			if has == (why != "") || rows > 1 {
				t.Errorf("dyad %s has --%s: %v, and %d reasons why not: %q", command, name, has, rows, why)
			}
			if !has {
				ends(t, dir, exitInput, "has no flag --"+name+": "+why, append(strings.Fields(command), "--"+name+"=1")...)
			}
		}
	}
	must.Equal(t, cells, len(runs)*len(shared), "cells")
	write(t, dir, "seeded.yaml", "seed: 1\n")
	for _, args := range [][]string{{"online", "--schema", "s", "-n", "5", "--set", "seed=1"},
		{"online", "--schema", "s", "-n", "5", "--config", "seeded.yaml"}} {
		ends(t, dir, exitInput, "the noise is always secret", args...)
	}
	ends(t, dir, exitInput, "dyad train --model at a large --epsilon", "baseline", "--model", "mlp")
	for _, a := range absent {
		for _, command := range strings.Split(a.commands, ", ") {
			if !slices.Contains(runs, command) {
				t.Errorf("dyad %s is no run", command)
			}
		}
	}
}
