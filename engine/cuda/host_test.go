package cuda

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/ptxtest"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/kernels"
)

// The sources of the kernels, compiled for the CPU, in the place of the GPU: see ptxtest.Host.

var host = flag.Bool("host", false, "compile the CUDA kernels for this processor with g++ or clang++ and sanitizers, and run them")

// onlyHost skips the tests that compile, unless they are asked for.
func onlyHost(t *testing.T) {
	if !*host {
		t.Skip("needs a C++ compiler and some minutes: make host")
	}
}

// onHost returns the sources compiled with a sanitizer.
func onHost(t *testing.T, s ptxtest.Sanitizer, edit ptxtest.Edit) *ptxtest.Host {
	t.Helper()
	h, err := ptxtest.NewHost("../../kernels/cuda", t.TempDir(), s, edit)
	if errors.Is(err, ptxtest.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// hostCase is a gradient sum: of scores by a method, with labels and groups, of metrics in a
// precision, or of listed pairs. The logistic loss is what the models of the host have.
type hostCase struct {
	name      string
	n, d      int
	labels    int // 0: of metrics
	groups    []int
	method    Method
	precision Precision
	limit     float64 // relative distance from the sum of the CPU
}

// sum is the sum on a fake driver, compared with that of the CPU.
func (c hostCase) sum(t *testing.T, f *fakeDriver) error {
	t.Helper()
	b := openFake(t, f)
	b.Method, b.Precision = c.method, c.precision
	p, r, w := measured(t, c.n, c.d, max(c.labels, 2))
	p.Groups = c.groups
	if c.labels == 0 {
		p, w = metricMeasured(p)
		for i := range w { // W has entries off the diagonal
			w[i] = 0.99*w[i] + 0x1p-10/float64(c.d)*float64(i%3)
		}
	}
	if c.labels > 0 && c.d > maxJobs { // kernels that are not fused
		p.Radius = 2
		for i := range w {
			w[i] *= p.Radius
		}
	}
	all := []engine.Pairs{p.Pairs()}
	if c.labels == 0 {
		all = append(all, engine.PrefixPairs{T: c.n - 1})
	}
	got, err := sumsOver(b, p, r, w, all)
	if err != nil {
		return err
	}
	want := must.Get(sumsOver(cpu.Backend{}, p, r, w, all))(t)
	for i, pairs := range all {
		away := relative(got[i], want[i])
		t.Logf("%s, n = %d, d = %d: sum over %T %.2g from the CPU's", c.name, c.n, c.d, pairs, away)
		if !(away <= c.limit) {
			return fmt.Errorf("the sum is %.2g from the CPU's, more than %.2g", away, c.limit)
		}
	}
	return nil
}

// sumsOver are the sums over several sets of pairs.
func sumsOver(b engine.Backend, p engine.Problem, r *engine.Records, w []float64, all []engine.Pairs) (sums [][]float64, err error) {
	k, err := engine.Grouped{Backend: b}.Plan(p)
	if err != nil {
		return nil, err
	}
	e, err := k.Bind(r)
	if err != nil {
		return nil, err
	}
	for _, pairs := range all {
		sum := make([]float64, len(w))
		if err := e.Sum(context.Background(), sum, engine.Gradient(w, pairs)); err != nil {
			return nil, errors.Join(err, e.Close())
		}
		sums = append(sums, sum)
	}
	return sums, e.Close()
}

// hostCases are those of every program: small ones have two strips, spans or pieces, and
// large ones many.
func hostCases(large bool) []hostCase {
	if large {
		return []hostCase{
			{"near-linear", 100_003, 20, 2, nil, NearLinear, 0, 1e-11},
			{"near-linear, many labels", 20_011, 3, 5, nil, NearLinear, 0, 1e-11},
			{"factored", 12_011, 3, 2, nil, Direct, 0, 1e-6},
			{"spliced", 6007, 3, 5, nil, Direct, 0, 1e-6},
			{"groups", 5001, 3, 5, []int{7, 64, 65, 1500, 1, 3364}, Direct, 0, 1e-6},
			{"fp32", 2100, 20, 0, nil, 0, FP32, metricError[FP32]},
			{"bf16x3", 1100, 20, 0, nil, 0, BF16x3, metricError[BF16x3]},
			{"bf16x3, more features", 300, 130, 0, nil, 0, BF16x3, metricError[BF16x3]},
		}
	}
	return []hostCase{ // relatively to sums of terms that cancel
		{"near-linear", 2300, 3, 2, nil, NearLinear, 0, 1e-11},
		{"near-linear, more features and terms", 300, 70, 2, nil, NearLinear, 0, 1e-11},
		{"factored", 300, 3, 2, nil, Direct, 0, 1e-6},
		{"spliced", 150, 3, 5, nil, Direct, 0, 1e-6},
		{"groups", 107, 3, 5, groupSizes, Direct, 0, 1e-6},
		{"fp32", 130, 5, 0, nil, 0, FP32, 10 * metricError[FP32]},
		{"bf16x3", 150, 5, 0, nil, 0, BF16x3, 10 * metricError[BF16x3]},
		{"bf16x3, more features", 70, 70, 0, nil, 0, BF16x3, 10 * metricError[BF16x3]},
	}
}

// hostPairs is the sum of listed pairs, compared with that of the CPU.
func hostPairs(t *testing.T, f *fakeDriver, individuals, pairs int) error {
	t.Helper()
	const d, rows = 33, 9
	data := pairData(t, individuals, d, pairs, embedding.L2)
	s := openPairs(t, openFake(t, f), data, embedding.Contrastive{Margin: 1}, rows)
	reference := must.Get(embedding.CPU{}.Sums(data, embedding.Contrastive{Margin: 1}, rows))(t)
	w := weights(s.Len(), 0.3)
	got, want := make([]float64, s.Len()), make([]float64, s.Len())
	if err := s.Sum(t.Context(), got, w, upTo(0, pairs), 0.2, embedding.WholeMatrix); err != nil {
		return err
	}
	must.Do(t, reference.Sum(t.Context(), want, w, upTo(0, pairs), 0.2, embedding.WholeMatrix))
	if away := relative(got, want); !(away <= 1e-10) {
		return fmt.Errorf("the sum is %.2g from the CPU's", away)
	}
	return nil
}

// hostMoments are sums of moments, compared with those of the CPU.
func hostMoments(t *testing.T, f *fakeDriver, large bool) error {
	t.Helper()
	cases := momentCases(true)
	if large {
		m := engine.Query{Radius: 0.8, Signed: true, Second: engine.FullSecond}
		cases = []momentCase{{100_003, 20, m}, {3001, 70, m}}
	}
	for _, c := range cases {
		p, r, _ := records(t, c.n, c.d, 2)
		if err := apart(c, p, r, openFake(t, f)); err != nil {
			return fmt.Errorf("n = %d, d = %d: %w", c.n, c.d, err)
		}
		if r, _ = narrowed(t, p, r); c.m.Signed || c.m.W != nil {
			if err := apart(c, p, r, openFake(t, f)); err != nil {
				return fmt.Errorf("n = %d, d = %d in float32: %w", c.n, c.d, err)
			}
		}
	}
	return personMoments(t, openFake(t, f), !large)
}

// hostPersons are sums over pairs of persons, near-linear ones with n rows together, compared with those of the CPU.
func hostPersons(t *testing.T, f *fakeDriver, n int) error {
	t.Helper()
	for _, c := range []struct {
		n     int
		b     Backend
		limit float64
		loss  engine.Loss
	}{
		{n, Backend{Method: NearLinear}, 1e-11, engine.Logistic{}}, {min(n, 1500) / 4, Backend{Method: Direct}, 1e-6, engine.Logistic{}},
		{min(n, 4800) / 4, Backend{}, 1e-5, engine.MahalanobisLogistic{}},
	} {
		p, r, w := records(t, c.n, 5, 5)
		if p.Loss = c.loss; len(w) != c.loss.ParamDim(p.D) {
			p, w = metricMeasured(p)
		}
		p, r = personsOf(t, p, r, 1, 3, 1, 7, 150)
		c.b.Device = openFake(t, f).Device
		got, err := sumOf(c.b, p, r, w)
		if err != nil {
			return err
		}
		want := must.Get(sumOf(cpu.Backend{}, p, r, w))(t)
		if away := relative(got, want); !(away <= c.limit) {
			return fmt.Errorf("the sum of %s is %.2g from the CPU's, more than %.2g", c.loss.Name(), away, c.limit)
		}
	}
	return nil
}

// hostFake is the fake driver with the compiled sources along with the interpreter, or alone.
func hostFake(h *ptxtest.Host, alone bool) *fakeDriver {
	f := newFake()
	f.machine.Host, f.machine.HostOnly = h, alone
	return f
}

// hostJobs are the cases and the other sums, by name.
func hostJobs(large bool) map[string]func(t *testing.T, f *fakeDriver) error {
	individuals, pairs, rows := 40, 130, 700
	if large {
		individuals, pairs, rows = 3000, 100_000, 50_000
	}
	jobs := map[string]func(t *testing.T, f *fakeDriver) error{
		"persons":  func(t *testing.T, f *fakeDriver) error { return hostPersons(t, f, rows) },
		"pairs":    func(t *testing.T, f *fakeDriver) error { return hostPairs(t, f, individuals, pairs) },
		"moments":  func(t *testing.T, f *fakeDriver) error { return hostMoments(t, f, large) },
		"networks": func(t *testing.T, f *fakeDriver) error { return hostNetworks(t, openFake(t, f), large) },
		"tuples":   func(t *testing.T, f *fakeDriver) error { return hostTuples(t, openFake(t, f), large) },
	}
	for _, c := range hostCases(large) {
		jobs[c.name] = c.sum
	}
	return jobs
}

// runHostCases runs all of them.
func runHostCases(t *testing.T, h *ptxtest.Host, alone, large bool) {
	for name, job := range hostJobs(large) {
		must.CheckDo(t, job(t, hostFake(h, alone)), name)
	}
	if large {
		return // their kernels depend on the sizes
	}
	for _, program := range kernels.PTXNames() {
		for _, name := range ptxtest.Kernels(program) {
			if h.Launched[name] == 0 {
				t.Errorf("no case launches %s", name)
			}
		}
	}
}

// TestHost: the interpreter of PTX and the compiled sources leave the same bits in every
// buffer, after every launch of every kernel: two readings of what the instructions do. Then
// the sources alone, with many tiles, strips, spans and chunks; accesses outside of buffers and
// undefined behaviour are found.
func TestHost(t *testing.T) {
	onlyHost(t)
	h := onHost(t, ptxtest.Addresses, ptxtest.Edit{})
	t.Run("agrees", func(t *testing.T) { runHostCases(t, h, false, false) })
	t.Run("large", func(t *testing.T) { runHostCases(t, h, true, true) })
}

// TestHostExecutor writes the sources as a library for .ci/sim to the file that DYAD_EXECUTOR_OUT names.
func TestHostExecutor(t *testing.T) {
	out := os.Getenv("DYAD_EXECUTOR_OUT")
	if out == "" {
		t.Skip(".ci/sim runs this")
	}
	must.Do(t, onHost(t, ptxtest.Addresses, ptxtest.Edit{}).Executor("../../bench/gpu/sim", out))
}

// TestHostRaces: what threads of a block, or of two blocks, touch is touched with barriers
// between or by atomic additions.
func TestHostRaces(t *testing.T) {
	onlyHost(t)
	runHostCases(t, onHost(t, ptxtest.Races, ptxtest.Edit{}), true, false)
}

// TestHostDefects: defects that are put into the sources are found.
func TestHostDefects(t *testing.T) {
	onlyHost(t)
	const off, overflow, race, differs = "from the CPU's, more than", "heap-buffer-overflow", "data race", ", on the host "
	edit := func(program, old, new string) ptxtest.Edit {
		return ptxtest.Edit{Program: program, File: program + ".cu", Old: old, New: new}
	}
	noBarrier := func(program string) ptxtest.Edit { return edit(program, "\tbarrier();\n", "") }
	for _, c := range []struct {
		name, of  string // of a case
		sanitizer ptxtest.Sanitizer
		edit      ptxtest.Edit
		want      string
	}{
		{"a chunk too long", "fp32", ptxtest.Addresses, edit("metric", "from + chunk < n ? from + chunk : n;", "from + chunk;"), overflow},
		{"a pair too many", "pairs", ptxtest.Addresses, edit("pairs", "if (p >= count) return;", "if (p > count) return;"), overflow},
		{"a tile of coefficients not waited for", "fp32", ptxtest.Addresses, edit("metric_fp32", "\t\tbarrier();\n\t\tif (k0 == 0", "\t\tif (k0 == 0"), off},
		{"lanes that end early", "bf16x3", ptxtest.Addresses, edit("metric_mma", "if (r0 >= n ||", "if (r0 + lane() >= n ||"), "FAIL some lanes of a warp"},
		{"hi and lo exchanged", "bf16x3", ptxtest.Addresses, edit("metric_mma", "both[m] = hi, both[m + 2] = lo;", "both[m] = lo, both[m + 2] = hi;"), off},
		{"a sum of products in float32", "bf16x3", ptxtest.Addresses,
			ptxtest.Edit{Program: "metric_mma", File: "tensor.h", Old: "double sum = s[e];", New: "float sum = s[e];"}, differs},
		{"no barrier in metric.cu", "fp32", ptxtest.Races, noBarrier("metric"), race},
		{"no barrier in metric_fp32.cu", "fp32", ptxtest.Races, noBarrier("metric_fp32"), race},
		{"no barrier in pairs.cu", "pairs", ptxtest.Races, noBarrier("pairs"), race},
		{"no barrier in score.cu", "factored", ptxtest.Races, noBarrier("score"), race},
		{"no barrier in rows.cu", "factored", ptxtest.Races, noBarrier("rows"), race},
		{"no barrier in nearlinear.cu", "near-linear", ptxtest.Races, noBarrier("nearlinear"), race},
		{"no barrier in clipped.cu", "moments", ptxtest.Races, noBarrier("clipped"), race},
		{"no barrier in spliced_persons.cu", "persons", ptxtest.Races, noBarrier("spliced_persons"), race},
		{"no barrier in metric_persons.cu", "persons", ptxtest.Races, noBarrier("metric_persons"), race},
		{"a row of another person too many", "persons", ptxtest.Addresses, edit("spliced_persons", "c0 + j < last) {", "c0 + j <= last) {"), overflow},
		{"pairs within a person", "persons", ptxtest.Addresses, edit("metric_persons", "from[p] <= j && j < n", "r0 + 4 * ty + p < j && j < n"), off},
		{"a row too many", "moments", ptxtest.Addresses, edit("clipped", "if (i >= n) return;", "if (i > n) return;"), overflow},
		{"no barrier in network.cu", "networks", ptxtest.Races, noBarrier("network"), race},
		{"a unit too many", "networks", ptxtest.Addresses, edit("network", "if (k >= units) continue;", "if (k > units) continue;"), overflow},
		{"no barrier in tuples.cu", "tuples", ptxtest.Races, noBarrier("tuples"), race},
		{"a tuple too many", "tuples", ptxtest.Addresses, edit("tuples", "if (t >= tuples) return;", "if (t > tuples) return;"), overflow},
		{"additions of blocks that are not atomic", "bf16x3", ptxtest.Races,
			ptxtest.Edit{Program: "metric_mma", File: "device.h", Old: "__atomic_fetch_add(sum, v, __ATOMIC_RELAXED)", New: "*sum += v"}, race},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, alone := onHost(t, c.sanitizer, c.edit), c.want != differs
			err := hostJobs(false)[c.of](t, hostFake(h, alone))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q: %.3000v", c.want, err)
			}
		})
	}
}

