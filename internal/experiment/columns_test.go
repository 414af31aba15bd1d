package experiment

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// firstColumn are the first columns of the rows of an NPY file of whole numbers below 2^15 and fractions of few digits.
func firstColumn(path string, columns int) (all []float64) {
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	text = text[10+binary.LittleEndian.Uint16(text[8:]):]
	for ; len(text) > 0; text = text[8*columns:] {
		all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(text)))
	}
	return all
}

// TestColumnsAndBasis: a peer gets the columns of the records that it trains on and scores, with and without a file of test records; auto
// takes the basis of the rule where it is asked to; and a peer runs as many splits as it says.
func TestColumnsAndBasis(t *testing.T) {
	folder := t.TempDir()
	var rows strings.Builder
	for i := range 90 { // a positive is above 5: the first column has AUC 1, in this order of the rows alone
		fmt.Fprintf(&rows, "%v,%s,%s,%d\n", float64(i*37%90)/9, []string{"a", "b", "c"}[i%3], []string{"no", "yes"}[i%2], i*37%90/46)
	}
	schema := `data_id: rows
format: csv
csv: {header: false}
columns:
  - {name: x, range: [0, 10]}
  - {name: c, categories: [a, b, c]}
  - {name: d, categories: ["no", "yes"]}
  - {name: y, role: label, positive: "1", negative: "0"}
`
	for name, text := range map[string]string{"rows.csv": rows.String(), "rows.yaml": schema} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	p := must.Get(Parse("rows", folder, []byte(`
data:
  - {name: one, file: rows.csv, schema: rows.yaml, n: [60]}
  - {name: two, file: rows.csv, test: rows.csv, schema: rows.yaml, n: [60, 90]}
  - {name: three, synthetic: scores, records: 60, features: 4, n: [40]}
epsilon: [1, 600]
delta: 1e-5
splits: 2
algorithms: [{name: auto}, {name: auto, options: {basis: auto}}]
peers: [{name: columns, command: [self, columns], columns: true, splits: 1}]
`)))(t)
	o := options(t)
	o.Folders = []string{folder}
	path := filepath.Join(folder, "out.csv")
	must.Do(t, p.Run(context.Background(), path, o))
	done := must.Get(p.Rows(path))(t)
	peers := 0
	for _, r := range done {
		switch {
		case r.Algorithm != "columns":
			want := 5
			if r.Data == "three" {
				want = 4
			} else if r.Options != "" && r.Epsilon == 600 {
				want = 10
			}
			if !r.ok() || r.D != want {
				t.Errorf("%+v, want %d features", r, want)
			}
		case r.Data == "three":
			must.Contain(t, r.Status, "a peer can read columns only from a data file")
		default:
			if peers++; !r.ok() || r.Value != 1 {
				t.Errorf("%+v, want AUC 1", r)
			}
		}
	}
	if peers != 6 { // two budgets of three training sets, each of one split
		t.Errorf("%d runs of the peer, want 6", peers)
	}
	s := must.Get(p.schema("rows.yaml"))(t)
	c := must.Get(readColumns(context.Background(), filepath.Join(folder, "rows.csv"), s))(t)
	if want := []int{0, 3, 2}; !slices.Equal(c.kinds, want) {
		t.Errorf("kinds %v, want %v", c.kinds, want)
	}
	for k, want := range []float64{0, 0, 0, 37. / 90, 1, 1, 74. / 90, 2, 0} {
		if math.Abs(c.values[k]-want) > 1e-12 {
			t.Errorf("values %v, want %v at %d", c.values[:9], want, k)
		}
	}
	must.Fail(parse([]byte(strings.ReplaceAll(small, "radius: [0.1, 1]", "basis: auto"))))(t, "line 11: dpgdsc cannot choose a basis", "a basis for dpgdsc")
}
