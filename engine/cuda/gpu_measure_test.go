package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// result is a file in bench/results/gpu.
type result struct {
	PTX          map[string]string `json:"ptx_sha256"` // by name
	Device       driver.Device     `json:"device"`
	CUDA         int               `json:"driver_cuda_version"`
	Cores        int               `json:"cpu_cores"`
	Measurements []measurement     `json:"measurements"`
}

type measurement struct {
	Case     string   `json:"case"`
	N        int      `json:"n"`
	D        int      `json:"d"`
	Labels   int      `json:"labels,omitempty"` // over all pairs
	Group    int      `json:"group,omitempty"`  // records of a query group, or 0
	Loss     string   `json:"loss,omitempty"`   // if not logistic
	Rows     int      `json:"rows,omitempty"`   // of W, for lists of pairs
	Method   string   `json:"method"`
	Device   string   `json:"device"`
	Programs []string `json:"programs,omitempty"` // of the PTX that ran
	Panels   bool     `json:"panels,omitempty"`   // X is copied to the GPU in every call
	// Pairs are the ordered pairs of the sum, and Visited those that the kernels compute: the
	// rate that a bar is about is that of Visited.
	Pairs   int64   `json:"pairs"`
	Visited int64   `json:"visited,omitempty"`
	Rate    float64 `json:"visited_per_second,omitempty"`
	Bind    float64 `json:"bind_seconds"`
	Seconds float64 `json:"seconds"` // the fastest call, all copies included
	// Bandwidth is that of reading X twice, in bytes a second.
	Bandwidth float64 `json:"x_twice_bytes_per_second,omitempty"`
	// OfFloor is, for Mahalanobis losses, the floor of the arithmetic as a part of the time.
	OfFloor float64 `json:"of_floor,omitempty"`
	// Against is what the sum was compared with, Error the relative distance and Limit what it
	// may be: 0 if all bits must agree.
	Against string  `json:"compared_with,omitempty"`
	Error   float64 `json:"relative_error"`
	Limit   float64 `json:"limit"`
	Failed  string  `json:"failed,omitempty"`
}

// A gpuCase is timed and its sum compared: direct sums of the logistic loss with near-linear
// ones, panels with resident records, precisions with carried sums or with fp32, and all
// others with the CPU's.
type gpuCase struct {
	family          string
	n, d            int
	labels          int // default 2
	group, rows     int
	loss            engine.Loss // default logistic, or Mahalanobis for a precision
	panels, cpuTime bool
}

func (c gpuCase) name() string {
	name := fmt.Sprintf("%s,n=%d,d=%d", c.family, c.n, c.d)
	if c.labels > 2 {
		name += fmt.Sprintf(",labels=%d", c.labels)
	}
	if c.group > 0 {
		name += fmt.Sprintf(",group=%d", c.group)
	}
	if c.loss != nil {
		name += "," + c.loss.Name()
	}
	if c.panels {
		name += ",panels"
	}
	return name
}

func (c gpuCase) precision() (Precision, bool) {
	p, err := ParsePrecision(c.family)
	return p, err == nil
}