// TestHostScores runs the kernels of scores alone (kernels/cuda/host/main.cc) with many strips, spans and chunks, and vectors
// that are allocated to the byte, which the buffers of the other tests are not. A read or write beyond a vector, a barrier that is
// missing or that some threads do not come to, and a strip too few are found.
func TestHostScores(t *testing.T) {
	onlyHost(t)
	for _, c := range []struct{ name, file, old, new, want string }{
		{"as they are", "", "", "", "PASS"},
		{"a write beyond the columns", "score.cu", "c0 + j < cols) {", "c0 + j <= cols) {", "heap-buffer-overflow"},
		{"a barrier is missing", "score.cu", "			part[ty][tx + 16 * q] = sum;\n		}\n		barrier();", "			part[ty][tx + 16 * q] = sum;\n		}", "FAIL"},
		{"the last row of a group is left out", "spliced.cu", "(j < ends[p])", "(j + 1 < ends[p])", "FAIL pair_tiles"},
		{"tiles at the diagonal without a mask", "spliced.cu", "u32 from = r0 + ROWS;", "u32 from = r0;", "FAIL pair_tiles"},
		{"sums of columns that overlap", "spliced.cu", "column = 8 * COLS - column;", "", "FAIL pair_tiles"},
		{"a barrier for some threads", "rows.cu", "		barrier();\n		add_span", "		if (thread() > 31) barrier();\n		add_span", "FAIL some threads"},
		{"the second strip is the first", "score.cu", "u32 c0 = block_y() * (STRIP * TILE);", "u32 c0 = 0;", "FAIL logistic_tiles"},
		{"w is read before it is there", "nearlinear.cu", "	fetch<BATCH>(v, row, 0, d);\n	barrier();", "	fetch<BATCH>(v, row, 0, d);", "FAIL"},
		{"rows of the next class", "nearlinear.cu", "u32 own = from <= i && i < to;", "u32 own = from <= i;", "heap-buffer-overflow"},
		{"a second record that is not there", "nearlinear.cu", "u32 two = r + width < to;", "u32 two = 1;", "heap-buffer-overflow"},
		{"all parts are of a class", "nearlinear.cu", "part, first[a], first[a + 1]", "part, 0, first[a + 1]", "FAIL expand"},
		{"both orders of labels have a sign", "nearlinear.cu", "back && j % 2 == 0", "j % 2 == 0", "FAIL expand"},
		{"the series of the first class", "nearlinear.cu", "own, coefficient, parts[3 * block_x() + 2], terms", "own, coefficient, 0, terms", "FAIL series"},
		{"series of a class for the rows of all", "nearlinear.cu", "(i >= n || (start[a] <= first + i && first + i < start[a + 1]))", "(i >= n || first + i < start[a + 1])", "FAIL weighted_series"},
		{"coefficients change while they are used", "nearlinear.cu", "				barrier();\n				hold", "				hold", "FAIL weighted_series"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := onHost(t, ptxtest.Addresses, ptxtest.Edit{File: c.file, Old: c.old, New: c.new}).Run("main.cc")
			if err != nil || !strings.Contains(out, c.want) {
				t.Errorf("want %q: %v\n%.2000s", c.want, err, out)
			}
		})
	}
}
