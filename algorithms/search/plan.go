package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

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
	// Features tells its encoding of the records from others; "" is that of all features.
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
	// Runs is the most runs of RandomStopping, 2 to account.MaxRuns, all of which are made: 0 is the rule.
	Runs int
}

// maxRecords bounds n: rank sums are then integers below 2^53.
const maxRecords = 1 << 26

// MaxCandidates bounds the number of candidates.
const MaxCandidates = 64

// Plan is what a search will do and what it guarantees, from public numbers.
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
		return bad("%s has no guarantee with delta = 0: it is proved by Renyi divergences; give a positive delta, or take %s", RandomStopping, Compose)
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

// cheapest is the plan of the road whose training has the larger mu, once for each setting that it
// can be expected to try: random stopping misses a setting with some probability.
func (p *Plan) cheapest() (*Plan, error) {
	compose, stopping := *p, *p
	compose.Options.Road, stopping.Options.Road = Compose, RandomStopping
	if err := compose.planCompose(); err != nil {
		return nil, err
	}
	if p.Options.Budget.Delta == 0 {
		compose.Reason = "delta is 0, and random stopping needs a positive one"
		return &compose, nil
	}
	if err := stopping.planStopping(); errors.Is(err, errHidden) {
		compose.Reason = err.Error()
		return &compose, nil
	} else if err != nil {
		return nil, err
	}
	a, b, tried := compose.trainingMu(), stopping.trainingMu(), stopping.tried()
	comparison := fmt.Sprintf("with %s each of the %d trainings is %.4g-GDP; with %s a run is %.4g-GDP, and a setting is tried with probability %.2g", Compose, len(p.Options.Settings), a, RandomStopping, b, tried)
	chosen := &compose
	if b*tried > a {
		chosen = &stopping
	}
	chosen.Reason = comparison + "; the larger product is taken"
	return chosen, nil
}

// trainingMu is the smallest mu of a training.
func (p *Plan) trainingMu() float64 {
	least := math.Inf(1)
	for _, t := range p.Trainings {
		least = min(least, muOf(t.Events...))
	}
	return least
}

// tried is the probability that random stopping tries a given setting: 1 - E (1 - 1/k)^K.
func (p *Plan) tried() float64 {
	missed, power := 0.0, 1.0
	for range p.Options.Runs {
		power *= 1 - 1/float64(len(p.Options.Settings))
		missed += power
	}
	return 1 - missed/float64(p.Options.Runs)
}

// muOf is the mu of events, +Inf if they have none.
func muOf(events ...account.Event) float64 {
	var total account.Total
	for _, e := range events {
		if total.Compose(e) != nil {
			return math.Inf(1)
		}
	}
	return total.Mu()
}

// within says whether events keep a budget.
func within(b privacy.Budget, events []account.Event) bool {
	var total account.Total
	for _, e := range events {
		if total.Compose(e) != nil {
			return false
		}
	}
	return total.Epsilon(b.Delta) <= b.Epsilon
}

// trainings plans all settings for a budget.
func (p *Plan) trainings(b privacy.Budget) error {
	p.Trainings, p.Alone = nil, b
	for _, s := range p.Options.Settings {
		t, err := s.Plan(b)
		if err != nil {
			return fmt.Errorf("setting %s: %w", s.Name, err)
		}
		p.Trainings = append(p.Trainings, t)
	}
	return nil
}

// planChoice plans an epsilon-DP choice.
func (p *Plan) planChoice(epsilon float64) error {
	if p.choice = privacy.ChoiceEpsilon(epsilon); !(p.choice > 0) {
		return fmt.Errorf("%w: search: epsilon %v of the choice is below 2^-20", algorithms.ErrAssumption, epsilon)
	}
	p.Events = []account.Event{account.PureEvent{Epsilon: p.choice}}
	return nil
}

