package account

import "math"

// This file has the dominating pairs of PoissonEvent for an owner of k records and Gaussian noise.
//
// Theorem (proof: docs/theory.md#poisson). Fix the earlier releases and two neighbouring data sets that
// differ in the at most k records of one owner. Each of these records enters the batch with probability at
// most q, by a coin of its own that is the same for both data sets. Then (mix(x), mix(-x)) dominates the
// release for ReplaceOne, and (mix, f) and (f, mix) dominate it for AddRemove. The result is tight.
//
// Roundings of the query: if no record of the owner is in the batch, both sides compute the same bits.
// Otherwise |J| >= 1, and Sensitivity covers the errors of both computed c_J and c_0.

// binomialWeights returns the probabilities of 0..k successes of k coins of probability q, 0 < q < 1, and
// their logarithms. The probabilities are within 8 (k+1) 2^-53 relative, which is below massMargin/8 for
// MaxGroup: from the mode outwards, a step multiplies by a factor of at most 6 roundings, and the sum has k
// more roundings.
//
// Weights below smallestWeight are near underflow. Their effect on a probability is negligible, but far out
// in the tail they determine the loss. So the loss uses their logarithms there, which are within 1e-14 (4
// MaxGroup - logarithm).
func binomialWeights(k int, q float64) (w, logs []float64) {
	w, logs = make([]float64, k+1), make([]float64, k+1)
	mode := min(k, int(float64(k+1)*q))
	w[mode] = 1
	odds := q / (1 - q)
	sum := 1.0
	for j := mode; j < k; j++ {
		w[j+1] = w[j] * float64(k-j) / float64(j+1) * odds
		sum += w[j+1]
	}
	for j := mode; j > 0; j-- {
		w[j-1] = w[j] * float64(j) / float64(k-j+1) / odds
		sum += w[j-1]
	}
	choices := func(n int) float64 {
		v, _ := math.Lgamma(float64(n) + 1)
		return v
	}
	for j := range w {
		if w[j] /= sum; w[j] >= smallestWeight {
			logs[j] = math.Log(w[j])
			continue
		}
		logs[j] = choices(k) - choices(j) - choices(k-j) + float64(j)*math.Log(q) + float64(k-j)*math.Log1p(-q)
	}
	return w, logs
}

const smallestWeight = 1e-200

// exponents bounds the effect of roundings on a loss, in units of 1e-14; it is 0 for one record. It covers
// the roundings of the weights, which are the same in both laws. It also covers the roundings of the parts j
// m x and (j m)^2/2 of the exponents, where x is up to the reach of the grid.
func (d dominatingPair) exponents() float64 {
	if d.weights == nil {
		return 0
	}
	far := d.m * float64(len(d.weights)-1)
	sum := far*(far+gaussianReach) + 0.25*float64(len(d.weights))
	if least := min(d.logWeights[0], d.logWeights[len(d.logWeights)-1]); least < math.Log(smallestWeight) {
		sum += 4*MaxGroup - least
	}
	return sum
}

// top is the index j of the largest B(j) f(x - jm), up to rounding. The logarithms of these parts are concave
// in j, because the binomial law and f are log-concave.
func (d dominatingPair) top(x float64) int {
	at, end := 0, len(d.logWeights)-1
	for at < end {
		j := (at + end) / 2
		if d.logWeights[j+1]-d.logWeights[j]+d.m*(x-d.m*(float64(j)+0.5)) > 0 {
			at = j + 1
		} else {
			end = j
		}
	}
	return at
}

// around returns the range from..to of indices j next to at whose logPart is more than least.
func around(at, parts int, least float64, logPart func(j int) float64) (from, to int) {
	for from = at; from > 0 && logPart(from-1) > least; from-- {
	}
	for to = at + 1; to < parts && logPart(to) > least; to++ {
	}
	return from, to
}

