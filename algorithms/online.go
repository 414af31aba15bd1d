package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// Stream is an online algorithm. It takes one record at a time and releases an iterate after every batch
// (NewStream). Its exported fields are its options. Its Plan takes a Spec from NewStreamSpec.
type Stream interface {
	Planner
}

// Reading is one of two interpretations of [Huai20] Algorithm 1 (docs/theory.md#readings).
type Reading int

// These are the readings.
const (
	// NoiseFedBack is reading B: line 13 of the algorithm overwrites the iterate by the noisy iterate.
	// So each update starts from what was released and, given this, releases one gradient. The loss
	// need not be smooth or convex. The number of records need not be known, only a maximum.
	NoiseFedBack Reading = iota
	// SecretState is reading A: the noiseless iterate stays secret, and noisy copies of the iterate are
	// released. Lemma 4 of the paper is about this reading. The number of records is fixed.
	SecretState
)

// String returns "noise fed back" or "secret state".
func (r Reading) String() string {
	if r == SecretState {
		return "secret state"
	}
	return "noise fed back"
}

// StreamOptions are the public options of a stream.
type StreamOptions struct {
	// Horizon is the public maximum n of the number of records, at least 2. The privacy cost of n records is
	// charged at the start.
	Horizon int
	// Batch is the number of new records per update and release. The value 0 means 1.
	Batch int
	// Buffer is the number s of earlier records with which a new record is paired. If it is 0, a new record is
	// paired with all earlier records.
	Buffer int
	// Reservoir keeps a uniform sample of all earlier records in the buffer (Vitter's algorithm R) instead of
	// the last records.
	Reservoir bool
	// PerClass keeps the last Buffer/2 records with a positive label and the last Buffer/2 other records, so
	// that a rare class stays represented. The class of a record is private. Therefore later records count at
	// least twice (privacy.PairwiseStream), and sums over pairs are divided by min(t-1, Buffer) instead of the
	// number of records in the buffer.
	PerClass bool
	// BurnIn is the number of first records that only fill the buffer. If it is 0, min(Batch, Horizon-Batch)
	// applies, but at least 1. More than 1 lowers the noise (docs/theory.md#pairwise-stream). BurnIn is ignored
	// in Paper mode, where the paper determines it.
	BurnIn int
}

// NewStreamSpec returns the Spec of a training on a stream, where p describes the records of the stream. It
// ignores p.N, p.Groups and p.LabelValues, and otherwise works like NewSpec. The kernel is planned for the
// largest number of records that one update reads: Horizon, or Buffer + Batch if there is a buffer and this
// sum is less.
func NewStreamSpec(backend engine.Backend, p engine.Problem, o StreamOptions, l2 float64, b privacy.Budget,
	m Mode) (Spec, error) {
	if o.Batch == 0 {
		o.Batch = 1
	}
	if o.Horizon < 2 || o.Batch < 1 || o.Buffer < 0 || o.BurnIn < 0 || o.Batch >= o.Horizon ||
		o.Reservoir && o.Buffer == 0 {
		return Spec{}, Refused("", "got %d records, batch %d, buffer %d and burn-in %d; want 1 <= batch < records, "+
			"no negative number, and a buffer for a reservoir",
			o.Horizon, o.Batch, o.Buffer, o.BurnIn)
	}
	if o.PerClass && (o.Reservoir || o.Buffer < 2 || o.Buffer%2 != 0) {
		return Spec{}, Refused("", "a buffer of %d records cannot be split by class; choose an even size above 0, "+
			"and no reservoir", o.Buffer)
	}
	if o.Buffer >= o.Horizon {
		o.Buffer, o.Reservoir, o.PerClass = 0, false, false
	}
	if o.BurnIn == 0 {
		o.BurnIn = max(1, min(o.Batch, o.Horizon-o.Batch))
	}
	if p.ByPerson() {
		return Spec{}, Refused("online algorithms", " protect rows, not persons; to protect rows only, set role: "+
			"ignore for the person column")
	}
	p.Groups = nil
	p.LabelValues = engine.AnyLabels // because free slots of the buffer have label 0
	p.N = o.Horizon
	if o.Buffer > 0 {
		p.N = min(p.N, o.Buffer+o.Batch)
	}
	s, err := NewSpec(backend, p, l2, b, m)
	s.StreamOptions = o
	return s, err
}

// streamRule holds the update rule of an online algorithm.
type streamRule struct {
	reading Reading
	says    string // the reading, for reports; "" if the algorithm has only one
	// secret is true if a saved state holds noiseless functions of all records, not only of the records in the buffer
	secret bool
	eta    func(b int) float64 // step size of update b = 1, 2, ...
	// norm of the noise in the last iterate divided by the norm in a release; 0: the noise of all steps is a random walk
	last    float64
	factor  *privacy.ToeplitzFactor // the factor of prefix sums; nil if there is none
	centre  int                     // number of coordinates of the centre that the state keeps
	start   func(*Online) error     // draws the start; nil: the start is the start of the domain
	release func(*Online) ([]float64, error)
}