// choiceNoise is the epsilon of a choice whose scores are about scoreNoise away from those of exact
// ones: a score is flipped with the scale 2 (2 (n-1))/epsilon of a rank sum, which is 2 n+ n- times the AUC.
func choiceNoise(n int) float64 { return 8 / (scoreNoise * float64(n)) }

// planCompose plans all trainings and a choice.
func (p *Plan) planCompose() error {
	b, k := p.Options.Budget, len(p.Options.Settings)
	epsilon, mu := clampShare(choiceNoise(p.Options.Records), b.Epsilon, false), 0.0
	if b.Delta > 0 {
		mu = account.GDPMu(b.Epsilon, b.Delta)
		epsilon = pureOf(clampShare(account.PureGDPMu(choiceNoise(p.Options.Records)), mu, true))
	}
	if err := p.planChoice(epsilon); err != nil {
		return err
	}
	choice := p.Events
	one := privacy.Budget{Epsilon: (b.Epsilon - p.choice) / float64(k), Delta: b.Delta}
	if b.Delta > 0 {
		mu = largest(mu, func(mu float64) bool {
			return within(b, append(slices.Clip(choice), account.Repeat(account.GaussianEvent{Sensitivity: mu, Sigma: 1}, k)))
		})
		one.Epsilon = account.GDPEpsilon(mu, b.Delta)
	}
	for less := 1e-9; less < 0.5; less *= 2 { // roundings, and trainings that are not Gaussian
		if err := p.trainings(privacy.Budget{Epsilon: one.Epsilon * (1 - less), Delta: b.Delta}); err != nil {
			return err
		}
		p.Events = slices.Clip(choice)
		for _, t := range p.Trainings {
			p.Events = append(p.Events, t.Events...)
		}
		if within(b, p.Events) {
			return nil
		}
	}
	return fmt.Errorf("%w: search: the trainings cannot be composed within epsilon %g; choose algorithms with Gaussian noise", algorithms.ErrAssumption, b.Epsilon)
}

