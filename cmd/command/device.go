package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda"
	"dyad/engine/device"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/privacy/durable"
)

// deviceFlag is the --device flag of the commands that compute or plan gradients.
type deviceFlag struct {
	Device string `default:"auto" placeholder:"D" help:"auto, cpu or cuda:N (NVIDIA GPU N, from 0). Default: auto, the faster device. The first use of auto measures for about 2 s and writes gpu-times.json next to the ledger. The method and its guarantee can depend on the device."`
	device *device.Device
	crew   engine.Team // nil if this process works alone
}

// openDevice opens the device of the flag. The caller must call the returned function. If a requested GPU
// cannot be used, the error has exit code exitResource. If the device does not have the requested precision,
// the error has exit code exitInput.
func (f *deviceFlag) openDevice(workers int, precision cuda.Precision) (done func(), err error) {
	return f.openAs(device.Options{Workers: workers, Precision: precision})
}

// openAs is like openDevice with other options. The flag provides the name of the device.
func (f *deviceFlag) openAs(o device.Options) (done func(), err error) {
	o.Name, o.Team = f.Device, f.crew
	if state, err := stateDir(); err == nil { // otherwise no time is stored, and auto chooses the CPU
		o.Times = keptTimes(filepath.Join(state, "gpu-times.json"))
	}
	f.device, err = device.Open(o)
	return f.device.Close, err
}

// keptTimes returns a store, in a file, of the GPU times measured on this machine.
func keptTimes(name string) cuda.Kept {
	return cuda.Kept{
		Read: func() ([]byte, error) { return durable.Read(name, 1<<20) },
		Write: func(text []byte) error {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return err
			}
			return durable.Write(name, true, true, nil, durable.Text(text))
		},
	}
}

// writeForecast writes the estimated needs of a run on the GPU for which it is planned. It reports whether the
// run is planned for a GPU. narrow means that records are stored in float32.
func writeForecast(b *strings.Builder, r *algorithms.Report, p *algorithms.Plan, narrow bool) bool {
	f, ok := cuda.ForecastOf(p.Spec.Kernel)
	if !ok {
		return false
	}
	from := pick(f.Measured, "computed from times measured on a GPU of this kind",
		"predicted from instruction counts and the data sheet; no run on this GPU was measured")
	z := p.Needs(narrow)
	r.Add("estimated_memory_bytes", z.Memory(1))
	r.Add("estimated_passes", z.Passes)
	r.Add("estimated_bytes_per_pass", z.Records)
	r.Add("gpu", f.GPU)
	r.Add("gpu_memory_bytes", f.Memory)
	line(b, "gpu", "%s (%s)", f.GPU, f.Device)
	line(b, "gpu memory", "%s of %s are needed, and about %s on the host", algorithms.Size(float64(f.Memory)),
		algorithms.Size(float64(f.Have)), algorithms.Size(z.Memory(1)))
	line(b, "passes", "the records are read about %g times; each time, %s are read", algorithms.Roughly(z.Passes),
		algorithms.Size(z.Records))
	if f.Seconds > 0 {
		r.Add("gpu_seconds_per_sum", f.Seconds)
		r.Add("gpu_seconds_measured", f.Measured)
		each, seconds := "a sum of gradients", z.Seconds
		if f.Moments {
			each, seconds = "a pass over the records", z.Passes*f.Seconds
		}
		r.Add("estimated_seconds", seconds)
		line(b, "time", "%.2g s for %s, and %s in total; %s", f.Seconds, each, algorithms.Duration(seconds), from)
		if g, ok := gainOf(p, p.Spec.Kernel, narrow); ok {
			g.write(b, r)
		}
	}
	return true
}

// noteDevice writes one line that states which GPU auto chose for a problem and why. With --verbose it also
// states why no GPU was chosen. Without a problem, as for pairs, auto chose the CPU.
func (f *deviceFlag) noteDevice(a *app, p *engine.Problem) {
	if name, why, ok := f.device.Chosen(p); ok && (a.verbose || name != "cpu") {
		a.note("device      %s (auto): %s", name, why)
	}
}

type devicesCmd struct{}

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
	devices, missing := cuda.Devices()
	if missing != nil && !errors.Is(missing, cuda.ErrUnavailable) {
		return missing
	}
	for _, d := range devices {
		paths := pick(cuda.Usable(d) != nil, "none: compute capability below 8.0",
			"near-linear, direct; metric; pairs; networks")
		lines = append(lines, deviceLine{Name: fmt.Sprintf("cuda:%d", d.Index), Kind: d.Name,
			Memory: d.TotalMemory, Paths: paths})
	}
	lines = append(lines, deviceLine{Name: "cpu", Kind: "CPU", Paths: "near-linear, sorted, direct; metric; pairs",
		Default: true})
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %-24s %-9s %-46s %s\n", "NAME", "KIND", "MEMORY", "PATHS", "DEFAULT")
	for _, l := range lines {
		memory := pick(l.Memory > 0, fmt.Sprintf("%.0f GiB", float64(l.Memory)/(1<<30)), "")
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-8s %-24s %-9s %-46s %s", l.Name, l.Kind, memory, l.Paths,
			pick(l.Default, "*", "")), " ") + "\n")
	}
	b.WriteString("A GPU speeds up metrics, custom losses and many gradients. Moments are hardly faster on a " +
		"GPU.\n\"dyad plan\" states the times of a run on a GPU.\n")
	if missing != nil {
		fmt.Fprintf(&b, "%s\n", plain(missing))
	}
	return a.emit(lines, b.String())
}

