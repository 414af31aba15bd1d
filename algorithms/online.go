package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"dyad/engine"
	"dyad/privacy"
)

// Stream is an online algorithm: it takes one record at a time and releases an
// iterate after every batch (NewStream). Its exported fields are its options. Its plans
// are for a Spec of NewStreamSpec.
type Stream interface {
	Planner
}

// StreamCatalog returns every online algorithm with its default options.
func StreamCatalog() []Stream { return []Stream{OnPairStrC{}, OnPairC{}, DPFTRL{}, OnGIGA{}} }

// DefaultStream is the online algorithm of a mode where none is named.
func DefaultStream(m Mode) Stream {
	if m == NonPrivate {
		return OnGIGA{}
	}
	return OnPairC{}
}

// StreamByName returns the online algorithm of that name.
func StreamByName(name string) (Stream, error) {
	var names []string
	for _, s := range StreamCatalog() {
		if s.Info().Name == name {
			return s, nil
		}
		names = append(names, s.Info().Name)
	}
	return nil, fmt.Errorf("algorithms: %q is not an online algorithm; choose one of %s", name, strings.Join(names, ", "))
}

// Reading selects a reading of [Huai20] Algorithm 1 (docs/theory.md#readings).
type Reading int

// The readings.
const (
	// NoiseFedBack overwrites the iterate by its noisy version (line 13): reading
	// B. Given the past, one gradient is released at each update. It needs no
	// smoothness, convexity or known number of records beyond a maximum.
	NoiseFedBack Reading = iota
	// SecretState keeps the noiseless iterate secret and releases noisy copies:
	// reading A, which Lemma 4 is about. The number of records is fixed.
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
	// Horizon is the public maximum n of the number of records, >= 2. All of
	// them are paid for at the start.
	Horizon int
	// Batch is the number of new records per update and release; 0 means 1.
	Batch int
	// Buffer is the number s of earlier records that a new one is paired with;
	// 0 means all of them.
	Buffer int
	// Reservoir keeps a uniform sample of all earlier records (Vitter's algorithm
	// R) in the buffer instead of the last ones.
	Reservoir bool
	// PerClass keeps the last Buffer/2 records with a positive label and the last
	// Buffer/2 others, so that a rare class stays represented. Which class a record
	// is in is private: later records count at least twice (privacy.PairwiseStream),
	// and sums over pairs are divided by min(t-1, Buffer), not by the number held.
	PerClass bool
	// BurnIn is the number of first records that only fill the buffer; 0 means
	// min(Batch, Horizon-Batch), at least 1. More than 1 lowers the noise
	// (docs/theory.md#pairwise-stream). Ignored in Paper mode, where the paper says it.
	BurnIn int
}

// NewStreamSpec is NewSpec for a stream of records like those of p, whose N, Groups and LabelValues
// are ignored: its kernel is for the records that an update looks at, which
// are fewer than Horizon with a buffer.
func NewStreamSpec(backend engine.Backend, p engine.Problem, o StreamOptions, l2 float64, b privacy.Budget, m Mode) (Spec, error) {
	if o.Batch == 0 {
		o.Batch = 1
	}
	if o.Horizon < 2 || o.Batch < 1 || o.Buffer < 0 || o.BurnIn < 0 || o.Batch >= o.Horizon || o.Reservoir && o.Buffer == 0 {
		return Spec{}, fmt.Errorf("%w: a stream of at most %d records in batches of %d with a buffer of %d after a burn-in of %d; want at least 2 records, a smaller batch, no negative number, and a buffer for a reservoir", ErrAssumption, o.Horizon, o.Batch, o.Buffer, o.BurnIn)
	}
	if o.PerClass && (o.Reservoir || o.Buffer < 2 || o.Buffer%2 != 0) {
		return Spec{}, fmt.Errorf("%w: a buffer of %d records for two classes; want an even number, half for each, and no reservoir", ErrAssumption, o.Buffer)
	}
	if o.Buffer >= o.Horizon {
		o.Buffer, o.Reservoir, o.PerClass = 0, false, false
	}
	if o.BurnIn == 0 {
		o.BurnIn = max(1, min(o.Batch, o.Horizon-o.Batch))
	}
	if p.ByPerson() {
		return Spec{}, fmt.Errorf("%w: a stream takes rows one by one, and a person who comes several times takes part several times; online algorithms protect one row", ErrAssumption)
	}
	p.Groups = nil
	p.LabelValues = engine.AnyLabels // free slots of the buffer have label 0
	p.N = o.Horizon
	if o.Buffer > 0 {
		p.N = min(p.N, o.Buffer+o.Batch)
	}
	s, err := NewSpec(backend, p, l2, b, m)
	s.StreamOptions = o
	return s, err
}

