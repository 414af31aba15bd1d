// Package cases measures the speed of Dyad's methods on this machine, also as a share of the machine's
// peak speed. The command dyad lab bench prints these measurements.
package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyad/engine"
	"dyad/internal/machine"
	"dyad/kernels"
)

// Options sets the options of a measurement.
type Options struct {
	// Quick selects smaller sizes and fewer runs.
	Quick bool
	// Only selects the cases whose method has a name that contains this text. If Only is empty, all cases are measured.
	Only string
	// Records replaces the number of records of every case. If Records is 0, each case keeps its own number.
	Records int
	// Runs is the number of timed runs after one warm-up run. If Runs is 0, the number is 11, or 3 if Quick is set.
	Runs int
	// Workers is the number of goroutines. If it is 0, one goroutine is used, so that the lines
	// show the performance of one core.
	Workers int
	// Variants are the kernel variants to measure. If Variants is nil, all variants of this processor are measured.
	Variants []kernels.Variant
	// Devices are the devices on which gradients are measured, one after another for each case. If Devices is
	// nil, only the CPU is measured. A device without a kernel for a case is skipped for this case.
	Devices []Device
	// Peers are times of other programs, to be compared with the times of the CPU.
	Peers Peers
}

// Device is a backend to measure.
type Device struct {
	Name string
	// Backend computes on the device. If Backend is nil, the device is the CPU with its variants.
	Backend engine.Backend
}

// Line is the measurement of one case with one kernel variant.
type Line struct {
	Method  string `json:"method"`
	Device  string `json:"device"`
	Variant string `json:"variant"`
	Workers int    `json:"workers,omitempty"`
	N       int    `json:"n"`
	D       int    `json:"d,omitempty"`
	// Radius is the radius of the ball on whose boundary the weights of a gradient lie, or 0 without a gradient.
	Radius float64 `json:"radius,omitempty"`
	// Seconds is the median wall clock time of a run. Least is the shortest time.
	Seconds float64 `json:"seconds"`
	Least   float64 `json:"least_seconds"`
	// Processor is the median processor time of a run over all threads, in seconds.
	Processor float64 `json:"processor_seconds"`
	// Rate is the work of a run divided by Seconds. Unit is the unit of the work: "pairs" or "scores".
	Rate float64 `json:"rate"`
	Unit string  `json:"unit"`
	// Share is the median, over the runs, of a fraction of the peak of one core. The fraction of a run is
	// the number of operations, or of bytes read and written, per second of processor time, divided by the
	// peak. The peak is measured right before and after each run, because other programs slow down the run
	// and the peak alike. The kind of peak is in Of. BestShare is the largest fraction, which the run that
	// was disturbed least reaches. Share is 0 if the work is not counted in operations or bytes.
	Share     float64 `json:"share_of_peak,omitempty"`
	BestShare float64 `json:"best_share_of_peak,omitempty"`
	Of        string  `json:"peak,omitempty"` // "FMA", "FMA fp32" or "copy"
	// Peak is the median of the measured peaks of one core, in Gflop/s or GB/s.
	Peak float64 `json:"peak_rate,omitempty"`
	// PeerRatio compares the fastest program of Options.Peers for the same method and sizes with this
	// measurement. It is the processor time of that program divided by Processor. Peer is the name of that
	// program.
	PeerRatio float64 `json:"ratio_to_peer,omitempty"`
	Peer      string  `json:"peer,omitempty"`
}

// prepared is a case that is ready to run.
type prepared struct {
	line  Line
	work  float64 // units of line.Unit in a run
	count float64 // operations or bytes of a run; 0 if they are not counted
	run   func() error
	close func()
}

// Choose selects the kernel variant with the given name. If no variant has this name,
// Choose changes nothing, so all variants are measured.
func (o *Options) Choose(name string) error {
	for _, v := range []kernels.Variant{kernels.Best, kernels.Generic, kernels.AVX2, kernels.AVX512} {
		if v.String() == name {
			o.Variants = []kernels.Variant{v}
			_, err := kernels.Select(v)
			return err
		}
	}
	return nil
}

// Run measures all cases in a fixed order and passes each line to show. It stops at the first error of a case
// or of show, or when ctx is done.
func Run(ctx context.Context, o Options, show func(Line) error) error {
	if o.Runs < 0 || o.Records < 0 || o.Workers < 0 || o.Records == 1 {
		return errors.New("cases: there must be at least 1 run, 1 worker and 2 records")
	}
	if o.Runs == 0 {
		o.Runs = 11
		if o.Quick {
			o.Runs = 3
		}
	}
	o.Workers = max(o.Workers, 1)
	if o.Variants == nil {
		o.Variants = kernels.Variants()
	}
	if o.Devices == nil {
		o.Devices = []Device{{Name: "cpu"}}
	}
	for _, c := range cases(o) {
		for _, t := range targets(o) {
			b, err := c(ctx, o, t)
			if err != nil {
				return err
			}
			if b == nil {
				continue
			}
			if !strings.Contains(b.line.Method, o.Only) {
				b.close()
				continue
			}
			line, err := measure(ctx, b, o, t)
			b.close()
			if err != nil {
				return err
			}
			if err := show(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// target is a device, and a variant if it is the CPU.
type target struct {
	Device
	variant kernels.Variant
}

func targets(o Options) (all []target) {
	for _, d := range o.Devices {
		if d.Backend != nil {
			all = append(all, target{Device: d})
			continue
		}
		for _, v := range o.Variants {
			all = append(all, target{d, v})
		}
	}
	return all
}

// measure times a case.
func measure(ctx context.Context, b *prepared, o Options, t target) (Line, error) {
	var peak func() float64
	switch {
	case b.count == 0:
	case b.line.Of == "copy":
		peak = machine.CopyPeak()
	default:
		set, err := kernels.Select(t.variant)
		if err != nil {
			return Line{}, err
		}
		peak = func() float64 { return machine.FMAPeak(set) }
		if b.line.Of == "FMA fp32" {
			peak = func() float64 { return machine.FMAPeak32(set) }
		}
	}
	var times, useds, peaks, shares []float64
	for k := range o.Runs + 1 {
		var before, after float64
		if b.count > 0 {
			before = peak()
		}
		wall, cpu := time.Now(), machine.ProcessorTime()
		if err := b.run(); err != nil {
			return Line{}, fmt.Errorf("cases: %s: %w", b.line.Method, err)
		}
		used, seconds := machine.ProcessorTime()-cpu, time.Since(wall).Seconds()
		if err := ctx.Err(); err != nil {
			return Line{}, err
		}
		if k == 0 {
			continue // warms up
		}
		times, useds = append(times, seconds), append(useds, used)
		if b.count > 0 {
			after = peak()
			peaks = append(peaks, (before+after)/2)
			shares = append(shares, b.count/max(used, clockStep)*2/(before+after))
		}
	}
	l := b.line
	l.Device = t.Name
	if t.Backend == nil {
		l.Workers = o.Workers
	}
	l.Seconds, l.Least = median(times), slices.Min(times)
	l.Processor = median(useds)
	l.Rate = b.work / l.Seconds
	if len(shares) > 0 {
		l.Share, l.BestShare, l.Peak = median(shares), slices.Max(shares), median(peaks)/1e9
	} else {
		l.Of = ""
	}
	if t.Backend == nil {
		l.Peer, l.PeerRatio = o.Peers.fastest(l)
	}
	return l, nil
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}

// clockStep is less than any processor time that is worth measuring.
const clockStep = 1e-6
