package cuda

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
)

// references.json holds sums of the Mahalanobis loss that a CPU takes minutes for, so that no
// time on a GPU is spent on them: projections on random signs, whose mean square is the
// squared norm. The hash of the records says that they are the ones that were summed.
//
//go:embed testdata/references.json
var referencesText []byte

type reference struct {
	N       int       `json:"n"`
	D       int       `json:"d"`
	Records string    `json:"records_sha256"`
	Sum     []float64 `json:"projected_sum"`
}

// projections is how many there are: a distance is off by less than a third, all but surely.
const projections = 64

// project is a vector's products with random signs, divided by the root of their number.
func project(v []float64) []float64 {
	rng := rand.New(rand.NewPCG(uint64(len(v)), projections))
	sums := make([]float64, projections)
	for _, x := range v {
		signs := rng.Uint64()
		for j := range sums {
			sums[j] += x * float64(1-2*int(signs>>j&1))
		}
	}
	for j := range sums {
		sums[j] /= math.Sqrt(projections)
	}
	return sums
}

// metricMeasured is the problem of a Mahalanobis loss and the W that it is measured at.
func metricMeasured(p engine.Problem) (engine.Problem, []float64) {
	p.Loss = engine.MahalanobisLogistic{}
	w := make([]float64, p.Loss.ParamDim(p.D))
	for a := range p.D {
		w[engine.Symmetric{Dim: p.D}.Index(a, a)] = 1 / math.Sqrt(float64(p.D)) * (1 - 0x1p-20)
	}
	return p, w
}

// recordsHash is that of the features and labels.
func recordsHash(r *engine.Records) string {
	h, row := sha256.New(), make([]float64, r.Dim()+1)
	words := make([]byte, 0, 8*len(row))
	for i, y := range r.Labels() {
		r.Row(i, row[:r.Dim()])
		row[r.Dim()] = y
		words, _ = binary.Append(words[:0], binary.LittleEndian, row)
		h.Write(words)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// carriedSum is the projected sum of references.json for these records, nil if there is none.
func carriedSum(p engine.Problem, r *engine.Records) ([]float64, error) {
	return carriedIn(referencesText, p, r)
}

func carriedIn(text []byte, p engine.Problem, r *engine.Records) ([]float64, error) {
	var all []reference
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.N != p.N || c.D != p.D {
			continue
		}
		if got := recordsHash(r); got != c.Records {
			return nil, fmt.Errorf("the records have hash %s, those of references.json %s", got, c.Records)
		}
		return c.Sum, nil
	}
	return nil, nil
}

// TestReferences: the smallest carried sum is the one that the CPU computes now, records that
// differ in one bit are refused, and a sum that is off by twice the limit is found. With
// DYAD_GPU_REFERENCES the sums of the sizes in DYAD_GPU_SIZES, such as 1000x64,10000x128, are
// computed and written there.
func TestReferences(t *testing.T) {
	if out := os.Getenv("DYAD_GPU_REFERENCES"); out != "" {
		writeReferences(t, out, strings.Split(os.Getenv("DYAD_GPU_SIZES"), ","))
		return
	}
	p, r, _ := measured(t, 1000, 64, 2)
	p, w := metricMeasured(p)
	want, err := carriedSum(p, r)
	if err != nil || want == nil {
		t.Fatal("no sum for n = 1000, d = 64:", err)
	}
	sum := must.Get(sumOf(cpu.Backend{}, p, r, w))(t)
	if off := relative(project(sum), want); !(off < 1e-11) {
		t.Errorf("the carried sum is off by %.2g", off)
	}
	limit, size := metricError[BF16x3], norm2(sum)
	for name, add := range map[string]func(k int) float64{
		"one entry":     func(k int) float64 { return map[bool]float64{true: 2 * limit * size}[k == 700] },
		"every entry":   func(int) float64 { return 2 * limit * size / math.Sqrt(float64(len(sum))) },
		"in proportion": func(k int) float64 { return 2 * limit * sum[k] },
	} {
		off := make([]float64, len(sum))
		for k := range sum {
			off[k] = sum[k] + add(k)
		}
		if away := relative(project(off), want); away < limit {
			t.Errorf("%s: an error of %.2g is taken for %.2g", name, 2*limit, away)
		}
	}
	text := strings.Replace(string(referencesText), recordsHash(r), strings.Repeat("0", 64), 1)
	must.Err(carriedIn([]byte(text), p, r))(t, "records with another hash were accepted")
}

func writeReferences(t *testing.T, out string, sizes []string) {
	var all []reference
	if text, err := os.ReadFile(out); err == nil {
		must.Do(t, json.Unmarshal(text, &all))
	}
	for _, size := range sizes {
		var n, d int
		must.Get(fmt.Sscanf(size, "%dx%d", &n, &d))(t)
		p, r, _ := measured(t, n, d, 2)
		p, w := metricMeasured(p)
		sum := must.Get(sumOf(cpu.Backend{Workers: runtime.GOMAXPROCS(0)}, p, r, w))(t)
		all = append(all, reference{N: n, D: d, Records: recordsHash(r), Sum: project(sum)})
		text := must.Get(json.Marshal(all))(t)
		must.Do(t, os.WriteFile(out, append([]byte(strings.ReplaceAll(string(text), "},{", "},\n{")), '\n'), 0o644))
	}
}

// sumOf is the gradient sum over all pairs of the problem.
func sumOf(b engine.Backend, p engine.Problem, r *engine.Records, w []float64) ([]float64, error) {
	sums, err := sumsOver(b, p, r, w, []engine.Pairs{p.Pairs()})
	return slices.Concat(sums...), err
}

// metricFloor is the time in seconds that gradient sums of n records with d features
// take at least on an H200: the tensor part, 2 d n^2 operations at 60 % of the peak for each
// of the products of a precision (70 % on ordinary cores), or the 2 special functions
// of each pair, 16 a clock and multiprocessor.
func metricFloor(p Precision, n, d int) float64 {
	work := 2 * float64(d) * float64(n) * float64(n)
	special := float64(n) * float64(n) / (16 * 132 * 1.755e9)
	if p == BF16x3 {
		return max(3*work/(0.6*989e12), special)
	}
	return work/(0.7*67e12) + special // the same pipes
}

// TestMetricFloor: the floors of bf16x3 at n = 10^5 are those of the design: 6.5 and 26
// milliseconds at d = 64 and 256.
func TestMetricFloor(t *testing.T) {
	for d, want := range map[int]float64{64: 6.5e-3, 256: 26e-3} {
		if got := metricFloor(BF16x3, 1e5, d); math.Abs(got/want-1) > 0.02 {
			t.Errorf("d = %d: %g", d, got)
		}
	}
}