// stream returns the rule of a stream. It returns nil for a plan of a batch algorithm.
func (p *Plan) stream() *streamRule {
	r, _ := p.own.(*streamRule)
	return r
}

// Reading returns the interpretation of [Huai20] Algorithm 1 that the plan of a stream uses.
func (p *Plan) Reading() Reading { return p.stream().reading }

// SecretState reports whether a saved state holds noiseless functions of all records, not only of the records
// in the buffer.
func (p *Plan) SecretState() bool { return p.stream().secret }

// largestT returns the largest number of pairs of one record with earlier records.
func (o StreamOptions) largestT() int {
	if o.Buffer > 0 {
		return min(o.Horizon-1, o.Buffer)
	}
	return o.Horizon - 1
}

// newStreamPlan returns a plan without step sizes, noise and guarantee. Every update makes one release.
func newStreamPlan(i Info, s Spec, rule streamRule) *Plan {
	p := &Plan{Algorithm: i.Name, Mode: s.Mode, Spec: s, own: &rule}
	p.Schedule.Steps, p.Schedule.BurnIn = (s.Horizon-s.BurnIn)/s.Batch, s.BurnIn
	return p
}

// checkStream checks the common requirements of online algorithms on a spec.
func checkStream(i Info, s Spec, r Reading) error {
	if err := checkApplies(i, s); err != nil {
		return err
	}
	if r == SecretState {
		if err := checkSmooth(i.Name+" with a secret state", s); err != nil {
			return err
		}
	}
	if s.Horizon < 2 {
		return Refused(i.Name, ": the spec has no horizon; use NewStreamSpec")
	}
	whole := s.Batch == 1 && s.Buffer == 0
	switch {
	case s.Mode == Paper && (!whole || r != NoiseFedBack):
		return Refused(i.Name, " in paper mode needs batch 1, buffer 0 and no secret state")
	case r == SecretState && (!whole || s.BurnIn > 1):
		return Refused(i.Name, " keeps a secret state only with batch 1, burn-in 1 and no buffer")
	case r == SecretState && s.Horizon > privacy.MaxStreamOutputs:
		return Refused(i.Name, " with a secret state takes at most %d records, not %d; leave the secret state out",
			privacy.MaxStreamOutputs, s.Horizon)
	}
	return nil
}

// planFedBack plans reading B: w_b = Pi_C[w_(b-1) - eta_b (q_b + noise + alpha w_(b-1))].
func planFedBack(i Info, s Spec, decay bool) (*Plan, error) {
	p := newStreamPlan(i, s, streamRule{says: NoiseFedBack.String(), release: (*Online).fedBack})
	mean := worstMeanRoundoff(s.Kernel, s.largestT()+1)
	c, err := s.pairwise(s.BurnIn, nil, meanOfMeansError(mean, s)).Certify()
	if err != nil {
		return nil, Refused(i.Name, ": %w", err)
	}
	if p.Releases, err = s.calibrated(c); err != nil {
		return nil, err
	}
	p.descend(p.Noise().NoiseNorm(s.coordinates()), decay)
	return p, p.finish("each update releases one noisy mean gradient; all else is computed from these gradients", nil)
}

// descend sets the step sizes and the regret bound of online gradient descent with unbiased gradients. noise is
// the root mean square norm of their noise.
//
// Regret [Zinkevich 2003; Hazan, Agarwal and Kale 2007]: for any non-increasing eta the regret is at most sum_b
// (1/eta_b - 1/eta_(b-1) - alpha) D^2/2 + sum_b eta_b B^2/2, where D = ||C|| and B^2 = (G + alpha r)^2 +
// noise^2. 1/eta_b is B sqrt(b)/D, or the larger one of B sqrt(b)/D and alpha b. So in each step 1/eta_b grows
// by at most alpha more than B sqrt(b)/D does. The sums are at most D B sqrt(T)/2 + D B sqrt(T).
func (p *Plan) descend(noise float64, decay bool) {
	s := p.Spec
	diameter := s.Kernel.Problem().Domain().Diameter()
	gradient := math.Hypot(s.Constants.Lipschitz+s.L2*s.Kernel.Problem().Radius, noise)
	alpha, rule, size := 0.0, "||C||/(B sqrt b)", "B^2 = (G + alpha r)^2 + d sigma^2"
	if decay && s.L2 > 0 {
		alpha, rule = s.L2, "min(1/(alpha b), ||C||/(B sqrt b))"
	}
	if noise == 0 {
		size = "B = G + alpha r"
	}
	p.Schedule.Name = fmt.Sprintf("eta_b = %s, %s", rule, size)
	p.stream().eta = func(b int) float64 {
		eta := diameter / (gradient * math.Sqrt(float64(b)))
		if alpha > 0 {
			eta = min(eta, 1/(alpha*float64(b)))
		}
		return eta
	}
	if s.Constants.Convex {
		p.Regret = 1.5 * diameter * gradient * math.Sqrt(float64(p.Schedule.Steps))
	}
}

