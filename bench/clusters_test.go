package bench_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad"
	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

const (
	clusterKinds    = 4
	clusterFeatures = 6
	clusterRepeats  = 10
	clusterHeldOut  = 4000 // records that judge the clusters
	clusterEpsilon  = 1    // of the metric, and again of the centres
)

// clusterDelta is that of every private release.
var clusterDelta = 1e-5

// linkedRecords are records of four kinds, which two columns tell; in the other four each record is at random at one of two
// ends, which says nothing of its kind. A must-link or cannot-link pair joins each of the first n to another.
type linkedRecords struct {
	kinds    []int
	records  string // the first n, CSV
	held     string // the others
	pairs    string
	schema   string
	heldKind []int
}

func newLinked(n int, seed uint64) (l linkedRecords) {
	r := rand.New(rand.NewPCG(seed, 27))
	var rows [2]strings.Builder
	for i := range rows {
		rows[i].WriteString("id,x1,x2,x3,x4,x5,x6\n")
	}
	for i := range n + clusterHeldOut {
		kind, to := r.IntN(clusterKinds), 0
		if i >= n {
			to, l.heldKind = 1, append(l.heldKind, kind)
		} else {
			l.kinds = append(l.kinds, kind)
		}
		fmt.Fprintf(&rows[to], "p%d,%.5f,%.5f", i, 0.25*float64(2*(kind%2)-1)+0.08*r.NormFloat64(), 0.25*float64(2*(kind/2)-1)+0.08*r.NormFloat64())
		for range clusterFeatures - 2 {
			fmt.Fprintf(&rows[to], ",%.5f", 0.5*float64(2*r.IntN(2)-1)+0.15*r.NormFloat64())
		}
		fmt.Fprintln(&rows[to])
	}
	var pairs strings.Builder
	pairs.WriteString("first,second,label\n")
	order := r.Perm(n)
	for i, a := range order {
		b, label := order[(i+1)%n], "similar"
		if l.kinds[a] != l.kinds[b] {
			label = "dissimilar"
		}
		fmt.Fprintf(&pairs, "p%d,p%d,%s\n", a, b, label)
	}
	l.records, l.held, l.pairs = rows[0].String(), rows[1].String(), pairs.String()
	l.schema = "data_id: linked\ncsv: {header: true}\ncolumns:\n  - {name: id, role: id}\n"
	for k := range clusterFeatures {
		l.schema += fmt.Sprintf("  - {name: x%d, range: [-1, 1]}\n", k+1)
	}
	return l
}

// adjustedRand is the adjusted Rand index of two partitions [Hubert and Arabie 1985]: 1 if they are the same, 0 on average for
// partitions at random.
func adjustedRand(a, b []int) float64 {
	pairs := func(n float64) float64 { return n * (n - 1) / 2 }
	both, left, right := map[[2]int]float64{}, map[int]float64{}, map[int]float64{}
	for i := range a {
		both[[2]int{a[i], b[i]}]++
		left[a[i]]++
		right[b[i]]++
	}
	sum := func(of map[int]float64) (s float64) {
		for _, n := range of {
			s += pairs(n)
		}
		return s
	}
	same := 0.0
	for _, n := range both {
		same += pairs(n)
	}
	expected := sum(left) * sum(right) / pairs(float64(len(a)))
	return (same - expected) / ((sum(left)+sum(right))/2 - expected)
}

func TestAdjustedRandIndex(t *testing.T) {
	// The example of Hubert and Arabie's formula by hand: cells 1 1 0, 1 2 1, 0 0 4.
	a := []int{0, 0, 1, 1, 1, 1, 2, 2, 2, 2}
	b := []int{0, 1, 0, 1, 1, 2, 2, 2, 2, 2}
	for _, c := range []struct {
		a, b []int
		want float64
	}{{a, a, 1}, {a, []int{5, 5, 7, 7, 7, 7, 6, 6, 6, 6}, 1}, {a, b, (7 - 13*14/45.0) / (13.5 - 13*14/45.0)}} {
		if got := adjustedRand(c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("the index is %v, want %v", got, c.want)
		}
	}
}

