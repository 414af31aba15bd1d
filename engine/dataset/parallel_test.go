package dataset

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/parquet-go/parquet-go"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/must"
	"dyad/internal/pages"
	power "dyad/internal/sizes"
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
	must.Do(t, parquet.WriteFile(path, rows, parquet.MaxRowsPerRowGroup(30_000), parquet.PageBufferSize(5000)))
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
	e := must.Get(NewEncoder(s))(t)
	must.Do(t, Scan(path, s, Options{KeepIDs: true}, func(r *Row) error {
		x, err := e.EncodeRow(r)
		want, labels, ids = append(want, x...), append(labels, r.Y), append(ids, r.ID)
		return err
	}))
	for _, workers := range []int{1, 2, 3, 7} {
		d := must.Get(loadWith(workers, path, s, Options{KeepIDs: true}))(t)
		if !sameBits(d.Records.Dense(), want) || !sameBits(d.Records.Labels(), labels) || !reflect.DeepEqual(d.IDs, ids) {
			t.Errorf("%d workers: other records than row by row", workers)
		}
	}
	byPerson := mustSchema(t, fmt.Sprintf(visitSchema, 50))
	one := must.Get(loadWith(1, path, byPerson, Options{Persons: KeepPersons}))(t)
	for _, workers := range []int{2, 5} {
		d := must.Get(loadWith(workers, path, byPerson, Options{Persons: KeepPersons}))(t)
		if d.Records.Units() != 50 || !reflect.DeepEqual(d.Records, one.Records) {
			t.Errorf("%d workers: other persons", workers)
		}
	}
}

func loadWith(workers int, path string, s *Schema, o Options) (*Dataset, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	return Load(path, s, o)
}

func sameBits(a, b []float64) bool { return bytes.Equal(pages.Bytes(a), pages.Bytes(b)) }

// sumOf is the hash of the bits of records and labels.
func sumOf(d *Dataset) [sha256.Size]byte {
	return sha256.Sum256(slices.Concat(pages.Bytes(d.Records.Dense()), pages.Bytes(d.Records.Labels())))
}

// The first error in the order of the file is told, with its row and column, and so is that
// of Progress, which is called at the same rows.
func TestParquetErrorsForEveryWorkerCount(t *testing.T) {
	s := mustSchema(t, fmt.Sprintf(visitSchema, 50))
	rows := visits(70_000, 66_001)
	rows[68_000].Sex, rows[69_000].Out = "unknown", 3
	path := visitFile(t, rows)
	rows = visits(70_000, 0)
	rows[66_000].Person = " "
	noPerson := visitFile(t, rows)
	for _, workers := range []int{1, 2, 4} {
		_, err := loadWith(workers, path, s, Options{Persons: KeepPersons})
		wantRule(t, err, source.ParseError{Row: 66_001, Column: "a", Position: 2, Rule: parse.RuleNotFinite}, workers, " workers")
		_, err = loadWith(workers, noPerson, s, Options{Persons: KeepPersons})
		wantRule(t, err, source.ParseError{Row: 66_001, Column: "person", Position: 1, Rule: ruleNoPerson}, workers, " workers")
		stop, seen := errors.New("stop"), 0
		_, err = loadWith(workers, path, s, Options{Persons: KeepPersons, Progress: func(n int) error { seen = n; return stop }})
		if err != stop || seen != progressRows {
			t.Errorf("%d workers: progress at %d: %v", workers, seen, err)
		}
	}
	content := must.Get(os.ReadFile(path))(t)
	first := ""
	for _, workers := range []int{1, 3} {
		damaged := append([]byte(nil), content...)
		for i := len(damaged) / 2; i < len(damaged)/2+4000; i++ {
			damaged[i] ^= 0x55
		}
		file := writeFile(t, "visits.parquet", damaged)
		_, err := loadWith(workers, file, s, Options{Persons: KeepPersons})
		var p *source.ParseError
		if !errors.As(err, &p) {
			t.Fatalf("%d workers: %v", workers, err)
		}
		place := fmt.Sprint(p.Row, p.Rule)
		if first == "" {
			first = place
		}
		must.Equal(t, place, first, "%d workers", workers)
	}
}

