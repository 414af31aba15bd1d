package sampler

import "math/big"

// Exponential draws with digits of width bits and returns k and x to 64 bits or
// more.
func (s *Bits) Exponential(width uint) (k uint64, x float64) {
	draw := karney{src: s, width: width}
	z := draw.exponential()
	scale := 1.0
	for i := -1; i < 64/int(width); i++ {
		d := z.x.head
		if i >= 0 {
			d = draw.digitAt(&z.x, i)
		}
		scale /= float64(uint64(1)<<(width-1)) * 2
		x += float64(d) * scale
	}
	return z.k, x
}

// Radial is the noise vector of a KNorm release, for tests of its decisions.
type Radial struct{ d *radial }

// NewRadial draws the noise of m coordinates.
func NewRadial(scale, grid float64, coordinates int, src *Bits, width uint) Radial {
	return Radial{newRadial(scale, grid, coordinates, karney{src: src, width: width})}
}

// Fast and Slow are the two ways to decide the cell of x + z_i. Digits is
// how many digits were drawn of normal i.
func (r Radial) Fast(i int, x float64) (m int64, ok bool) { return r.d.fast(i, x) }
func (r Radial) Slow(i int, x float64) *big.Int           { return r.d.slow(i, x) }
func (r Radial) Digits(i int) int                         { return 1 + len(r.d.normals[i].x.tail) }

// Enclose are the cells of the enclosure from n digits.
func (r Radial) Enclose(i int, x float64, n int) (lo, hi *big.Int) {
	mx, ex := dyadic(x)
	return r.d.enclose(i, mx, ex, n)
}

// FastFactor is the factor f of fast.
func (r Radial) FastFactor() float64 { return r.d.factor }

// SetFastFactor puts a defect into the fast decision.
func (r Radial) SetFastFactor(f float64) { r.d.factor = f }

// SetHeads overwrites whole and first digit of all normals and exponentials, and
// forgets their other digits.
func (r Radial) SetHeads(normal, exponential func(j int) (k, head uint64)) {
	for j := range r.d.normals {
		k, head := normal(j)
		r.d.normals[j] = lazyReal{negative: r.d.normals[j].negative, k: k, x: urand{head: head}}
		k, head = exponential(j)
		r.d.exponentials[j] = lazyReal{k: k, x: urand{head: head}}
	}
	r.d.bounds = nil
	r.d.factor = r.d.fastFactor()
}

// Reals draws n digits of every real and returns the signed normals and the
// exponentials to that many digits, as rational numbers.
func (r Radial) Reals(n int) (normals, exponentials []*big.Rat) {
	value := func(z *lazyReal) *big.Rat {
		unit := new(big.Int).Lsh(big.NewInt(1), uint(n)*r.d.draw.width)
		v := new(big.Rat).SetFrac(r.d.draw.digits(z, n), unit)
		if z.negative {
			v.Neg(v)
		}
		return v
	}
	for j := range r.d.normals {
		normals = append(normals, value(&r.d.normals[j]))
		exponentials = append(exponentials, value(&r.d.exponentials[j]))
	}
	return normals, exponentials
}
