package algorithms

import (
	"fmt"
	"math"
	"strconv"

	"dyad/engine"
)

// Nanoseconds of one core: of a pair gradient of a pass over pairs, and per feature of it
// (offpairc on 7,000 records of 12 features), of a number of a record that is read and clipped, of a
// product of second moments (bench/results/moments-epyc.csv), per d^3 of their eigenvectors, and per d^2 of those of wide matrices, with the
// noise (bench/results/wide-moments.csv).
const (
	nsPassPair    = 12
	nsPassFeature = 1
	nsRead        = 0.6
	nsClip        = 1.6
	nsMoment      = 0.05
	nsEigen       = 25
	nsWide        = 350
	nsWideMoment  = 2  // of a product of two stored features
	nsUnknownPair = 10 // of a kernel that does not tell
)

// Seconds estimates the time of the run on one core of a server processor at about 2.5 GHz, from
// public numbers and costs that were measured there: a few times more on an older machine, and
// less with more cores. It is 0 for runs that are not planned for a kernel.
func (p *Plan) Seconds() float64 { return Roughly(p.seconds()) }

// Needs is what a run takes, estimated from public numbers.
type Needs struct {
	Records float64 // bytes of the records in memory, of one row each where they are persons
	Vectors float64 // bytes of what is computed for every record
	Passes  float64 // how often all records are read: twice for a gradient, for scores and for the sum
	Seconds float64 // as Plan.Seconds
}

// Needs estimates what the run takes; it is zero for runs that are not planned for a kernel.
func (p *Plan) Needs() (z Needs) {
	if p.Spec.Kernel == nil {
		return z
	}
	problem := p.Spec.Kernel.Problem()
	n, number, width := float64(problem.N), 8.0, problem.D
	if problem.NonZerosPerRow > 0 {
		number, width = 12, problem.NonZerosPerRow // with its index
	}
	z = Needs{Records: n * (8 + number*float64(width)), Vectors: engine.Bytes(p.Spec.Kernel), Seconds: p.Seconds()}
	if p.Moments != nil {
		z.Passes = float64(max(1, p.Moments.Passes))
		if problem.D >= leastTopVectors { // the released matrix, one in units of R, sums of a chunk, and the noise
			z.Vectors += 4 * 8 * float64(p.Moments.Second.Len(problem.D))
		}
	}
	switch steps := float64(p.Schedule.Steps); {
	case p.GradientPairs == 0:
	case p.Schedule.Eta != nil || p.Spec.Horizon > 0: // pair by pair
		z.Passes += 2 * p.GradientPairs / n
	case len(p.Parts) > 0:
		for _, e := range p.Parts {
			z.Passes += 2 * float64(e.Steps) * float64(e.Records) / n
		}
	case p.Moments == nil && p.GradientPairs/steps < float64(problem.Pairs().Len()):
		z.Passes += 2 * steps * drawn(p.GradientPairs/steps) / n
	default:
		z.Passes += 2 * p.GradientPairs / float64(problem.Pairs().Len())
	}
	return z
}

// drawn is the number of records that have so many ordered pairs.
func drawn(pairs float64) float64 { return math.Round((1 + math.Sqrt(1+4*pairs)) / 2) }

// programBytes is what the program and a reader take besides.
const programBytes = 1e8

// Memory is what one of so many processes takes, in bytes: its share of the records, and a program of its own.
func (z Needs) Memory(processes int) float64 {
	return programBytes + (z.Records+z.Vectors)/float64(max(processes, 1))
}

// maxProcesses is the most that divide the sums of a gradient.
const maxProcesses = 128

// Processes is the least number of processes with so much memory each, in bytes, that hold the
// records; 0 if no number that divides the work does.
func (z Needs) Processes(memory float64) int {
	if memory <= programBytes {
		return 0
	}
	r := math.Ceil((z.Records + z.Vectors) / (memory - programBytes))
	if r > maxProcesses {
		return 0
	}
	return max(1, int(r))
}

// Size writes bytes in words.
func Size(bytes float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}} {
		if bytes >= 0.995*u.size {
			return fmt.Sprintf("%g %s", Roughly(bytes/u.size), u.name)
		}
	}
	return fmt.Sprintf("%g kB", Roughly(bytes/1e3))
}

// Roughly is x to two digits.
func Roughly(x float64) float64 {
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
			if stored := float64(problem.NonZerosPerRow); stored > 0 && d >= leastTopVectors {
				record += nsWideMoment * stored * stored / 2
			} else {
				record += nsMoment * d * d
			}
			if d >= leastTopVectors {
				seconds += nsWide * 1e-9 * d * d
			} else {
				seconds += nsEigen * 1e-9 * d * d * d
			}
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
		seconds += sums(float64(p.Schedule.Steps), engine.SubsetPairs{N: int(drawn(each))})
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
			return fmt.Sprintf("about %g %s", Roughly(seconds/u.size), u.name)
		}
	}
	return fmt.Sprintf("about %g days", Roughly(seconds/86400))
}