// streamRule is what an online algorithm does at an update.
type streamRule struct {
	reading Reading
	says    string                  // the reading in reports; "" where there is no other
	secret  bool                    // a saved state holds noiseless functions of all records, not only those of the buffer
	eta     func(b int) float64     // step size of update b = 1, 2, ...
	last    float64                 // norm of the noise in the last iterate over that of a release; 0: all steps are a random walk
	factor  *privacy.ToeplitzFactor // of prefix sums; nil without
	centre  int                     // numbers of the centre that the state keeps
	start   func(*Online) error     // draws the start; nil: that of the domain
	release func(*Online) ([]float64, error)
}

// stream is the rule of a stream; nil for records that are all there.
func (p *Plan) stream() *streamRule {
	r, _ := p.own.(*streamRule)
	return r
}

// Reading returns the reading of the algorithm of a stream.
func (p *Plan) Reading() Reading { return p.stream().reading }

// SecretState reports whether a saved state holds noiseless functions of all records, not
// only those of the buffer.
func (p *Plan) SecretState() bool { return p.stream().secret }

// largestT is the most pairs of one record with earlier ones.
func (o StreamOptions) largestT() int {
	if o.Buffer > 0 {
		return min(o.Horizon-1, o.Buffer)
	}
	return o.Horizon - 1
}

// newStreamPlan is a plan without step sizes, noise and guarantee. Every update makes one
// release.
func newStreamPlan(i Info, s Spec, rule streamRule) *Plan {
	p := &Plan{Algorithm: i.Name, Mode: s.Mode, Spec: s, own: &rule}
	p.Schedule.Steps, p.Schedule.BurnIn = (s.Horizon-s.BurnIn)/s.Batch, s.BurnIn
	return p
}

// checkStream is what both algorithms require of a spec.
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
		return fmt.Errorf("%w: %s: the spec has no horizon; use NewStreamSpec", ErrAssumption, i.Name)
	}
	whole := s.Batch == 1 && s.Buffer == 0
	switch {
	case s.Mode == Paper && (!whole || r != NoiseFedBack):
		return fmt.Errorf("%w: %s as printed pairs every record with all earlier ones and overwrites the iterate; paper mode needs batch 1, buffer 0 (all earlier records) and no other reading", ErrAssumption, i.Name)
	case r == SecretState && (!whole || s.BurnIn > 1):
		return fmt.Errorf("%w: %s with a secret state needs batch 1, burn-in 1 and no buffer; its certificate is the recursion over all earlier records", ErrAssumption, i.Name)
	case r == SecretState && s.Horizon > privacy.MaxStreamOutputs:
		return fmt.Errorf("%w: %s with a secret state is certified for at most %d records, not %d; use the other reading", ErrAssumption, i.Name, privacy.MaxStreamOutputs, s.Horizon)
	}
	return nil
}

// planFedBack is reading B: w_b = Pi_C[w_(b-1) - eta_b (q_b + noise + alpha w_(b-1))].
func planFedBack(i Info, s Spec, decay bool) (*Plan, error) {
	p := newStreamPlan(i, s, streamRule{says: NoiseFedBack.String(), release: (*Online).fedBack})
	mean := worstMeanRoundoff(s.Kernel, s.largestT()+1)
	c, err := s.pairwise(s.BurnIn, nil, meanOfMeansError(mean, s)).Certify()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrAssumption, i.Name, err)
	}
	if p.Releases, err = s.calibrated(c); err != nil {
		return nil, err
	}
	p.descend(p.Noise().NoiseNorm(s.coordinates()), decay)
	return p, p.finish("noise is fed back: what is released at each update is one noisy mean gradient, and everything else follows from it", nil)
}

