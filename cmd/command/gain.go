package command

import (
	"fmt"
	"math"
	"strings"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda"
)

// Assumptions of the comparison: the number of processors, and the numbers of a Parquet file that they read per
// second, as in bench/results/reading-epyc-idle.csv.
const (
	readingProcessors = 2
	readingNumbers    = 7.61e6 * 21
	leastGain         = 1.5 // smallest gain that is reported, because the estimates are not more accurate
)

// gain compares a run on a GPU with a run on the CPU: the parts of the time in seconds, all estimated.
type gain struct {
	reading, copying, passes float64
	onCPU                    float64 // time of the passes on the CPU, with readingProcessors processors
}

// gainOf returns the gain of a plan with its own kernel, or with another kernel for the same problem. ok is
// false unless the kernel belongs to a GPU whose times are known. narrow means that records are stored in
// float32.
func gainOf(p *algorithms.Plan, gpu engine.Kernel, narrow bool) (g gain, ok bool) {
	f, ok := cuda.ForecastOf(gpu)
	if !ok || f.Seconds == 0 || f.Copying == 0 {
		return g, false
	}
	problem, z := gpu.Problem(), p.Needs(narrow)
	host, err := engine.Grouped{Backend: cpu.Backend{}}.Plan(problem)
	if err != nil {
		return g, false
	}
	g = gain{reading: float64(problem.N) * float64(problem.D+1) / readingNumbers, copying: f.Copying,
		onCPU: p.SecondsBy(host) / readingProcessors}
	if g.passes = p.SecondsBy(gpu); f.Moments {
		g.passes = z.Passes * f.Seconds
	}
	if narrow {
		g.copying = f.CopyingNarrow
	}
	if f.Panels {
		g.copying *= z.Passes
	}
	return g, true
}

// factor returns the speed-up of the whole run on a GPU.
func (g gain) factor() float64 {
	return (g.reading + g.onCPU) / (g.reading + g.copying + g.passes)
}

// words returns a sentence that states whether a GPU is worthwhile.
func (g gain) words() string {
	switch f := g.factor(); {
	case f < leastGain:
		share := math.Round(100 * g.reading / (g.reading + g.onCPU))
		if share < 50 {
			return "this run gains little from a GPU, because copies and passes on a GPU take nearly as long as " +
				"the CPU"
		}
		return fmt.Sprintf("this run gains little from a GPU, because reading takes %g %% of its time", share)
	case f < 10:
		return fmt.Sprintf("with a GPU, this run is probably about %.1f times as fast, reading included", f)
	default:
		return fmt.Sprintf("with a GPU, this run is probably about %g times as fast, reading included",
			algorithms.Roughly(f))
	}
}

// write adds the parts and the sentence to the report of a plan.
func (g gain) write(b *strings.Builder, r *algorithms.Report) {
	r.Add("estimated_reading_seconds", g.reading)
	r.Add("estimated_copying_seconds", g.copying)
	r.Add("estimated_passes_seconds", g.passes)
	r.Add("estimated_passes_cpu_seconds", g.onCPU)
	r.Add("gpu_gain", g.factor())
	line(b, "parts", "GPU: %g s to read Parquet (%d processors), %g s to copy, %g s for passes; these processors: "+
		"%g s for passes", algorithms.Roughly(g.reading), readingProcessors,
		algorithms.Roughly(g.copying), algorithms.Roughly(g.passes), algorithms.Roughly(g.onCPU))
	line(b, "gain", "%s", g.words())
}

// gainElsewhere reports the possible gain by a GPU for a long run that is planned for the CPU.
func gainElsewhere(b *strings.Builder, r *algorithms.Report, p *algorithms.Plan, narrow bool) {
	const key = "h200"
	device, err := cuda.OpenNamed(key)
	if err != nil {
		return
	}
	k, err := engine.Grouped{Backend: cuda.Backend{Device: device}}.Plan(p.Spec.Kernel.Problem())
	if err != nil {
		return
	}
	if g, ok := gainOf(p, k, narrow); ok && len(p.Work.Sums) > 0 && g.factor() >= leastGain {
		r.Add("gpu_gain", g.factor())
		line(b, "gain", "%s; estimated for an NVIDIA H200, see --device cuda:%s", g.words(), key)
	}
}
