package command

import (
	"bufio"
	"encoding/csv"
	"io"
	"path/filepath"
	"strconv"

	"dyad/engine/dataset"
)

// writeNumbers writes a table in the format given by the name of the file: NPY if there are no ids, otherwise
// CSV. names has one name for scores, and one name for each column of a matrix.
func writeNumbers(w io.Writer, path string, ids []string, values []float64, names []string, matrix bool) error {
	if filepath.Ext(path) != ".npy" {
		return writeTable(w, ids, values, names)
	}
	columns := 0
	if matrix {
		columns = len(names)
	}
	return dataset.WriteNPY(w, values, columns)
}

// writeTable writes a CSV table of row-major numbers with one column for each name. The first column has the
// ids, or the row numbers if ids is nil.
func writeTable(w io.Writer, ids []string, values []float64, names []string) error {
	b := bufio.NewWriter(w)
	out := csv.NewWriter(b)
	first := "row"
	if ids != nil {
		first = "id"
	}
	if err := out.Write(append([]string{first}, names...)); err != nil {
		return err
	}
	line := make([]string, 1+len(names))
	for i := 0; i < len(values)/len(names); i++ {
		line[0] = strconv.Itoa(i + 1)
		if ids != nil {
			line[0] = ids[i]
		}
		for k := range names {
			line[1+k] = strconv.FormatFloat(values[i*len(names)+k], 'g', -1, 64)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	return b.Flush()
}
