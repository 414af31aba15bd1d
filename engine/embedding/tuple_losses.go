package embedding

import "math"

// Triplet is the mean over all triplets of an anchor a, a positive p and a negative n. The positive is another
// record of the class of a, and the negative is a record of another class. The loss of a triplet is
//
//	max(0, D(a,p)^2 - D(a,n)^2 + Margin)
//
// with squared distances, as in Schroff, Kalenichenko and Philbin 2015, equation 1, and Weinberger and Saul
// 2009. The slope at the kink is taken as 0. A tuple without triplets has loss 0.
type Triplet struct {
	// Margin is m > 0, a margin of squared distances. It is public.
	Margin float64
}

// Name returns "triplet".
func (Triplet) Name() string { return "triplet" }

// Parameter returns the name "margin" and the margin.
func (l Triplet) Parameter() (string, float64) { return "margin", l.Margin }

// Value returns the mean loss.
func (l Triplet) Value(q []float64, classes []int32) float64 {
	sum, count := 0.0, 0
	l.each(classes, func(ap, an int) {
		sum += max(0, q[ap]-q[an]+l.Margin)
		count++
	})
	return sum / float64(max(count, 1))
}

// Slopes adds 1/t to the entry of (a, p) and -1/t to the entry of (a, n) for every triplet with a positive
// loss, where t is the number of triplets.
func (l Triplet) Slopes(c, q []float64, classes []int32) {
	count := 0
	l.each(classes, func(_, _ int) { count++ })
	each := 1 / float64(max(count, 1))
	l.each(classes, func(ap, an int) {
		if q[ap]-q[an]+l.Margin > 0 {
			c[ap] += each
			c[an] -= each
		}
	})
}

// each calls do with the indices of the entries (a, p) and (a, n) of every triplet.
func (Triplet) each(classes []int32, do func(ap, an int)) {
	k := len(classes)
	for a := range k {
		for p := range k {
			if p == a || classes[p] != classes[a] {
				continue
			}
			for n := range k {
				if classes[n] != classes[a] {
					do(entry(a, p, k), entry(a, n, k))
				}
			}
		}
	}
}

// entry returns the index of the unordered pair i != j.
func entry(i, j, k int) int { return min(i, j)*k + max(i, j) }

// NPair is the mean, over all ordered pairs of an anchor a and another record p of its class (the positive), of
//
//	log(1 + sum over the negatives n of exp((D(a,p)^2 - D(a,n)^2)/(2 Temperature)))
//
// This is the multi-class N-pair loss of Sohn 2016, equation 6 (InfoNCE). The negatives are the records of the
// tuple with another class than a. The similarity is -D^2/2. For vectors W x of equal length it is the paper's
// inner product up to a constant. A tuple without pairs of one class has loss 0.
type NPair struct {
	// Temperature must be positive. It is public.
	Temperature float64
}

// Name returns "npair".
func (NPair) Name() string { return "npair" }

// Parameter returns the name "temperature" and the temperature.
func (l NPair) Parameter() (string, float64) { return "temperature", l.Temperature }

// Value returns the mean loss.
func (l NPair) Value(q []float64, classes []int32) float64 {
	sum, count := 0.0, 0
	l.each(q, classes, func(_, _ int, top, total float64) {
		sum += top + math.Log(total)
		count++
	})
	return sum / float64(max(count, 1))
}

// Slopes adds p_n/(2 Temperature) to the entry of (a, p) and subtracts it from the entry of (a, n), both
// divided by the number of pairs. p_n is the softmax weight of n.
func (l NPair) Slopes(c, q []float64, classes []int32) {
	k, count := len(classes), 0
	l.each(q, classes, func(_, _ int, _, _ float64) { count++ })
	each := 1 / (2 * l.Temperature * float64(max(count, 1)))
	l.each(q, classes, func(a, p int, top, total float64) {
		ap := entry(a, p, k)
		for n := range k {
			if classes[n] != classes[a] {
				an := entry(a, n, k)
				weight := each * math.Exp((q[ap]-q[an])/(2*l.Temperature)-top) / total
				c[ap] += weight
				c[an] -= weight
			}
		}
	})
}

// each calls do with every anchor, positive and softmax. The sum in Value is exp(top) total, and no exponent in
// total is above 0.
func (l NPair) each(q []float64, classes []int32, do func(a, p int, top, total float64)) {
	k := len(classes)
	for a := range k {
		for p := range k {
			if p == a || classes[p] != classes[a] {
				continue
			}
			top := 0.0
			for n := range k {
				if classes[n] != classes[a] {
					top = max(top, (q[entry(a, p, k)]-q[entry(a, n, k)])/(2*l.Temperature))
				}
			}
			total := math.Exp(-top)
			for n := range k {
				if classes[n] != classes[a] {
					total += math.Exp((q[entry(a, p, k)]-q[entry(a, n, k)])/(2*l.Temperature) - top)
				}
			}
			do(a, p, top, total)
		}
	}
}