// csvCases are files with what can go wrong at the ends of chunks.
func csvCases() map[string]string {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := func(n int, row func(i int) string) string {
		var b strings.Builder
		b.WriteString("person,a,b,sex,out\n")
		for i := range n {
			b.WriteString(row(i))
		}
		return b.String()
	}
	number := func() string {
		return []string{"0.25", "-1e-3", "1234567890123456789", "0x1p-2", "", "NA", "9.", "+.5", "1e-300", "7"}[rng.IntN(10)]
	}
	plain := func(i int) string {
		return fmt.Sprintf("p%d,%s,%s,%s,%d\n", rng.IntN(50), number(), number(), []string{"f", "m", "x"}[rng.IntN(3)], i%2)
	}
	quotes := func(i int) string {
		return fmt.Sprintf(" \"p%d\"\t,\"%s\",%s,\"x\n\ny, \"\"z\"\"\r\n\",%d\r\n", rng.IntN(50), number(), number(), i%2)
	}
	good := rows(20_000, plain)
	middle := len(good)*2/3 + strings.IndexByte(good[len(good)*2/3:], '\n') + 1
	with := func(text string) string { return good[:middle] + text + good[middle:] }
	return map[string]string{
		"plain":         good,
		"no last end":   strings.TrimSuffix(good, "\n"),
		"crlf":          strings.ReplaceAll(good, "\n", "\r\n"),
		"quotes":        rows(8_000, quotes),
		"both":          good + strings.SplitN(rows(3_000, quotes), "\n", 2)[1],
		"blank":         with("\n\n  \t\n\r\n" + strings.Repeat("\n", 200_000)),
		"comments":      with("# it's a \"quote\n#\n"),
		"long row":      with("p1,1,2,\"" + strings.Repeat("long\n\"\"", 50_000) + "\",1\n"),
		"other text":    with("p1,1,2,f,1\np2,one,2,f,1\n"),
		"open quote":    with("p1,1,2,\"f,1\n"),
		"after quote":   with("p1,1,2,\"f\"f,1\n"),
		"short row":     with("p1,1,2,f\n"),
		"label":         with("p1,1,2,f,2\n"),
		"dropped":       with("p1,1,2,f,drop\np77,1,2,f,drop\n"),
		"no person":     with("na,1,2,f,1\n"),
		"two errors":    with("p1,one,2,f,1\np2,one,2,f,1\n" + strings.Repeat("p1,1,2,f,1\n", 30_000) + "p1,1,f\n"),
		"infinite":      with("p1,1e999,2,f,1\n"),
		"quote, plain,": with("\"p\n1\",1,2,f,1\n"),
	}
}

// readBy describes what is read by so many workers, or row by row by none: the records and the calls of Progress, or the error.
func readBy(workers int, r io.Reader, s *Schema) string {
	var calls []int
	o := Options{KeepIDs: s.ColumnOf(schema.RoleID) != nil, Persons: KeepPersons, Progress: func(n int) error { calls = append(calls, n); return nil }, rowByRow: workers == 0}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(workers, 1)))
	d, err := LoadReader("file", r, s, o)
	if err != nil {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%x %d %d %d %d %d %d %v", sumOf(d), d.Records.Len(), d.Records.Units(), d.Positives, d.GroupCount, len(d.IDs), len(d.Groups), calls) + fmt.Sprint(d.IDs, d.Groups)
}

