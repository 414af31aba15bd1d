package privacy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// PrivateDirection turns a vector g of norm at most Bound into an unbiased message
// of a few bytes, at the user: private sampling on the sphere ([Han19] Proposition 1,
// after Duchi, Jordan and Wainwright) and its sharper form with several
// directions, an exact relative of PrivUnit (Bhowmick et al. 2018).
//
// A seed, independent of g, gives Pairs random unit vectors v_1..v_m; the 2m
// candidates are these and their opposites. With g~ = +-g/||g||, positive with
// probability 1/2 + ||g||/(2 Bound), the Favoured candidates with the largest
// inner products with g~ are each e^Epsilon times as likely as each other one.
// The message is the seed and the number of the chosen candidate; the server
// decodes it to Scale times that candidate.
//
// Guarantee: Epsilon-local DP of the message for any two vectors g, whatever
// their norms, exactly, also in floating point. Proof: given the seed, which does
// not depend on g, and g~, it is chooseLocally with a fixed number of favoured
// answers, so the conditional law of the number changes by at most e^Epsilon; a
// mixture over g~ and over seeds keeps this (privacy.md 1.6.5). Nothing is
// assumed of the law of the seed, of the directions made from it or of rounding in
// the inner products: these can only bias the estimate. QED
//
// Unbiasedness, for a uniform seed: E[decoded | g] = g. Proof. Inner products t_i
// of u = g~ with uniform unit vectors have a law that does not depend on u, and by
// rotation about u the mean of the chosen candidate is a multiple s of u. All
// candidates add up to 0, so with S the sum of the favoured inner products
// s = E[S] (e^Epsilon - 1)/(k e^Epsilon + 2m - k), k = Favoured. The favoured are
// the k largest of +-t_i, which for k <= m are the k largest |t_i|. Scale is
// Bound/s, and E[g~] = g/Bound. QED
type PrivateDirection struct {
	Dim     int     // d >= 1
	Bound   float64 // longer vectors are clipped to this norm; > 0, finite
	Epsilon float64 // in (0, MaxLocalEpsilon]
	// Pairs is m, at most 1024; 0 means 1, the sphere sampling of Duchi et al. More
	// pairs lower the variance from epsilon of about 2 on, for m times the work.
	Pairs int
	// Favoured is k <= m; 0 means one that nearly minimises Scale.
	Favoured int
}

const maxDirectionPairs = 1024

// DirectionMessage is what a user sends.
type DirectionMessage struct {
	Seed   [32]byte // of the directions
	Choice uint16   // 2i for v_i, 2i+1 for -v_i
}

// DirectionChannel is a validated PrivateDirection with its constants. It may be used by
// several goroutines at once; Send and AddDecoded allocate nothing in the long run.
type DirectionChannel struct {
	m       PrivateDirection
	scale   float64
	scratch *sync.Pool // of *directions
}

// Channel validates m and computes its constants.
func (m PrivateDirection) Channel() (*DirectionChannel, error) {
	if m.Pairs == 0 {
		m.Pairs = 1
	}
	switch {
	case m.Dim < 1 || m.Dim > 1<<28:
		return nil, fmt.Errorf("privacy: a private direction has %d dimensions, must be at least 1", m.Dim)
	case !(m.Bound >= 0x1p-500 && m.Bound <= 0x1p500):
		return nil, fmt.Errorf("privacy: the bound of a private direction is %v, must be between 2^-500 and 2^500", m.Bound)
	case m.Pairs < 1 || m.Pairs > maxDirectionPairs:
		return nil, fmt.Errorf("privacy: a private direction has %d pairs of candidates, must be 1 to %d", m.Pairs, maxDirectionPairs)
	case m.Favoured < 0 || m.Favoured > m.Pairs:
		return nil, fmt.Errorf("privacy: a private direction favours %d candidates, must be at most its %d pairs", m.Favoured, m.Pairs)
	}
	if err := checkLocalEpsilon(m.Epsilon); err != nil {
		return nil, err
	}
	table := newZiggurat()
	c := &DirectionChannel{m: m, scale: math.Inf(1), scratch: &sync.Pool{New: func() any {
		return &directions{normals: normals{table: table}, v: make([]float64, m.Dim), eligible: make([]candidate, m.Pairs)}
	}}}
	from, to := m.Favoured, m.Favoured
	if m.Favoured == 0 {
		from, to = 1, m.Pairs
	}
	// The scale has one minimum over k; the step keeps the search short.
	for k := from; k <= to; k += 1 + k/16 {
		if s := m.scaleFor(k); s < c.scale {
			c.scale, c.m.Favoured = s, k
		}
	}
	return c, nil
}