// gpuCases are what is measured, by stages of bench/gpu/run.sh, what matters most first:
// peek looks at everything, profile is for counters, record holds the bars, and the grid is
// what auto.json is fitted to.
func gpuCases(t *testing.T) map[string][]gpuCase {
	hinge, ramp := library(t)["hinge"], library(t)["ramp"]
	all := map[string][]gpuCase{
		"peek": {
			{family: "near-linear", n: 1e7, d: 20}, {family: "near-linear", n: 1e4, d: 20},
			{family: "factored", n: 1e6, d: 20}, {family: "spliced", n: 1e5, d: 20, labels: 5},
			{family: "groups", n: 1e5, d: 20, labels: 5, group: 100}, {family: "pairs", n: 2e4, d: 32, rows: 16},
		},
		"profile": {
			{family: "near-linear", n: 1e7, d: 20}, {family: "factored", n: 2e5, d: 20}, {family: "spliced", n: 5e4, d: 20, labels: 5},
			{family: "pairs", n: 2e4, d: 32, rows: 16},
		},
		"record": {
			{family: "factored", n: 1e6, d: 20}, {family: "factored", n: 3001, d: 20}, {family: "factored", n: 1e5, d: 20},
			{family: "near-linear", n: 1e8, d: 20}, {family: "near-linear", n: 1e7, d: 32, panels: true},
			{family: "spliced", n: 1e6, d: 20, labels: 5},
		},
		"groups": {
			{family: "groups", n: 1e6, d: 32, labels: 5, group: 10, cpuTime: true}, {family: "groups", n: 1e6, d: 32, labels: 5, group: 100, cpuTime: true},
			{family: "groups", n: 1e6, d: 32, labels: 5, group: 4000, cpuTime: true}, {family: "groups", n: 1e6, d: 32, labels: 5, group: 1e5, cpuTime: true},
			{family: "groups", n: 1e6, d: 32, labels: 5, group: 100, loss: hinge}, {family: "spliced", n: 1e5, d: 32, labels: 5, loss: hinge},
			{family: "spliced", n: 1e5, d: 32, labels: 5, loss: ramp},
		},
	}
	for _, family := range []string{"bf16x3"} {
		for _, d := range []int{128, 64, 256} {
			all["peek"] = append(all["peek"], gpuCase{family: family, n: 3e4, d: d})
			all["record"] = append(all["record"], gpuCase{family: family, n: 1e5, d: d})
		}
		for _, n := range []int{1e3, 1e4} {
			for _, d := range []int{64, 256} {
				all["grid"] = append(all["grid"], gpuCase{family: family, n: n, d: d})
			}
		}
	}
	for _, family := range []string{"fp32"} {
		for _, d := range []int{64, 128, 256} {
			all["rest"] = append(all["rest"], gpuCase{family: family, n: 1e5, d: d})
		}
	}
	for _, family := range []string{"fp32", "bf16x3"} {
		all["profile"] = append(all["profile"], gpuCase{family: family, n: 2e4, d: 128})
	}
	for _, n := range []int{1e3, 1e4, 1e5, 1e6, 1e7} {
		for _, d := range []int{8, 32, 128} {
			all["grid"] = append(all["grid"], gpuCase{family: "near-linear", n: n, d: d, cpuTime: true})
			if n <= 1e5 {
				all["grid"] = append(all["grid"], gpuCase{family: "near-linear", n: n, d: d, labels: 5, cpuTime: true}, gpuCase{family: "spliced", n: n, d: d, labels: 5})
			}
			if n <= 1e6 && n >= 1e4 {
				all["grid"] = append(all["grid"], gpuCase{family: "factored", n: n, d: d})
				all["pairs"] = append(all["pairs"], gpuCase{family: "pairs", n: n / 5, d: d, rows: 16, cpuTime: true})
			}
		}
	}
	return all
}

// TestGPUMeasure times and compares the cases of a stage and a family, chosen by
// -test.run TestGPUMeasure/STAGE/FAMILY, and writes them after each case to
// gpu-MODEL-STAGE-FAMILY.json in the folder named by DYAD_GPU_OUT. A case that fails is
// recorded and the rest goes on.
func TestGPUMeasure(t *testing.T) {
	out := os.Getenv("DYAD_GPU_OUT")
	if out == "" {
		t.Skip("DYAD_GPU_OUT names no folder")
	}
	for stage, cases := range gpuCases(t) {
		t.Run(stage, func(t *testing.T) {
			for len(cases) > 0 {
				family := cases[0].family
				mine := slices.DeleteFunc(slices.Clone(cases), func(c gpuCase) bool { return c.family != family })
				cases = slices.DeleteFunc(slices.Clone(cases), func(c gpuCase) bool { return c.family == family })
				t.Run(family, func(t *testing.T) {
					b, version := openGPU(t)
					r := result{PTX: embeddedPTX(), Device: b.Device.Info(), CUDA: version, Cores: runtime.NumCPU()}
					model := strings.ToLower(strings.Join(strings.Fields(r.Device.Name), "-"))
					file := filepath.Join(out, fmt.Sprintf("gpu-%s-%s-%s.json", model, stage, family))
					for _, c := range mine {
						r.Measurements = append(r.Measurements, runCase(t, b, c)...)
						writeResult(t, file, r) // after each case: the time may be limited
					}
				})
			}
		})
	}
}