// Every file of csvCases gives the same records or the same error, and the same calls of
// Progress, for every number of workers as read row by row, in one piece or in small ones,
// packed or not.
func TestCSVSameForEveryWorkerCount(t *testing.T) {
	const columns = `
csv: {header: true, comment: ["#"]}
missing: {values: [NA, "7"], policy: middle}
columns:
  - {name: person, role: %s}
  - {name: a, range: [-1, 1]}
  - {name: b, range: [0, 1e18], transform: log1p}
  - {name: sex, categories: [f, m, x], unknown: %s}
  - {name: out, role: label, positive: 1, negative: 0%s}
`
	byPerson := mustSchema(t, "data_id: t\nids: public"+fmt.Sprintf(columns, "person", "other", ""))
	byRow := mustSchema(t, "data_id: t"+fmt.Sprintf(columns, "id", "other", ", others: drop"))
	strict := mustSchema(t, "data_id: t"+strings.Replace(fmt.Sprintf(columns, "group", "other", ""), ", unknown: other", "", 1))
	errs := 0
	for name, text := range csvCases() {
		for which, s := range []*Schema{byPerson, byRow, strict} {
			if !power.Full() && which != len(name)%3 {
				continue
			}
			read := func(workers int, r io.Reader) string { return readBy(workers, r, s) }
			want := read(0, strings.NewReader(text))
			if strings.HasPrefix(want, "dataset") {
				errs++
			}
			for _, workers := range power.Of([]int{1, 3}, []int{1, 2, 3}) { // two below
				must.Equal(t, read(workers, strings.NewReader(text)), want, "%s, schema %d, %d workers", name, which, workers)
			}
			must.Equal(t, read(2, bytes.NewReader(zstded(t, text))), want, "%s, schema %d, packed", name, which)
			broken := io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("disk")))
			must.Equal(t, read(2, io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("disk")))), read(0, broken), "%s, schema %d: reader fails", name, which)
		}
	}
	if errs < 20 && power.Full() {
		t.Errorf("%d of the cases are errors, want at least 20", errs)
	}
}

// Lines that are read quickly give the records of rows read one by one, with numbers that are not quick, blanks,
// empty fields, and every end of the file among them, whatever the buffer holds behind it.
func TestQuickLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	numbers := []string{"0", "-0", "0.0001", "-3.9999", "12", "+1", " 2", "2 ", "\t-1.5\t", ".5", "-.5", "7.", "1e-1", "1E0", "0.12345678901234567", "1234567", "12345678", "-1234567", "0000000", "1_0", "", "nan", "4", "-4", "99999.9", "one"}
	s := mustSchema(t, `
data_id: t
csv: {header: true}
missing: {policy: middle}
columns:
  - {name: id, role: id}
  - {name: a, range: [-4, 4]}
  - {name: b, range: [-3, 3.7]}
  - {name: c, range: [0, 9], transform: log1p}
  - {name: skip, role: ignore}
  - {name: sex, categories: [f, m, x]}
  - {name: out, role: label, positive: yes, negative: no}
  - {name: z, range: [-1, 1]}
`)
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	errs := map[int]int{}
	for _, part := range []int{len(numbers), 15, 6} { // with refused rows, without, and only short ones
		for range 6 {
			var b strings.Builder
			odd := rng.IntN(3000) // row after which one is refused, if there are only short ones
			b.WriteString("id,a,b,c,skip,sex,out,z\n")
			end := pick([]string{"\n", "\r\n"})
			for i := range 3000 + rng.IntN(3000) {
				all := numbers[:part]
				if part == len(numbers) && i < 2500 {
					all = numbers[:15]
				}
				fmt.Fprintf(&b, "r%d,%s,%s,%s,,%s,%s,%s%s", i, pick(all), pick(all), pick(all), pick([]string{"f", "m", "x"}), pick([]string{"yes", "no", " yes "}), pick(all), end)
				if part == 6 && i == odd {
					b.WriteString(pick([]string{"r,1,2,3,,f,yes,1,2", "r,1,2,3,,f,yes", "r,1,2,3,,f,yes,1,", "r,1,2,3,,f,,1", "r", "r,1,2,3,,f,yes,1 2"}) + end)
				}
			}
			text := b.String()
			text = text[:len(text)-rng.IntN(len(end)+2)]
			want := readBy(0, strings.NewReader(text), s)
			if strings.HasPrefix(want, "dataset") {
				errs[part]++
			}
			for _, workers := range []int{1, 2, 5} {
				must.Equal(t, readBy(workers, strings.NewReader(text), s), want, "%d kinds of numbers, %d workers", part, workers)
			}
		}
	}
	if errs[len(numbers)] < 6 || errs[15] > 4 || errs[6] < 6 {
		t.Errorf("files with an error, by kinds of numbers: %v", errs)
	}
}

