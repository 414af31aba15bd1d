package kernels

// Step is a function of two numbers s and t. Its value is d (Slope + Rise d (s - t)) if t <= s - Shift, and
// 0 otherwise. The factor d is the same for all steps.
type Step struct{ Shift, Slope, Rise float64 }

// Ordered holds numbers in increasing order.
type Ordered struct {
	Value  []float64
	Before []float64 // sums of the values before each number, then the sum of all; needed for steps with Rise != 0
	// Weight[i] is the positive weight of Value[i] in all sums, also in Before. Count[i] is the sum of the
	// weights before Value[i], and the last element of Count is the sum of all weights. If all weights are 1,
	// Weight and Count are nil.
	Weight, Count []float64
}

// AddBefore computes the sums in Before and, if there are weights, the sums in Count. It uses compensated
// summation. Before and Count have one element more than Value. Let S be the sum of the absolute values and
// u = 2^-53. For fewer than 2^26 numbers, the error is at most 2 u S, or 3 u S for products with weights.
// For n numbers the error is larger by (n u)^2 S (Neumaier 1974).
func (x Ordered) AddBefore() {
	if x.Weight == nil {
		addBefore(x.Before, x.Value, nil)
		return
	}
	addBefore(x.Count, x.Weight, nil)
	if x.Before != nil {
		addBefore(x.Before, x.Value, x.Weight)
	}
}

// addBefore sets before to the sums of the numbers before each number, times their weights.
func addBefore(before, x, weight []float64) {
	before = before[:len(x)+1]
	var hi, lo float64
	for i, v := range x {
		before[i] = hi + lo
		if weight != nil {
			v *= weight[i]
		}
		hi, lo = compensated(hi, lo, v)
	}
	before[len(x)] = hi + lo
}

// Sums holds, for each number of s or t in AddSteps, a sum of the values of steps, with a minus sign for t.
// High holds the sums. Low holds corrections for the rounding errors of the sums. With Low, the error that
// each step adds does not grow with the number of steps. Low is nil if there are few steps.
type Sums struct{ High, Low []float64 }

// part returns x[from:to].
func (x Sums) part(from, to int) Sums {
	if x.Low == nil {
		return Sums{x.High[from:to], nil}
	}
	return Sums{x.High[from:to], x.Low[from:to]}
}

func (x Sums) add(i int, v float64) {
	if x.Low == nil {
		x.High[i] += v
		return
	}
	x.High[i], x.Low[i] = compensated(x.High[i], x.Low[i], v)
}

// Merge is the working memory of AddSteps for MergeSteps numbers.
type Merge struct {
	row, col [merges][mergeSteps]uint16
}

const (
	merges     = 4
	mergeSteps = 1024
	// MergeSteps is the largest number of elements, of s and t together, that one call of AddSteps processes.
	MergeSteps = merges * mergeSteps
)

