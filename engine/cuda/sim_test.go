package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/engine/terms"
	"dyad/kernels"
)

// The tests here run the embedded PTX in somebody else's program, behind the libcuda of
// bench/gpu/sim (.ci/sim), and are skipped without it.

// tampered is a driver with a defect, which counts what it is asked for.
type tampered struct {
	driver.Driver
	edit  func(ptx string) string // nil for none
	deaf  string                  // calls of this name return at once
	calls map[string]int
}

type tamperedContext struct {
	driver.Context
	*tampered
}

func (d *tampered) Attach(index int) (driver.Context, error) {
	c, err := d.Driver.Attach(index)
	return tamperedContext{c, d}, err
}

func (c tamperedContext) Load(ptx []byte) (driver.Module, error) {
	if c.edit != nil {
		ptx = []byte(c.edit(string(ptx)))
	}
	return c.Context.Load(ptx)
}

func (c tamperedContext) SyncStream(s driver.Stream) error {
	if c.deaf == "SyncStream" {
		return nil
	}
	return c.Context.SyncStream(s)
}

func (c tamperedContext) FreeHost(b []byte) error {
	if c.deaf == "FreeHost" {
		return nil
	}
	return c.Context.FreeHost(b)
}

func (c tamperedContext) SyncEvent(e driver.Event) error {
	if c.deaf == "SyncEvent" {
		return nil
	}
	return c.Context.SyncEvent(e)
}

func (c tamperedContext) LaunchGraph(g driver.Graph, s driver.Stream) error {
	c.calls["LaunchGraph"]++
	return c.Context.LaunchGraph(g, s)
}

// simFamily computes what a family of kernels computes and compares it with loops that are
// written out here, or with the engine of the CPU: a line for each comparison, with the
// distance in units of what it may be.
type simFamily struct {
	name     string
	programs []string
	run      func(t *testing.T, b Backend, calls map[string]int) ([]simLine, error)
}

type simLine struct {
	what  string
	error float64 // above 1, or not a number, is wrong
}

var simFamilies = []simFamily{
	{"near-linear", []string{"rows", "nearlinear"}, simScore(NearLinear, 700, 5, 2, false)},
	{"near-linear, panels", []string{"rows", "nearlinear"}, simScore(NearLinear, 1300, 3, 2, true)},
	{"near-linear, 5 labels", []string{"rows", "nearlinear"}, simScore(NearLinear, 300, 4, 5, false)},
	{"near-linear, wide", []string{"rows", "nearlinear"}, simScore(NearLinear, 300, 70, 2, false)},
	{"near-linear, persons", []string{"rows", "nearlinear"}, simScore(NearLinear, 400, 4, 5, false, 1, 3, 1, 7, 50)},
	{"direct, factored", []string{"rows", "score"}, simScore(Direct, 600, 5, 2, false)},
	{"direct, spliced", []string{"rows", "spliced"}, simScore(Direct, 300, 3, 5, false)},
	{"moments, small", []string{"rows", "clipped"}, simMoments(700, 7, false)},
	{"moments of persons", []string{"rows", "clipped"}, simMoments(400, 9, false, 1, 3, 1, 7, 50)},
	{"moments, wide", []string{"rows", "clipped"}, simMoments(300, 40, false)},
	{"moments in float32, small", []string{"rows", "clipped"}, simMoments(500, 6, true)},
	{"moments in float32, wide, persons", []string{"rows", "clipped"}, simMoments(260, 35, true, 2, 1, 9)},
	{"pairs", []string{"pairs"}, simPairs},
	{"metrics, fp32", []string{"metric", "metric_fp32"}, simMetric},
}