// scaleFor is Bound/s for k favoured candidates.
func (m PrivateDirection) scaleFor(k int) float64 {
	n := 2 * float64(m.Pairs)
	weight := math.Expm1(m.Epsilon) / (float64(k)*math.Exp(m.Epsilon) + n - float64(k))
	return m.Bound / (favouredSum(m.Dim, m.Pairs, k) * weight)
}

// favouredSum is the expected sum of the k largest of m independent |t|, t a
// coordinate of a uniform unit vector of dimension d.
//
// For k = m it is m E|t| = m Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2)). Otherwise it is
// the integral of m a f(a) P(fewer than k of the other m-1 exceed a), with |t| =
// cos theta, theta of density proportional to sin^(d-2) on [0, pi/2] and
// P(|t| <= a) the regularised incomplete beta function I_{a^2}(1/2, (d-1)/2).
func favouredSum(d, m, k int) float64 {
	if d == 1 { // |t| = 1
		return float64(k)
	}
	mean := 1 / (math.SqrtPi * gammaRatio(d))
	if k == m {
		return float64(m) * mean
	}
	half := float64(d-1) / 2
	// The density of theta is 2 gammaRatio(d-1)/sqrt(pi) sin^(d-2).
	norm := 2 / math.SqrtPi * gammaRatio(d-1)
	integrand := func(theta float64) float64 {
		sin, cos := math.Sincos(theta)
		exceed := mathext.RegIncBeta(half, 0.5, sin*sin)
		// P(Bin(m-1, exceed) <= k-1)
		few := mathext.RegIncBeta(float64(m-k), float64(k), 1-exceed)
		return float64(m) * cos * norm * math.Pow(sin, float64(d-2)) * few
	}
	// The mass lies within a few 1/sqrt(d) of pi/2.
	from := max(0, math.Pi/2-14/math.Sqrt(float64(d)))
	const parts = 16
	sum, width := 0.0, (math.Pi/2-from)/parts
	for i := range parts {
		a := from + float64(i)*width
		sum += quad.Fixed(integrand, a, a+width, 40, quad.Legendre{}, 0)
	}
	return sum
}

// gammaRatio is Gamma((d+1)/2)/Gamma(d/2), from d = 1 or 2 by the recurrence
// ratio(d+2) = ratio(d) (d+1)/d, with a relative error of d units in the last place.
func gammaRatio(d int) float64 {
	r, from := 1/math.SqrtPi, 1
	if d%2 == 0 {
		r, from = math.SqrtPi/2, 2
	}
	for j := from; j < d; j += 2 {
		r *= float64(j+1) / float64(j)
	}
	return r
}

// Mechanism returns m with its defaults filled in.
func (c *DirectionChannel) Mechanism() PrivateDirection { return c.m }

// Event is what one message costs its user.
func (c *DirectionChannel) Event() Event { return PureEvent{Epsilon: c.m.Epsilon, Count: 1} }

// Scale is B, the norm of every decoded message. For one pair it is
// Bound sqrt(pi) (e^eps + 1)/(e^eps - 1) Gamma((d+1)/2)/Gamma(d/2), half of the B
// of [Han19] Lemma 2, whose estimate has mean 2g (privacy.md 5.2).
func (c *DirectionChannel) Scale() float64 { return c.scale }

var errNotFiniteVector = errors.New("privacy: a vector to be sent is not finite or has another length than its channel; nothing was drawn")

// Send draws the message for g, of length Dim. It does not change g.
func (c *DirectionChannel) Send(g []float64, src *Source) (DirectionMessage, error) {
	norm, ok := finiteNorm(g)
	if len(g) != c.m.Dim || !ok {
		return DirectionMessage{}, errNotFiniteVector
	}
	var msg DirectionMessage
	src.seed(&msg.Seed)
	// P(positive) rounds, which biases the estimate by 2^-53 and costs no privacy.
	positive := float64(src.Uint64()>>11)*0x1p-53 < 0.5+min(norm/c.m.Bound, 1)/2
	d := c.directions(&msg.Seed)
	defer c.scratch.Put(d)
	best := c.favoured(g, d, positive)
	msg.Choice = uint16(src.chooseLocally(2*c.m.Pairs, c.m.Epsilon, func(i int) bool {
		_, found := slices.BinarySearch(best, uint16(i))
		return found
	}))
	return msg, nil
}

