package privacy

import (
	"fmt"
	"math"
)

// ToeplitzFactor is a lower-triangular Toeplitz matrix C with nonnegative entries C_bs = c_(b-s), where
//
//	c_0 = 1,  c_j = sum_i Weight[i] Decay[i]^(j-1)  (j >= 1).
//
// Because c_j is a sum of exponentials, products with C and with its inverse are cheap: a ToeplitzFilter
// stores len(Decay) vectors for any number of rows [Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024,
// buffered linear Toeplitz].
type ToeplitzFactor struct {
	Weight []float64 // The entries of Weight are > 0.
	Decay  []float64 // The entries of Decay are in [0, 1].
}

// maxToeplitzRows is the largest number of rows of SquareRootToeplitz.
const maxToeplitzRows = 1 << 24

// SquareRootToeplitz returns an approximation C of the square root of the prefix-sum matrix A (ones on and
// below the diagonal) for the given number of rows, 2 to maxToeplitzRows. The coefficients equal c_j =
// binom(2j, j)/4^j up to a few parts in 10^5 [Fichtenberger, Henzinger and Upadhyay 2023].
//
// The exact square root satisfies C C = A, which is a factorisation A = B C with B = C. Whatever the errors
// of the returned coefficients are, B = A C^-1 gives an exact factorisation A = B C. Certificates are
// computed for the returned coefficients. So the approximation does not affect privacy and costs only a
// little utility.
//
// Coefficients. c_j is the j-th moment of the arcsine law, 1/pi int_0^1 x^j (x (1-x))^(-1/2) dx. Substitute x
// = e^-v with v = sinh(t/2)^2/rows. The integrand is then even and analytic in t for |Im t| < pi/2, and it
// decreases doubly exponentially. So the trapezoidal rule of step h has an error of about e^(-pi^2/h). The
// limit v <= 12 cuts off e^-18.
func SquareRootToeplitz(rows int) (*ToeplitzFactor, error) {
	if rows < 2 || rows > maxToeplitzRows {
		return nil, fmt.Errorf("%w: a square-root Toeplitz factor has %d rows, want 2 to %d; more records per "+
			"update give fewer rows", errCertificate, rows, maxToeplitzRows)
	}
	const h, end = 0.75, 12.0
	f := &ToeplitzFactor{}
	unit := 1 / float64(rows)
	for k := 0; ; k++ {
		sinh, cosh := math.Sinh(float64(k)*h/2), math.Cosh(float64(k)*h/2)
		v := unit * sinh * sinh
		if v > end {
			return f, nil
		}
		weight := h / math.Pi * math.Sqrt(unit) / 2 // the weight at t = 0 is half of the limit
		if k > 0 {
			weight = h / math.Pi * math.Exp(-1.5*v) / math.Sqrt(-math.Expm1(-v)) * unit * sinh * cosh
		}
		f.Weight, f.Decay = append(f.Weight, weight), append(f.Decay, math.Exp(-v))
	}
}

// Validate returns an error unless all coefficients are nonnegative and finite.
func (f *ToeplitzFactor) Validate() error {
	if len(f.Weight) != len(f.Decay) {
		return fmt.Errorf("%w: a Toeplitz factor has %d weights and %d decays; want equal numbers",
			errCertificate, len(f.Weight), len(f.Decay))
	}
	for i, w := range f.Weight {
		if !(w > 0) || math.IsInf(w, 0) || !(f.Decay[i] >= 0) || f.Decay[i] > 1 {
			return fmt.Errorf("%w: a Toeplitz factor has weight %v and decay %v; want weight > 0 and decay from 0 "+
				"to 1", errCertificate, w, f.Decay[i])
		}
	}
	return nil
}

// RowError bounds the error of row b of C x, as computed by a ToeplitzFilter, for every b <= rows. It
// assumes that each computed x_s has norm at most `norm` and error at most `err`.
//
// Proof. The norm of a memory M_i = sum_(j<b) Decay_i^j x_(b-1-j) is at most N_i times `norm`, where N_i =
// min(rows, 1/(1 - Decay_i)). The update Decay_i M_i + x rounds at most twice, by less than 2.1 u norm (N_i
// + 1). So the error of M_i is at most N_i (err + 2.1 u norm (N_i + 1)). The sum over len(Weight) memories
// and x rounds at most len(Weight) + 2 times. QED
func (f *ToeplitzFactor) RowError(norm, err float64, rows int) float64 {
	const u = 0x1p-53
	total, size := err, norm
	for i, w := range f.Weight {
		n := float64(rows)
		if gap := 1 - f.Decay[i]; gap > 0 {
			n = min(n, 1/gap*(1+0x1p-50))
		}
		total += w * n * (err + 2.1*u*norm*(n+1))
		size += w * n * norm
	}
	return (total + float64(len(f.Weight)+3)*1.1*u*size) * (1 + 0x1p-40)
}

// ToeplitzFilter computes products with a factor and with its inverse, row by row, for vectors of a fixed
// length. To compute C x, take Past + x_b as row b and push x_b. To compute x = C^-1 y, take x_b = y_b - Past
// and push x_b. Past is sum_(s<b) c_(b-s) x_s, and AddPast computes it.
type ToeplitzFilter struct {
	factor *ToeplitzFactor
	// Memory holds one vector for each term of the factor: Memory[i*d+k] is coordinate k of sum_(s<b)
	// Decay[i]^(b-1-s) x_s.
	Memory []float64
}

// NewToeplitzFilter returns a filter at row 1 for vectors of length d. The factor must be valid.
func NewToeplitzFilter(factor *ToeplitzFactor, d int) *ToeplitzFilter {
	return &ToeplitzFilter{factor: factor, Memory: make([]float64, len(factor.Decay)*d)}
}

// AddPast adds scale times sum_(s<b) c_(b-s) x_s to dst.
func (f *ToeplitzFilter) AddPast(dst []float64, scale float64) {
	for k := range dst {
		var sum float64
		for i, w := range f.factor.Weight {
			sum += w * f.Memory[i*len(dst)+k]
		}
		dst[k] += scale * sum
	}
}

// Push appends x_b to the rows of the filter.
func (f *ToeplitzFilter) Push(x []float64) {
	for i, decay := range f.factor.Decay {
		memory := f.Memory[i*len(x) : (i+1)*len(x)]
		for k, v := range x {
			memory[k] = decay*memory[k] + v
		}
	}
}

// PrefixNoise returns two statistics of the rows of B = A C^-1. The norm of row b is the standard deviation
// of the error of prefix sum b if this sum is computed from C x plus noise of standard deviation 1. The
// result last is the norm of the last row, which is the largest norm. The result mean is the mean of the
// norms of all rows.
func (f *ToeplitzFactor) PrefixNoise(rows int) (last, mean float64) {
	inverse := NewToeplitzFilter(f, 1)
	x := make([]float64, 1)
	var entry, square float64 // of B, first column
	for b := range rows {
		x[0] = 0
		if b == 0 {
			x[0] = 1
		}
		inverse.AddPast(x, -1)
		inverse.Push(x)
		entry += x[0]
		square += entry * entry
		last = math.Sqrt(square)
		mean += last / float64(rows)
	}
	return last, mean
}