// largest is the largest number up to most that is good, where smaller ones are, too; 0 if none is
// found.
func largest(most float64, good func(float64) bool) float64 {
	low, high := 0.0, most
	for range 28 { // to 4e-9 of most
		if mid := (low + high) / 2; good(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// pureOf is the largest epsilon with PureGDPMu(epsilon) <= mu.
func pureOf(mu float64) float64 {
	return largest(mu*2+mu*mu, func(epsilon float64) bool { return account.PureGDPMu(epsilon) <= mu })
}

// errHidden is the reason against random stopping of an algorithm that draws batches in secret.
var errHidden = errors.New("a setting has no mu of its own, as one with secret batches; random stopping needs one")

// planStopping plans runs of random settings: the best of a secret number of runs is released.
func (p *Plan) planStopping() error {
	b := p.Options.Budget
	if p.Options.Runs == 0 {
		p.Options.Runs = min(max(runsPerSetting*len(p.Options.Settings), fewestRuns), mostRuns)
	}
	event := func(mu float64) []account.Event {
		return []account.Event{account.RandomStoppingEvent{Mu: mu, Runs: p.Options.Runs}}
	}
	whole := largest(account.GDPMu(b.Epsilon, b.Delta), func(mu float64) bool { return within(b, event(mu)) })
	if whole == 0 {
		return fmt.Errorf("%w: search: no noise makes random stopping (%g, %g)-DP", algorithms.ErrAssumption, b.Epsilon, b.Delta)
	}
	mu := whole * (1 - 1e-9) // room for the roundings of the trainings
	// The rank sum is 2 n+ n- times the AUC, and moves by 2 (n-1).
	paid := clampShare(4/(scoreNoise*float64(p.Options.Records)), mu, true)
	if err := p.trainings(privacy.Budget{Epsilon: account.GDPEpsilon(math.Sqrt(mu*mu-paid*paid), b.Delta), Delta: b.Delta}); err != nil {
		return err
	}
	p.score = privacy.Gaussian{Sigma: p.joint.Sensitivity() / paid}
	p.selection = privacy.Selection{Event: account.RandomStoppingEvent{Runs: p.Options.Runs}}
	for _, t := range p.Trainings {
		events := append([]account.Event{p.score.Event(p.joint)}, t.Events...)
		one := muOf(events...)
		if !(one <= whole) {
			return errHidden
		}
		p.selection.Event.Mu = max(p.selection.Event.Mu, one)
		p.selection.Candidates = append(p.selection.Candidates, events)
	}
	p.Events = []account.Event{p.selection.Event}
	return nil
}

// names are those of the candidates.
func (p *Plan) names() (all []string) {
	for _, s := range p.Options.Settings {
		all = append(all, s.Name)
	}
	for _, m := range p.Options.Models {
		all = append(all, m.Name)
	}
	return all
}

// promise fills in the guarantee.
func (p *Plan) promise() error {
	o := p.Options
	p.Algorithm, p.Mode, p.Certificate = "search", algorithms.Certified, p.rank
	p.Objective = fmt.Sprintf("%s of at most %d runs; candidates %s", o.Road, o.Runs, strings.Join(p.objectives(), "; "))
	unit, relation, rows := "one record", "same n, one record replaced, features and label", o.Contribution()
	if o.PersonRows > 0 {
		unit, relation, rows = algorithms.PersonWords(o.PersonRows)
	}
	g := privacy.Guarantee{
		Unit:     unit,
		Relation: relation,
		Assumptions: []string{
			fmt.Sprintf("public: n = %d, the candidates (%s) with all their options, the schema and all options", o.Records, strings.Join(p.names(), ", ")),
			rows + "; the noise bits are secret",
		},
	}
	switch o.Road {
	case NoisyMax:
		g.Released = "which of the models is chosen"
		g.Derivation = fmt.Sprintf("a choice by permute-and-flip with epsilon %.6g: %s (docs/theory.md#choice)", p.choice, p.rank.Derivation())
		g.Assumptions = append(g.Assumptions, "each model is public, or what it tells of these records is charged to the same data id")
	case Compose:
		g.Released = "the models of all settings, and which of them is chosen"
		g.Derivation = fmt.Sprintf("%d trainings and a choice by permute-and-flip with epsilon %.6g compose; scores are rank sums: %s (docs/theory.md#choice)", len(p.Trainings), p.choice, p.rank.Derivation())
	case RandomStopping:
		g.Released = "the model and the score of the best of a secret number of runs"
		g.Derivation = fmt.Sprintf("the best of K runs, K uniform on 1 to %d and secret, each %.6g-GDP with training and score: by the Renyi divergences of random stopping (docs/theory.md#random-stopping)", o.Runs, p.selection.Event.Mu)
		g.Assumptions = append(g.Assumptions, fmt.Sprintf("all %d runs are made, so that time does not tell how many count; how long the search takes, which tells how often each setting was drawn, is not seen", o.Runs))
	}
	if o.PersonRows > 0 {
		g.Derivation += "; the rank sum of persons moves by as much, and so does its whole part (docs/theory.md#person-figures)"
	}
	if len(p.Trainings) > 0 { // what trainings rest on: the same for all but their constants
		seen := map[string]bool{}
		for _, t := range p.Trainings {
			for _, a := range t.Guarantee.Assumptions {
				if strings.HasPrefix(a, "constants of loss") && !seen[a] {
					seen[a] = true
					g.Assumptions = append(g.Assumptions, a)
				}
			}
		}
	}
	if err := p.Promise(o.Budget, o.Records, o.Provenance, g, p.Events...); err != nil {
		return err
	}
	if p.Guarantee.Epsilon > o.Budget.Epsilon {
		return fmt.Errorf("search: the plan costs epsilon %v, more than %v", p.Guarantee.Epsilon, o.Budget.Epsilon)
	}
	p.Facts = p.facts()
	return nil
}

// objectives are what a resumed search must have in common with its first attempt.
func (p *Plan) objectives() []string {
	var all []string
	for _, m := range p.Options.Models {
		all = append(all, m.Digest)
	}
	for i, t := range p.Trainings {
		text := fmt.Sprintf("%s = %s, %s", p.Options.Settings[i].Name, t.Algorithm, t.Objective)
		if t.Spec.Kernel != nil {
			pr := t.Spec.Kernel.Problem()
			text += fmt.Sprintf(" %s, d = %d, alpha = %v, r = %v", pr.Loss.Name(), pr.D, t.Spec.L2, pr.Radius)
		}
		all = append(all, text)
	}
	return all
}

// advice is what measurements say against the search (bench/results/search-summary.csv): among settings
// that differ in algorithm and regularisation alone, the default with the whole budget was better
// than any search, by .001 to .010 of the AUC. Where features differed, random stopping gained .008 to .018.
func (p *Plan) advice() string {
	for _, s := range p.Options.Settings {
		if s.Features != p.Options.Settings[0].Features {
			return ""
		}
	}
	if len(p.Options.Settings) == 0 {
		return ""
	}
	return "all settings have the same features: where that was measured, the default setting with the whole budget (dyad train) beat every search; a search pays where settings differ by more than the noise that it adds, as with other features"
}

func (p *Plan) facts() (f algorithms.Facts) {
	o := p.Options
	n := float64(o.Records)
	f.Line("search", "among %d candidates by the AUC on n = %d %s: %s", f.Add("candidates", len(p.names())), f.Add("records", o.Records), o.unit(), f.Add("road", string(o.Road)))
	if rows := f.AddSome("max_rows_per_person", o.PersonRows); rows != 0 {
		f.Line("persons", "up to %d rows each, which share the weight of one record; pairs of rows of one person count in no pair", rows)
	}
	f.Line("", "%s", f.Add("reason", p.Reason))
	if advice := p.advice(); f.AddSome("advice", advice) != "" {
		f.Line("", "%s", advice)
	}
	var settings []algorithms.Facts
	for i, name := range p.names() {
		var s algorithms.Facts
		s.Add("name", name)
		if len(p.Trainings) == 0 {
			f.Line("candidate", "%s", name)
		} else {
			t := p.Trainings[i]
			s.Add("algorithm", t.Algorithm)
			s.Add("mu", muOf(t.Events...))
			noise := ""
			if t.Noise != nil {
				noise = ", " + s.Add("noise", t.Noise.String()).(string)
			}
			f.Line("candidate", "%s: %s%s", name, t.Algorithm, noise)
		}
		settings = append(settings, s)
	}
	f.Add("settings", settings)
	if o.Road == RandomStopping {
		f.Line("runs", "%d are made, and the best of the first K is released; K is uniform on 1 to %[1]d and secret; a setting is tried with probability %.2[2]g", f.Add("runs", o.Runs), f.Add("tried", p.tried()))
		f.Line("score", "rank sum and number of positives with %s: standard deviation %.3g of an AUC with classes of the same size", f.Add("score_noise", p.score.String()), f.Add("auc_noise_balanced", 2*p.score.Sigma/(n*n)))
	} else {
		f.Line("choice", "epsilon %.6g: a candidate is passed over with probability 1 - exp(-gap/%.3g), gap its distance in AUC from the best with classes of the same size", f.Add("choice_epsilon", p.choice), f.Add("choice_gap", 4*p.rank.Sensitivity()/p.choice/(n*n)))
	}
	if len(p.Trainings) > 0 {
		f.Line("paid", "for choosing: one setting alone with this noise has epsilon %.6g at delta %s", f.Add("alone_epsilon", p.Alone.Epsilon), privacy.FormatUp(p.Alone.Delta))
	}
	return f
}
