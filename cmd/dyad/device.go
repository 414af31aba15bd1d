package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda"
	"dyad/engine/cuda/driver"
)

// deviceFlag is the --device flag of the commands that compute or plan gradients.
type deviceFlag struct {
	Device    string `default:"auto" placeholder:"D" help:"auto, cpu or cuda:N, the N-th NVIDIA GPU from 0. The method, and with it the guarantee, can depend on it. Default: auto, which is the CPU: no GPU measurement is part of this version."`
	Precision string `default:"auto" enum:"auto,fp32,bf16x3,tf32" placeholder:"P" help:"Arithmetic of the pairs of a Mahalanobis loss on a GPU: fp32, or on tensor cores bf16x3 or tf32, which are faster. Noise covers the rounding: about 1 % with noisy gradients; algorithms that perturb only their output pay more from some thousand records on, least with fp32. Default: auto, bf16x3."`
	backend   engine.Backend
}

// openDevice opens the device of the flag. The caller must call the function that it
// returns. A GPU that was asked for and cannot be
// used is an error with exit code 3: there is no silent way back to the CPU.
func (f *deviceFlag) openDevice(workers int) (func(), error) {
	f.backend = cpu.Backend{Workers: workers}
	done := func() {}
	if f.Device == "cpu" || f.Device == "auto" {
		return done, nil
	}
	number, ok := strings.CutPrefix(f.Device, "cuda:")
	index, err := strconv.Atoi(number)
	if !ok || err != nil || index < 0 {
		return nil, badInput("--device is %q, want auto, cpu or cuda:N", f.Device)
	}
	precision, err := cuda.ParsePrecision(f.Precision)
	if err != nil {
		return nil, badInput("--precision: %s", err)
	}
	device, err := openGPU(index)
	if err != nil {
		return nil, fmt.Errorf("--device %s: %w; \"dyad doctor\" says more", f.Device, err)
	}
	f.backend = cuda.Backend{Device: device, Precision: precision}
	return func() { _ = device.Close() }, nil // the results are complete by then
}

// noteDevice says in one line what auto chose, and why.
func (f *deviceFlag) noteDevice(a *app) {
	if f.Device == "auto" {
		a.note("device      cpu (auto): %s", autoReason())
	}
}

func openGPU(index int) (*cuda.Device, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	return cuda.Open(d, index)
}

// autoReason says why auto takes the CPU. Nothing has been measured on a GPU, so auto
// does not choose one.
func autoReason() string {
	devices, err := listGPUs()
	if err != nil {
		return plain(err)
	}
	return fmt.Sprintf("%s is there, but its kernels have no measurement in this version; ask for it with --device cuda:0", devices[0].Name)
}

// plain is the message of an error without the package's prefix.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "driver: ") }

func listGPUs() ([]driver.Device, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Devices()
}

type devicesCmd struct{}

// Help shows examples.
func (devicesCmd) Help() string {
	return `Lists what --device takes. The GPU's driver is asked; nothing is computed.

Examples:
  dyad devices
  dyad devices --json`
}

type deviceLine struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Memory  uint64 `json:"memory_bytes,omitempty"`
	Paths   string `json:"paths"`
	Default bool   `json:"default"`
}

// Run lists the devices.
func (devicesCmd) Run(a *app) error {
	var lines []deviceLine
	devices, missing := listGPUs()
	if missing != nil && !errors.Is(missing, driver.ErrUnavailable) {
		return missing
	}
	for _, d := range devices {
		paths := "direct"
		if d.Major < 8 {
			paths = "none: compute capability below 8.0"
		}
		lines = append(lines, deviceLine{Name: fmt.Sprintf("cuda:%d", d.Index), Kind: d.Name, Memory: d.TotalMemory, Paths: paths})
	}
	lines = append(lines, deviceLine{Name: "cpu", Kind: "CPU", Paths: "near-linear, direct", Default: true})
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %-24s %-9s %-36s %s\n", "NAME", "KIND", "MEMORY", "PATHS", "DEFAULT")
	for _, l := range lines {
		memory, mark := "", ""
		if l.Memory > 0 {
			memory = fmt.Sprintf("%.0f GiB", float64(l.Memory)/(1<<30))
		}
		if l.Default {
			mark = "*"
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-8s %-24s %-9s %-36s %s", l.Name, l.Kind, memory, l.Paths, mark), " ") + "\n")
	}
	if missing != nil {
		fmt.Fprintf(&b, "%s\n", plain(missing))
	}
	return a.emit(lines, b.String())
}

// gpuCheck compiles the kernels on a GPU and compares gradient sums with the CPU's.
// It reports the outcome, also when it failed.
func gpuCheck(index int) (string, bool) {
	device, err := openGPU(index)
	if err != nil {
		return plain(err), false
	}
	defer device.Close()
	start := time.Now()
	text, ok := agreement(cpu.Backend{Method: cpu.Direct}, cuda.Backend{Device: device})
	return fmt.Sprintf("%s (%.0f ms with compilation)", text, float64(time.Since(start).Microseconds())/1000), ok
}

// agreement compares two backends on random records: the gradient sums must be within
// the sum of both bounds.
func agreement(a, b engine.Backend) (string, bool) {
	const n, d = 1000, 8
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	var report []string
	for _, c := range []struct {
		loss   engine.Loss
		labels int
		second int // a coordinate of w besides the first
		value  float64
	}{{engine.Logistic{}, 2, 1, -0.8}, {engine.Logistic{}, 5, 1, -0.8}, {engine.MahalanobisLogistic{}, 2, engine.Symmetric{Dim: d}.Index(1, 1), 0.8}} {
		for i := range y {
			y[i] = 2*float64(rng.IntN(c.labels))/float64(c.labels-1) - 1
		}
		w := make([]float64, c.loss.ParamDim(d))
		w[0], w[c.second] = 0.6, c.value
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 1, LabelValues: c.labels}
		r, err := engine.NewRecords(x, y, d, p.Bounds)
		if err != nil {
			return err.Error(), false
		}
		var sums [2][]float64
		var bound float64
		var method string
		for i, backend := range []engine.Backend{a, b} {
			k, err := backend.Plan(p)
			if err != nil {
				return err.Error(), false
			}
			method = k.Method()
			bound += k.Roundoff(engine.AllPairs{N: n})
			if sums[i], err = gradSum(k, r, w); err != nil {
				return plain(err), false
			}
		}
		var diff, size float64
		for k := range w {
			diff, size = math.Hypot(diff, sums[0][k]-sums[1][k]), math.Hypot(size, sums[0][k])
		}
		if !(diff <= bound) {
			return fmt.Sprintf("%s: the gradient differs from the CPU's by %.2g, relatively, more than the proved %.2g", method, diff/size, bound/size), false
		}
		report = append(report, fmt.Sprintf("%s %.1g (bound %.1g)", method, diff/size, bound/size))
	}
	return "gradients agree with the CPU's: " + strings.Join(report, "; "), true
}

func gradSum(k engine.Kernel, r *engine.Records, w []float64) ([]float64, error) {
	e, err := k.Bind(r)
	if err != nil {
		return nil, err
	}
	sum := make([]float64, len(w))
	err = e.GradSum(context.Background(), sum, w, engine.AllPairs{N: r.Len()})
	return sum, errors.Join(err, e.Close())
}
