package privacy

import "math"

// The pairs of PoissonEvent for an owner of k records, Gaussian noise.
//
// Theorem. Fix what was released before and two neighbours that differ in the at most
// k records of one owner. Every one of these enters the batch with probability at most
// q, by coins of their own that are the same for both. Then (mix(x), mix(-x)) dominates
// the release for ReplaceOne, and (mix, f), (f, mix) do for AddRemove.
//
// Proof. Fix the coins of all other records too. With the records J of the owner in the
// batch let the query be c_J on one side and c'_J on the other; c_0 is that without any,
// the same on both sides, and ||c_J - c_0||, ||c'_J - c_0|| <= |J| Sensitivity. The
// directions are arbitrary: the records may be chosen after all releases before. In units
// of the scale and from c_0, the release has laws P = sum_J b_J f_(c_J) and Q =
// sum_J b_J f_(c'_J), with the same b_J.
//
// Take any a > 0 and any set S, and let f(S) = F(t). By the first fact at dominatingPair
// (for the Gaussian, F^-1(f_u(S)) is 1-Lipschitz in u),
//
//	f_(c_J)(S) <= F(t + |J| m)  and  f_(c'_J)(S) >= F(t - |J| m)  for all J at once, so
//	P(S) - a Q(S) <= sum_J b_J [F(t + |J| m) - a F(t - |J| m)].
//
// The bracket does not fall with |J|, and |J| is a sum of at most k independent coins of
// probability at most q, so B is stochastically larger: the sum is at most
// sum_j B(j) [F(t + jm) - a F(t - jm)], which is the value of (mix(x), mix(-x)) at the
// half-line x > -t, so at most its H(a). The coins of the others have one law on both
// sides, and H is jointly convex, so H(a) of the mixture over them is not larger. For
// AddRemove one of P, Q is f: the same with one of the two inequalities. QED
//
// It is tight: c_J = -c'_J = |J| m in one dimension. For AddRemove it is [Ganesh 2024]
// (Tight group-level DP guarantees for DP-SGD with sampling via mixture of Gaussians
// mechanisms) and [Choquette-Choo, Ganesh, Steinke and Thakurta 2024] (Privacy
// amplification for matrix mechanisms), whose reduction of vectors to numbers is the same
// fact; the argument above needs neither a common direction nor add/remove neighbours.
//
// Roundings of the query: if no record of the owner is in the batch, both sides compute
// the same bits. Otherwise |J| >= 1, and Sensitivity pays for both computed c_J and c_0.

// binomialWeights are the probabilities of 0..k of k coins of probability q, 0 < q < 1,
// within 8 (k+1) 2^-53 relative, which is below massMargin/8 for MaxGroup: from the mode
// outwards a step multiplies by a factor of at most 6 roundings, and the sum has k more.
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
	for j := range w {
		w[j] /= sum
		logs[j] = math.Log(w[j]) // to say which parts matter; -Inf for an underflow
	}
	return w, logs
}

// exponents bounds, in units of 1e-14, what the roundings of weights (as much in both
// laws) and of the exponents' parts j m x and (j m)^2/2, with x up to the reach of the
// grid, change in a loss; 0 for one record.
func (d dominatingPair) exponents() float64 {
	if d.weights == nil {
		return 0
	}
	far := d.farthest()
	return far*(far+gaussianReach) + 0.25*float64(len(d.weights))
}

// groupMixLoss is log sum_j B(j) exp(j m x - (j m)^2/2), with its derivative, m times the
// mean of j given x. Parts of less than exp(-45) of the largest are left out: at most
// MaxGroup exp(-45) < 1e-17 of the sum.
func (d dominatingPair) groupMixLoss(x float64) (loss, slope float64) {
	const least = 45
	top, at := math.Inf(-1), 0
	for j, b := range d.logWeights {
		c := float64(j) * d.m
		if v := b + c*(x-c/2); v > top {
			top, at = v, j
		}
	}
	far := float64(at) * d.m
	far *= x - far/2
	sum, mean := 0.0, 0.0
	for j, b := range d.logWeights {
		c := float64(j) * d.m
		e := c * (x - c/2)
		if b+e > top-least {
			p := d.weights[j] * math.Exp(e-far)
			sum += p
			mean += p * c
		}
	}
	loss, slope = far+math.Log(sum), mean/sum
	if math.Abs(loss) > 0.5 {
		return loss, slope
	}
	sum = 0 // of the loss less 1: around 0 it has more digits
	for j, b := range d.logWeights {
		c := float64(j) * d.m
		if e := c * (x - c/2); b+max(e, 0) > -least {
			sum += d.weights[j] * math.Expm1(e)
		}
	}
	return math.Log1p(sum), slope
}

// groupLoss is loss with its derivative.
func (d dominatingPair) groupLoss(x float64) (loss, slope float64) {
	loss, slope = d.groupMixLoss(x)
	if d.kind == replaced {
		l, s := d.groupMixLoss(-x)
		return loss - l, slope + s
	}
	return loss, slope
}

// groupQuantile solves loss(x) = eps by Newton steps in a bracket, from a point near the
// solution if near is finite. The loss at what it returns is at most eps.
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
		// A step goes a little too far, so that the solution is soon in between.
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

// groupMasses is masses for mixtures.
func (d dominatingPair) groupMasses(a, b float64) (p, q float64) {
	for j, w := range d.weights {
		c := float64(j) * d.m
		p += w * d.mass(a-c, b-c)
		if d.kind == replaced {
			q += w * d.mass(a+c, b+c)
		}
	}
	if d.kind == removed {
		q = d.mass(a, b)
	}
	return p, q
}
