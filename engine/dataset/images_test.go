package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset/schema"
	"dyad/internal/must"
)

// A tree of images has the records of the CSV file with its pixels, in the order of the names of files.
func TestTreesOfImages(t *testing.T) {
	dir, rows := t.TempDir(), []string{"p1,p2,p3,p4,digit"}
	for k, digit := range []string{"three", "three", "eight", "other", "eight"} {
		file := filepath.Join(dir, fmt.Sprint(k), digit, "image.pgm") // k is the order
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
		put(t, file, []byte{'P', '5', ' ', '2', ' ', '2', ' ', '2', '5', '5', ' ', byte(k), byte(50 * k), 7, 255})
		rows = append(rows, fmt.Sprintf("%d,%d,7,255,%s", k, 50*k, digit))
	}
	label := "  - {name: digit, role: label, positive: eight, negative: three, others: drop}\n"
	read := func(text, data string, o Options) (*Dataset, error) {
		s := must.Get(schema.ParseSchema([]byte(text + label)))(t)
		files := must.Get(Expand(data))(t)
		o.Also = files[1:]
		return Load(files[0], s, o)
	}
	tree := "data_id: x\nformat: images\nfeatures: 4\nrange: [0, 255]\ncolumns:\n"
	got := must.Get(read(tree, filepath.Join(dir, "*", "*", "*.pgm"), Options{}))(t)
	table := filepath.Join(dir, "rows.csv")
	put(t, table, strings.Join(rows, "\n"))
	want := must.Get(read("data_id: x\nformat: csv\ncsv: {header: true}\ncolumns:\n  - {name: p1, range: [0, 255]}\n  - {name: p2, range: [0, 255]}\n  - {name: p3, range: [0, 255]}\n  - {name: p4, range: [0, 255]}\n", table, Options{}))(t)
	must.Equal(t, got.Records.Len(), 4, "records")
	sameRecords(t, got.Records, want.Records)
	// What predict reads has no labels, whatever the folder is; an image of another size is refused.
	must.Equal(t, must.Get(read(tree, filepath.Join(dir, "3", "other"), Options{Labels: LabelsIgnored}))(t).Records.Len(), 1, "new images")
	must.Fail(read(strings.Replace(tree, "4", "9", 1), filepath.Join(dir, "*", "*", "*.pgm"), Options{}))(t, "must be 3 x 3", "another size")
}
