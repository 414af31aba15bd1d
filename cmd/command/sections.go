package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type section struct{ part, title, flags, keys string }

// sections lists, in order, the sections of the help of commands with many flags. The keys of a section are options
// that most runs leave at their defaults. A command line sets a key by --set KEY=VALUE, and a file of --config sets
// it like any other option. Its name as a flag is still accepted as an old name.
var sections = []section{
	{ofRun, "Data:", "data schema n d records labels user pairs public-data group-column dataset follow visits",
		"row visit-rows pair-columns label-values pair-seed group-sizes look-alike-ids balance public-features " +
			"synthetic features"},
	{ofRun, sourceOf, "density degree-cap tuple all-pairs", ""},
	{ofRun, "Candidates:", "candidates models", "road"},
	{guaranteed, "Model:", "model k metric task algorithm method loss rows",
		"radius loss-param loss-clip margin temperature l2 l2-grid folds bias average iterate"},
	{guaranteed, "Network, with --model:", "", "init hidden activation dim similarity gain init-seed jacobian-clip"},
	{guaranteed, "Privacy:", "mode paper-unsound epsilon delta unit kappa max-epsilon holdout-epsilon exact-figures",
		"max-epochs max-direction-pairs shuffle-delta"},
	{guaranteed, "Noise and steps; they change the mechanism:", "mechanisms rate",
		"curriculum noise sampling noises steps rounds step-size total-step update momentum decay tail-average " +
			"batch-records batch epochs clip shrink printed-steps every buffer reservoir per-class burn-in secret-state " +
			"second-moments clip-radius ridge count-share centre-share second-share step-share gradient-share public-centre " +
			"class-balance label-share response-share direction-pairs threshold-step kwik-ratio kwik-delta"},
	{guaranteed, "Constants of the loss that you assert:", "", "G L Dg H radius-diameter"},
	{ofRun, "Evaluation:", "figures plan holdout splits with neighbours aim at-least reference threshold",
		"confidence split-seed public-seed intervals no-ceiling regret top leave-out roc-thresholds mean-loss loss-range"},
	{ofRun, "Trials:", "runs time", "black-box canaries worst-start person-rows choose-interactions"},
	{ofRun, "Server:", "server listen protocol cert key ca token tokens memory",
		"host check poll beat messages-per-second max-connections"},
	{computed, "Device. Rounding and its noise depend on the device:", "device store", "precision"},
	{computed, "Performance; results and guarantees do not depend on it:", "workers parallel team part merge",
		"team-deadline part-out retry checkpoint-every"},
	{ofRun, charge, "ledger data-id yes resume seed", ""},
	{ofRun, pagesOf, "force report track plot", ""},
	{ofRun, "Output:", "out onnx sql python go npz safetensors curves format dir state approved encoded stability pages " +
		"pages-only relation coordinates padded",
		"table unknown mirror out-schema study institution purpose responsible language needs decimal sheet encoding " +
			"max-rows persons held-out held-out-schema envelope only peers variant"},
}

// firstFlags are the flags of the first view.
var firstFlags = words("data schema n d records state pairs out public-data candidates models k metric splits " +
	"task algorithm epsilon delta holdout holdout-epsilon max-epsilon with plan reference runs time server dir listen " +
	"protocol cert key token memory")

func words(s string) []string { return strings.Fields(s) }

// sectionOf returns the index of a flag's section and the flag's place in the section.
func sectionOf(name string) (section, place int) {
	for i, s := range sections {
		if p := slices.Index(words(s.flags+" "+s.keys), name); p >= 0 {
			return i, p
		}
	}
	last := len(sections) - 1
	return last, len(sections[last].flags)
}

// keyBut lists options that are keys of some commands and flags of others. For example, noise, steps and batches are
// the main inputs of dyad account.
var keyBut = map[string]string{"noise": "account", "steps": "account", "batch": "account", "person-rows": "account"}

// isKey reports whether an option of a command is set by --set.
func isKey(command, name string) bool {
	return !slices.Contains(strings.Split(keyBut[name], ", "), command) &&
		slices.ContainsFunc(sections, func(s section) bool { return slices.Contains(words(s.keys), name) })
}

// bySection compares flags by their positions in the sections.
func bySection(a, b *kong.Flag) int {
	s, p := sectionOf(a.Name)
	t, q := sectionOf(b.Name)
	return cmp.Or(cmp.Compare(s, t), cmp.Compare(p, q))
}

// The parts of a recipe, and the part that each run sets itself.
const (
	guaranteed = "what is guaranteed"
	computed   = "how it is computed"
	ofRun      = "of this run"
)

// The titles of groups of flags that commands share.
const (
	charge   = "Charge:"
	pagesOf  = "Pages and files:"
	sourceOf = "Source of pairs:"
)
