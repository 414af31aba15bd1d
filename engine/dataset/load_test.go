package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"dyad/engine/dataset/source"
	"dyad/engine/tensors"
	"dyad/internal/must"
)

// All these contents are the same two records.
func TestCSVForms(t *testing.T) {
	schema := func(csv string) string {
		return "data_id: t\ncsv: {" + csv + "}\ncolumns:\n  - {name: age, range: [0, 100]}\n  - {name: sex, categories: [f, \"a,\\\"b\\n c\"]}\n  - {name: out, role: label, positive: yes}\n"
	}
	const second = "\"a,\"\"b\n c\""
	want := must.Get(load(mustSchema(t, schema("header: false")), "30,f,yes\n40,"+second+",no\n", Options{}))(t)
	if want.Positives != 1 || want.Negatives != 1 || !slices.Equal(want.Records.Labels(), []float64{1, -1}) || !want.HasLabels {
		t.Fatalf("got %+v", want)
	}
	for name, c := range map[string][2]string{
		"no final newline": {"header: false", "30,f,yes\n40," + second + ",no"},
		"blanks":           {"header: false", " 30\t,f , yes\n40, " + second + " ,no\n"},
		"quoted number":    {"header: false", "\"30\",\"f\",\"yes\"\n40," + second + ",no\n"},
		"CRLF":             {"header: false", "30,f,yes\r\n40," + second + ",no\r\n"},
		"byte order mark":  {"header: false", "\ufeff30,f,yes\n40," + second + ",no\n"},
		"empty lines":      {"header: false", "\n30,f,yes\n\n \n40," + second + ",no\n\n"},
		"comments":         {"comment: [\"#\", \"//\"]", "# x\n30,f,yes\n// y\n40," + second + ",no\n"},
		"tab":              {"delimiter: tab", "30\tf\tyes\n40\t" + second + "\tno\n"},
		"semicolon":        {"delimiter: \";\"", "30;f;yes\n40;" + second + ";no\n"},
		"space":            {"delimiter: \" \"", "30 f yes\n40 " + second + " no\n"},
		"delimiter line":   {"header: true, delimiter: \";\"", "\ufeffsep=;\r\nage;sex;out\r\n30;f;yes\n40;" + second + ";no\n"},
		"header":           {"header: true", "age,sex,out\n30,f,yes\n40," + second + ",no\n"},
		"quoted header":    {"header: true", "\"age\",\"sex\",\"out\"\n30,f,yes\n40," + second + ",no\n"},
		"other order":      {"header: true", "out,sex,age\nyes,f,30\nno," + second + ",40\n"},
		"ignored columns":  {"header: true, ignore_others: true", "a,out,sex,b,age\n1,yes,f,2,30\n,no," + second + ",,40\n"},
	} {
		for _, zip := range []bool{false, true} {
			content := c[1]
			if zip {
				content = string(gzipped(t, content))
			}
			got := must.Get(load(mustSchema(t, schema(c[0])), content, Options{}))(t, name)
			sameRecords(t, got.Records, want.Records, name, " (gzip ", zip, ")")
		}
	}
}

func TestPositionsAndIDs(t *testing.T) {
	s := mustSchema(t, `
data_id: t
columns:
  - {name: y, position: 4, role: label, positive: 1}
  - {name: b, position: 3, range: [0, 10]}
  - {name: who, position: 1, role: id}
  - {name: junk, position: 2, role: ignore}
`)
	d := must.Get(load(s, "p1,x,10,1\np2,,0,0\n", Options{KeepIDs: true}))(t)
	if !slices.Equal(d.IDs, []string{"p1", "p2"}) || !slices.Equal(d.Records.Labels(), []float64{1, -1}) {
		t.Errorf("ids %q, labels %v", d.IDs, d.Records.Labels())
	}
	if d, err := load(s, "p1,x,10,1\np2,,0,0\n", Options{}); err != nil || d.IDs != nil {
		t.Errorf("ids %q without KeepIDs (%v)", d.IDs, err)
	}
}