// runCase measures a case on the GPU, compares its sum, and times the CPU if that is asked.
func runCase(t *testing.T, b Backend, c gpuCase) []measurement {
	c.labels = max(c.labels, 2)
	m := measurement{Case: c.name(), N: c.n, D: c.d, Device: b.Name()}
	if rehearsed() {
		c.n, c.d = min(c.n, 120), min(c.d, 20) // whole groups
		if c.rows > 0 {
			c.n = 20
		}
		c.group = min(c.group, 40)
	}
	var others []measurement
	var err error
	if c.rows > 0 {
		others, err = c.pairs(t, b, &m)
	} else {
		others, err = c.sums(t, b, &m)
	}
	if math.IsNaN(m.Error) || math.IsInf(m.Error, 0) {
		m.Error = math.MaxFloat64 // JSON has no other
	}
	if err == nil && !(m.Error <= m.Limit) {
		err = fmt.Errorf("the sum is %.2g from that of %s, relatively, more than %.2g", m.Error, m.Against, m.Limit)
	}
	word := "ok  "
	if err != nil {
		m.Failed, word = err.Error(), "FAIL"
		t.Errorf("%s: %v", m.Case, err)
	}
	summary(t, "%s %-34s %10.4g ms %8.3g visited/s %8.3g B/s  error %.1e against %s", word, m.Case, 1000*m.Seconds, m.Rate, m.Bandwidth, m.Error, m.Against)
	return append([]measurement{m}, others...)
}

// sums measures a gradient sum over all pairs or those within groups.
func (c gpuCase) sums(t *testing.T, b Backend, m *measurement) (others []measurement, err error) {
	p, r, w := measured(t, c.n, c.d, c.labels)
	precision, metric := c.precision()
	switch {
	case metric:
		b.Precision = precision
		p, w = metricMeasured(p)
	case c.family == "near-linear":
		b.Method = NearLinear
	case c.group == 0:
		b.Method = Direct
	}
	if c.loss != nil {
		p.Loss, m.Loss = c.loss, c.loss.Name()
	}
	if c.group > 0 {
		p.Groups = slices.Repeat([]int{c.group}, c.n/c.group)
	}
	resident := b
	if c.panels && !rehearsed() {
		b.Memory = panelMemory(c.n, c.d)
	}
	m.Labels, m.Group, m.Panels = c.labels, c.group, c.panels
	sum, err := measure(b, p, r, w, m)
	if err != nil {
		return nil, err
	}
	if m.Visited > 0 {
		m.Rate = float64(m.Visited) / m.Seconds
	}
	if metric {
		m.OfFloor = metricFloor(precision, c.n, c.d) / m.Seconds
	} else {
		m.Bandwidth = 16 * float64(p.N) * float64(p.D) / m.Seconds
	}
	host := cpu.Backend{Workers: runtime.NumCPU()}
	var want []float64
	switch {
	case c.panels:
		m.Against = "resident records"
		want, err = sumOf(resident, p, r, w)
	case metric:
		if want, err = carriedSum(p, r); want != nil || err != nil {
			m.Against, m.Limit = "the carried sum of the CPU", metricError[precision]
			sum = project(sum)
			break
		}
		m.Limit = metricError[precision]
		if precision == FP32 || rehearsed() {
			m.Against = "the CPU"
			want, err = sumOf(host, p, r, w)
			break
		}
		m.Against = "fp32"
		b.Precision = FP32
		want, err = sumOf(b, p, r, w)
	case b.Method == Direct && c.loss == nil:
		m.Against, m.Limit = "near-linear", 1e-6
		b.Method = NearLinear
		want, err = sumOf(b, p, r, w)
	default:
		if m.Against, m.Limit = "the CPU", 1e-4; b.Method == NearLinear {
			m.Limit = 1e-11
		}
		other := measurement{Case: m.Case, N: m.N, D: m.D, Labels: m.Labels, Group: m.Group, Loss: m.Loss, Device: host.Name()}
		if !c.cpuTime {
			want, err = sumOf(host, p, r, w)
		} else if want, err = measure(host, p, r, w, &other); err == nil {
			others = append(others, other)
		}
	}
	if err != nil {
		return others, fmt.Errorf("the sum to compare with, %s: %w", m.Against, err)
	}
	if m.Error = relative(sum, want); m.Limit == 0 && !slices.Equal(sum, want) {
		m.Error = max(m.Error, math.SmallestNonzeroFloat64)
	}
	return others, nil
}

// visited returns the number of unordered pairs that the kernel computes for records with these labels. It
// is 0 for the near-linear method.
func visited(of planned, labels []float64) (pairs int64) {
	k, scores := of.(*kernel)
	if _, metric := of.(*metricKernel); metric {
		return int64(of.Problem().N) * int64(of.Problem().N-1) / 2
	}
	if !scores || !k.direct {
		return 0
	}
	if k.factored { // the pairs of a record with the smallest label and a record with the other label
		least := slices.Min(labels)
		for _, y := range labels {
			if y == least {
				pairs++
			}
		}
		return pairs * (int64(len(labels)) - pairs)
	}
	for _, size := range k.groups() {
		if size < k.nearFrom {
			pairs += int64(size) * int64(size-1) / 2
		}
	}
	return pairs
}