// favoured returns the k favoured candidates in ascending order, valid until d is used
// again. It has k members for every g, also when inner products overflow: of a pair
// exactly one candidate is eligible.
func (c *DirectionChannel) favoured(g []float64, d *directions, positive bool) []uint16 {
	for i := range d.eligible {
		d.fill(d.v)
		inner := dot(d.v, g)
		number := uint16(2 * i)
		if inner < 0 == positive {
			number++
		}
		d.eligible[i].number = number
		if c.m.Favoured < c.m.Pairs {
			d.eligible[i].size = math.Abs(inner) / math.Sqrt(dot(d.v, d.v))
		}
	}
	if c.m.Favoured < c.m.Pairs {
		// Ties, as for g = 0, are broken by number.
		slices.SortStableFunc(d.eligible, func(a, b candidate) int {
			switch {
			case a.size > b.size:
				return -1
			case a.size < b.size:
				return 1
			}
			return 0
		})
	}
	d.best = d.best[:0]
	for _, e := range d.eligible[:c.m.Favoured] {
		d.best = append(d.best, e.number)
	}
	slices.Sort(d.best)
	return d.best
}

// Check returns an error for a message that no user can have sent.
func (c *DirectionChannel) Check(msg DirectionMessage) error {
	if int(msg.Choice) >= 2*c.m.Pairs {
		return fmt.Errorf("privacy: a message chose candidate %d of %d", msg.Choice, 2*c.m.Pairs)
	}
	return nil
}

// AddDecoded adds weight times the unbiased estimate of the vector to dst, of
// length Dim. It fails for a message that no user can have sent.
func (c *DirectionChannel) AddDecoded(dst []float64, weight float64, msg DirectionMessage) error {
	if len(dst) != c.m.Dim {
		return fmt.Errorf("privacy: a message of %d dimensions cannot be added to %d", c.m.Dim, len(dst))
	}
	if err := c.Check(msg); err != nil {
		return err
	}
	d := c.directions(&msg.Seed)
	defer c.scratch.Put(d)
	for range msg.Choice/2 + 1 {
		d.fill(d.v)
	}
	weight *= c.scale / math.Sqrt(dot(d.v, d.v))
	if msg.Choice%2 == 1 {
		weight = -weight
	}
	for i, x := range d.v {
		dst[i] += float64(weight * x)
	}
	return nil
}

// seed fills key with bits of the stream. Those that are published say nothing of
// the others.
func (s *Source) seed(key *[32]byte) {
	for i := range 4 {
		binary.LittleEndian.PutUint64(key[8*i:], s.Uint64())
	}
}

// directions are the vectors of a seed, one call of fill each, up to their norms. It
// belongs to one call of Send or AddDecoded at a time.
type directions struct {
	normals
	v        []float64 // of length Dim
	eligible []candidate
	best     []uint16
}

type candidate struct {
	number uint16
	size   float64 // |<v, g>| for the unit vector v
}

// directions returns the vectors of a seed, to be put back into the pool.
func (c *DirectionChannel) directions(seed *[32]byte) *directions {
	d := c.scratch.Get().(*directions)
	d.bits.Seed(*seed)
	return d
}

// dot is the inner product of two vectors of one length, in four sums that are added up
// at the end, with every product rounded.
func dot(a, b []float64) float64 {
	var s [4]float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s[0] += float64(a[i] * b[i])
		s[1] += float64(a[i+1] * b[i+1])
		s[2] += float64(a[i+2] * b[i+2])
		s[3] += float64(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s[0] += float64(a[i] * b[i])
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// finiteNorm is the Euclidean norm, without overflow, and whether it is finite.
func finiteNorm(g []float64) (float64, bool) {
	if sum := dot(g, g); sum >= 0x1p-900 && sum <= 0x1p900 { // no square that matters left the range
		return math.Sqrt(sum), true
	}
	largest := 0.0
	for _, v := range g {
		if !(math.Abs(v) <= math.MaxFloat64) {
			return 0, false
		}
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return 0, true
	}
	sum := 0.0
	for _, v := range g {
		sum += (v / largest) * (v / largest)
	}
	norm := largest * math.Sqrt(sum)
	return norm, norm <= math.MaxFloat64
}