// Prediction reads files with and without the label; the features agree.
func TestPredictWithoutLabel(t *testing.T) {
	labelFirst := "data_id: t\ncolumns:\n  - {name: out, role: label, positive: 1, negative: 0}\n  - {name: a, range: [0, 1]}\n  - {name: b, range: [0, 1]}\n"
	for name, c := range map[string]struct{ schema, with, without string }{
		"position": {plainSchema, "30,60,1\n40,70,1\n", "30,60\n40,70\n"},
		"first":    {labelFirst, "1,0.25,0.5\n1,1,0\n", "0.25,0.5\n1,0\n"},
		"header":   {headerSchema, "age,sex,out\n30,f,yes\n40,m,yes\n", "sex,age\nf,30\nm,40\n"},
		"sparse":   {sparseSchema, "1 1:1 3:5\n1 2:0.5\n", "1:1 3:5\n2:0.5\n"},
		"one row":  {plainSchema, "30,60,0\n", "30,60\n"},
	} {
		s := mustSchema(t, c.schema)
		with := must.Get(load(s, c.with, Options{Labels: LabelsOptional}))(t, name)
		without := must.Get(load(s, c.without, Options{Labels: LabelsOptional}))(t, name)
		ignored := must.Get(load(s, strings.ReplaceAll(c.with, "yes", "unknown"), Options{Labels: LabelsIgnored}))(t, name)
		if !with.HasLabels || without.HasLabels || ignored.HasLabels {
			t.Errorf("%s: labels %v %v %v, want true false false", name, with.HasLabels, without.HasLabels, ignored.HasLabels)
		}
		x, _ := tensors.FromRecords(with.Records)
		for _, other := range []*Dataset{without, ignored} {
			o, _ := tensors.FromRecords(other.Records)
			must.Same(t, x.Float64s(), o.Float64s(), "%s: features", name)
		}
		must.Err(load(s, c.without, Options{}))(t, "%s: training accepted a file without labels", name)
	}
	must.Err(load(mustSchema(t, plainSchema), "30,60,2\n", Options{Labels: LabelsOptional}))(t, "a label that is there must be valid")
}

func TestLIBSVM(t *testing.T) {
	s := mustSchema(t, sparseSchema)
	d := must.Get(load(s, "# head\n+1 1:1 3:5 # tail\r\n\n-1\t2:0 5:-3\n-1.0\n", Options{}))(t)
	start, index, value := d.Records.Sparse()
	if !slices.Equal(start, []int64{0, 2, 3, 3}) || !slices.Equal(index, []int32{0, 2, 4}) || len(value) != 3 || value[2] >= -0.7 {
		t.Errorf("got %v %v %v", start, index, value)
	}
	must.Same(t, d.Records.Labels(), []float64{1, -1, -1}, "labels")

	dense := mustSchema(t, denseSchema)
	d = must.Get(load(dense, "1 1:1 2:10\n0 2:5\n", Options{}))(t)
	if d.Records.IsSparse() || d.Records.Dense()[2] >= 0 || d.Records.Dense()[3] != 0 {
		t.Errorf("got %v, want the record (-1, 0) scaled", d.Records.Dense())
	}
}

// Load, LoadReader and Encode give the same bits, also over many blocks.
func TestLoadersAgree(t *testing.T) {
	var csv, svm strings.Builder
	c := newCoins(3, 0)
	rows := 70000
	if testing.Short() {
		rows = 20000
	}
	for i := range rows {
		a, b := c.below(200), c.below(3)
		fmt.Fprintf(&csv, "%d,%d,%d\n", a, b, i%2)
		fmt.Fprintf(&svm, "%d 1:%d 2:%d\n", 2*(i%2)-1, a, b)
	}
	sparse := "data_id: t\nfeatures: 2\nrange: [0, 100]\ncolumns: [{name: y, role: label, positive: 1}]\n"
	for name, f := range map[string]struct{ schema, content string }{"csv": {plainSchema, csv.String()}, "libsvm": {sparse, svm.String()}} {
		s := mustSchema(t, f.schema)
		path := writeFile(t, name, gzipped(t, f.content))
		calls := 0
		a := must.Get(Load(path, s, Options{Progress: func(n int) error {
			if n > 0 { // 0 while lines are counted
				calls++
			}
			return nil
		}}))(t)
		must.Equal(t, calls, rows/progressRows, "progress calls")
		b := must.Get(load(s, f.content, Options{}))(t)
		sameRecords(t, b.Records, a.Records, name)
		checkScan(t, f.content, s, a, name)
	}
}

