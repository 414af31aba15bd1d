package algorithms

import (
	"fmt"
	"math"
	"strconv"

	"dyad/engine"
)

// These constants are nanoseconds of one core. nsPassPair and nsPassFeature are the costs of a pair gradient in a pass
// over pairs, and of each of its features (offpairc on 7,000 records of 12 features). nsRead and nsClip are the costs
// of reading and of clipping one number of a record. nsMoment is the cost of one product of second moments
// (bench/results/moments-epyc.csv). nsEigen is the cost of eigenvectors per d^3. nsWide is the cost of the
// eigenvectors of wide matrices per d^2, including their noise (bench/results/wide-moments.csv).
const (
	nsPassPair    = 12
	nsPassFeature = 1
	nsRead        = 0.6
	nsClip        = 1.6
	nsMoment      = 0.05
	nsEigen       = 25
	nsWide        = 350
	nsWideMoment  = 2  // the cost of a product of two stored features
	nsUnknownPair = 10 // the cost of a pair if the kernel states none
)

// Work counts the computations of a run.
type Work struct {
	Gradients float64 // number of gradients of ordered pairs, over the whole run
	Sums      []Sums  // the same gradients as sums over pairs; nil if they are computed pair by pair
	Passes    int     // passes over the records, without the passes of gradients
	Seconds   float64 // seconds that these passes take on one core
	Bytes     float64 // bytes of memory besides the kernel's
}

// Sums stands for several gradient sums over the same pairs: Times is their number.
type Sums struct {
	Times int
	Pairs engine.Pairs
}

// Sum returns w plus the work of several sums of gradients. The argument times is the number
// of sums, and each sum is over the given pairs.
func (w Work) Sum(times int, pairs engine.Pairs) Work {
	w.Gradients += float64(times) * float64(pairs.Len())
	w.Sums = append(w.Sums, Sums{times, pairs})
	return w
}

// records returns the number of records that the pairs are made of.
func (s Sums) records(p engine.Problem) float64 {
	if part, ok := s.Pairs.(engine.SubsetPairs); ok {
		return float64(part.N)
	}
	return float64(p.N)
}

// Seconds estimates the time of the run on one core of a server processor at about 2.5 GHz. The estimate uses
// public numbers and costs measured on such a core. An older machine takes a few times longer, and more cores
// take less time. Seconds returns 0 for runs that are not planned for a kernel.
func (p *Plan) Seconds() float64 { return Roughly(p.seconds()) }

// Needs holds the time and memory of a run, estimated from public numbers.
type Needs struct {
	Records float64 // bytes of the records in memory, counting one row for each person
	Vectors float64 // bytes of the values computed for every record
	Passes  float64 // how often all records are read; a gradient reads them twice, for the scores and for the sum
	Seconds float64 // the value of Plan.Seconds
}

// Needs estimates the time and memory of the run. It returns the zero value for runs that are not planned for a
// kernel. If narrow is set, dense records are held in float32.
func (p *Plan) Needs(narrow bool) (z Needs) {
	if p.Spec.Kernel == nil {
		return z
	}
	problem := p.Spec.Kernel.Problem()
	n, number, width := float64(problem.N), 8.0, problem.D
	switch {
	case problem.NonZerosPerRow > 0:
		number, width = 12, problem.NonZerosPerRow // a stored number has 12 bytes with its index
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

// programBytes is the memory of the program and of a reader, without the records.
const programBytes = 1e8

// Memory returns the memory in bytes that each process needs if the given number of processes share the records.
// It includes the memory of the program itself.
func (z Needs) Memory(processes int) float64 {
	return programBytes + (z.Records+z.Vectors)/float64(max(processes, 1))
}

// maxProcesses is the largest number of processes that share the sums of a gradient.
const maxProcesses = 128

// Processes returns the smallest number of processes that hold the records if each has the given memory in
// bytes. It returns 0 if no allowed number of processes is enough.
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

// Size formats a number of bytes with a unit.
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

// Roughly returns x rounded to two significant digits.
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

// SecondsBy is like Seconds, but without rounding and for the given kernel of the same problem.
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

// Duration formats an estimated time in a unit from seconds to days.
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
