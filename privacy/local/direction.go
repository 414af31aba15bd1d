package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"

	"dyad/privacy"
	"dyad/privacy/account"
)

// Direction is a local randomiser that turns a vector g of norm at most Bound into an unbiased
// message of a few bytes. With one direction it is private sampling on the sphere ([Han19]
// Proposition 1, after Duchi, Jordan and Wainwright). With several directions it refines this
// sampling and resembles PrivUnit (Bhowmick et al. 2018). Its guarantee is exact.
//
// A seed, independent of g, gives Pairs random unit vectors v_1..v_m. The 2m candidates are these
// vectors and their opposites. Let g~ be g/||g|| with probability 1/2 + ||g||/(2 Bound), and
// -g/||g|| otherwise. The candidates with the largest inner products with g~ are favoured; their
// number is Favoured. Each favoured candidate is chosen with e^Epsilon times the probability of each
// candidate that is not favoured. The message consists of the seed and the number of the chosen
// candidate. The server decodes the message to Scale times the chosen candidate. For g = 0 the
// first unit vector replaces g/||g||, and the chosen pair is shifted cyclically by a number of
// pairs that is uniform on 0..m-1.
//
// Guarantee: the message is Epsilon-locally private for any two vectors g, whatever their norms.
// This holds exactly, also in floating point (docs/theory.md#local-messages). Proof: the seed does
// not depend on g. Given the seed, placeLaw draws the message from an order of the candidates,
// which g, g~ and the shift decide. So the conditional law of the number changes by at most
// e^Epsilon, and a mixture over seeds keeps this bound (docs/theory.md#local-direction). The proof
// assumes nothing about the law of the seed, the directions made from it or rounding in the inner
// products: they can only bias the estimate. QED
//
// The law of g = 0, given the seed: all 2m candidates are equally likely, exactly, for every k.
// Proof: the pair of the drawn candidate is shifted by a uniform number of pairs. The opposite
// candidate of the pair is drawn if g~ has the other sign. For an unfavoured pair it is drawn if
// the place is the neighbouring place. Each event has probability 1/2. QED So the bound for a
// message from g against a message from 0 is smaller than Epsilon.
// DirectionChannel.EpsilonAgainstZero returns this bound.
//
// Work: all vectors take the same steps. The draws do not depend on g. Scaling g and setting its
// small entries to 0 use integer operations, so that no subnormal number is computed with.
// Candidates are sorted by a network that is a function of Pairs. No branch depends on g, g~ or the
// choice. Table indices that depend on them only read within the few kilobytes just written.
// (Whether g is finite decides on an error.)
//
// Unbiasedness, for a uniform seed: E[decoded | g] = g. Proof. Let u = g~. The law of the inner
// products t_i of u with uniform unit vectors does not depend on u. By rotation about u, the mean
// of the chosen candidate is a multiple s of u. All candidates add up to 0. So with S the sum of
// the favoured inner products, s = E[S] (e^Epsilon - 1)/(k e^Epsilon + 2m - k), k = Favoured. The
// favoured inner products are the k largest of +-t_i, which for k <= m are the k largest |t_i|.
// Scale is Bound/s, and E[g~] = g/Bound. QED
type Direction struct {
	Dim     int     // d >= 1
	Bound   float64 // clipping norm of vectors, from 2^-500 to 2^500
	Epsilon float64 // in [MinEpsilon, MaxEpsilon]
	// Pairs is the number m of pairs of opposite directions, at most 1024. The value 0 means 1,
	// which is the sphere sampling of Duchi et al. If epsilon is about 2 or larger, more pairs
	// reduce the variance. The work grows in proportion to m.
	Pairs int
	// Favoured is the number k <= m of favoured candidates. The value 0 chooses a k that nearly minimises Scale.
	Favoured int
}

const maxDirectionPairs = 1024

// DirectionMessage is the message of a user.
type DirectionMessage struct {
	Seed   [32]byte // seed of the directions
	Choice uint16   // 2i for v_i, 2i+1 for -v_i
}

// DirectionChannel is a validated Direction with its constants. Several goroutines may use it at the same time.
// Send and AddDecoded reuse memory, so after a while they allocate no more memory.
type DirectionChannel struct {
	m       Direction
	scale   float64
	law     placeLaw
	network []exchange // nil if all pairs are favoured
	scratch *sync.Pool // of *directions
}

