package sampler

import (
	"math"
	"math/big"
	"math/bits"
)

// Rounding errors in this file are relative, in units of u = 2^-53. Every real N_j is at least the lower end
// a_j = k + head 2^-64 of its enclosure, and exceeds it by at most 2^-64. The same holds for every E_j.

// fastFactor returns f, an approximation of
//
//	F = scale (E_1 + ... + E_m) / (g ||N||)
//
// with |f - F| <= 13 u F. It returns 0 if this bound is not proved.
//
// Proof. The sum of the lower ends of the E_j is computed exactly in 128 bits. The true sum is larger by at
// most m 2^-64, which is 0.5 u if the sum is at least 2^-10 m. Its conversion to float64 takes at most 3
// roundings: 3.6 u. The conversion of a_j takes 2 roundings and its square takes one more, so a square is off
// by 5.1 u. The compensated sum adds u + gamma_m^2 <= 1.1 u for m <= 2^24 [Ogita, Rump and Oishi 2005,
// Proposition 4.5; all terms are positive]. ||N||^2 is larger than the sum of the a_j^2 by at most 2 sqrt(m)
// ||N|| 2^-64 + m 2^-128, which is 1.1 u if the sum is at least 2^-20 m. Together these errors are 7.4 u. The
// square root halves the error and rounds: 4.8 u. scale/g is exact in the range that fastFactor accepts. A
// product and a quotient add 2 u. The total with second-order terms is 10.5 u. QED
func (d *radial) fastFactor() float64 {
	m := len(d.normals)
	ratio := d.scale / d.grid
	if d.draw.width != 64 || m > 1<<24 || !(ratio >= 0x1p-30 && ratio <= 0x1p45) {
		return 0
	}
	var whole, fraction uint64
	for j := range d.exponentials {
		e := &d.exponentials[j]
		var carry uint64
		fraction, carry = bits.Add64(fraction, e.x.head, 0)
		whole += e.k + carry
	}
	radius := float64(whole) + float64(fraction)*0x1p-64
	var sum, low float64
	for j := range d.normals {
		n := &d.normals[j]
		a := float64(n.k) + float64(n.x.head)*0x1p-64
		sq := float64(a * a) // the conversion forbids a fused multiply-add
		next := sum + sq
		back := next - sum
		low += (sum - (next - back)) + (sq - back)
		sum = next
	}
	square := sum + low
	if !(radius >= 0x1p-10*float64(m)) || !(square >= 0x1p-20*float64(m)) {
		return 0
	}
	return ratio * radius / math.Sqrt(square)
}

// fast decides m = floor((x + z_i)/g + 1/2) from the first digits in float64. It returns false if it cannot
// decide m, with probability near 2^-14 for a coordinate with |z_i| = 20 scale on the grid of GridFor.
//
// Proof. x/g is exact (a division by a power of two), or it is below 2^-1022 and off by less than 2^-1074. It
// is split exactly into an integer q and rest, |rest| <= 1/2: rest is a multiple of the unit in the last
// place of x/g and not larger than x/g. The product t = f a_i is off from z_i/g by at most 16 u |t| (13 u of
// f, 2 u of a_i, and the product) plus F 2^-64. v = rest + t rounds once. v - e and + 1/2 round as well,
// together by 3 u (|t| + 2 + e). slack = 32 u |t| + 2^-62 f + 2^-50 exceeds all of these errors, so lo <= m -
// q <= hi. QED
func (d *radial) fast(i int, x float64) (m int64, ok bool) {
	xg := x / d.grid
	if d.factor == 0 || !(math.Abs(xg) < 0x1p52) {
		return 0, false
	}
	n := &d.normals[i]
	t := d.factor * (float64(n.k) + float64(n.x.head)*0x1p-64)
	if !(t < 0x1p49) {
		return 0, false
	}
	slack := t*0x1p-48 + d.factor*0x1p-62 + 0x1p-50
	if n.negative {
		t = -t
	}
	q := math.RoundToEven(xg)
	v := (xg - q) + t
	lo, hi := math.Floor(v-slack+0.5), math.Floor(v+slack+0.5)
	return int64(q) + int64(lo), lo == hi
}

// normBound encloses the values that all coordinates share, computed from n digits, B = 2^width:
//
//	squares[0] <= (||N|| B^n)^2 <= squares[1]
//	radius[0] <= (E_1 + ... + E_m) B^n <= radius[1]
type normBound struct{ squares, radius [2]*big.Int }

func (d *radial) bound(n int) normBound {
	for have := len(d.bounds) + 1; have <= n; have++ {
		b := normBound{[2]*big.Int{new(big.Int), new(big.Int)}, [2]*big.Int{new(big.Int), new(big.Int)}}
		one, square := big.NewInt(1), new(big.Int)
		for j := range d.normals {
			a := d.draw.digits(&d.normals[j], have)
			b.squares[0].Add(b.squares[0], square.Mul(a, a))
			a.Add(a, one)
			b.squares[1].Add(b.squares[1], square.Mul(a, a))
			b.radius[0].Add(b.radius[0], d.draw.digits(&d.exponentials[j], have))
		}
		b.radius[1].Add(b.radius[0], big.NewInt(int64(len(d.normals))))
		d.bounds = append(d.bounds, b)
	}
	return d.bounds[n-1]
}

// guardBits is the number of additional bits, below B^-n, to which square roots are computed.
const guardBits = 32

// slow decides m for any arguments, in big integers. The loop ends with probability 1, because the real
// number x + z_i lies on the boundary of a cell with probability 0.
func (d *radial) slow(i int, x float64) *big.Int {
	mx, ex := dyadic(x)
	for n := 1; ; n++ {
		if lo, hi := d.enclose(i, mx, ex, n); lo != nil && lo.Cmp(hi) == 0 {
			return lo
		}
	}
}

// enclose returns the cells of both ends of the enclosure of x + z_i that follows from the first n digits of
// all reals. Here x = mx 2^ex. It returns nil if the digits give no enclosure.
//
// In units of B^-n, |z_i|/scale = R a/||N||. The root of a quotient is enclosed by the neighbouring integers:
// floor(sqrt(p/q)) = floor(sqrt(floor(p/q))).
func (d *radial) enclose(i int, mx int64, ex, n int) (lo, hi *big.Int) {
	b := d.bound(n)
	if b.squares[0].Sign() == 0 {
		return nil, nil
	}
	root := func(a, radius, squares *big.Int) *big.Int {
		p := new(big.Int).Mul(a, radius)
		p.Mul(p, p).Lsh(p, 2*guardBits).Quo(p, squares)
		return p.Sqrt(p)
	}
	a := d.draw.digits(&d.normals[i], n)
	near := root(a, b.radius[0], b.squares[1])
	one := big.NewInt(1)
	far := root(a.Add(a, one), b.radius[1], b.squares[0])
	far.Add(far, one)
	s := new(big.Int).SetUint64(d.s)
	return cellsBetween(mx, ex, near.Mul(near, s), far.Mul(far, s), d.normals[i].negative,
		d.es-n*int(d.draw.width)-guardBits, d.eg)
}
