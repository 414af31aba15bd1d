package dataset

import (
	"fmt"
	"strings"
	"testing"

	"dyad/engine/dataset/schema"
	"dyad/internal/must"
	power "dyad/internal/sizes"
)

// A compressed file needs about as much room as is guessed by its beginning; a file that goes on otherwise is
// read to the same records, whether the guess is too high or too low.
func TestGuessedRoom(t *testing.T) {
	s := mustSchema(t, "data_id: t\ncsv: {header: true}\ncolumns:\n  - {name: a, range: [0, 1000000]}\n  - {name: b, range: [0, 1]}\n  - {name: y, role: label, positive: 1, negative: 0}\n")
	rows := func(n int, short, random bool) string {
		c := newCoins(9, 0)
		var b strings.Builder
		for i := range n {
			switch {
			case short:
				fmt.Fprintf(&b, "%d,1,%d\n", i%7, i%2)
			case random:
				fmt.Fprintf(&b, "%d,0.%07d%07d,%d\n", c.below(1000000), c.below(10_000_000), c.below(10_000_000), i%2)
			default:
				fmt.Fprintf(&b, "100000,0.50000000000000,%d\n", i%2)
			}
		}
		return b.String()
	}
	n := power.Of(30_000, 120_000)
	for name, c := range map[string]struct {
		text      string
		low, high float64 // of guessed to true rows
	}{
		"even":       {rows(n, false, true), 0.95, 1.12},
		"small":      {rows(1000, false, true), 1, 1.01},
		"then short": {rows(n/2, false, true) + rows(4*n, true, false), 0, 1},
		"then long":  {rows(4*n, true, false) + rows(n/2, false, true), 1, 1000},
	} {
		text := "a,b,y\n" + c.text
		plain := writeFile(t, "t.csv", text)
		want := must.Get(loadWith(1, plain, s, Options{}))(t)
		for ending, packed := range map[string][]byte{".gz": gzipped(t, text), ".zst": zstded(t, text)} {
			path := plain + ending
			put(t, path, packed)
			tab := newTable(path, want.Encoder, Options{}, nil)
			z := must.Get(tab.countLines(path, schema.FormatCSV))(t)
			if share := float64(z.Rows) / float64(want.Records.Len()+1); ending == ".gz" && (share < c.low || share > c.high) {
				t.Errorf("%s%s: %d rows are guessed of %d", name, ending, z.Rows, want.Records.Len())
			}
			for _, workers := range power.Of([]int{1, 3}, []int{1, 2, 3}) {
				got := must.Get(loadWith(workers, path, s, Options{}))(t)
				sameRecords(t, got.Records, want.Records, name, ending, " ", workers)
			}
		}
	}
}
