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

// Work counts the computations of a run.
type Work struct {
	Gradients float64 // of ordered pairs, over the whole run
	Sums      []Sums  // the same, pairs by which they are summed; nil: pair by pair
	Passes    int     // over the records, besides those of gradients
	Seconds   float64 // of one core, of these passes
	Bytes     float64 // of memory, besides that of the kernel
}

// Sums are gradients that are summed over the same pairs.
type Sums struct {
	Times int
	Pairs engine.Pairs
}

// Sum is the work with the gradients of these pairs, summed a number of times.
func (w Work) Sum(times int, pairs engine.Pairs) Work {
	w.Gradients += float64(times) * float64(pairs.Len())
	w.Sums = append(w.Sums, Sums{times, pairs})
	return w
}

// records is the number of records that have the pairs.
func (s Sums) records(p engine.Problem) float64 {
	if part, ok := s.Pairs.(engine.SubsetPairs); ok {
		return float64(part.N)
	}
	return float64(p.N)
}

// Seconds estimates the time of the run on one core of a server processor at about 2.5 GHz, from
// public numbers and costs that were measured there: a few times more on an older machine, and
// less with more cores. It is 0 for runs that are not planned for a kernel.
func (p *Plan) Seconds() float64 { return Roughly(p.seconds()) }

// Needs holds the time and memory of a run, estimated from public numbers.
type Needs struct {
	Records float64 // bytes of the records in memory, of one row each where they are persons
	Vectors float64 // bytes of what is computed for every record
	Passes  float64 // how often all records are read: twice for a gradient, for scores and for the sum
	Seconds float64 // as Plan.Seconds
}

// Needs estimates what the run takes; it is zero for runs that are not planned for a kernel. Dense records are
// held in float32 if narrow is set.
func (p *Plan) Needs(narrow bool) (z Needs) {
	if p.Spec.Kernel == nil {
		return z
	}
	problem := p.Spec.Kernel.Problem()
	n, number, width := float64(problem.N), 8.0, problem.D
	switch {
	case problem.NonZerosPerRow > 0:
		number, width = 12, problem.NonZerosPerRow // with its index
	case narrow:
		number = 4
	}
	z = Needs{Records: n * (8 + number*float64(width)), Seconds: p.Seconds()}
	z.Passes = float64(p.Work.Passes)
	held := func(pairs engine.Pairs) float64 {
		return p.Spec.Kernel.Bounds(engine.Query{Pairs: pairs}).Memory(problem)
	}
	for _, s := range p.Work.Sums {
		z.Vectors = max(z.Vectors, held(s.Pairs))
		z.Passes += 2 * float64(s.Times) * s.records(problem) / n
	}
	if len(p.Work.Sums) == 0 {
		z.Vectors = held(problem.Pairs())
		z.Passes += 2 * p.Work.Gradients / n
	}
	z.Vectors += p.Work.Bytes
	return z
}

// programBytes is what the program and a reader take besides.
const programBytes = 1e8

// Memory returns the memory of one of so many processes, in bytes: its share of the records, and a program of its own.
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
	return p.SecondsBy(p.Spec.Kernel)
}

// SecondsBy is Seconds, not rounded, as if another kernel for the same problem summed the gradients.
func (p *Plan) SecondsBy(kernel engine.Kernel) float64 {
	problem := kernel.Problem()
	gradient := (nsUnknownPair + nsPassFeature*float64(problem.D)) * 1e-9
	seconds := p.Work.Seconds
	for _, s := range p.Work.Sums {
		if each := kernel.Bounds(engine.Query{Pairs: s.Pairs}).Seconds; each > 0 {
			seconds += float64(s.Times) * each
		} else {
			seconds += float64(s.Times) * float64(s.Pairs.Len()) * gradient
		}
	}
	if len(p.Work.Sums) == 0 {
		seconds += p.Work.Gradients * (nsPassPair + nsPassFeature*float64(problem.D)) * 1e-9
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
