package search

import (
	"math"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Road is a way to choose a candidate.
type Road string

// These are the roads. Auto means that the rule selects one.
const (
	Auto           Road = ""
	Compose        Road = "compose"
	RandomStopping Road = "random-stopping"
	NoisyMax       Road = "noisy-max"
)

// Setting is a candidate that the search trains.
type Setting struct {
	Name string
	// Plan plans the training for a budget, from public numbers. The training must release only its weights
	// (algorithms.Info.Withholds).
	Plan func(privacy.Budget) (*algorithms.Plan, error)
	// Features identifies the setting's encoding of the records. If it is "", all features are encoded.
	Features string
}

// Model is a candidate that is public or was released before.
type Model struct {
	Name string
	// Digest identifies the weights to the last digit, so that a search is resumed only with the same weights.
	Digest string
}

// Options holds all public values that a search depends on.
type Options struct {
	Records int // number n of records, or of persons if PersonRows > 0; 2 to 2^26
	// PersonRows is the public cap on the number of rows of a person. It is 0 if each row is a record.
	PersonRows int
	Budget     privacy.Budget
	algorithms.Provenance
	// Settings are the candidates to train, at least 2 with different names. It is nil if Models is used.
	Settings []Setting
	// Models are the candidates that are public or were released before.
	Models []Model
	Road   Road
	// Runs is the largest number of runs of RandomStopping, 2 to account.MaxRuns. All of these runs are made,
	// but only a secret random number of them counts. If Runs is 0, a public rule chooses the number.
	Runs int
}

// MaxCandidates bounds the number of candidates.
const MaxCandidates = 64

// Plan describes a search and its guarantee, from public numbers.
type Plan struct {
	algorithms.Plan
	Options Options // the options; Road and Runs are set to the chosen values
	Reason  string  // the reason why the road was chosen
	// Trainings holds the plans of the settings. It is nil for Models.
	Trainings []*algorithms.Plan
	// Alone is the budget for training one setting with the same noise, without a search. The guarantee
	// of the search exceeds Alone by the cost of choosing.
	Alone privacy.Budget

	rank      privacy.Certificate  // the certificate of a rank sum, which is an integer
	counted   privacy.ClassPairSum // the query of a rank sum with the number of positives, which adds no cost
	joint     privacy.Certificate  // the certificate of counted
	choice    float64              // the epsilon of the choice; 0 for RandomStopping
	score     privacy.Gaussian     // the noise of the score of a run of RandomStopping
	selection privacy.Selection    // the selection of RandomStopping
}

// New plans a search.
func New(o Options) (*Plan, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	rank, err := privacy.ClassPairSum{Records: o.Records, Levels: 1, Name: "rank sum"}.Certify()
	if err != nil {
		return nil, err
	}
	counted := evaluate.RankQuery(o.Records, o.PersonRows, false)
	joint, err := counted.Certify()
	if err != nil {
		return nil, err
	}
	p := &Plan{Options: o, rank: rank, counted: counted, joint: joint}
	switch {
	case len(o.Models) > 0:
		p.Options.Road, p.Reason = NoisyMax, "the models are public or released, so only the choice costs budget"
		err = p.planChoice(o.Budget.Epsilon)
	case o.Road == Compose:
		p.Reason = "asked for"
		err = p.planCompose()
	case o.Road == RandomStopping:
		p.Reason = "asked for"
		err = p.planStopping()
	default:
		p, err = p.cheapest()
	}
	if err != nil {
		return nil, err
	}
	return p, p.promise()
}

func (o Options) validate() error {
	bad := func(format string, args ...any) error {
		return algorithms.Refused("search", ": "+format, args...)
	}
	if err := o.Budget.Validate(); err != nil {
		return err
	}
	count, seen := len(o.Settings)+len(o.Models), map[string]bool{}
	for _, s := range o.Settings {
		if seen[s.Name] || s.Name == "" {
			return bad("two settings have the name %q, or a setting has no name; give each setting its own name",
				s.Name)
		}
		seen[s.Name] = true
	}
	switch problem := o.size().Problem(); {
	case problem != "":
		return bad("%s", problem)
	case len(o.Settings) > 0 && len(o.Models) > 0:
		return bad("a search takes settings or released models, not both; leave one of the two lists out")
	case count < 2 || count > MaxCandidates:
		return bad("%d candidates, want 2 to %d", count, MaxCandidates)
	case o.Runs != 0 && (o.Runs < 2 || o.Runs > account.MaxRuns):
		return bad("the number of runs is %d, want 2 to %d", o.Runs, account.MaxRuns)
	case len(o.Models) > 0 && o.Road != Auto && o.Road != NoisyMax:
		return bad("to choose among models, use %s, not %s", NoisyMax, o.Road)
	case len(o.Settings) > 0 && o.Road == NoisyMax:
		return bad("%s chooses among models, not settings; use %s or %s",
			NoisyMax, Compose, RandomStopping)
	case o.Road != Auto && o.Road != Compose && o.Road != RandomStopping && o.Road != NoisyMax:
		return bad("road %q is unknown, want %s, %s or %s", o.Road, Compose, RandomStopping, NoisyMax)
	case o.Runs != 0 && (o.Road == Compose || o.Road == NoisyMax):
		return bad("only %s takes a number of runs; leave the number out", RandomStopping)
	case o.Budget.Delta == 0 && o.Road == RandomStopping:
		return bad("the guarantee of %s is proved only for a positive delta, but delta is 0; give a positive "+
			"delta, or take %s", RandomStopping, Compose)
	}
	return nil
}

func (o Options) size() evaluate.Size {
	return evaluate.Size{Records: o.Records, PersonRows: o.PersonRows}
}

// These are the constants of the public rules for shares and runs.
const (
	// scoreNoise is the target standard deviation of the noise of a score. It is stated for an AUC with classes
	// of the same size.
	scoreNoise = 0.005
	// leastShare and mostShare bound the share of mu^2 (or epsilon) that scores get to reach this target.
	leastShare, mostShare = 0.05, 1. / 3
	// runsPerSetting, fewestRuns and mostRuns are the constants of the rule for Runs.
	runsPerSetting, fewestRuns, mostRuns = 4, 8, 64
)

// clampShare returns the mu (or epsilon) for scores: wanted, clamped to between leastShare and mostShare of
// whole. If root is true, the shares are shares of mu^2.
func clampShare(wanted, whole float64, root bool) float64 {
	least, most := leastShare, mostShare
	if root {
		least, most = math.Sqrt(least), math.Sqrt(most)
	}
	return min(max(wanted, least*whole), most*whole)
}
