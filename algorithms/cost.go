package algorithms

import (
	"fmt"
	"math"
	"strings"

	"dyad/engine"
)

// Nanoseconds of one core: of a pair gradient of a pass over pairs, and per feature of it
// (BenchmarkPass), of a number of a record that is read and clipped, of a product of second moments
// (bench/results/moments-epyc.csv), and per d^3 of their eigenvectors.
const (
	nsPassPair    = 6
	nsPassFeature = 0.7
	nsRead        = 0.6
	nsClip        = 1.6
	nsMoment      = 0.05
	nsEigen       = 25
	nsUnknownPair = 10 // of a kernel that does not tell
)

// Seconds estimates the time of the run on one core of a server processor at about 2.5 GHz, from
// public numbers and costs that were measured there: a few times more on an older machine, and
// less with more cores. It is 0 for runs that are not planned for a kernel.
func (p *Plan) Seconds() float64 {
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
	all := float64(problem.Pairs().Len())
	sum := all * (nsUnknownPair + nsPassFeature*d) * 1e-9
	if k, ok := p.Spec.Kernel.(engine.TimedKernel); ok && k.Seconds() > 0 {
		sum = k.Seconds()
	}
	// A sum over a part of the pairs: of fewer records, or of fewer pairs.
	part := func(steps, share float64) float64 {
		if !strings.HasPrefix(p.Spec.Kernel.Method(), "direct") {
			share = math.Sqrt(share)
		}
		return steps * share * sum
	}
	if len(p.Parts) == 0 {
		steps := float64(p.Schedule.Steps)
		if p.Moments != nil { // whose steps count the passes over the records, too
			steps = p.GradientPairs / all
		}
		return seconds + part(steps, p.GradientPairs/(steps*all))
	}
	for _, e := range p.Parts {
		seconds += part(float64(e.Steps), math.Pow(float64(e.Records)/n, 2))
	}
	return seconds
}

// Duration writes an estimated time in words, in seconds to days.
func Duration(seconds float64) string {
	for _, u := range []struct {
		name  string
		size  float64
		until float64
	}{{"seconds", 1, 180}, {"minutes", 60, 180 * 60}, {"hours", 3600, 72 * 3600}} {
		if seconds < u.until {
			return fmt.Sprintf("about %.2g %s", seconds/u.size, u.name)
		}
	}
	return fmt.Sprintf("about %.2g days", seconds/86400)
}
