// Package device chooses what computes sums over pairs: a CPU, a GPU or a team of processes.
package device

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda"
	"dyad/engine/embedding"
	"dyad/internal/input"
)

// Device does the computations. It changes the speed of a training; the rounding of a device is part of the
// sensitivity, so a plan is made for one. nil is the CPU in float64 on all cores, for every method.
type Device struct {
	backend engine.Backend
	workers int
	chosen  bool   // by auto
	reason  string // why auto takes the CPU for everything
	precise bool   // a precision was asked for
	team    string // what its members compute on
	gpu     *cuda.Device
}

// Options say which device to open. The zero value is auto.
type Options struct {
	// Name is "auto", "cpu" or "cuda:N", the N-th NVIDIA GPU from 0; "" is auto. That is the
	// CPU unless there are measured times of GPU 0 by which it is faster. If ForPlan is set it may
	// also be the name of a product that is not here, such as "cuda:h200".
	Name    string
	ForPlan bool
	// Times keeps the times of GPU 0 that auto measures at its first use, in about 2 s, if this
	// version has none. The zero value measures nothing.
	Times cuda.Kept
	// Workers are the CPU's; results have the same bits for any number. 0 means all cores.
	Workers int
	// Precision is the arithmetic of pairs for metrics; any but cuda.AutoPrecision and
	// cuda.FP32 needs a GPU.
	Precision cuda.Precision
	// Team shares the work with other processes: see dyad.Training.Join. nil is this process alone. All
	// members compute on CPUs, which auto stands for, or each on a GPU that it names.
	Team engine.Team
}

// Open opens a device, which the caller closes. A GPU that was asked for and cannot be
// used is an error: there is no silent way back to the CPU, nor to another precision.
func Open(o Options) (*Device, error) {
	if o.Name == "" {
		o.Name = "auto"
	}
	number, gpu := strings.CutPrefix(o.Name, "cuda:")
	if !gpu && o.Precision != cuda.AutoPrecision && o.Precision != cuda.FP32 {
		return nil, input.Errorf("dyad: precision %s needs the tensor cores of a GPU: name one (--device cuda:N); the CPU, which device %s takes for metrics, computes in fp32, or in float64 without a precision", o.Precision, o.Name)
	}
	d := &Device{backend: cpu.Backend{Workers: o.Workers, Float32: o.Precision == cuda.FP32, Team: o.Team}, workers: o.Workers, precise: o.Precision != cuda.AutoPrecision}
	if o.Team != nil {
		if d.team = "cpu"; gpu {
			d.team = "cuda"
		}
		if o.Name == "auto" {
			return d, nil // no timings predict a team of GPUs
		}
	}
	switch o.Name {
	case "cpu":
		return d, nil
	case "auto":
		return d, d.auto(o)
	}
	index, err := strconv.Atoi(number)
	if gpu && err != nil && o.ForPlan {
		if d.gpu, err = cuda.OpenNamed(number); err != nil {
			return nil, input.Errorf("dyad: %w", err)
		}
		d.backend = cuda.Backend{Device: d.gpu, Precision: o.Precision, Team: o.Team}
		return d, nil
	}
	if !gpu || err != nil || index < 0 {
		return nil, input.Errorf("dyad: the device is %q, want auto, cpu or cuda:N; names such as cuda:h200 are for plans alone", o.Name)
	}
	if d.gpu, err = cuda.OpenNumber(index); err != nil {
		return nil, fmt.Errorf("dyad: device %s: %w; \"dyad doctor\" says more", o.Name, err)
	}
	d.backend = cuda.Backend{Device: d.gpu, Precision: o.Precision, Team: o.Team}
	return d, nil
}

// auto leaves the choice to measured times. Whatever stands in the way of a GPU is a reason for the CPU.
func (d *Device) auto(o Options) (err error) {
	var models cuda.Models
	d.chosen = true
	if d.gpu, models, d.reason, err = cuda.OpenAuto(context.Background(), o.Times); d.gpu != nil {
		d.backend = cuda.Auto{CPU: d.backend, GPU: cuda.Backend{Device: d.gpu, Precision: o.Precision}, Models: models}
	}
	return err
}

// Workers are those that were asked for; 0 means all cores.
func (d *Device) Workers() int {
	if d == nil {
		return 0
	}
	return d.workers
}

// Precise reports whether a precision was asked for.
func (d *Device) Precise() bool { return d != nil && d.precise }

// Shared returns the kind of device of every member of a team, "cpu" or "cuda", and "" without a team. They must be of one kind:
// their grids differ.
func (d *Device) Shared() string {
	if d == nil {
		return ""
	}
	return d.team
}

// Named reports whether a GPU was asked for by its name.
func (d *Device) Named() bool { return d != nil && d.gpu != nil && !d.chosen }

// Close frees the device; results are complete by then.
func (d *Device) Close() {
	if d != nil && d.gpu != nil {
		_ = d.gpu.Close()
	}
}

// Backend computes gradients of all pairs on the device.
func (d *Device) Backend() engine.Backend {
	if d == nil {
		return cpu.Backend{}
	}
	return d.backend
}

// Networks computes gradients of networks: pairs of embeddings on the CPU, and what every record takes on the GPU that was
// named. auto takes the CPU: no times of networks are measured.
func (d *Device) Networks() embedding.Backend {
	b := embedding.Backend{Workers: d.Workers()}
	if d.Named() {
		b.On, _ = d.backend.(embedding.Accelerator)
	}
	return b
}

// Terms computes networks for tuples on the GPU that was named; nil is the CPU.
func (d *Device) Terms() embedding.TermAccelerator {
	if d == nil {
		return nil
	}
	on, _ := d.Networks().On.(embedding.TermAccelerator)
	return on
}

// For is the backend of networks for one, and else b.
func For(l engine.Loss, b cpu.Backend) engine.Backend {
	if _, ok := l.(embedding.Loss); ok {
		return embedding.Backend{Workers: b.Workers}
	}
	return b
}

// Pairs computes sums over lists of pairs on the device. What they guarantee is the same on
// every device.
func (d *Device) Pairs() embedding.Engine {
	if d == nil {
		return embedding.CPU{}
	}
	if e, ok := d.backend.(embedding.Engine); ok {
		return e
	}
	return embedding.CPU{Workers: d.workers}
}

// Chosen is the device that auto chose for a problem, and why; ok is false if the device was
// named. Without a problem, as for lists of pairs, it chose the CPU.
func (d *Device) Chosen(p *engine.Problem) (name, why string, ok bool) {
	if d == nil || !d.chosen {
		return "", "", false
	}
	name, why = "cpu", d.reason
	if auto, ok := d.backend.(cuda.Auto); ok {
		why = "there are no measured times for pairs"
		if p != nil {
			_, name, why, _ = auto.Choose(*p) // it has been planned
		}
	}
	return name, why, true
}
