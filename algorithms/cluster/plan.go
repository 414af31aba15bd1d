package cluster

import (
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/privacy"
	"dyad/privacy/account"
)

const (
	levels      = 1 << 26 // number of integer steps in the radius
	maxRecords  = 1 << 26 // so that sums are integers of at most 2^52
	maxDim      = 1 << 10 // so that squared norms are integers of at most 2^62
	maxClusters = 1 << 8
	maxRounds   = 1000
)

// defaultRounds is the number of rounds if Options.Rounds is 0.
const defaultRounds = 5

// Options holds all public values that a clustering depends on.
type Options struct {
	Records  int     // number n of records, 1 to 2^26; each row is a record
	Clusters int     // number k of clusters, 1 to 2^8
	Dim      int     // number r of coordinates of a mapped record, 1 to 2^10
	Radius   float64 // radius R, 2^-500 to 2^500; longer mapped records are shortened to norm R
	Rounds   int     // number T of rounds, 1 to 1000; 0 means defaultRounds
	Seed     uint64  // seed of the first centres, and of the places where centres without records start again
	// Map identifies the map of the records, for example by a hash. It must change if any digit of the map
	// changes, so that a run can be resumed only with the map of its first attempt.
	Map string
	// Individuals is the assumption that every record belongs to a different individual. A metric of labelled pairs
	// rests on this assumption, too. The unit of the guarantee is then one individual, as in the run of the metric,
	// so that a ledger can add up both runs. If Individuals is "", the unit is one record.
	Individuals string
	Budget      privacy.Budget
	algorithms.Provenance
}

// Plan describes the releases of a clustering and their guarantee. It is computed from public numbers only.
type Plan struct {
	algorithms.Plan
	Options Options
	// CountNoise is the standard deviation of the noise in the number of records of a cluster in one round.
	// CentreNoise bounds the root mean square norm of the noise in a centre of n/k records in one round, in
	// units of the radius.
	CountNoise, CentreNoise float64
	// Seeds, if not 0, is the number of centres in the first half of the rounds. It is larger than k, so that a few
	// badly placed first centres matter less. Then k-means of the released centres reduces their number to k. Seeds
	// is 0 if the noise does not allow more than k centres. For pure epsilon, it is always 0, because pure noise
	// grows with the number of centres.
	Seeds int
}

// seedNoise is the largest CentreNoise allowed with Seeds in place of k. mostSeeds is the largest number of
// Seeds for each cluster.
const (
	seedNoise = 0.1
	mostSeeds = 4
)

// swamped is the CentreNoise above which a plan has a warning.
const swamped = 0.25

