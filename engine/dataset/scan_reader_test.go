package dataset

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset/sniff"
	"dyad/internal/must"
)

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
			rows, want := 0, make([]float64, d.Records.Dim())
			err := ScanReader("x", strings.NewReader(c.text), s, Options{}, func(r *Row) error {
				x, err := d.Encoder.EncodeRow(r)
				d.Records.Row(rows, want)
				if err != nil || !slices.Equal(x, want) || r.Y != d.Records.Label(rows) {
					t.Errorf("row %d: %v label %v (%v), want %v label %v", rows, x, r.Y, err, want, d.Records.Label(rows))
				}
				rows++
				return nil
			})
			if err != nil || rows != d.Records.Len() {
				t.Errorf("%d rows of %d: %v", rows, d.Records.Len(), err)
			}
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
