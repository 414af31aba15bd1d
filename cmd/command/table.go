package command

import (
	"cmp"
	"encoding/csv"
	"io"
	"path/filepath"
	"strconv"

	"dyad/engine/dataset"
	"dyad/internal/files"
)

// numbers is a table of numbers about records, with one column for each name.
type numbers struct {
	ids     []string // ids of the records, nil to count the rows
	values  []float64
	names   []string
	matrix  bool     // an array in a file has two dimensions
	classes []string // text column after the numbers, nil for none
}

// save writes the table in the format given by the name of the file: an array without ids in NPY, or CSV.
func (n numbers) save(out *files.Output) error {
	return out.Fill(files.Private, func(w io.Writer) error {
		switch {
		case filepath.Ext(out.Asked) != ".npy":
			return n.write(w)
		case n.matrix:
			return dataset.WriteNPY(w, n.values, len(n.names))
		}
		return dataset.WriteNPY(w, n.values, 0)
	})
}

// write writes the table in CSV. The first column has the ids, or the numbers of the rows.
func (n numbers) write(w io.Writer) error {
	out := csv.NewWriter(w)
	line := append([]string{"row"}, n.names...)
	if n.ids != nil {
		line[0] = "id"
	}
	if n.classes != nil {
		line = append(line, "class")
	}
	err := out.Write(line)
	for i := 0; i < len(n.values)/len(n.names) && err == nil; i++ {
		if line[0] = strconv.Itoa(i + 1); n.ids != nil {
			line[0] = n.ids[i]
		}
		for k := range n.names {
			line[1+k] = strconv.FormatFloat(n.values[i*len(n.names)+k], 'g', -1, 64)
		}
		if n.classes != nil {
			line[len(line)-1] = n.classes[i]
		}
		err = out.Write(line)
	}
	out.Flush()
	return cmp.Or(err, out.Error())
}
