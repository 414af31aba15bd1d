package algorithms

import (
	"fmt"
	"math"
	"strconv"

	"dyad/engine"
)

// Nanoseconds of one core: of a pair gradient of a pass over pairs, and per feature of it
// (offpairc on 7,000 records of 12 features), of a number of a record that is read and clipped, of a
// product of second moments (bench/results/moments-epyc.csv), and per d^3 of their eigenvectors.
const (
	nsPassPair    = 12
	nsPassFeature = 1
	nsRead        = 0.6
	nsClip        = 1.6
	nsMoment      = 0.05
	nsEigen       = 25
	nsUnknownPair = 10 // of a kernel that does not tell
)

// Seconds estimates the time of the run on one core of a server processor at about 2.5 GHz, from
// public numbers and costs that were measured there: a few times more on an older machine, and
// less with more cores. It is 0 for runs that are not planned for a kernel.
func (p *Plan) Seconds() float64 { return roughly(p.seconds()) }

// roughly is x to two digits.
func roughly(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64)
	return x
}

func (p *Plan) seconds() float64 {
	if p.Spec.Kernel == nil {
		return 0
	}
	problem := p.Spec.Kernel.Problem()
	n, d := float64(problem.N), float64(problem.D)
	seconds := 0.0
	if m := p.Moments; m != nil {
		record := nsRead*d + float64(max(0, m.Passes-1))*nsClip*d
		if m.Passes == 1 {
			record = nsClip * d
		}
		if m.Second == engine.FullSecond {
			record += nsMoment * d * d
			seconds += nsEigen * 1e-9 * d * d * d
		}
		seconds += record * 1e-9 * n
	}
	if p.GradientPairs == 0 {
		return seconds
	}
	if p.Schedule.Eta != nil || p.Spec.Horizon > 0 { // pair by pair
		return seconds + p.GradientPairs*(nsPassPair+nsPassFeature*d)*1e-9
	}
	sums := func(count float64, pairs engine.Pairs) float64 {
		if each := engine.Seconds(p.Spec.Kernel, pairs); each > 0 {
			return count * each
		}
		return count * float64(pairs.Len()) * (nsUnknownPair + nsPassFeature*d) * 1e-9
	}
	for _, e := range p.Parts {
		seconds += sums(float64(e.Steps), engine.SubsetPairs{N: e.Records})
	}
	all := problem.Pairs()
	switch each := p.GradientPairs / float64(p.Schedule.Steps); {
	case len(p.Parts) > 0:
	case p.Moments == nil && each < float64(all.Len()): // all pairs of some records
		seconds += sums(float64(p.Schedule.Steps), engine.SubsetPairs{N: int(math.Round((1 + math.Sqrt(1+4*each)) / 2))})
	default:
		seconds += sums(p.GradientPairs/float64(all.Len()), all)
	}
	return seconds
}

// Duration writes an estimated time in words, in seconds to days.
func Duration(seconds float64) string {
	if seconds < 1 {
		return "less than a second"
	}
	for _, u := range []struct {
		name  string
		size  float64
		until float64
	}{{"seconds", 1, 180}, {"minutes", 60, 180 * 60}, {"hours", 3600, 72 * 3600}} {
		if seconds < u.until {
			return fmt.Sprintf("about %g %s", roughly(seconds/u.size), u.name)
		}
	}
	return fmt.Sprintf("about %g days", roughly(seconds/86400))
}
