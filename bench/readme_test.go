package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"dyad/bench"
	"dyad/internal/must"
)

// rawRows are the lines of a raw file by their columns.
func rawRows(t *testing.T, name string) []map[string]string {
	_, rows := must.Get2(bench.ReadTable(filepath.Join("results", name)))(t)
	return rows
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// TestReadmeRows: the measured rows of README.md are those of the raw files that they name.
func TestReadmeRows(t *testing.T) {
	readme := must.Get(os.ReadFile("../README.md"))(t)
	var want []string
	for _, row := range rawRows(t, "gradients-1e6.csv") {
		if row["workers"] == "2" {
			seconds, err := strconv.ParseFloat(row["median_s"], 64)
			if err != nil || row["gradients"] != "100" {
				t.Fatalf("%v: %v", row, err)
			}
			peak := must.Get(strconv.ParseFloat(row["peak_MB"], 64))(t)
			want = append(want, fmt.Sprintf("100 in %.1f s", 100*seconds), fmt.Sprintf("peak %.0f MB", peak))
		}
	}
	neighbours, closest, attacks := 0, 0.0, rawRows(t, "attacks.csv")
	for _, row := range attacks {
		n := must.Get(strconv.Atoi(row["neighbours"]))(t)
		ratio := must.Get(strconv.ParseFloat(row["closest_ratio"], 64))(t)
		neighbours, closest = neighbours+n, max(closest, ratio)
	}
	want = append(want, fmt.Sprintf("%s configurations, %s neighbours", thousands(len(attacks)), thousands(neighbours)), fmt.Sprintf("closest ratio %.12f, none above 1", closest))
	must.Contain(t, string(readme), want...)
	if closest > 1 {
		t.Error("a certificate is refuted")
	}
}
