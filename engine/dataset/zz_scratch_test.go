package dataset

import (
	"math/rand/v2"
	"os"
	"testing"
)

func TestScratch(t *testing.T) {
	s := mustSchema(t, "data_id: t\nformat: parquet"+namedColumns)
	base := parquetFile(t, patients()...)
	for seed := uint64(0); seed < 60000; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		b := []byte(base)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.UintN(256))
		}
		os.WriteFile("/tmp/fz/last", b, 0o600)
		load(s, string(b), Options{Labels: LabelsOptional})
	}
}