// pairwise returns the numbers of the certificate of reading B.
func (s Spec) pairwise(burnIn int, weights []float64, roundoff float64) privacy.PairwiseStream {
	return privacy.PairwiseStream{
		PairDiameter: s.Constants.PairDiameter, Horizon: s.Horizon, Batch: s.Batch, BurnIn: burnIn,
		Buffer: s.Buffer, Reservoir: s.Reservoir, PerClass: s.PerClass, Lipschitz: s.Constants.Lipschitz,
		Weights: weights, Roundoff: roundoff,
	}
}

// meanOfMeansError bounds the error of the mean over a batch of means over pairs.
//
// Proof. A mean over pairs has norm at most G + rho, and its division rounds once. The sum of m means rounds at
// most m - 1 times, and the last division rounds once. QED
func meanOfMeansError(rho float64, s Spec) float64 {
	return rho + float64(s.Batch+4)*0x1p-53*1.01*(s.Constants.Lipschitz+rho)
}

// planSecret plans reading A with step sizes eta[2..n] (docs/theory.md#stream-outputs).
func planSecret(i Info, s Spec, rule string, eta []float64) (*Plan, error) {
	p := newStreamPlan(i, s, streamRule{reading: SecretState, says: SecretState.String(), secret: true,
		eta: func(b int) float64 { return eta[b+1] }})
	p.Schedule.Name = rule
	mean := worstMeanRoundoff(s.Kernel, s.Horizon)
	u := s.newUpdate(mean)
	rho := make([]float64, len(eta))
	for t := 2; t < len(eta); t++ {
		rho[t] = eta[t]*mean + u.roundoff(eta[t])
	}
	c, scale, err := privacy.StreamOutputs{
		Curvature: s.curvature(), Eta: eta, UpdateError: rho, Radius: s.Kernel.Problem().Radius * (1 + 0x1p-40),
	}.Certify()
	if err != nil {
		return nil, Refused(i.Name, ": %w", err)
	}
	if p.Releases, err = s.calibrated(c); err != nil {
		return nil, err
	}
	p.stream().last = scale[p.Schedule.Steps+1]
	p.stream().release = func(o *Online) ([]float64, error) { return o.secret(scale[o.updates+1]) }
	return p, p.finish("the iterate without noise is never released; it is in the saved state, which is kept as "+
		"private as the records", nil)
}

// finish fills in the guarantee of the releases and the sums over all updates.
func (p *Plan) finish(assumption string, claim *privacy.Claim) error {
	s, pr := p.Spec, p.Spec.Kernel.Problem()
	p.addUp()
	g := s.StreamUnit().Guarantee(fmt.Sprintf("%s, up to %d of them, with Gaussian noise", p.Certificate().Released(),
		p.Schedule.Steps), "",
		fmt.Sprintf("public: at most n = %d records and their arrival times, batch %d, burn-in %d, %s, d = %d "+
			"features, norm bound R = %g, label bound %g, radius of the weights r = %g, L2 weight alpha = %g, the "+
			"schema and all options; every row was clipped to norm R", s.Horizon,
			s.Batch, s.BurnIn, s.bufferText(), pr.D, pr.Bounds.FeatureNorm, pr.Bounds.LabelAbs, pr.Radius, s.L2),
		s.constants(), assumption)
	g.Claim, g.Warnings = claim, s.unsoundWarning()
	return p.Promise(s.Budget, s.Horizon, s.Provenance, g, p.Releases)
}

// addUp fills in the sums over all updates: the sums of step sizes and of pairs, and the noise in the last
// iterate without projections.
func (p *Plan) addUp() {
	s := p.Spec
	var squares float64
	for b := 1; b <= p.Schedule.Steps; b++ {
		eta := p.stream().eta(b)
		p.Schedule.TotalStep += eta
		squares += eta * eta
		for t := s.BurnIn + (b-1)*s.Batch + 1; t <= s.BurnIn+b*s.Batch; t++ {
			p.Work.Gradients += float64(s.partners(t))
		}
	}
	if p.Noise() == nil {
		return
	}
	p.ModelNoise = p.Noise().NoiseNorm(s.coordinates()) * cmp.Or(p.stream().last, math.Sqrt(squares))
}

// bufferText describes the records with which a new record is paired.
func (o StreamOptions) bufferText() string {
	switch {
	case o.Buffer == 0:
		return "pairs with all earlier records"
	case o.Reservoir:
		return fmt.Sprintf("pairs with a reservoir of %d records", o.Buffer)
	case o.PerClass:
		return fmt.Sprintf("pairs with the last %d records of each class", o.Buffer/2)
	}
	return fmt.Sprintf("pairs with the last %d records", o.Buffer)
}

// partners returns the public divisor of the sum over the pairs of record t.
func (o StreamOptions) partners(t int) int {
	if o.Buffer > 0 {
		return min(t-1, o.Buffer)
	}
	return t - 1
}

// ErrStreamEnd is returned by Online.Step if the horizon is reached. Later records were not charged.
var ErrStreamEnd = errors.New("algorithms: the stream has reached its horizon")
