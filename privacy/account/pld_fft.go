package account

import (
	"math"
	"math/bits"
)

// fft is the discrete Fourier transform of a length n = 2^k >= 2. It is a plain radix-2 transform, because
// the error bound of relativeError is a theorem about this transform.
type fft struct {
	n int
	w []complex128 // exp(-pi i j/half), j < half, at half-1, for half = 1, 2, 4, ..., n/2
}

func newFFT(n int) fft {
	t := fft{n: n, w: make([]complex128, max(1, n-1))}
	longest := t.w[n/2-1:]
	for j := range longest {
		sin, cos := math.Sincos(-2 * math.Pi * float64(j) / float64(n))
		longest[j] = complex(cos, sin)
	}
	for half := n / 4; half > 0; half /= 2 {
		for j := range half {
			t.w[half-1+j] = longest[j*(n/2/half)]
		}
	}
	return t
}

// relativeError bounds |computed - exact| / |exact| in the Euclidean norm, for forward and for backward. Let
// L = log2 n, and let the twiddle factors be within 5 units of roundoff u = 2^-53. The bound is L eta/(1 - L
// eta), eta = 5u + gamma_4 (sqrt 2 + 5u) < 12u [Higham 2002, Theorem 24.2].
func (t fft) relativeError() float64 {
	l := float64(bits.Len(uint(t.n))-1) * 12 * 0x1p-53
	return l / (1 - l)
}

// forward replaces x, of length n, by sum over j of x[j] exp(-2 pi i j k/n).
func (t fft) forward(x []complex128) {
	shift := bits.UintSize - bits.Len(uint(t.n)) + 1
	for i := range x {
		if j := int(bits.Reverse(uint(i)) >> shift); i < j {
			x[i], x[j] = x[j], x[i]
		}
	}
	for half := 1; half < t.n; half *= 2 {
		w := t.w[half-1 : 2*half-1]
		for start := 0; start < t.n; start += 2 * half {
			lo, hi := x[start:start+half], x[start+half:start+2*half]
			for j := range lo {
				v := w[j] * hi[j]
				lo[j], hi[j] = lo[j]+v, lo[j]-v
			}
		}
	}
}

// backward replaces x by (1/n) sum over k of x[k] exp(2 pi i j k/n).
func (t fft) backward(x []complex128) {
	for i, v := range x {
		x[i] = complex(imag(v), real(v)) // swapping the parts gives the conjugate times i
	}
	t.forward(x)
	scale := 1 / float64(t.n) // a power of two: exact
	for i, v := range x {
		x[i] = complex(imag(v)*scale, real(v)*scale)
	}
}
