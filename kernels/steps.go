package kernels

// Step is the function d (Slope + Rise d (s - t)) of the pairs of numbers s, t with
// t <= s - Shift, and 0 of the others, where d is a factor of all steps.
type Step struct{ Shift, Slope, Rise float64 }

// stepBlock is the number of rows whose steps are summed one after the other, while they
// are in the first cache.
const stepBlock = 256

// running is the sum of the numbers up to a place in a slice.
type running struct {
	at     int
	hi, lo float64
}

// StepRows sums the steps over all pairs of the sorted numbers s and t to the rows:
//
//	for i := range s {
//		for j := range t {
//			for _, p := range steps {
//				if t[j] <= s[i]-p.Shift {
//					row[i] += d * (p.Slope + p.Rise*d*(s[i]-t[j]))
//				}
//			}
//		}
//	}
//
// in O(len(s) + len(t)) for each step: s[i]-Shift, rounded, does not decrease with i, so
// the pairs of a row are the first ones of t. low is a low part of row, so that each of
// many calls adds an error that does not grow with their number. If it is nil, row is set
// and not added to.
//
// A row gets d (a N + b d (s_i N - T)) of a step a, b, with N the number of its t_j and T
// their sum, which has a correction term and an error of at most 2^-52 of the absolute
// values for fewer than 2^26 terms (Neumaier 1974). So the error is at most
// 8 u d m (|a| + |b| d (max|s| + max|t|)), u = 2^-53 and m = len(t), for each step, and
// once 2 u of the result.
func StepRows(row, low, s, t []float64, d float64, steps []Step) {
	sums := make([]running, len(steps))
	var hi, lo [stepBlock]float64
	for len(s) > 0 {
		n := min(len(s), stepBlock)
		load(hi[:n], lo[:n], row, low)
		for k, p := range steps {
			at, sum, err := sums[k].at, sums[k].hi, sums[k].lo
			shift, a, b := p.Shift, p.Slope, p.Rise*d
			hi, lo := hi[:n], lo[:n]
			for i, si := range s[:n] {
				limit := si - shift
				for at < len(t) && t[at] <= limit {
					sum, err = compensated(sum, err, t[at])
					at++
				}
				N := float64(at)
				hi[i], lo[i] = compensated(hi[i], lo[i], d*(a*N+b*(si*N-(sum+err))))
			}
			sums[k] = running{at, sum, err}
		}
		store(row, low, hi[:n], lo[:n])
		s, row = s[n:], row[n:]
		if low != nil {
			low = low[n:]
		}
	}
}

// StepColumns subtracts the same steps of the same pairs from the columns:
//
//	col[j] -= d * (p.Slope + p.Rise*d*(s[i]-t[j]))
//
// The pairs of a column are the last ones of s. The error is that of StepRows with
// m = len(s).
func StepColumns(col, low, s, t []float64, d float64, steps []Step) {
	sums := make([]running, len(steps))
	for k := range sums {
		sums[k].at = len(s)
	}
	var hi, lo [stepBlock]float64
	for to := len(t); to > 0; {
		n := min(to, stepBlock)
		from := to - n
		var lows []float64
		if low != nil {
			lows = low[from:to]
		}
		load(hi[:n], lo[:n], col[from:to], lows)
		for k, p := range steps {
			at, sum, err := sums[k].at, sums[k].hi, sums[k].lo
			shift, a, b := p.Shift, p.Slope, p.Rise*d
			t, hi, lo := t[from:to], hi[:n], lo[:n]
			for j := len(t) - 1; j >= 0; j-- {
				tj := t[j]
				for at > 0 && tj <= s[at-1]-shift {
					at--
					sum, err = compensated(sum, err, s[at])
				}
				N := float64(len(s) - at)
				hi[j], lo[j] = compensated(hi[j], lo[j], -d*(a*N+b*((sum+err)-tj*N)))
			}
			sums[k] = running{at, sum, err}
		}
		store(col[from:to], lows, hi[:n], lo[:n])
		to = from
	}
}

// load sets hi + lo to x + low, or to zero if low is nil.
func load(hi, lo, x, low []float64) {
	if low == nil {
		clear(hi)
		clear(lo)
		return
	}
	copy(hi, x)
	copy(lo, low)
}

// store is the reverse of load.
func store(x, low, hi, lo []float64) {
	if low != nil {
		copy(x, hi)
		copy(low, lo)
		return
	}
	x, lo = x[:len(hi)], lo[:len(hi)]
	for i, v := range hi {
		x[i] = v + lo[i]
	}
}

// compensated adds v to the sum hi + lo: the error of the addition to hi goes to lo
// (Knuth's exact two-sum).
func compensated(hi, lo, v float64) (float64, float64) {
	s := hi + v
	t := s - hi
	return s, lo + ((hi - (s - t)) + (v - t))
}
