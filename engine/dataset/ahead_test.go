package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	power "dyad/internal/sizes"
)

// A compressed file, which a goroutine decompresses ahead, gives the records and errors of its text: also where
// reading ends long before the text does, and where the file is cut off or damaged. No goroutine stays.
func TestFilesDecompressedAhead(t *testing.T) {
	s := mustSchema(t, "data_id: t\ncsv: {header: true}\ncolumns:\n  - {name: a, range: [0, 1000]}\n  - {name: y, role: label, positive: 1, negative: 0}\n")
	c := newCoins(5, 0)
	var b strings.Builder
	b.WriteString("a,y\n")
	for i := range power.Of(40_000, 200_000) {
		fmt.Fprintf(&b, "%d.%04d,%d\n", c.below(1000), c.below(10000), i%2)
	}
	good := b.String()
	early := strings.Replace(good, "\n", "\n1,2\n", 1)
	dir, before := t.TempDir(), runtime.NumGoroutine()
	load := func(workers int, name, content string) (*Dataset, *source.ParseError) {
		path := filepath.Join(dir, name)
		put(t, path, content)
		d, err := loadWith(workers, path, s, Options{})
		var p *source.ParseError
		if err != nil && !errors.As(err, &p) {
			t.Fatalf("%s: %v", name, err)
		}
		return d, p
	}
	want, p := load(1, "plain", good)
	if p != nil {
		t.Fatal(p)
	}
	for ending, pack := range map[string]func(text string) string{
		".gz":  func(text string) string { return string(gzipped(t, text)) },
		".zst": func(text string) string { return string(zstded(t, text)) },
	} {
		packed := pack(good)
		damaged, packedEarly := []byte(packed), pack(early)
		for i := len(packed) / 2; i < len(packed)/2+100; i++ {
			damaged[i] ^= 0x5a
		}
		var cut, broken *source.ParseError
		for _, workers := range []int{1, 2, 5} {
			if d, p := load(workers, "good"+ending, packed); p != nil || !sameBits(d.Records.Dense(), want.Records.Dense()) || !sameBits(d.Records.Labels(), want.Records.Labels()) {
				t.Errorf("%s, %d workers: other records than those of the text: %v", ending, workers, p)
			}
			if _, p := load(workers, "early"+ending, packedEarly); p == nil || p.Row != 2 || p.Rule != schema.RuleLabel {
				t.Errorf("%s, %d workers: row 2 has another label: %v", ending, workers, p)
			}
			_, p := load(workers, "cut"+ending, packed[:len(packed)*2/3])
			if p == nil || p.Rule != source.RuleTruncated || p.Row < 1000 || cut != nil && *p != *cut {
				t.Errorf("%s, %d workers: cut off: %v, before %v", ending, workers, p, cut)
			}
			cut = p
			_, p = load(workers, "damaged"+ending, string(damaged))
			if p == nil || p.Row < 1000 || p.Rule == source.RuleTruncated || broken != nil && *p != *broken {
				t.Errorf("%s, %d workers: damaged: %v, before %v", ending, workers, p, broken)
			}
			broken = p
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