// groupMixLoss returns log sum_j B(j) exp(j m x - (j m)^2/2) and its derivative, which is m times the mean of
// j given x. Parts below exp(-45) of the largest part are omitted: together they are at most MaxGroup
// exp(-45) < 1e-17 of the sum. The parts are log-concave in j, so the remaining parts are adjacent.
func (d dominatingPair) groupMixLoss(x float64) (loss, slope float64) {
	const least = 45
	exponent := func(j int) float64 {
		c := float64(j) * d.m
		return c * (x - c/2)
	}
	logPart := func(j int) float64 { return d.logWeights[j] + exponent(j) }
	at := d.top(x)
	from, to := around(at, len(d.weights), logPart(at)-least, logPart)
	far, part := exponent(at), func(j int, far float64) float64 { return d.weights[j] * math.Exp(exponent(j)-far) }
	if d.weights[at] < smallestWeight {
		far, part = logPart(at), func(j int, far float64) float64 { return math.Exp(logPart(j) - far) }
	}
	sum, mean := 0.0, 0.0
	for j := from; j < to; j++ {
		p := part(j, far)
		sum += p
		mean += p * float64(j) * d.m
	}
	loss, slope = far+math.Log(sum), mean/sum
	if math.Abs(loss) > 0.5 {
		return loss, slope
	}
	sum = 0 // the sum is exp(loss) - 1, which has more digits for a loss near 0
	for j, b := range d.logWeights {
		if e := exponent(j); b+max(e, 0) > -least {
			sum += d.weights[j] * math.Expm1(e)
		}
	}
	return math.Log1p(sum), slope
}

// groupLoss returns the loss and its derivative.
func (d dominatingPair) groupLoss(x float64) (loss, slope float64) {
	loss, slope = d.groupMixLoss(x)
	if d.kind == replaced {
		l, s := d.groupMixLoss(-x)
		return loss - l, slope + s
	}
	return loss, slope
}

// groupQuantile solves loss(x) = eps by Newton steps in a bracket. It starts from near, a point near the
// solution, if near is finite. The loss at the returned point is at most eps.
func (d dominatingPair) groupQuantile(eps, near float64) float64 {
	if d.kind == removed && eps <= d.logWeights[0] {
		return math.Inf(-1)
	}
	x, lo, hi, width := near, math.Inf(-1), math.Inf(1), 1.0
	if math.IsInf(x, 0) {
		x = 0
	}
	for i := range 300 {
		v, slope := d.groupLoss(x)
		tolerance := 0x1p-50 * max(1, math.Abs(x))
		// A step is slightly too long, so that the bracket soon encloses the solution.
		next := x + (eps-v)/slope
		if v <= eps {
			lo, next = x, next+tolerance/2
		} else {
			hi, next = x, next-tolerance/2
		}
		if hi-lo <= tolerance {
			break
		}
		if !(math.Abs(next-x) <= width) {
			next = x + math.Copysign(width, eps-v)
			width *= 2
		}
		if !(lo < next && next < hi) || i > 60 && !math.IsInf(hi-lo, 0) {
			next = lo + (hi-lo)/2
		}
		x = next
	}
	return lo
}

// groupMasses computes masses for mixtures.
func (d dominatingPair) groupMasses(a, b float64) (p, q float64) {
	p = d.groupMass(a, b)
	switch d.kind {
	case replaced:
		q = d.groupMass(-b, -a) // f is symmetric
	case removed:
		q = d.mass(a, b)
	}
	return p, q
}

// groupMass is the probability of (a, b] under mix. Its parts B(j) F(interval - jm) are log-concave in j, too
// (Prekopa 1973). Consider the parts in order, away from the largest part. From the first part below 1e-20 of
// another part on, all parts are smaller still, and together they are below MaxGroup 1e-20 of the sum.
func (d dominatingPair) groupMass(a, b float64) float64 {
	const least = 1e-20
	part := func(j int) float64 {
		c := float64(j) * d.m
		return d.weights[j] * d.mass(a-c, b-c)
	}
	x := a + (b-a)/2
	switch {
	case math.IsInf(b, 1):
		x = a
	case math.IsInf(a, -1):
		x = b
	}
	at := d.top(x)
	sum := part(at)
	largest := sum
	for _, step := range []int{-1, 1} {
		for j := at + step; j >= 0 && j < len(d.weights); j += step {
			v := part(j)
			sum += v
			if largest = max(largest, v); v < least*largest {
				break
			}
		}
	}
	return sum
}
