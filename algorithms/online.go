package algorithms

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Stream is an online algorithm: it takes one record at a time and releases an
// iterate after every batch. Its exported fields are its options.
type Stream interface {
	// Info describes it.
	Info() Info
	// Plan computes schedule, certificate, noise and guarantee from public
	// numbers. It is pure. It wraps ErrAssumption where the algorithm does not
	// apply.
	Plan(StreamSpec) (*StreamPlan, error)
}

// StreamCatalog returns every online algorithm with its default options.
func StreamCatalog() []Stream { return []Stream{OnPairStrC{}, OnPairC{}, DPFTRL{}, OnGIGA{}} }

// StreamByName returns the online algorithm of that name.
func StreamByName(name string) (Stream, error) {
	var names []string
	for _, s := range StreamCatalog() {
		if s.Info().Name == name {
			return s, nil
		}
		names = append(names, s.Info().Name)
	}
	return nil, fmt.Errorf("algorithms: %q is no online algorithm; choose one of %s", name, strings.Join(names, ", "))
}

// Reading is how [Huai20] Algorithm 1 is read (docs/theory.md#readings).
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

// StreamSpec is everything public that a StreamPlan depends on.
type StreamSpec struct {
	// Spec has a kernel for the records that an update looks at, which are fewer
	// than Horizon with a buffer.
	Spec
	StreamOptions
}

// NewStreamSpec plans the kernel of a stream of records like those of p, of which N,
// Groups and LabelValues are ignored.
func NewStreamSpec(backend engine.Backend, p engine.Problem, o StreamOptions, l2 float64, b privacy.Budget, m Mode) (StreamSpec, error) {
	if o.Batch == 0 {
		o.Batch = 1
	}
	if o.Horizon < 2 || o.Batch < 1 || o.Buffer < 0 || o.BurnIn < 0 || o.Batch >= o.Horizon || o.Reservoir && o.Buffer == 0 {
		return StreamSpec{}, fmt.Errorf("%w: a stream of at most %d records in batches of %d with a buffer of %d after a burn-in of %d; want at least 2 records, a smaller batch, no negative number, and a buffer for a reservoir", ErrAssumption, o.Horizon, o.Batch, o.Buffer, o.BurnIn)
	}
	if o.PerClass && (o.Reservoir || o.Buffer < 2 || o.Buffer%2 != 0) {
		return StreamSpec{}, fmt.Errorf("%w: a buffer of %d records for two classes; want an even number, half for each, and no reservoir", ErrAssumption, o.Buffer)
	}
	if o.Buffer >= o.Horizon {
		o.Buffer, o.Reservoir, o.PerClass = 0, false, false
	}
	if o.BurnIn == 0 {
		o.BurnIn = max(1, min(o.Batch, o.Horizon-o.Batch))
	}
	p.Groups = nil
	p.LabelValues = engine.AnyLabels // free slots of the buffer have label 0
	p.N = o.Horizon
	if o.Buffer > 0 {
		p.N = min(p.N, o.Buffer+o.Batch)
	}
	s, err := NewSpec(backend, p, l2, b, m)
	return StreamSpec{Spec: s, StreamOptions: o}, err
}

// StreamPlan is what a stream will do, computed from public numbers.
type StreamPlan struct {
	Algorithm string
	Spec      StreamSpec
	Reading   Reading
	Rule      string // of the step sizes, for reports

	Certificate privacy.Certificate // joint, of all releases; zero in NonPrivate mode
	Noise       privacy.Gaussian    // of one release of the query
	Events      []account.Event
	Guarantee   privacy.Guarantee

	// Regret bounds, over the noise, the expected sum over the updates of the
	// losses at the iterates minus that at any fixed w of C, each loss the mean over
	// the pairs of the update plus alpha/2 ||w||^2 (convex losses); 0 if no bound is
	// known.
	Regret float64

	factor *privacy.ToeplitzFactor // of DPFTRL, nil for others

	eta      func(b int) float64 // step size of update b = 1, 2, ...
	scale    []float64           // SecretState: of release b
	centred  bool                // OnPairC as printed: alpha/2 ||w - w_0||^2
	printed  bool                // Algorithm 1 literally
	largestT int                 // most pairs of one record
}

// Updates is the number of updates, each with one release.
func (p *StreamPlan) Updates() int { return (p.Spec.Horizon - p.Spec.BurnIn) / p.Spec.Batch }

// SecretState says that a saved state holds noiseless functions of all records, not
// only those of the buffer.
func (p *StreamPlan) SecretState() bool { return p.Reading == SecretState || p.factor != nil }

