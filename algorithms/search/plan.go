package search

import (
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Road is a way to choose.
type Road string

// The roads; Auto is the rule's choice.
const (
	Auto           Road = ""
	Compose        Road = "compose"
	RandomStopping Road = "random-stopping"
	NoisyMax       Road = "noisy-max"
)

// Setting is a candidate that is trained.
type Setting struct {
	Name string
	// Plan plans its training for a budget, from public numbers. The training releases its weights only
	// (algorithms.Info.Withholds).
	Plan func(privacy.Budget) (*algorithms.Plan, error)
	// Features identifies its encoding of the records; "" is the encoding of all features.
	Features string
}

// Model is a candidate that is public or was released.
type Model struct {
	Name string
	// Digest tells its weights to the last digit, so that a search is resumed with the same.
	Digest string
}

// Options are everything public that a search depends on.
type Options struct {
	Records int // n, 2 to 2^26: of persons, if a record is a person with rows
	// PersonRows is the public cap of the rows of a person; 0 if each row is a record.
	PersonRows int
	Budget     privacy.Budget
	algorithms.Provenance
	// Settings are the candidates, at least 2 with different names; nil for Models.
	Settings []Setting
	// Models are candidates that are public or were released.
	Models []Model
	Road   Road
	// Runs is the largest number of runs of RandomStopping, 2 to account.MaxRuns. All of them are made. 0
	// applies the rule.
	Runs int
}

// maxRecords bounds n: rank sums are then integers below 2^53.
const maxRecords = 1 << 26

// MaxCandidates bounds the number of candidates.
const MaxCandidates = 64

// Plan describes a search and its guarantee, from public numbers.
type Plan struct {
	algorithms.Plan
	Options Options // Road and Runs are the chosen ones
	Reason  string  // why the road was chosen
	// Trainings are the plans of the settings; nil for models.
	Trainings []*algorithms.Plan
	// Alone is the budget that the training of one setting with the same noise spends: what the
	// guarantee has above it is paid for choosing.
	Alone privacy.Budget

	rank      privacy.Certificate  // of a rank sum, an integer
	counted   privacy.ClassPairSum // with the number of positives, which is free
	joint     privacy.Certificate  // of counted
	choice    float64              // epsilon of the choice, 0 for RandomStopping
	score     privacy.Gaussian     // noise of the score of a run of RandomStopping
	selection privacy.Selection    // of RandomStopping
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
		p.Options.Road, p.Reason = NoisyMax, "the candidates are public or released, so only the choice costs"
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
		return fmt.Errorf("%w: search: %s", algorithms.ErrAssumption, fmt.Sprintf(format, args...))
	}
	if err := o.Budget.Validate(); err != nil {
		return err
	}
	count, seen := len(o.Settings)+len(o.Models), map[string]bool{}
	for _, s := range o.Settings {
		if seen[s.Name] || s.Name == "" {
			return bad("two settings have the name %q, or one has none; give each its own", s.Name)
		}
		seen[s.Name] = true
	}
	switch {
	case o.Records < 2 || o.Records > maxRecords:
		return bad("%d %s, want from 2 to 2^26", o.Records, o.unit())
	case o.PersonRows < 0 || o.PersonRows > math.MaxInt32/o.Records:
		return bad("%d persons with up to %d rows each, want fewer than 2^31 rows; declare a smaller cap (max_rows_per_person)", o.Records, o.PersonRows)
	case len(o.Settings) > 0 && len(o.Models) > 0:
		return bad("settings that are trained and models that are released are chosen in two searches; leave one kind out")
	case count < 2 || count > MaxCandidates:
		return bad("%d candidates, want 2 to %d", count, MaxCandidates)
	case o.Runs != 0 && (o.Runs < 2 || o.Runs > account.MaxRuns):
		return bad("at most %d runs, want 2 to %d", o.Runs, account.MaxRuns)
	case len(o.Models) > 0 && o.Road != Auto && o.Road != NoisyMax:
		return bad("models are chosen by %s, not by %s: they are not trained again", NoisyMax, o.Road)
	case len(o.Settings) > 0 && o.Road == NoisyMax:
		return bad("%s chooses among models that are public or released; settings have to be trained, by %s or %s", NoisyMax, Compose, RandomStopping)
	case o.Road != Auto && o.Road != Compose && o.Road != RandomStopping && o.Road != NoisyMax:
		return bad("road %q is unknown, want %s, %s or %s", o.Road, Compose, RandomStopping, NoisyMax)
	case o.Runs != 0 && (o.Road == Compose || o.Road == NoisyMax):
		return bad("a number of runs is for %s", RandomStopping)
	case o.Budget.Delta == 0 && o.Road == RandomStopping:
		return bad("%s has no guarantee with delta = 0: it is proved for a positive one; give that, or take %s", RandomStopping, Compose)
	}
	return nil
}

// unit names what n counts.
func (o Options) unit() string {
	if o.PersonRows > 0 {
		return "persons"
	}
	return "records"
}

// The public rules of shares and runs.
const (
	// scoreNoise is the standard deviation, of an AUC with classes of the same size, that the noise
	// of a score should have.
	scoreNoise = 0.005
	// leastShare and mostShare bound the share of mu^2 (or epsilon) that scores get for it.
	leastShare, mostShare = 0.05, 1. / 3
	// runsPerSetting, fewestRuns and mostRuns are the rule of Runs.
	runsPerSetting, fewestRuns, mostRuns = 4, 8, 64
)

// clampShare is a mu (or epsilon) for scores out of a whole one.
func clampShare(wanted, whole float64, root bool) float64 {
	least, most := leastShare, mostShare
	if root {
		least, most = math.Sqrt(least), math.Sqrt(most)
	}
	return min(max(wanted, least*whole), most*whole)
}
