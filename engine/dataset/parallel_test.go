package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type visit struct {
	Person string   `parquet:"person"`
	A      *float64 `parquet:"a,optional"`
	B      float32  `parquet:"b,dict"`
	C      *int64   `parquet:"c,optional,dict"`
	D      uint32   `parquet:"d"`
	Sex    string   `parquet:"sex,dict"`
	Out    int32    `parquet:"out"`
}

const visitSchema = `
data_id: visits
persons: %d
columns:
  - {name: person, role: person}
  - {name: a, range: [-1, 1], missing: {policy: middle}}
  - {name: b, range: [0, 5], missing: {policy: value, value: 2, values: ["3"]}}
  - {name: c, range: [-9, 9], missing: {policy: middle}}
  - {name: d, range: [1, 4000000000], transform: log1p}
  - {name: sex, categories: [f, m, x]}
  - {name: out, role: label, positive: 1, negative: 0}
`

// visits are rows with every kind of number, nulls, infinities if there is a row for one, and
// persons that appear in an order of their own.
func visits(n int, infinite int) []visit {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]visit, n)
	for i := range rows {
		rows[i] = visit{
			Person: fmt.Sprint("p", rng.IntN(50)), B: float32(rng.IntN(7)), D: rng.Uint32(),
			Sex: []string{"f", "m", "x"}[rng.IntN(3)], Out: rng.Int32N(2),
		}
		if rng.IntN(4) > 0 {
			rows[i].A = pointer(rng.NormFloat64())
		}
		if rng.IntN(3) > 0 {
			rows[i].C = pointer(int64(rng.IntN(20) - 10))
		}
		if rng.IntN(100) == 0 {
			rows[i].A = pointer(math.NaN())
		}
	}
	if infinite > 0 {
		rows[infinite-1].A = pointer(math.Inf(1))
	}
	return rows
}

func visitFile(t testing.TB, rows []visit) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.parquet")
	if err := parquet.WriteFile(path, rows, parquet.MaxRowsPerRowGroup(30_000), parquet.PageBufferSize(5000)); err != nil {
		t.Fatal(err)
	}
	return path
}

// The records, labels, persons and ids are those of rows that Scan shows one by one and
// EncodeRow encodes, for every number of workers.
func TestParquetSameForEveryWorkerCount(t *testing.T) {
	path := visitFile(t, visits(70_000, 0))
	text := strings.Replace(fmt.Sprintf(visitSchema, 50), "role: person", "role: id", 1)
	s := mustSchema(t, strings.Replace(text, "persons: 50\n", "", 1))
	var want, labels []float64
	var ids []string
	e, err := NewEncoder(s)
	if err != nil {
		t.Fatal(err)
	}
	err = Scan(path, s, Options{KeepIDs: true}, func(r *Row) error {
		x, err := e.EncodeRow(r)
		want, labels, ids = append(want, x...), append(labels, r.Y), append(ids, r.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 2, 3, 7} {
		d, err := loadWith(workers, path, s, Options{KeepIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		if !sameBits(d.Records.Dense(), want) || !sameBits(d.Records.Labels(), labels) || !reflect.DeepEqual(d.IDs, ids) {
			t.Errorf("%d workers: other records than row by row", workers)
		}
	}
	byPerson := mustSchema(t, fmt.Sprintf(visitSchema, 50))
	one, err := loadWith(1, path, byPerson, Options{Persons: KeepPersons})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{2, 5} {
		d, err := loadWith(workers, path, byPerson, Options{Persons: KeepPersons})
		if err != nil {
			t.Fatal(err)
		}
		if d.Records.Units() != 50 || !reflect.DeepEqual(d.Records, one.Records) {
			t.Errorf("%d workers: other persons", workers)
		}
	}
}

func loadWith(workers int, path string, s *Schema, o Options) (*Dataset, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	return Load(path, s, o)
}

func sameBits(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}

// The first error in the order of the file is told, with its row and column, and so is that
// of Progress, which is called at the same rows.
func TestParquetErrorsForEveryWorkerCount(t *testing.T) {
	s := mustSchema(t, fmt.Sprintf(visitSchema, 50))
	rows := visits(70_000, 66_001)
	rows[68_000].Sex, rows[69_000].Out = "unknown", 3
	path := visitFile(t, rows)
	rows[66_000].Person = " "
	noPerson := visitFile(t, rows)
	for _, workers := range []int{1, 2, 4} {
		_, err := loadWith(workers, path, s, Options{Persons: KeepPersons})
		var p *ParseError
		if !errors.As(err, &p) || p.Row != 66_001 || p.Column != "a" || p.Position != 2 || p.Rule != ruleNotFinite {
			t.Errorf("%d workers: %v", workers, err)
		}
		_, err = loadWith(workers, noPerson, s, Options{Persons: KeepPersons})
		if !errors.As(err, &p) || p.Row != 66_001 || p.Column != "person" || p.Rule != ruleNoPerson {
			t.Errorf("%d workers: %v", workers, err)
		}
		stop, seen := errors.New("stop"), 0
		_, err = loadWith(workers, path, s, Options{Persons: KeepPersons, Progress: func(n int) error { seen = n; return stop }})
		if err != stop || seen != progressRows {
			t.Errorf("%d workers: progress at %d: %v", workers, seen, err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for _, workers := range []int{1, 3} {
		damaged := append([]byte(nil), content...)
		for i := len(damaged) / 2; i < len(damaged)/2+4000; i++ {
			damaged[i] ^= 0x55
		}
		file := filepath.Join(t.TempDir(), "visits.parquet")
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loadWith(workers, file, s, Options{Persons: KeepPersons})
		var p *ParseError
		if !errors.As(err, &p) {
			t.Fatalf("%d workers: %v", workers, err)
		}
		place := fmt.Sprint(p.Row, p.Rule)
		if first == "" {
			first = place
		}
		if place != first {
			t.Errorf("%d workers: %s, one: %s", workers, place, first)
		}
	}
}