// exactKMeans are the centres of the best of ten runs of k-means without privacy, each from k-means++.
func exactKMeans(rows []float64, dim, k int, seed uint64) (best [][]float64) {
	r := rand.New(rand.NewPCG(seed, 10))
	least := math.Inf(1)
	n := len(rows) / dim
	row := func(i int) []float64 { return rows[i*dim:][:dim] }
	nearest := func(of [][]float64, x []float64) (place int, d float64) {
		d = math.Inf(1)
		for c, centre := range of {
			var s float64
			for j := range x {
				s += (x[j] - centre[j]) * (x[j] - centre[j])
			}
			if s < d {
				place, d = c, s
			}
		}
		return place, d
	}
	for range 10 {
		of := [][]float64{slices.Clone(row(r.IntN(n)))}
		for len(of) < k {
			weight, total := make([]float64, n), 0.0
			for i := range weight {
				_, weight[i] = nearest(of, row(i))
				total += weight[i]
			}
			at, i := r.Float64()*total, 0
			for i < n-1 && at >= weight[i] {
				at -= weight[i]
				i++
			}
			of = append(of, slices.Clone(row(i)))
		}
		cost := 0.0
		for range 20 {
			cost = 0
			count, sum := make([]float64, k), make([]float64, k*dim)
			for i := range n {
				c, d := nearest(of, row(i))
				cost += d
				count[c]++
				for j, v := range row(i) {
					sum[c*dim+j] += v
				}
			}
			for c := range of {
				for j := range of[c] {
					if count[c] > 0 {
						of[c][j] = sum[c*dim+j] / count[c]
					}
				}
			}
		}
		if cost < least {
			least, best = cost, of
		}
	}
	return best
}

// byCentres are the places of the nearest centres of rows.
func byCentres(of [][]float64, rows []float64, dim int) (places []int) {
	for i := 0; i < len(rows); i += dim {
		place, least := 0, math.Inf(1)
		for c, centre := range of {
			var d float64
			for j, v := range rows[i : i+dim] {
				d += (v - centre[j]) * (v - centre[j])
			}
			if d < least {
				place, least = c, d
			}
		}
		places = append(places, place)
	}
	return places
}

// trial are the files of one set of linked records.
type trial struct {
	linkedRecords
	folder string
	seed   uint64
}

func (l trial) file(name string) string { return filepath.Join(l.folder, name) }

func newTrial(t *testing.T, n int, seed uint64) trial {
	t.Helper()
	l := trial{newLinked(n, seed), t.TempDir(), seed}
	for name, text := range map[string]string{"r.csv": l.records, "held.csv": l.held, "pairs.csv": l.pairs, "s.yaml": l.schema} {
		must.Do(t, os.WriteFile(l.file(name), []byte(text), 0o600))
	}
	return l
}

// metric learns one from the pairs.
func (l trial) metric(t *testing.T, mode algorithms.Mode) *dyad.Model {
	t.Helper()
	p := must.Get(dyad.OpenPairs(l.file("r.csv"), l.file("s.yaml"), dyad.PairSource{File: l.file("pairs.csv"), DegreeCap: 2}))(t)
	plan := must.Get(dyad.PlanPairs(p.Shape(), pairs.Spec{
		Loss: embedding.Contrastive{Margin: 1}, Method: pairs.Moments, Rows: 2, Unit: pairs.Individual, Mode: mode, Budget: privacy.Budget{Epsilon: clusterEpsilon, Delta: clusterDelta},
	}))(t)
	m := must.Get(plan.Run(context.Background(), p, dyad.Run{Public: true, Source: privacy.NewSeededSource(l.seed)}))(t)
	return m.Model
}

func (l trial) read(t *testing.T, name string) *dyad.Data {
	t.Helper()
	s := must.Get(dataset.LoadUnlabelledSchema(l.file("s.yaml")))(t)
	d := must.Get(dataset.Load(l.file(name), s, dataset.Options{Labels: dataset.LabelsIgnored, KeepIDs: true}))(t)
	return dyad.NewData(d)
}

// private is the index of private clusters on held-out records.
func (l trial) private(t *testing.T, metric *dyad.Model, epsilon float64) float64 {
	t.Helper()
	d := l.read(t, "r.csv")
	p := must.Get(dyad.PlanClusters(d.Shape(), dyad.ClusterOptions{Clusters: clusterKinds, Seed: l.seed, Metric: metric, Epsilon: epsilon, Delta: &clusterDelta}))(t)
	c := must.Get(p.Run(context.Background(), d, dyad.Run{Public: true, Source: privacy.NewSeededSource(l.seed + 1000)}))(t)
	places := must.Get(c.Assign(l.read(t, "held.csv").Records))(t)
	return adjustedRand(places, l.heldKind)
}