// New plans a clustering. It returns an error that names the first number out of range.
func New(o Options) (*Plan, error) {
	if o.Rounds == 0 {
		o.Rounds = defaultRounds
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	query := privacy.ClusterSums{Clusters: o.Clusters, Dim: o.Dim, Levels: levels}
	c, err := query.Certify()
	if err != nil {
		return nil, err
	}
	rows := slices.Repeat(algorithms.Releases{{Name: "numbers and sums of records", Coordinates: query.Coordinates(),
		Share: 1 / float64(o.Rounds), Certificate: c}}, o.Rounds)
	if err := rows.Calibrate(o.Budget); err != nil {
		return nil, err
	}
	p := &Plan{Options: o}
	p.Plan = algorithms.Plan{Algorithm: "k-means", Mode: algorithms.Certified, Objective: o.objective()}
	unit := o.Rows()
	if o.Individuals != "" {
		unit = o.MappedUnit()
	}
	g := unit.Guarantee(fmt.Sprintf("numbers and sums of the records of %d clusters, %d times, with %s noise", o.Clusters,
		o.Rounds, rows[0].Noise.Name()),
		c.Derivation()+"; the rounds compose: the clusters of each round follow from earlier releases "+
			"(docs/theory.md#cluster-sums)",
		fmt.Sprintf("public: n = %d records, k = %d clusters, the radius %.6g, the schema and all options", o.Records,
			o.Clusters, o.Radius),
		"the map of the records is public, or was charged to the same data id")
	if o.Individuals != "" {
		g.Assumptions = append(g.Assumptions, o.Individuals)
	}
	if err := p.Promise(o.Budget, o.Records, o.Provenance, g, rows); err != nil {
		return nil, err
	}
	p.CountNoise = rows[0].Deviation() / levels
	p.CentreNoise = p.CountNoise * math.Sqrt(float64(o.Dim+1)) * float64(o.Clusters) / float64(o.Records)
	if p.CentreNoise > swamped {
		p.Cautions = []string{p.remedy()}
	}
	if seeds := min(float64(mostSeeds*o.Clusters), float64(o.Clusters)*seedNoise/p.CentreNoise); o.Budget.Delta > 0 &&
		o.Rounds > 1 && seeds >= float64(o.Clusters+1) {
		p.Seeds = int(seeds)
	}
	p.Facts = p.facts()
	return p, nil
}

func (o Options) validate() error {
	bad := func(format string, args ...any) error {
		return algorithms.Refused("clusters", ": "+format, args...)
	}
	if err := o.Budget.Validate(); err != nil {
		return err
	}
	switch {
	case o.Records < 1 || o.Records > maxRecords:
		return bad("%d records, want 1 to 2^26", o.Records)
	case o.Clusters < 1 || o.Clusters > maxClusters:
		return bad("%d clusters, want 1 to %d", o.Clusters, maxClusters)
	case o.Dim < 1 || o.Dim > maxDim:
		return bad("mapped records have %d dimensions, want 1 to %d; use a metric with fewer dimensions",
			o.Dim, maxDim)
	case o.Rounds < 1 || o.Rounds > maxRounds:
		return bad("%d rounds, want 1 to %d", o.Rounds, maxRounds)
	case !(o.Radius >= 0x1p-500 && o.Radius <= 0x1p500):
		return bad("the radius is %v, want 2^-500 to 2^500", o.Radius)
	}
	return nil
}

// objective returns the values that a resumed run must share with its first attempt.
func (o Options) objective() string {
	return fmt.Sprintf("%d clusters of %d coordinates within %v, %d rounds, seed %d, map %s", o.Clusters, o.Dim, o.Radius,
		o.Rounds, o.Seed, o.Map)
}

// remedy returns the warning that noise swamps the centres, with remedies.
func (p *Plan) remedy() string {
	o, over := p.Options, p.CentreNoise/swamped
	epsilon := o.Budget.Epsilon * over
	if o.Budget.Delta > 0 {
		epsilon = account.GDPEpsilon(account.GDPMu(o.Budget.Epsilon, o.Budget.Delta)*over, o.Budget.Delta)
	}
	enough := fmt.Sprintf("n = %.2g", float64(o.Records)*over)
	if epsilon <= 10 {
		enough += fmt.Sprintf(", or epsilon = %.2g", epsilon)
	}
	return fmt.Sprintf("the noise of a centre of n/k = %.3g records is %.2g radii; use %s for %g radii, or use "+
		"fewer clusters",
		float64(o.Records)/float64(o.Clusters), p.CentreNoise, enough, swamped)
}

func (p *Plan) facts() (f algorithms.Facts) {
	o := p.Options
	f.Line("clusters", "k = %d clusters of n = %d records; the mapped records have %d dimensions and norm at most "+
		"%.6g",
		f.Add("clusters", o.Clusters), f.Add("records", o.Records), f.Add("dimensions", o.Dim), f.Add("radius", o.Radius))
	f.Line("rounds", "%d; each round releases the size and sum of every cluster (%d numbers in the last); public "+
		"seed %d draws the first centres",
		f.Add("rounds", o.Rounds), f.Add("coordinates", o.Clusters*(1+o.Dim)), f.Add("start_seed", o.Seed))
	if p.Seeds > 0 {
		f.Line("", "the first %d rounds have %d centres; k-means then merges these to %d",
			o.Rounds/2, f.Add("seeds", p.Seeds), o.Clusters)
	}
	f.Line("noise", "%s in units of 2^-26 of the radius, exact; sensitivity %.6g%s", f.Add("noise", p.Noise().String()),
		f.Add("sensitivity", p.Certificate().Sensitivity()), f.NoiseMultiplier(p.Noise(), p.Certificate()))
	f.Line("", "each round adds noise of standard deviation %.3g to each cluster size; the mean size is %.3g "+
		"records (n/k)",
		f.Add("count_noise", p.CountNoise), f.Add("expected_count", float64(o.Records)/float64(o.Clusters)))
	f.Line("", "a round's noise moves a centre of n/k records by at most %.3g radii (root mean square); the last "+
		"half of the rounds is averaged", f.Add("centre_noise", p.CentreNoise))
	return f
}