// measure times a gradient sum, the fastest of five, or of as many as take three seconds.
func measure(b engine.Backend, p engine.Problem, r *engine.Records, w []float64, m *measurement) ([]float64, error) {
	k, err := engine.Grouped{Backend: b}.Plan(p)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	e, err := k.Bind(r)
	if err != nil {
		return nil, err
	}
	pairs := p.Pairs()
	m.Method, m.Pairs, m.Bind = k.Method(), pairs.Len(), time.Since(start).Seconds()
	if k, ok := k.(planned); ok {
		m.Programs, m.Visited = k.programs(), visited(k, r.Labels())
	}
	sum := make([]float64, len(w))
	begin := time.Now()
	for i := 0; i < 5 && (i == 0 || time.Since(begin) < 3*time.Second); i++ {
		start := time.Now()
		if err = e.Sum(context.Background(), sum, engine.Gradient(w, pairs)); err != nil {
			break
		}
		if s := time.Since(start).Seconds(); m.Seconds == 0 || s < m.Seconds {
			m.Seconds = s
		}
	}
	return sum, errors.Join(err, e.Close())
}

// pairs measures a sum over a list of five pairs a record.
func (c gpuCase) pairs(t *testing.T, b Backend, m *measurement) (others []measurement, err error) {
	count := 5 * c.n
	data := pairData(t, c.n, c.d, count, embedding.L2)
	m.Rows, m.Method, m.Pairs, m.Visited, m.Programs = c.rows, "pairs", int64(count), int64(count), []string{"pairs"}
	sum, err := measurePairs(b, data, m)
	if err != nil {
		return nil, err
	}
	host := embedding.CPU{Workers: runtime.NumCPU()}
	other := *m
	other.Device, other.Programs, other.Seconds = host.Name(), nil, 0
	m.Rate, m.Against, m.Limit = float64(count)/m.Seconds, "the CPU", 1e-10
	want, err := measurePairs(host, data, &other)
	if err != nil {
		return nil, err
	}
	m.Error = relative(sum, want)
	if c.cpuTime {
		others = append(others, other)
	}
	return others, nil
}

func measurePairs(e embedding.Engine, data *embedding.Data, m *measurement) ([]float64, error) {
	s, err := e.Sums(data, embedding.Contrastive{Margin: 1}, m.Rows)
	if err != nil {
		return nil, err
	}
	sum, w := make([]float64, s.Len()), weights(s.Len(), 0.1)
	for range 5 {
		start := time.Now()
		if err = s.Sum(context.Background(), sum, w, upTo(0, len(data.Graph().Pairs())), 0.5, embedding.WholeMatrix); err != nil {
			break
		}
		if s := time.Since(start).Seconds(); m.Seconds == 0 || s < m.Seconds {
			m.Seconds = s
		}
	}
	return sum, errors.Join(err, s.Close())
}

func writeResult(t *testing.T, out string, r result) {
	t.Helper()
	text := must.Get(json.MarshalIndent(r, "", "\t"))(t)
	must.Do(t, os.WriteFile(out, append(text, '\n'), 0o644))
}

// summary adds a line to summary.txt in the folder of results, if there is one.
func summary(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	out := os.Getenv("DYAD_GPU_OUT")
	if out == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(out, "summary.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// measured are n records of d features and a problem of logistic scores.
func measured(t *testing.T, n, d, labels int) (engine.Problem, *engine.Records, []float64) {
	t.Helper()
	x, y, w := make([]float64, n*d), make([]float64, n), make([]float64, d)
	var group sync.WaitGroup
	const rows = 1 << 16
	for from := 0; from < n; from += rows {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(from)))
			for i := from; i < min(n, from+rows); i++ {
				for k := range d {
					x[i*d+k] = 2*rng.Float64() - 1
				}
				y[i] = 2*float64(rng.IntN(labels))/float64(labels-1) - 1
			}
		})
	}
	group.Wait()
	w[0] = 1
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: labels}
	r := must.Get(engine.AdoptRecords(x, y, d, p.Bounds))(t)
	return p, r, w
}
