// Package device selects the hardware that computes sums over pairs: a CPU, a GPU or a team of processes.
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

// Device computes sums over pairs. The speed of a training depends on the device. The rounding errors of a
// device are part of the sensitivity, so a plan is made for one device. A nil Device is valid for every
// method, and represents the CPU in float64 on all cores.
type Device struct {
	backend engine.Backend
	workers int
	chosen  bool   // the device was chosen by auto
	reason  string // the reason why auto always uses the CPU
	precise bool   // the caller chose a precision
	team    string // kind of device that all members of the team have
	gpu     *cuda.Device
}

// Options selects the device to open. The zero value is auto.
type Options struct {
	// Name is "auto", "cpu" or "cuda:N", where N is the number of an NVIDIA GPU, counted from 0.
	// "" means auto. Auto uses GPU 0 if its measured times show that it is faster, and otherwise
	// the CPU. If ForPlan is set, Name may also be the name of a product that this machine does
	// not have, such as "cuda:h200".
	Name    string
	ForPlan bool
	// Times stores the times of GPU 0. If no times are stored for this version, auto measures
	// them at its first use, which takes about 2 s. The zero value disables the measurement.
	Times cuda.Kept
	// Workers is the number of workers on the CPU. Results have the same bits for any
	// number of workers. 0 means all cores.
	Workers int
	// Precision is the arithmetic of pairs for metric losses. All values except
	// cuda.AutoPrecision and cuda.FP32 need a GPU.
	Precision cuda.Precision
	// Team shares the work with other processes (see dyad.Training.Join). If it is nil, this process
	// computes alone. Either all members compute on CPUs, or each member computes on the GPU that
	// its own Options name. In a team, auto means the CPU.
	Team engine.Team
}

// Open opens a device. The caller must close it. If the caller names a GPU that cannot be
// used, Open returns an error. It never falls back silently to the CPU or to another
// precision.
func Open(o Options) (*Device, error) {
	if o.Name == "" {
		o.Name = "auto"
	}
	number, gpu := strings.CutPrefix(o.Name, "cuda:")
	if !gpu && o.Precision != cuda.AutoPrecision && o.Precision != cuda.FP32 {
		return nil, input.Errorf("dyad: precision %s needs a GPU, so set --device cuda:N; --device %s computes "+
			"metrics in fp32 or float64", o.Precision, o.Name)
	}
	d := &Device{backend: cpu.Backend{Workers: o.Workers, Float32: o.Precision == cuda.FP32, Team: o.Team},
		workers: o.Workers, precise: o.Precision != cuda.AutoPrecision}
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
		return nil, input.Errorf("dyad: the device is %q, but it must be auto, cpu or cuda:N; names such as "+
			"cuda:h200 are only for plans", o.Name)
	}
	if d.gpu, err = cuda.OpenNumber(index); err != nil {
		return nil, fmt.Errorf("dyad: device %s: %w; run \"dyad doctor\" for details", o.Name, err)
	}
	d.backend = cuda.Backend{Device: d.gpu, Precision: o.Precision, Team: o.Team}
	return d, nil
}

// auto chooses the device by measured times. If GPU 0 cannot be used, auto uses the CPU and stores the reason.
func (d *Device) auto(o Options) (err error) {
	var models cuda.Models
	d.chosen = true
	if d.gpu, models, d.reason, err = cuda.OpenAuto(context.Background(), o.Times); d.gpu != nil {
		d.backend = cuda.Auto{CPU: d.backend, GPU: cuda.Backend{Device: d.gpu, Precision: o.Precision}, Models: models}
	}
	return err
}

// Workers returns the number of workers in the options. 0 means all cores.
func (d *Device) Workers() int {
	if d == nil {
		return 0
	}
	return d.workers
}

// Precise reports whether the options set a precision.
func (d *Device) Precise() bool { return d != nil && d.precise }

// Shared returns the kind of device of every member of a team, "cpu" or "cuda". Without a team it returns "". A
// team has only one kind of device, because CPUs and GPUs divide the work in different ways.
func (d *Device) Shared() string {
	if d == nil {
		return ""
	}
	return d.team
}

// Named reports whether the options name the GPU.
func (d *Device) Named() bool { return d != nil && d.gpu != nil && !d.chosen }

// Close releases the device. All computations must be complete before Close is called.
func (d *Device) Close() {
	if d != nil && d.gpu != nil {
		_ = d.gpu.Close()
	}
}

// Backend returns the backend that computes gradients of all pairs on the device.
func (d *Device) Backend() engine.Backend {
	if d == nil {
		return cpu.Backend{}
	}
	return d.backend
}

// Networks returns the backend that computes gradients of networks. It computes pairs of embeddings on the CPU. If a
// GPU was named, it computes the work for each record on this GPU. auto always uses the CPU here, because it has no
// measured times for networks.
func (d *Device) Networks() embedding.Backend {
	b := embedding.Backend{Workers: d.Workers()}
	if d.Named() {
		b.On, _ = d.backend.(embedding.Accelerator)
	}
	return b
}

// Terms returns the GPU as the accelerator that computes networks for tuples. If the options name no GPU,
// it returns nil, and the CPU computes the networks.
func (d *Device) Terms() embedding.TermAccelerator {
	if d == nil {
		return nil
	}
	on, _ := d.Networks().On.(embedding.TermAccelerator)
	return on
}

// For returns the backend of networks if l is the loss of a network, and b for any other loss.
func For(l engine.Loss, b cpu.Backend) engine.Backend {
	if _, ok := l.(embedding.Loss); ok {
		return embedding.Backend{Workers: b.Workers}
	}
	return b
}

// Pairs returns the engine that computes sums over lists of pairs on the device. These
// sums have the same guarantee on every device.
func (d *Device) Pairs() embedding.Engine {
	if d == nil {
		return embedding.CPU{}
	}
	if e, ok := d.backend.(embedding.Engine); ok {
		return e
	}
	return embedding.CPU{Workers: d.workers}
}

// Chosen returns the device that auto chose for a problem, and the reason. ok is false if
// the device was named. If p is nil, as for lists of pairs, auto uses the CPU.
func (d *Device) Chosen(p *engine.Problem) (name, why string, ok bool) {
	if d == nil || !d.chosen {
		return "", "", false
	}
	name, why = "cpu", d.reason
	if auto, ok := d.backend.(cuda.Auto); ok {
		why = "there are no measured times for pairs"
		if p != nil {
			_, name, why, _ = auto.Choose(*p) // the problem has been planned, so there is no error
		}
	}
	return name, why, true
}