// descend sets the step sizes and the regret of online gradient descent with
// unbiased gradients whose noise has norm noise, root mean square.
//
// Regret [Zinkevich 2003; Hazan, Agarwal and Kale 2007]: sum_b (1/eta_b - 1/eta_(b-1) -
// alpha) D^2/2 + sum_b eta_b B^2/2 for any non-increasing eta, with D = ||C||, B^2 = (G
// + alpha r)^2 + noise^2. 1/eta_b is B sqrt(b)/D or the larger of that and alpha b, so it
// grows by at most alpha more than B sqrt(b)/D does: at most D B sqrt(T)/2 + D B sqrt(T).
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

// pairwise are the numbers of the certificate of reading B.
func (s Spec) pairwise(burnIn int, weights []float64, roundoff float64) privacy.PairwiseStream {
	return privacy.PairwiseStream{
		PairDiameter: s.Constants.PairDiameter, Horizon: s.Horizon, Batch: s.Batch, BurnIn: burnIn,
		Buffer: s.Buffer, Reservoir: s.Reservoir, PerClass: s.PerClass, Lipschitz: s.Constants.Lipschitz,
		Weights: weights, Roundoff: roundoff,
	}
}

// meanOfMeansError bounds the error of the mean over a batch of means over pairs.
//
// Proof. A mean over pairs has norm at most G + rho and one rounding for its
// division; the sum of m of them at most m - 1, and the last division one. QED
func meanOfMeansError(rho float64, s Spec) float64 {
	return rho + float64(s.Batch+4)*0x1p-53*1.01*(s.Constants.Lipschitz+rho)
}

// planSecret is reading A with step sizes eta[2..n] (docs/theory.md#stream-outputs).
func planSecret(i Info, s Spec, rule string, eta []float64) (*Plan, error) {
	p := newStreamPlan(i, s, streamRule{reading: SecretState, says: SecretState.String(), secret: true, eta: func(b int) float64 { return eta[b+1] }})
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
		return nil, fmt.Errorf("%w: %s: %w", ErrAssumption, i.Name, err)
	}
	if p.Releases, err = s.calibrated(c); err != nil {
		return nil, err
	}
	p.stream().last = scale[p.Schedule.Steps+1]
	p.stream().release = func(o *Online) ([]float64, error) { return o.secret(scale[o.updates+1]) }
	return p, p.finish("the noiseless iterate is secret: it is never released, and a saved state of the stream must be kept as private as the records", nil)
}

// finish fills in the guarantee of the releases, and what the updates add up to.
func (p *Plan) finish(assumption string, claim *privacy.Claim) error {
	s, pr := p.Spec, p.Spec.Kernel.Problem()
	p.addUp()
	g := s.StreamUnit().Guarantee(fmt.Sprintf("%s, up to %d of them, with Gaussian noise", p.Certificate().Released(), p.Schedule.Steps), "",
		fmt.Sprintf("public: at most n = %d records and when they arrive, batch %d, burn-in %d, %s, d = %d, norm bound R = %g, label bound %g, radius r = %g, alpha = %g, the schema and all options; every row was projected to R", s.Horizon, s.Batch, s.BurnIn, s.bufferText(), pr.D, pr.Bounds.FeatureNorm, pr.Bounds.LabelAbs, pr.Radius, s.L2),
		s.constants(), assumption)
	g.Claim, g.Warnings = claim, s.unsoundWarning()
	return p.Promise(s.Budget, s.Horizon, s.Provenance, g, p.Releases)
}

// addUp fills in the sums over all updates: of step sizes, of pairs, and of the noise in
// the last iterate, projections aside.
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

// bufferText says which records a new one is paired with.
func (o StreamOptions) bufferText() string {
	switch {
	case o.Buffer == 0:
		return "pairs with all earlier records"
	case o.Reservoir:
		return fmt.Sprintf("pairs with a reservoir of %d records", o.Buffer)
	case o.PerClass:
		return fmt.Sprintf("pairs with the last %d records of each class (label positive or not)", o.Buffer/2)
	}
	return fmt.Sprintf("pairs with the last %d records", o.Buffer)
}

// partners is the public number that a sum over the pairs of record t is divided by.
func (o StreamOptions) partners(t int) int {
	if o.Buffer > 0 {
		return min(t-1, o.Buffer)
	}
	return t - 1
}

// ErrStreamEnd is returned by Online.Step when the horizon is reached: there was no
// charge for later records.
var ErrStreamEnd = errors.New("algorithms: the stream has reached its horizon")