// gpuCheck compiles the kernels on a GPU and compares gradient sums with those of the CPU, over all pairs and
// over a list of pairs. It returns a description of the result, even after a failure.
func gpuCheck(index int) (string, bool) {
	opened, err := cuda.OpenNumber(index)
	if err != nil {
		return plain(err), false
	}
	defer opened.Close()
	compiled, err := opened.Compile()
	if err != nil {
		return plain(err), false
	}
	var programs []string
	for _, c := range compiled {
		programs = append(programs, fmt.Sprintf("%s %.0f ms", c.Name, 1000*c.Seconds))
	}
	gpu := cuda.Backend{Device: opened}
	text, ok := agreement(cpu.Backend{Method: cpu.Direct}, gpu)
	lines := []string{"compiled " + strings.Join(programs, ", "), text}
	if m, err := opened.Ceilings(context.Background()); err != nil {
		text, ok = plain(err), false
		lines = append(lines, text)
	} else {
		lines = append(lines, m.String())
	}
	if ok {
		text, ok = pairAgreement(embedding.CPU{}, gpu)
		lines = append(lines, text)
	}
	if ok {
		if text, err = opened.CompareNetworks(context.Background()); err != nil {
			text, ok = plain(err), false
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n"), ok
}

// pairAgreement compares sums of clipped gradients over random pairs.
func pairAgreement(a, b embedding.Engine) (string, bool) {
	const n, d, rows, clip = 400, 8, 4, 0.1
	drawn, err := pairgraph.Draw(n, 2, 8, 1)
	if err != nil {
		return err.Error(), false
	}
	graph, err := pairgraph.New(n, drawn)
	if err != nil {
		return err.Error(), false
	}
	rng := rand.New(rand.NewPCG(3, 4))
	x, w, labels := make([]float64, n*d), make([]float64, rows*d), make([]bool, len(drawn))
	for _, v := range [][]float64{x, w} {
		for i := range v {
			v[i] = rng.NormFloat64() / 4
		}
	}
	batch := make([]int32, len(drawn))
	for i := range labels {
		labels[i], batch[i] = rng.IntN(2) == 0, int32(i)
	}
	data, err := embedding.NewData(x, d, embedding.L2, 1, graph, labels)
	if err != nil {
		return err.Error(), false
	}
	var sums [2][]float64
	for i, engine := range []embedding.Engine{a, b} {
		s, err := engine.Sums(data, embedding.Contrastive{Margin: 1}, rows)
		if err != nil {
			return plain(err), false
		}
		sums[i] = make([]float64, s.Len())
		if err := errors.Join(s.Sum(context.Background(), sums[i], w, batch, clip, embedding.WholeMatrix),
			s.Close()); err != nil {
			return plain(err), false
		}
	}
	diff, size := apart(sums)
	if !(diff <= 1e-10*size) {
		return fmt.Sprintf("the sums over pairs differ from the CPU's sums; relative difference %.2g", diff/size), false
	}
	return fmt.Sprintf("the sums over pairs agree with the CPU's sums (relative difference: %.1g)", diff/size),
		true
}

// agreement compares two backends on random records. The gradient sums must differ by at most the sum of both
// error bounds.
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
		groups []int
	}{
		{engine.Logistic{}, 2, 1, -0.8, nil}, {engine.Logistic{}, 5, 1, -0.8, nil},
		{engine.Logistic{}, 5, 1, -0.8, slices.Repeat([]int{100}, n/100)},
		{engine.MahalanobisLogistic{}, 2, engine.Symmetric{Dim: d}.Index(1, 1), 0.8, nil},
	} {
		for i := range y {
			y[i] = 2*float64(rng.IntN(c.labels))/float64(c.labels-1) - 1
		}
		w := make([]float64, c.loss.ParamDim(d))
		w[0], w[c.second] = 0.6, c.value
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 1, LabelValues: c.labels,
			Groups: c.groups}
		r, err := engine.NewRecords(x, y, d, p.Bounds)
		if err != nil {
			return err.Error(), false
		}
		var sums [2][]float64
		var bound float64
		var method string
		for i, backend := range []engine.Backend{a, b} {
			k, err := engine.Grouped{Backend: backend}.Plan(p)
			if err != nil {
				return err.Error(), false
			}
			method = k.Method()
			bound += k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum
			if sums[i], err = gradSum(k, r, w); err != nil {
				return plain(err), false
			}
		}
		diff, size := apart(sums)
		if !(diff <= bound) {
			return fmt.Sprintf("%s: the gradient differs from the CPU's gradient by %.2g (relative), more than the "+
				"proved bound %.2g", method, diff/size, bound/size), false
		}
		report = append(report, fmt.Sprintf("%s %.1g (bound %.1g)", method, diff/size, bound/size))
	}
	return "gradients agree with the CPU's: " + strings.Join(report, "; "), true
}

// apart returns the distance of two vectors, and the length of the first.
func apart(of [2][]float64) (distance, length float64) {
	for k, v := range of[0] {
		distance, length = math.Hypot(distance, v-of[1][k]), math.Hypot(length, v)
	}
	return distance, length
}

func gradSum(k engine.Kernel, r *engine.Records, w []float64) ([]float64, error) {
	e, err := k.Bind(r)
	if err != nil {
		return nil, err
	}
	sum := make([]float64, len(w))
	err = e.Sum(context.Background(), sum, engine.Gradient(w, k.Problem().Pairs()))
	return sum, errors.Join(err, e.Close())
}