// Channel validates m and computes its constants.
func (m Direction) Channel() (*DirectionChannel, error) {
	if m.Pairs == 0 {
		m.Pairs = 1
	}
	switch {
	case m.Dim < 1 || m.Dim > 1<<28:
		return nil, fmt.Errorf("local: a private direction has %d dimensions, but must have 1 to %d", m.Dim, 1<<28)
	case !(m.Bound >= 0x1p-500 && m.Bound <= 0x1p500):
		return nil, fmt.Errorf("local: the bound of a private direction is %v, but must be between 2^-500 and 2^500",
			m.Bound)
	case m.Pairs < 1 || m.Pairs > maxDirectionPairs:
		return nil, fmt.Errorf("local: Pairs of a private direction is %d, but must be 1 to %d",
			m.Pairs, maxDirectionPairs)
	case m.Favoured < 0 || m.Favoured > m.Pairs:
		return nil, fmt.Errorf("local: Favoured is %d, but must be 0 to %d (the number of pairs)", m.Favoured, m.Pairs)
	}
	if err := checkLocalEpsilon(m.Epsilon); err != nil {
		return nil, err
	}
	c := &DirectionChannel{m: m, scale: math.Inf(1), scratch: &sync.Pool{New: func() any {
		return &directions{normals: normals{table: constZiggurat()}, v: make([]float64, m.Dim), u: make([]float64, m.Dim),
			order: make([]uint64, m.Pairs)}
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
	c.law = newPlaceLaw(2*m.Pairs, c.m.Favoured, m.Epsilon)
	if c.m.Favoured < m.Pairs {
		c.network = mergeExchange(m.Pairs)
	}
	return c, nil
}

// scaleFor returns Bound/s for k favoured candidates.
func (m Direction) scaleFor(k int) float64 {
	n := 2 * float64(m.Pairs)
	weight := math.Expm1(m.Epsilon) / (float64(k)*math.Exp(m.Epsilon) + n - float64(k))
	return m.Bound / (favouredSum(m.Dim, m.Pairs, k) * weight)
}

// favouredSum returns the expected sum of the k largest of m independent |t|, where t is a
// coordinate of a uniform unit vector of dimension d.
//
// For k = m it is m E|t| = m Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2)). Otherwise it is the integral of
// m a f(a) P(fewer than k of the other m-1 exceed a), with |t| = cos theta. The density of theta is
// proportional to sin^(d-2) on [0, pi/2], and P(|t| <= a) is the regularised incomplete beta
// function I_{a^2}(1/2, (d-1)/2).
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

// gammaRatio returns Gamma((d+1)/2)/Gamma(d/2). It uses the recurrence ratio(d+2) = ratio(d)
// (d+1)/d from d = 1 or 2, with a relative error of d units in the last place.
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
func (c *DirectionChannel) Mechanism() Direction { return c.m }

// Event returns the privacy cost of one message for the user who sends it.
func (c *DirectionChannel) Event() account.Event {
	return account.PureEvent{Epsilon: c.m.Epsilon}
}

// Scale returns B, the norm of every decoded message. For one pair it is Bound sqrt(pi) (e^eps +
// 1)/(e^eps - 1) Gamma((d+1)/2)/Gamma(d/2). This is half of the B of [Han19] Lemma 2, because
// the estimate of that lemma has mean 2g (docs/theory.md#local-direction).
func (c *DirectionChannel) Scale() float64 { return c.scale }

var errNotFiniteVector = errors.New("local: the vector is not finite or has the wrong length; no message was made")

// Send draws the message for the vector g, which has length Dim. It does not change g.
func (c *DirectionChannel) Send(g []float64, src *privacy.Source) (DirectionMessage, error) {
	if len(g) != c.m.Dim {
		return DirectionMessage{}, errNotFiniteVector
	}
	d := c.scratch.Get().(*directions)
	defer c.scratch.Put(d)
	zero, share, ok := d.point(g, c.m.Bound)
	if !ok {
		return DirectionMessage{}, errNotFiniteVector
	}
	var msg DirectionMessage
	seed(&msg.Seed, src)
	// P(positive) rounds, which biases the estimate by 2^-53 and costs no privacy.
	positive := below(src.Uint64()>>11, uint64(int64((0.5+share/2)*0x1p53)))
	shift := src.Uint64n(uint64(c.m.Pairs)) & -zero
	place := c.law.draw(src)
	d.bits.Seed(msg.Seed)
	c.arrange(d, positive)
	msg.Choice = uint16(c.candidate(d, place, shift))
	return msg, nil
}

// arrange sorts the pairs by the absolute value of their inner product with d.u, largest first. Of
// two equal values the later pair comes first. Each entry of d.order ends with the number of one
// of the two candidates of its pair: the candidate that has a positive inner product with +-d.u.
// If all pairs are favoured, the order does not matter and arrange does not change it.
func (c *DirectionChannel) arrange(d *directions, positive uint64) {
	for i := range d.order {
		d.fill(d.v)
		inner := dot(d.v, d.u)
		negative := math.Float64bits(inner) >> 63
		d.order[i] = uint64(2*i) | negative ^ positive ^ 1
		if c.network != nil {
			// Sizes of positive numbers are in the order of their bits.
			d.order[i] |= math.Float64bits(math.Abs(inner)/math.Sqrt(dot(d.v, d.v))) &^ numberMask
		}
	}
	for _, e := range c.network {
		a, b := d.order[e.i], d.order[e.j]
		swap := below(a, b)
		d.order[e.i], d.order[e.j] = pick(swap, b, a), pick(swap, a, b)
	}
}

// numberMask has the bits of a candidate's number, which is below 2 maxDirectionPairs.
const numberMask = 2*maxDirectionPairs - 1

// candidate returns the number of the candidate at a place, from the pair that comes shift pairs
// later. The favoured candidates of the first k pairs are at the places 0..k-1, and their opposites
// are at k..2k-1. The two candidates of each other pair are at two consecutive places after these.
func (c *DirectionChannel) candidate(d *directions, place, shift uint64) uint64 {
	k, m := uint64(c.m.Favoured), uint64(c.m.Pairs)
	favoured, among := below(place, k), below(place, 2*k)
	index := pick(among, place-k&-(1-favoured), place/2)
	number := d.order[index]&numberMask ^ pick(among, 1-favoured, place&1)
	pair := number/2 + shift
	pair -= m & -(1 - below(pair, m))
	return 2*pair + number&1
}

// Check returns an error if no user can have sent the message.
func (c *DirectionChannel) Check(msg DirectionMessage) error {
	if int(msg.Choice) >= 2*c.m.Pairs {
		return fmt.Errorf("local: a message names candidate %d, but there are only %d candidates", msg.Choice, 2*c.m.Pairs)
	}
	return nil
}

// AddDecoded decodes a message to an unbiased estimate of the user's vector. It adds
// weight times this estimate to dst, which has length Dim. It returns an error for a
// message that no user can have sent.
func (c *DirectionChannel) AddDecoded(dst []float64, weight float64, msg DirectionMessage) error {
	if len(dst) != c.m.Dim {
		return fmt.Errorf("local: a message of %d dimensions cannot be added to a sum of %d dimensions", c.m.Dim, len(dst))
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

// seed fills key with bits of the stream. The published bits reveal nothing about the other bits.
func seed(key *[32]byte, s *privacy.Source) {
	for i := range 4 {
		binary.LittleEndian.PutUint64(key[8*i:], s.Uint64())
	}
}

// directions generates the vectors of a seed, up to their norms: each call of fill gives one
// vector. It must be used by one call of Send or AddDecoded at a time.
type directions struct {
	normals
	v     []float64 // of length Dim
	u     []float64 // +-g, scaled
	order []uint64  // order of the pairs, see arrange
}

// tiny sets a relative limit of 2^-tiny. An entry below this fraction of the largest entry counts
// as zero, and so does a vector whose largest entry is below this fraction of the bound.
const tiny = 80

// point sets d.u to g times a power of two, with entries below 2 in absolute value. Entries below
// 2^-tiny times the largest entry, or below 2^-tiny bound, become 0. If no entry is left, d.u is
// the first unit vector. zero is 1 in this case, and 0 otherwise. share is ||g||/bound, at most 1.
// ok reports whether g is finite. Setting entries to 0 changes g by at most 2^(1-tiny) of its norm,
// or of 2^-tiny bound, for each coordinate.
//
// Powers of two are handled as integers, because arithmetic with subnormal numbers is slower on many
// processors.
func (d *directions) point(g []float64, bound float64) (zero uint64, share float64, ok bool) {
	const sign, ones = 1 << 63, 0x3ff << 52 // of 1
	largest := math.Float64bits(bound) - tiny<<52
	for _, v := range g {
		size := math.Float64bits(v) &^ sign
		largest = pick(below(largest, size), size, largest)
	}
	top := largest >> 52 << 52
	for i, v := range g {
		b := math.Float64bits(v)
		d.u[i] = math.Float64frombits((b - (top - ones)) & -(1 - below(b&^sign, top-tiny<<52)))
	}
	norm := math.Sqrt(dot(d.u, d.u))
	b := math.Float64bits(norm)
	zero = 1 - (b|-b)>>63
	d.u[0] += float64(int64(zero))
	return zero, min(norm*(math.Float64frombits(top)/bound), 1), top>>52 < 0x7ff
}

// exchange puts the larger of two entries first.
type exchange struct{ i, j uint16 }

// mergeExchange returns Batcher's network that sorts n entries, largest first (Knuth, The Art of
// Computer Programming 3, 5.2.2, Algorithm M). Which entries are compared does not depend on their
// values.
func mergeExchange(n int) (network []exchange) {
	top := 1
	for 2*top < n {
		top *= 2
	}
	for p := top; p > 0; p /= 2 {
		for q, r, d := top, 0, p; ; q, r, d = q/2, p, q-p {
			for i := 0; i < n-d; i++ {
				if i&p == r {
					network = append(network, exchange{uint16(i), uint16(i + d)})
				}
			}
			if q == p {
				break
			}
		}
	}
	return network
}

// directions returns the vectors of a seed. The caller must put the result back into the pool.
func (c *DirectionChannel) directions(seed *[32]byte) *directions {
	d := c.scratch.Get().(*directions)
	d.bits.Seed(*seed)
	return d
}

// dot returns the inner product of two vectors of equal length. It adds four partial sums at the
// end and rounds every product.
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