func TestLoadStops(t *testing.T) {
	stop := errors.New("stop")
	r := &repeat{text: []byte(strings.Repeat("1,2,0\n", 1000)), n: 1000}
	_, err := LoadReader("file", r, mustSchema(t, plainSchema), Options{Progress: func(int) error { return stop }})
	if !errors.Is(err, stop) || r.n == 0 {
		t.Errorf("got %v with %d blocks left", err, r.n)
	}
}

func TestLoadIOErrors(t *testing.T) {
	s := mustSchema(t, plainSchema)
	var p *source.ParseError
	if _, err := Load(filepath.Join(t.TempDir(), "absent"), s, Options{}); !errors.Is(err, os.ErrNotExist) || errors.As(err, &p) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
	broken := errors.New("broken disk")
	if _, err := LoadReader("file", readAfter("1,2,0\n", iotest.ErrReader(broken)), s, Options{}); !errors.Is(err, broken) || errors.As(err, &p) {
		t.Errorf("got %v, want the error of the reader", err)
	}
}

// Load keeps about one copy of the data: the heap it allocates in all is below
// 1.05 times the records plus buffers, where a text or a second copy would need
// more.
func TestLoadMemory(t *testing.T) {
	const rows, cols = 40000, 20
	var b strings.Builder
	b.WriteString("data_id: t\ncolumns:\n  - {name: y, role: label, positive: 1}\n")
	for k := range cols {
		fmt.Fprintf(&b, "  - {name: x%d, range: [0, 1]}\n", k)
	}
	s := mustSchema(t, b.String())
	path := filepath.Join(t.TempDir(), "big.csv")
	line := strings.Repeat(",0.123456789", cols) + "\n"
	put(t, path, strings.Repeat("1"+line+"0"+line, rows/2))
	const data = rows * (cols + 1) * 8
	buffers := uint64(runtime.GOMAXPROCS(0)) << 20 // of every worker; a second copy would be 6.7 MB
	if got := allocated(t, func() error { _, err := Load(path, s, Options{}); return err }); got > data*21/20+buffers {
		t.Errorf("Load allocated %d bytes for %d bytes of records", got, data)
	}
	got := allocated(t, func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = LoadReader(path, f, s, Options{})
		return err
	})
	// The blocks and their join; the last block (8 MB at most) may be partly empty.
	if got > 2*data+9<<20 || got < data {
		t.Errorf("LoadReader allocated %d bytes for %d bytes of records", got, data)
	}
}

// A file that is cut, or appended to, while it is read gives no records: before, a file cut
// after its first rows was trained on as if it were whole.
func TestFilesThatChangeAreRefused(t *testing.T) {
	var text strings.Builder
	text.WriteString("y,x\n")
	for i := range 3 * progressRows {
		fmt.Fprintf(&text, "%d,0.5\n", i%2)
	}
	s := mustSchema(t, "data_id: a\ncsv: {header: true}\ncolumns:\n  - {name: y, role: label, positive: 1}\n  - {name: x, range: [0, 1]}\n")
	for name, change := range map[string]func(path string) error{
		"untouched": func(string) error { return nil },
		"cut":       func(path string) error { return os.Truncate(path, int64(text.Len()/2)) },
		"appended": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("1,0.5\n")
			return errors.Join(err, f.Close())
		},
		"rewritten": func(path string) error {
			later := time.Now().Add(time.Hour)
			return os.Chtimes(path, later, later)
		},
		"replaced": func(path string) error { // the old file stays whole under no name
			return errors.Join(os.WriteFile(path+".new", []byte("y,x\n1,0\n0,1\n"), 0o600), os.Rename(path+".new", path))
		},
	} {
		path := writeFile(t, "records.csv", text.String())
		done := false
		d, err := Load(path, s, Options{Progress: func(int) (err error) {
			if !done {
				done, err = true, change(path)
			}
			return err
		}})
		if whole := name == "untouched" || name == "replaced"; !done || whole != (err == nil) || !whole && !errors.Is(err, source.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		} else if whole && d.Records.Len() != 3*progressRows {
			t.Errorf("%s: %d records", name, d.Records.Len())
		}
	}
}