// checkStream is what both algorithms require of a spec.
func checkStream(i Info, s StreamSpec, r Reading) error {
	if err := checkApplies(i, s.Spec); err != nil {
		return err
	}
	if r == SecretState {
		if err := checkSmooth(i.Name+" with a secret state", s.Spec); err != nil {
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
func planFedBack(i Info, s StreamSpec, decay bool) (*StreamPlan, error) {
	p := &StreamPlan{Algorithm: i.Name, Spec: s}
	p.largestT = p.mostPairs()
	mean := worstMeanRoundoff(s.Kernel, p.largestT+1)
	c, err := s.pairwise(s.BurnIn, nil, meanOfMeansError(mean, s)).Certify()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrAssumption, i.Name, err)
	}
	p.Certificate = c
	if p.Noise, err = privacy.CalibrateGaussian(c, s.Budget, 1); err != nil {
		return nil, err
	}
	p.descend(p.Noise.NoiseNorm(s.coordinates()), decay)
	return p, p.finish("noise is fed back: what is released at each update is one noisy mean gradient, and everything else follows from it")
}

// descend sets the step sizes and the regret of online gradient descent with
// unbiased gradients whose noise has norm noise, root mean square.
//
// Regret [Zinkevich 2003; Hazan, Agarwal and Kale 2007]: sum_b (1/eta_b - 1/eta_(b-1) -
// alpha) D^2/2 + sum_b eta_b B^2/2 for any non-increasing eta, with D = ||C||, B^2 = (G
// + alpha r)^2 + noise^2. 1/eta_b is B sqrt(b)/D or the larger of that and alpha b, so it
// grows by at most alpha more than B sqrt(b)/D does: at most D B sqrt(T)/2 + D B sqrt(T).
func (p *StreamPlan) descend(noise float64, decay bool) {
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
	p.Rule = fmt.Sprintf("eta_b = %s, %s", rule, size)
	p.eta = func(b int) float64 {
		eta := diameter / (gradient * math.Sqrt(float64(b)))
		if alpha > 0 {
			eta = min(eta, 1/(alpha*float64(b)))
		}
		return eta
	}
	if s.Constants.Convex {
		p.Regret = 1.5 * diameter * gradient * math.Sqrt(float64(p.Updates()))
	}
}

// pairwise are the numbers of the certificate of reading B.
func (s StreamSpec) pairwise(burnIn int, weights []float64, roundoff float64) privacy.PairwiseStream {
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
func meanOfMeansError(rho float64, s StreamSpec) float64 {
	return rho + float64(s.Batch+4)*0x1p-53*1.01*(s.Constants.Lipschitz+rho)
}

// mostPairs is the largest number of pairs of one new record.
func (p *StreamPlan) mostPairs() int {
	if p.Spec.Buffer > 0 {
		return min(p.Spec.Buffer, p.Spec.Horizon-1)
	}
	return p.Spec.Horizon - 1
}

// planSecret is reading A with step sizes eta[2..n] (docs/theory.md#stream-outputs).
func planSecret(i Info, s StreamSpec, rule string, eta []float64) (*StreamPlan, error) {
	p := &StreamPlan{Algorithm: i.Name, Spec: s, Reading: SecretState, Rule: rule}
	p.largestT = p.mostPairs()
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
	p.Certificate, p.scale = c, scale[1:]
	if p.Noise, err = privacy.CalibrateGaussian(c, s.Budget, 1); err != nil {
		return nil, err
	}
	p.eta = func(b int) float64 { return eta[b+1] }
	return p, p.finish("the noiseless iterate is secret: it is never released, and a saved state of the stream must be kept as private as the records")
}

// finish fills in events and guarantee.
func (p *StreamPlan) finish(assumption string) error {
	s := p.Spec
	p.Events = []account.Event{p.Noise.Event(p.Certificate)}
	var total account.GDP
	if err := total.Compose(p.Events[0]); err != nil {
		return err
	}
	pr := s.Kernel.Problem()
	p.Guarantee = privacy.Guarantee{
		Kind: privacy.ApproxDP, Epsilon: total.Epsilon(s.Budget.Delta), Delta: s.Budget.Delta, Mu: total.Mu(),
		Unit:       "one record",
		Relation:   "same stream, one record replaced, features and label",
		Released:   fmt.Sprintf("%s, up to %d of them, with Gaussian noise", p.Certificate.Released(), p.Updates()),
		Derivation: p.Certificate.Derivation(),
		Assumptions: []string{
			fmt.Sprintf("public: at most n = %d records and when they arrive, batch %d, burn-in %d, %s, d = %d, norm bound R = %g, label bound %g, radius r = %g, alpha = %g, the schema and all options; every row was projected to R", s.Horizon, s.Batch, s.BurnIn, s.bufferText(), pr.D, pr.Bounds.FeatureNorm, pr.Bounds.LabelAbs, pr.Radius, s.L2),
			fmt.Sprintf("constants of loss %s: G = %.6g, L = %.6g, Dg = %.6g, %s", pr.Loss.Name(), s.Constants.Lipschitz, s.Constants.Smoothness, s.Constants.PairDiameter, s.Constants.Origin),
			assumption,
			"each person contributes one record; records may be chosen after seeing earlier releases; the noise bits are secret; a release leaves only after the state that counts it is durable",
		},
	}
	p.Guarantee.Assumptions = append(p.Guarantee.Assumptions, s.selection()...)
	if w := privacy.DeltaWarning(s.Budget.Delta, s.Horizon); w != "" {
		p.Guarantee.Warnings = append(p.Guarantee.Warnings, w)
	}
	if s.BoundsFromData {
		p.Guarantee.Warnings = append(p.Guarantee.Warnings, BoundsFromData)
	}
	return nil
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

// ErrStreamEnd is returned by Online.Step when the horizon is reached: nothing
// was paid for later records.
var ErrStreamEnd = errors.New("algorithms: the stream has reached its horizon")
