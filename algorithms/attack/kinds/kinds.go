// Package kinds has a table with a row for every kind of run. A row draws neighbours of a drawn or given size, and the
// releases of the kind are compared on them. Otherwise the row names the test that attacks the kind elsewhere, or the
// reason why there is no claim to attack. The tests of this package attack every row at every size, and with
// defects. Every command that charges has a row (TestEveryKindIsGuarded in cmd/command).
package kinds

import (
	"context"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/algorithms/search"
	"dyad/privacy"
)

// Size is the size of the data set of an attack. Unit is the index of the replaced record. If Records
// is 0, the attack draws the size and the index at random.
type Size struct{ Records, Features, Unit int }

// drawn reports whether the size is drawn at random.
func (s Size) drawn() bool { return s.Records == 0 }

// Pair draws jobs of one plan on two data sets that differ in one record.
type Pair func(rng *rand.Rand) (data, neighbour algorithms.Job, err error)

// Draw draws the options of a kind of run. It returns a description of the options, the number n of records, the
// number d of values in each release, and a Pair.
type Draw func(rng *rand.Rand, at Size) (text string, n, d int, pair Pair)

// Row is an attack on one kind of run.
type Row struct {
	Name     string
	Commands []string // the commands that run this kind
	// Draw draws jobs on two neighbouring data sets. If Draw is nil, Test or Refused is set. Test is the
	// test that attacks this kind of run, in the form DIRECTORY:NAME. Refused is the reason why there is no
	// claim to attack.
	Draw          Draw
	Test, Refused string
	// Work is an upper bound of the number of records times the number of features. Least is the smallest
	// number of records. Tries is the number of draws at each size.
	Work         float64
	Least, Tries int
	// Reach is a share of the certified sensitivity. At every size, every release must move by at least
	// this share of its own sensitivity. Loose names the releases for which this is not required.
	Reach float64
	Loose []string
}

// Table returns the rows of all kinds of run.
func Table() []Row {
	figures := []string{"dyad evaluate private", "dyad threshold"}
	searches := []string{"dyad search"}
	loose := []string{"spread of the scores", "pairs of classes that two models order differently"}
	return []Row{
		{Name: "training", Commands: []string{"dyad train"}, Test: "algorithms/attack:TestCatalogOfEverySize"},
		{Name: "baseline", Commands: []string{"dyad baseline"}, Refused: "it promises nothing"},
		{Name: "stream", Commands: []string{"dyad online"}, Test: "algorithms/attack:TestStreamsOfEverySize"},
		{Name: "pairs", Commands: []string{"dyad pairs train"}, Test: "algorithms/pairs:TestPairsOfEverySize"},
		{Name: "messages of users", Commands: []string{"dyad local simulate"},
			Test: "algorithms/local/localaudit:TestAttackWithoutPowerSaysSo"},
		{Name: "clusters", Commands: []string{"dyad cluster"}, Draw: clusters, Work: 1.5e6, Tries: 8, Reach: 0.99},
		{Name: "choice", Commands: searches, Draw: choice, Work: 1.2e6, Tries: 4, Reach: 0.99},
		{Name: "search of trainings", Commands: searches, Draw: trainings(search.Compose), Work: 3e5, Tries: 2, Reach: 0.99},
		{Name: "random stopping", Commands: searches, Draw: trainings(search.RandomStopping), Work: 3e5,
			Tries: 2, Reach: 0.99},
		{Name: "private curve", Commands: []string{"dyad lab curve"}, Draw: curves, Work: 3e5, Least: 20, Tries: 1},
		{Name: "figures", Commands: figures, Draw: figuresOf("figures"), Work: 1.2e6, Tries: 10, Reach: 0.98, Loose: loose},
		{Name: "mean loss", Commands: figures, Draw: figuresOf("mean loss"), Work: 1.2e6, Tries: 10,
			Reach: 0.98, Loose: loose},
		{Name: "threshold", Commands: figures, Draw: figuresOf("threshold"), Work: 1.2e6, Tries: 10,
			Reach: 0.98, Loose: loose},
		{Name: "classifiers", Commands: figures, Draw: figuresOf("classifiers"), Work: 1.2e6, Tries: 4, Reach: 0.98},
		{Name: "two models", Commands: []string{"dyad evaluate compare"}, Draw: figuresOf("two models"), Work: 1.2e6,
			Tries: 10, Reach: 0.98, Loose: loose},
	}
}

// Jobs returns the rows whose kind is a job.
func Jobs() (all []Row) {
	for _, r := range Table() {
		if r.Draw != nil {
			all = append(all, r)
		}
	}
	return all
}

// tried is the number of neighbours that are drawn for an audit.
const tried = 40

// Audited draws neighbours for an audit of a plan's printed guarantee, and returns the strongest target.
// Target.Instance describes the drawn options. Power.Runs is four times the number of runs that can refute half of
// the claim, but at least 1,000. If this number is unknown, Power.Runs is 10,000.
func (r Row) Audited(ctx context.Context, seed uint64) (audit.Target, audit.Power, error) {
	rng := rand.New(rand.NewPCG(seed, 7))
	var targets []audit.Target
	for range tried {
		text, _, _, pair := r.Draw(rng, Size{})
		data, neighbour, err := pair(rng)
		if err != nil {
			return audit.Target{}, audit.Power{}, err
		}
		targets = append(targets, audit.OnJobs(data, neighbour, text))
	}
	target, power, err := audit.Strongest(ctx, targets, audit.Options{Seed: seed})
	if power.Runs = max(1000, 4*power.RunsForHalf); power.RunsForHalf == 0 {
		power.Runs = 10_000
	}
	return target, power, err
}

func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

func budget(rng *rand.Rand) privacy.Budget {
	return privacy.Budget{Epsilon: pick(rng, 0.1, 1, 4), Delta: pick(rng, 0, 1e-6)}
}