// AddSteps adds the values of a step for all pairs of s and t to row, and subtracts them from col. One call
// computes only the sums of the numbers at [k, k+MergeSteps) in the merged order of t and s - Shift:
//
//	for i := range s {
//		for j := range t {
//			if t[j] <= s[i]-p.Shift {
//				v := d * (p.Slope + p.Rise*d*(s[i]-t[j]))
//				row[i] += v
//				col[j] -= v
//			}
//		}
//	}
//
// AddSteps takes O(1) time for each number. The rounded s[i]-Shift does not decrease with i. So a row is
// paired with the first numbers of t, and a column is paired with the last numbers of s.
//
// A step a, b adds d (a N + b d (s_i N - T)) to a row, where N is the number of its t_j and T is their sum. T
// is an element of Before with an error of 2 u m max|t|, u = 2^-53 and m = len(t). For a column of N pairs, T
// is the difference of two elements of Before, with an error of 4 u (m - N) + 3 u N times max|s|, m = len(s).
// So the error is at most 8 u d m (|a| + |b| d (max|s| + max|t|)), before the addition to row and col. With
// weights, N and m are sums of weights. Each N has an error of at most 5 u m, and T of at most 7 u m max|t|, by
// AddBefore twice and their difference. For k numbers, (k u)^2 m is added twice to the error of N, and (k u)^2
// m max|t| twice to the error of T. So the error is at most (12 u + 4 (k u)^2) d m (|a| + ...).
func (m *Merge) AddSteps(row, col Sums, s, t Ordered, d float64, p Step, k int) {
	to := min(k+MergeSteps, len(s.Value)+len(t.Value))
	var at [merges + 1]int
	for c := range at {
		at[c] = split(s.Value, t.Value, p.Shift, min(k+c*mergeSteps, to))
	}
	i, j := at[merges-1], k+(merges-1)*mergeSteps-at[merges-1]
	if i+mergeSteps <= len(s.Value) && j+mergeSteps <= len(t.Value) && k+MergeSteps == to {
		m.four(s.Value, t.Value, p.Shift, k, at[:merges])
	} else {
		for c := range merges {
			if first := k + c*mergeSteps; first < to {
				m.one(c, s.Value, t.Value, p.Shift, at[c], first-at[c], min(mergeSteps, to-first))
			}
		}
	}
	for c := range merges {
		from, end := min(k+c*mergeSteps, to), min(k+(c+1)*mergeSteps, to)
		i0, i1 := at[c], at[c+1]
		j0, j1 := from-i0, end-i1
		addRows(row.part(i0, i1), s.Value[i0:i1], m.row[c][:i1-i0], float64(j0), t, d, p)
		addColumns(col.part(j0, j1), t.Value[j0:j1], m.col[c][:j1-j0], float64(len(s.Value)-i0), s, d, p)
	}
}

func addRows(row Sums, s []float64, count []uint16, first float64, t Ordered, d float64, p Step) {
	a, b, before := p.Slope, p.Rise*d, t.Before
	count = count[:len(s)]
	if t.Count != nil {
		for i, c := range count {
			at := int(first) + int(c)
			v := a * t.Count[at]
			if p.Rise != 0 {
				v += b * (s[i]*t.Count[at] - before[at])
			}
			row.add(i, d*v)
		}
		return
	}
	if p.Rise == 0 {
		if row.Low == nil {
			r := row.High[:len(s)]
			for i, c := range count {
				r[i] += d * (a * (first + float64(c)))
			}
			return
		}
		for i, c := range count {
			row.add(i, d*(a*(first+float64(c))))
		}
		return
	}
	for i, c := range count {
		N := first + float64(c)
		row.add(i, d*(a*N+b*(s[i]*N-before[int(N)])))
	}
}

func addColumns(col Sums, t []float64, count []uint16, rest float64, s Ordered, d float64, p Step) {
	a, b, before := p.Slope, p.Rise*d, s.Before
	count = count[:len(t)]
	if s.Count != nil {
		all := len(s.Value)
		for j, c := range count {
			at := all - int(rest) + int(c)
			N := s.Count[all] - s.Count[at]
			v := a * N
			if p.Rise != 0 {
				v += b * ((before[all] - before[at]) - t[j]*N)
			}
			col.add(j, -d*v)
		}
		return
	}
	if p.Rise == 0 {
		if col.Low == nil {
			r := col.High[:len(t)]
			for j, c := range count {
				r[j] -= d * (a * (rest - float64(c)))
			}
			return
		}
		for j, c := range count {
			col.add(j, -d*(a*(rest-float64(c))))
		}
		return
	}
	m := len(before) - 1
	total := before[m]
	for j, c := range count {
		N := rest - float64(c)
		col.add(j, -d*(a*N+b*((total-before[m-int(N)])-t[j]*N)))
	}
}

