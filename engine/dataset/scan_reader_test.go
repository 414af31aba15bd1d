package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset/sniff"
	"dyad/internal/must"
)

// checkScan compares what EncodeRow and Encode make of each row of a text with its record in d.
func checkScan(t *testing.T, text string, s *Schema, d *Dataset, what ...any) {
	t.Helper()
	rows, want := 0, make([]float64, d.Records.Dim())
	must.Do(t, ScanReader("x", strings.NewReader(text), s, Options{}, func(r *Row) error {
		x := must.Get(d.Encoder.EncodeRow(r))(t, what...)
		y := x
		if r.Fields != nil && s.CSV.Decimal == "" { // Fields has numbers without their notation
			fields := make([]string, len(r.Fields))
			for k, f := range r.Fields {
				fields[k] = string(f)
			}
			y = must.Get(d.Encoder.Encode(fields))(t, what...)
		}
		d.Records.Row(rows, want)
		if !slices.Equal(x, want) || !slices.Equal(y, want) || r.Y != d.Records.Label(rows) {
			t.Fatalf("%s: row %d: EncodeRow %v, Encode %v, label %v, want %v, %v", fmt.Sprint(what...), rows, x, y, r.Y, want, d.Records.Label(rows))
		}
		rows++
		return nil
	}), what...)
	must.Equal(t, rows, d.Records.Len(), "%s: rows", fmt.Sprint(what...))
}

// Rows from a reader encode to the records that Load makes of the same bytes.
func TestScanReaderEncodesAsLoad(t *testing.T) {
	var clinical bytes.Buffer
	must.Do(t, WriteSyntheticClinical(&clinical, 50, 5))
	for name, c := range map[string]struct{ schema, text string }{
		"csv":    {SyntheticClinicalYAML(), clinical.String()},
		"sparse": {"data_id: a\nfeatures: 4\nrange: [-2, 3]\ncolumns:\n- {name: y, role: label, positive: 1, negative: -1}\n", "1 1:0.5 4:3\n-1\n1 2:-7\n-1 3:1 4:-1\n"},
		"dense":  {"data_id: a\nfeatures: 3\nrange: [-2, 3]\ndense: true\ncolumns:\n- {name: y, role: label, positive: 1, negative: -1}\n", "1 1:0.5 3:3\n-1\n1 1:1 2:-7 3:2\n-1 3:1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustSchema(t, c.schema)
			d := must.Get(LoadReader("x", strings.NewReader(c.text), s, Options{}))(t)
			checkScan(t, c.text, s, d)
		})
	}
}

// Rows are shown while the reader goes on: the writer waits for each.
func TestScanReaderFollowsAStream(t *testing.T) {
	s := mustSchema(t, "data_id: a\nformat: libsvm\nfeatures: 1\nrange: [0, 1]\ncolumns:\n- {name: y, role: label, positive: 1, negative: -1}\n")
	pr, pw := io.Pipe()
	shown := make(chan bool)
	go func() {
		_, _ = io.WriteString(pw, "# "+strings.Repeat("x", sniff.Bytes)+"\n")
		for range 3 {
			_, _ = io.WriteString(pw, "1 1:0.5\n")
			<-shown
		}
		pw.CloseWithError(errors.New("stop"))
	}()
	rows := 0
	err := ScanReader("x", pr, s, Options{Labels: LabelsOptional}, func(*Row) error {
		rows++
		shown <- true
		return nil
	})
	if rows != 3 || err == nil || !strings.Contains(err.Error(), "stop") {
		t.Errorf("%d rows, %v", rows, err)
	}
}