// A short number has the bits of strconv.
func FuzzShortNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "+1.5", ".5", "5.", ".", "", "-", "1e22", "1e23", "9007199254740991e22", "9007199254740992", "9007199254740993", "0.1e-21", "1e", "1e+", "1.2.3", "1_0", "0x1", "3e-23", "1E5", "0000000000000000001", "-0.0e-0", "1e1000", "inf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parse.ShortNumber([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if ok && (err != nil || math.Float64bits(got) != math.Float64bits(want)) {
			t.Errorf("%q: %x, strconv has %x, %v", s, math.Float64bits(got), math.Float64bits(want), err)
		}
		checkQuick(t, s)
	})
}

// checkQuick says what quickNumber makes of s, whatever bytes follow it.
func checkQuick(t *testing.T, s string) (quick bool) {
	t.Helper()
	for _, rest := range []string{"", ",", ",12345678", "\n-1.5,2,3", "\r\n1234567", " ,1234567", "\x00\xff\xb9\xae\xff\xff\xff\xff"} {
		got, n := quickNumber([]byte(s + rest))
		if n == 0 {
			continue
		}
		quick = quick || n == len(s)
		want, err := strconv.ParseFloat((s + rest)[:n], 64)
		if err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%q: quick number %x of %d bytes, strconv has %x, %v", s+rest, math.Float64bits(got), n, math.Float64bits(want), err)
		}
		if next := (s + rest)[n:]; next != "" && strings.Contains("0123456789eE", next[:1]) {
			t.Errorf("%q: quick number ends before %q", s+rest, next)
		}
	}
	return quick
}

// Numbers of up to 7 digits are quick, wherever their point is, and so are numbers of 7 bytes without a sign.
func TestQuickNumberHasTheBitsOfStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		s := strconv.Itoa(rng.IntN(int(parse.PowersOfTen[1+rng.IntN(6)])))
		s = strings.Repeat("0", rng.IntN(7-len(s))) + s
		if k := rng.IntN(len(s) + 1); rng.IntN(3) > 0 {
			s = s[:k] + "." + s[k:]
		}
		if s = []string{"", "-"}[rng.IntN(2)] + s; !checkQuick(t, s) {
			t.Fatalf("%q is not quick", s)
		}
	}
	for _, s := range []string{"", "-", ".", "-.", "--1", "+1", "1.2.3", "1,", "e5", "1e5", "1E5", "1.5e3", "x", "12345678", "1234567.", "9.99999999", "\xb1", "1\xae5", "nan"} {
		checkQuick(t, s)
	}
	if v, n := quickNumber([]byte("-0.0,12345")); n != 4 || !math.Signbit(v) {
		t.Errorf("-0.0 is %g of %d bytes", v, n)
	}
}

func TestShortNumberHasTheBitsOfStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	short := 0
	for range 300_000 {
		m := rng.Uint64() >> rng.IntN(64)
		s := strconv.FormatUint(m, 10)
		if k := rng.IntN(len(s) + 1); rng.IntN(2) == 0 {
			s = s[:k] + "." + s[k:]
		}
		if rng.IntN(2) == 0 {
			s += fmt.Sprintf("e%d", rng.IntN(60)-30)
		}
		checkQuick(t, s)
		want, _ := strconv.ParseFloat(s, 64)
		if got, ok := parse.ShortNumber([]byte(s)); ok {
			short++
			if math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s: %v, want %v", s, got, want)
			}
		}
	}
	if short < 100_000 {
		t.Errorf("%d of 300,000 numbers are short", short)
	}
	must.Equal(t, testing.AllocsPerRun(100, func() { parse.Number([]byte("-12.0625")) }), 0, "a number costs")
}