// exact is that of k-means without privacy.
func (l trial) exact(t *testing.T, metric *dyad.Model) float64 {
	t.Helper()
	rows := func(r *engine.Records) (out []float64, dim int) {
		if metric == nil {
			out, dim = make([]float64, r.Len()*r.Dim()), r.Dim()
			for i := range r.Len() {
				r.Row(i, out[i*dim:][:dim])
			}
			return out, dim
		}
		out, dim = must.Get2(metric.Transform(r))(t)
		return out, dim
	}
	train, dim := rows(l.read(t, "r.csv").Records)
	held, _ := rows(l.read(t, "held.csv").Records)
	return adjustedRand(byCentres(exactKMeans(train, dim, clusterKinds, l.seed), held, dim), l.heldKind)
}

// TestClustersByPairs compares k-means by a metric from must-link and cannot-link pairs with k-means of the records as they are, with and
// without privacy (docs/clustering.md): the adjusted Rand index with the kinds of held-out records. The metric and the centres have epsilon 1 each; private centres of
// records as they are have the epsilon that both compose to.
func TestClustersByPairs(t *testing.T) {
	together := account.GDPEpsilon(math.Sqrt2*account.GDPMu(clusterEpsilon, clusterDelta), clusterDelta)
	c := claim{
		file: "clusters.csv", columns: "n,seed,metric_private_centres_private,metric_private_centres_exact,metric_exact_centres_private,metric_exact_centres_exact,identity_private,identity_exact", keys: 2,
		comments: fmt.Sprintf("# adjusted Rand index on %d held-out records; d = %d, k = %d, as many pairs as records, kappa 2, metric of 2 rows by second moments; delta %g, epsilon %d and %d, and %.4g without a metric\n",
			clusterHeldOut, clusterFeatures, clusterKinds, clusterDelta, clusterEpsilon, clusterEpsilon, together),
	}
	for _, n := range []int{500, 1000, 2000, 5000, 10000} {
		for seed := range uint64(clusterRepeats) {
			c.lines = append(c.lines, claimed{fmt.Sprintf("%d,%d", n, seed), n <= 2000 && seed < 2, func(t *testing.T) []float64 {
				l := newTrial(t, n, seed)
				private, exact := l.metric(t, algorithms.Certified), l.metric(t, algorithms.NonPrivate)
				return []float64{l.private(t, private, clusterEpsilon), l.exact(t, private), l.private(t, exact, clusterEpsilon), l.exact(t, exact), l.private(t, nil, together), l.exact(t, nil)}
			}})
		}
	}
	c.check(t, 1e-6, 1e-9)
	clusterTable(t)
}

// clusterTable compares the table of the document with the means of the raw file, and what is said of it.
func clusterTable(t *testing.T) {
	t.Helper()
	rows := must.Get(bench.ReadRows(filepath.Join("results", "clusters.csv")))(t)
	page := must.Get(os.ReadFile(filepath.Join("..", "docs", "clustering.md")))(t)
	means := map[string][6]float64{}
	for _, row := range rows {
		m := means[row[0]]
		for i := range m {
			v := must.Get(strconv.ParseFloat(row[2+i], 64))(t)
			m[i] += v / clusterRepeats
		}
		means[row[0]] = m
	}
	if len(means) != 5 {
		t.Fatalf("%d sizes", len(means))
	}
	for n, m := range means {
		line := "| " + n
		for _, v := range m {
			if math.Abs(v) < 0.005 {
				v = 0
			}
			line += fmt.Sprintf(" | %.2f", v)
		}
		if !strings.Contains(string(page), line+" |\n") {
			t.Errorf("docs/clustering.md does not have the line %s |", line)
		}
		if m[0] < m[1]-0.02 || m[3] < 0.99 || math.Abs(m[4]) > 0.01 || math.Abs(m[5]) > 0.01 || (n == "5000" || n == "10000") && m[0] < 0.99 {
			t.Errorf("n = %s: %v is not what docs/clustering.md says", n, m)
		}
	}
}
