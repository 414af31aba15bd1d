package dataset

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	reader "dyad/engine/dataset/parquet"
	"dyad/engine/dataset/source"
	power "dyad/internal/sizes"
)

var mutations = flag.Duration("mutations", 0, "how long TestParquetMutations looks for a crash; 0: 3,000 inputs")

// mutate changes a few bytes, numbers or pieces of a file: its ends, where headers and footers are,
// more often than its middle.
func mutate(r *rand.Rand, file []byte) []byte {
	b := bytes.Clone(file)
	for range 1 + r.IntN(4) {
		at := r.IntN(len(b))
		switch r.IntN(3) {
		case 0:
			at = max(0, len(b)-1-r.IntN(min(len(b), 300)))
		case 1:
			at = r.IntN(min(len(b), 100))
		}
		switch r.IntN(7) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.IntN(256))
		case 2:
			b[at] = []byte{0, 1, 0x7f, 0x80, 0xff}[r.IntN(5)]
		case 3: // a number of several bytes
			for k := range min(1+r.IntN(9), len(b)-at) {
				b[at+k] = 0xff
			}
		case 4:
			from := r.IntN(len(b))
			copy(b[at:], b[from:min(len(b), from+1+r.IntN(20))])
		case 5:
			n := min(1+r.IntN(8), len(b)-at)
			if len(b) > n+8 {
				b = append(b[:at], b[at+n:]...)
			}
		case 6:
			b = append(b[:at], append(bytes.Clone(b[at:min(len(b), at+1+r.IntN(8))]), b[at:]...)...)
		}
	}
	return b
}

// bareParquet reads a file as the library does, without the guard of parquetReader, and says whether it panicked.
func bareParquet(b []byte) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	if in := (&source.Input{At: bytes.NewReader(b), Size: int64(len(b))}); !reader.HasFooter(in) {
		return false
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return false
	}
	for _, g := range f.RowGroups() {
		for _, c := range g.ColumnChunks() {
			pages := c.Pages()
			for {
				page, err := pages.ReadPage()
				if err != nil {
					break
				}
				_, _ = page.Values().ReadValues(make([]parquet.Value, 16))
			}
			_ = pages.Close()
		}
	}
	return false
}

// TestParquetMutations feeds damaged Parquet files to the reader. Fuzzing proper instruments the library, which
// then takes a hundred times as long. The same files make the library panic where nothing
// guards it, so the test can fail.
func TestParquetMutations(t *testing.T) {
	files := [][]byte{[]byte(parquetFile(t, patients()...))}
	s := mustSchema(t, "data_id: t\nformat: parquet"+namedColumns)
	r := rand.New(rand.NewPCG(1, uint64(*mutations)))
	n, refused, bare, least, began := 0, 0, 0, power.Of(500, 3000), time.Now()
	for ; n < least || time.Since(began) < *mutations; n++ {
		b := mutate(r, files[r.IntN(len(files))])
		if n < least && bareParquet(b) {
			bare++
		}
		d, err := load(s, string(b), Options{Labels: LabelsOptional})
		checkLoaded(t, d, err)
		if err != nil {
			refused++
		}
	}
	t.Logf("%d inputs in %.1f s, %d refused; %d of the first %d make the library panic by itself", n, time.Since(began).Seconds(), refused, bare, least)
	if bare == 0 || refused == 0 || refused == n {
		t.Errorf("%d inputs, %d refused, %d panics of the library: the inputs reach nothing", n, refused, bare)
	}
}