// AddAll is AddSteps for Shift = -Inf. Every pair then satisfies t <= s - Shift. In the list of all s
// followed by all t, AddAll processes the numbers with an index in [k, k+MergeSteps).
func AddAll(row, col Sums, s, t Ordered, d float64, p Step, k int) {
	n, to := len(s.Value), min(k+MergeSteps, len(s.Value)+len(t.Value))
	if k < n {
		addAll(row.part(k, min(to, n)), s.Value[k:min(to, n)], t, d, p.Slope, p.Rise*d)
	}
	if to > n {
		from := max(k, n) - n
		addAll(col.part(from, to-n), t.Value[from:to-n], s, -d, p.Slope, -p.Rise*d)
	}
}

func addAll(x Sums, s []float64, other Ordered, d, a, b float64) {
	m := float64(len(other.Value))
	if other.Count != nil {
		m = other.Count[len(other.Value)]
	}
	if b == 0 {
		v := d * (a * m)
		for i := range s {
			x.add(i, v)
		}
		return
	}
	total := other.Before[len(other.Value)]
	for i, v := range s {
		x.add(i, d*(a*m+b*(v*m-total)))
	}
}

// split returns the number of rows among the first k numbers in the merged order of t and s - shift. Among
// equal numbers, t comes first.
func split(s, t []float64, shift float64, k int) int {
	lo, hi := max(0, k-len(t)), min(k, len(s))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if t[k-mid-1] <= s[mid]-shift {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// one merges the numbers of s from s[i] on with the numbers of t from t[j] on. It sets m.row[c] to the number
// of t before each number of s, and m.col[c] to the number of s before each number of t.
func (m *Merge) one(c int, s, t []float64, shift float64, i, j, steps int) {
	s, t = s[i:min(i+steps, len(s))], t[j:min(j+steps, len(t))]
	i, j = 0, 0
	for range steps {
		if i == len(s) || j < len(t) && t[j] <= s[i]-shift {
			m.col[c][j] = uint16(i)
			j++
		} else {
			m.row[c][i] = uint16(j)
			i++
		}
	}
}

// four is one for four independent runs of mergeSteps steps, which the processor executes in parallel. It has
// no branches that depend on the numbers.
func (m *Merge) four(s, t []float64, shift float64, k int, at []int) {
	const mask = mergeSteps - 1
	window := func(c int) (s0, t0 *[mergeSteps]float64) {
		i, j := at[c], k+c*mergeSteps-at[c]
		return (*[mergeSteps]float64)(s[i:]), (*[mergeSteps]float64)(t[j:])
	}
	s0, t0 := window(0)
	s1, t1 := window(1)
	s2, t2 := window(2)
	s3, t3 := window(3)
	var j0, j1, j2, j3 uint
	for n := uint(0); n < mergeSteps; n++ {
		i0 := n - j0
		m.row[0][i0&mask], m.col[0][j0&mask] = uint16(j0), uint16(i0)
		j0 += bit(t0[j0&mask] <= s0[i0&mask]-shift)
		i1 := n - j1
		m.row[1][i1&mask], m.col[1][j1&mask] = uint16(j1), uint16(i1)
		j1 += bit(t1[j1&mask] <= s1[i1&mask]-shift)
		i2 := n - j2
		m.row[2][i2&mask], m.col[2][j2&mask] = uint16(j2), uint16(i2)
		j2 += bit(t2[j2&mask] <= s2[i2&mask]-shift)
		i3 := n - j3
		m.row[3][i3&mask], m.col[3][j3&mask] = uint16(j3), uint16(i3)
		j3 += bit(t3[j3&mask] <= s3[i3&mask]-shift)
	}
}

// bit returns 1 for true and 0 for false.
func bit(c bool) uint {
	if c {
		return 1
	}
	return 0
}

// compensated adds v to the sum hi + lo. The error of the addition to hi is added to lo (Knuth's exact two-sum).
func compensated(hi, lo, v float64) (float64, float64) {
	s := hi + v
	t := s - hi
	return s, lo + ((hi - (s - t)) + (v - t))
}