// openSim opens the library that DYAD_LIBCUDA names, with defects.
func openSim(t *testing.T, d *tampered, computes bool) (b Backend, name string) {
	t.Helper()
	if libcuda := os.Getenv("DYAD_LIBCUDA"); libcuda == "" || os.Getenv("DYAD_SIM_SEED") == "" || computes != (os.Getenv("DYAD_SIM") != "") {
		t.Skip(".ci/sim runs this")
	}
	var err error
	if d.Driver, err = driver.Open(); err != nil {
		t.Fatal(err)
	}
	d.calls = map[string]int{}
	device, err := Open(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	})
	return Backend{Device: device}, device.Info().Name
}

// TestSimCalls: without a simulator, with kernels that compute nothing, what the host calls is what
// the manual allows. DYAD_SIM_DEAF names a call that is left out, which must be found.
func TestSimCalls(t *testing.T) {
	d := &tampered{deaf: os.Getenv("DYAD_SIM_DEAF")}
	b, _ := openSim(t, d, false)
	for _, f := range simFamilies {
		if _, err := f.run(t, b, d.calls); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// TestSim: every family of kernels without tensor instructions, in the simulator. With DYAD_SIM_OUT
// it writes bench/results/gpu/sim.txt.
func TestSim(t *testing.T) {
	d := &tampered{}
	b, name := openSim(t, d, true)
	log := fmt.Sprintf("# DYAD_SIM=LIBRARY .ci/sim FILE: the embedded PTX, run by %s, a simulator in software; no GPU\n", name)
	log += "# what was computed; its distance from the definition (of pairs and metrics: from the sum of the CPU), in units of the distance that is allowed\n"
	ran := map[string]bool{}
	for _, f := range simFamilies {
		lines, err := f.run(t, b, d.calls)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		for _, l := range lines {
			row := fmt.Sprintf("%s, %s: %.2g", f.name, l.what, l.error)
			if t.Log(row); !(l.error <= 1) {
				t.Error(row)
			}
			log += row + "\n"
		}
		for _, p := range f.programs {
			ran[p] = true
		}
	}
	if d.calls["LaunchGraph"] < 4 {
		t.Errorf("sums were replayed as a graph %d times", d.calls["LaunchGraph"])
	}
	for _, name := range kernels.PTXNames() {
		if ran[name] == simLacks(name) {
			t.Errorf("%s.ptx ran: %v", name, ran[name])
		}
		log += simHash(name, embeddedPTX()[name], ran[name])
	}
	if out := os.Getenv("DYAD_SIM_OUT"); out != "" && !t.Failed() {
		if err := os.WriteFile(out, []byte(log), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// simLacks says that a program has instructions of tensor cores, which the simulator has not.
func simLacks(name string) bool {
	return slices.Contains([]string{"metric_mma", "metric_wgmma_sm90a"}, name)
}

func simHash(name, hash string, ran bool) string {
	return fmt.Sprintf("%s %s.ptx, sha256 %s\n", map[bool]string{true: "ran", false: "not run"}[ran], name, hash)
}

// staleSim says why a log of TestSim is not one of the embedded PTX, or returns "".
func staleSim(text string, embedded map[string]string) string {
	for name, hash := range embedded {
		if !strings.Contains(text, "\n"+simHash(name, hash, true)) && !strings.Contains(text, "\n"+simHash(name, hash, false)) {
			return "neither says that " + name + ".ptx ran, as embedded, nor that it did not"
		}
	}
	return ""
}

// TestSimFindsDefects is the control of TestSim: PTX that is edited, and a host that does not wait.
func TestSimFindsDefects(t *testing.T) {
	for _, c := range []struct {
		name, family string
		edit         [2]string
		deaf         string
	}{
		{name: "threads do not wait for each other", family: "near-linear", edit: [2]string{"bar.sync", "//"}},
		{name: "a bound that is passed by one", family: "direct, factored", edit: [2]string{"setp.lt.u32", "setp.le.u32"}},
		{name: "the square in place of the length", family: "moments, small", edit: [2]string{"sqrt.rn.f64", "mov.f64"}},
		{name: "a sum that is not atomic", family: "metrics, fp32", edit: [2]string{"red.global.add.u64", "st.global.u64"}},
		{name: "the larger of scale and one", family: "pairs", edit: [2]string{"min.f64", "max.f64"}},
		{name: "the host does not wait for the sum", family: "near-linear", deaf: "SyncStream"},
		{name: "the host does not wait for panels", family: "near-linear, panels", deaf: "SyncEvent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			edited := c.deaf != ""
			d := &tampered{deaf: c.deaf, edit: func(ptx string) string {
				out := ptx
				if c.deaf == "" {
					out = strings.ReplaceAll(ptx, c.edit[0], c.edit[1])
				}
				edited = edited || out != ptx
				return out
			}}
			b, _ := openSim(t, d, true)
			i := slices.IndexFunc(simFamilies, func(f simFamily) bool { return f.name == c.family })
			lines, err := simFamilies[i].run(t, b, d.calls)
			worst := 0.0
			for _, l := range lines {
				if worst = max(worst, l.error); math.IsNaN(l.error) {
					worst = math.Inf(1)
				}
			}
			if t.Logf("%d comparisons, the worst %.2g of what is allowed; %v", len(lines), worst, err); !edited || err == nil && !(worst > 1) {
				t.Errorf("not found: edited %v", edited)
			}
		})
	}
}

// simScore compares three gradient sums, at three w, with the definition. From the second one on
// resident near-linear sums of records are replayed as a graph. The rows may be those of persons.
func simScore(method Method, n, d, labels int, panels bool, persons ...int) func(*testing.T, Backend, map[string]int) ([]simLine, error) {
	return func(t *testing.T, b Backend, calls map[string]int) (lines []simLine, err error) {
		rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
		n := n + rng.IntN(40)
		x, y, w := make([]float64, n*d), make([]float64, n), make([]float64, d)
		for i := range n {
			row := x[i*d : (i+1)*d]
			fillUnit(rng, row, math.Pow(rng.Float64(), 0.3))
			y[i] = 2*float64(rng.IntN(labels))/float64(labels-1) - 1
		}
		p := engine.Problem{Loss: engine.Logistic{}, N: n, D: d, Bounds: engine.UnitBounds(), Radius: 1.7, LabelValues: labels}
		fillUnit(rng, w, 0.99*p.Radius)
		r, err := engine.NewRecords(slices.Clone(x), slices.Clone(y), d, p.Bounds)
		if err != nil {
			return nil, err
		}
		person, weight := make([]int, n), slices.Repeat([]float64{1}, n)
		for i := range person {
			person[i] = i
		}
		if len(persons) > 0 {
			p, r = personsOf(t, p, r, persons...)
			weight = weightsOf(r)
			for k := range r.Units() {
				for i, to := r.UnitRows(k); i < to; i++ {
					person[i] = k
				}
			}
		}
		b.Method = method
		if panels {
			b.Memory = driverBytes + 64<<20 + uint64(17*n+2*512*8*d+8*d*(n/tileRows+3))
		}
		k, err := b.Plan(p)
		if err != nil {
			return nil, err
		}
		if k.(*kernel).grid.resident == panels {
			return nil, fmt.Errorf("resident %v", !panels)
		}
		e, err := k.Bind(r)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, e.Close()) }()
		for call := range 3 {
			got, want, replayed := make([]float64, d), definition(x, y, w, weight, person), calls["LaunchGraph"]
			if err := e.GradSum(context.Background(), got, w, p.Pairs()); err != nil {
				return lines, err
			}
			how := "launched"
			if calls["LaunchGraph"] > replayed {
				how = "replayed"
			}
			// A bound of rounding errors of float32 is far from what they are: a hundredth of it is asked for.
			allowed := min(k.Roundoff(p.Pairs()), 1e-6*norm2(want))
			lines = append(lines, simLine{fmt.Sprintf("n = %d, d = %d, sum %d, %s", n, d, call+1, how), apartBy(got, want) / allowed})
			for j := range w { // a replayed graph must see it
				w[j] *= -0.7
			}
		}
		return lines, nil
	}
}

func norm2(v []float64) (size float64) {
	for _, a := range v {
		size = math.Hypot(size, a)
	}
	return size
}

func apartBy(got, want []float64) (away float64) {
	for k := range want {
		away = math.Hypot(away, got[k]-want[k])
	}
	return away
}

// fillUnit draws a vector of this length.
func fillUnit(rng *rand.Rand, v []float64, length float64) {
	for k := range v {
		v[k] = rng.NormFloat64()
	}
	size := norm2(v)
	for k := range v {
		v[k] *= length / size
	}
}

// definition is the sum over all ordered pairs of rows of different persons of phi'(dy ds) dy dx of
// the logistic loss, with their weights.
func definition(x, y, w, weight []float64, person []int) []float64 {
	n, d := len(y), len(w)
	s, sum := make([]float64, n), make([]float64, d)
	for i := range s {
		for k, v := range w {
			s[i] += x[i*d+k] * v
		}
	}
	for i := range y {
		for j := range y {
			if person[i] == person[j] {
				continue
			}
			dy := y[i] - y[j]
			slope := -dy / (1 + math.Exp(dy*(s[i]-s[j]))) * weight[i] * weight[j]
			for k := range sum {
				sum[k] += slope * (x[i*d+k] - x[j*d+k])
			}
		}
	}
	return sum
}

// simMoments compares passes of three kinds with sums over x~ that are written out. The rows are
// those of persons with these numbers of them, in turn, or records, stored in float32 or float64.
func simMoments(n, d int, narrow bool, persons ...int) func(*testing.T, Backend, map[string]int) ([]simLine, error) {
	return func(t *testing.T, b Backend, _ map[string]int) (lines []simLine, err error) {
		rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
		x, y := make([]float64, n*d), make([]float64, n)
		centre, model := make([]float64, d), make([]float64, d)
		for i := range y {
			fillUnit(rng, x[i*d:(i+1)*d], 0.6*rng.Float64())
			y[i] = float64(2*rng.IntN(2) - 1)
		}
		fillUnit(rng, centre, 0.1)
		fillUnit(rng, model, 3)
		p := engine.Problem{Loss: engine.Logistic{}, N: n, D: d, Bounds: engine.Bounds{FeatureNorm: 10, LabelAbs: 1}, Radius: 1}
		r, err := engine.NewRecords(slices.Clone(x), slices.Clone(y), d, p.Bounds)
		if err != nil {
			return nil, err
		}
		if narrow {
			var wide *engine.Records
			r, wide = narrowed(t, p, r)
			for i := range n {
				wide.Row(i, x[i*d:(i+1)*d])
			}
		}
		weight := slices.Repeat([]float64{1}, n)
		if len(persons) > 0 {
			p, r = personsOf(t, p, r, persons...)
			weight = weightsOf(r)
		}
		for _, m := range []engine.MomentSums{
			{Radius: 0.3, Centre: centre, Signed: true, Offset: 0.1, Second: engine.FullSecond},
			{Radius: 0.3, Centre: centre, Model: model, Intercept: 0.2},
			{Radius: 0.5, Centre: centre, Class: 1, Second: engine.DiagonalSecond},
		} {
			got, k, err := momentsOf(b, p, r, m)
			if err != nil {
				return lines, err
			}
			sum, second := momentDefinition(x, y, weight, m)
			bound := k.MomentsError(m.Radius, m.Second)
			name := fmt.Sprintf("n = %d, d = %d, ", n, d)
			// The clipped records differ by a few units in the last place, those of these sums too.
			slack := float64(n) * m.Radius * float64(d+60) * 0x1p-52
			lines = append(lines, simLine{name + "sums", apartBy(got.Sum, sum) / (bound.Sum + slack)})
			if m.Second != engine.NoSecond {
				lines = append(lines, simLine{name + "second moments", apartBy(got.Second, second) / (bound.Second + 2*slack)})
			}
		}
		return lines, nil
	}
}

func momentDefinition(x, y, weight []float64, m engine.MomentSums) (sum, second []float64) {
	d := len(m.Centre)
	sum, second = make([]float64, d), make([]float64, m.Second.Len(d))
	z := make([]float64, d)
	for i, label := range y {
		if m.Class != 0 && label != m.Class {
			continue
		}
		for k := range z {
			z[k] = x[i*d+k] - m.Centre[k]
		}
		scale, score := min(1, m.Radius/norm2(z)), m.Intercept
		for k := range z {
			if z[k] *= scale; m.Model != nil {
				score += z[k] * m.Model[k]
			}
		}
		a := 1.0
		switch {
		case m.Model != nil:
			a = 1/(1+math.Exp(-score)) - (1+label)/2
		case m.Signed:
			a = (label - m.Offset) / (1 + math.Abs(m.Offset))
		}
		at := 0
		for k := range z {
			sum[k] += weight[i] * a * z[k]
			switch m.Second {
			case engine.DiagonalSecond:
				second[k] += weight[i] * z[k] * z[k]
			case engine.FullSecond:
				for l := k; l < d; l++ {
					root := 1.0
					if l > k {
						root = math.Sqrt2
					}
					second[at] += weight[i] * root * z[k] * z[l]
					at++
				}
			}
		}
	}
	return sum, second
}

// simPairs compares batches of labelled pairs with the CPU.
func simPairs(t *testing.T, b Backend, _ map[string]int) (lines []simLine, err error) {
	for _, c := range []struct {
		rows, d int
		loss    terms.Loss
		how     terms.Clip
	}{{3, 5, terms.Contrastive{Margin: 1}, terms.WholeMatrix}, {1, 33, terms.BradleyTerry{}, terms.WholeMatrix}, {9, 4, terms.Contrastive{Margin: 2}, terms.RowByRow}} {
		data := pairData(t, 40, c.d, 100, terms.L2)
		gpu, err := b.Sums(data, c.loss, c.rows)
		if err != nil {
			return lines, err
		}
		onCPU, err := terms.CPU{}.Sums(data, c.loss, c.rows)
		if err != nil {
			return lines, err
		}
		w := weights(c.rows*c.d, 0.5)
		for _, clip := range []float64{0.01, 1e30} {
			got, want := make([]float64, len(w)), make([]float64, len(w))
			err := errors.Join(gpu.Sum(context.Background(), got, w, allOf(100), clip, c.how), onCPU.Sum(context.Background(), want, w, allOf(100), clip, c.how))
			if err != nil {
				return lines, errors.Join(err, gpu.Close())
			}
			lines = append(lines, simLine{fmt.Sprintf("%d x %d, %s, clip %g", c.rows, c.d, c.loss.Name(), clip), relative(got, want) / 1e-12})
		}
		if err := gpu.Close(); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// simMetric compares sums of Mahalanobis losses in float32 with the CPU.
func simMetric(t *testing.T, b Backend, _ map[string]int) (lines []simLine, err error) {
	b.Precision = FP32
	for _, size := range [][2]int{{67, 9}, {180, 20}} {
		p, r, _ := measured(t, size[0], size[1], 2)
		p, w := metricMeasured(p)
		got, err := sumOf(b, p, r, w)
		if err != nil {
			return lines, err
		}
		want, err := sumOf(cpu.Backend{}, p, r, w)
		if err != nil {
			return lines, err
		}
		lines = append(lines, simLine{fmt.Sprintf("n = %d, d = %d", size[0], size[1]), relative(got, want) / metricError[FP32]})
	}
	return lines, nil
}
