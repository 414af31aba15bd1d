package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"dyad/engine"
)

// WriteNPZ writes records as an NPZ archive, so that other programs can read the data that Dyad trains on. The array X
// has n rows and d columns. If labels is set, the array y has n labels. Both are float64 and stored without
// compression, so that they can be memory-mapped.
func WriteNPZ(w io.Writer, r *engine.Records, labels bool) error {
	archive := zip.NewWriter(w)
	write := func(name, shape string, rows, columns int, row func(i int, x []float64)) error {
		f, err := archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		out := bufio.NewWriterSize(f, 1<<16)
		_, err = out.Write(npyHeader("<f8", shape))
		x := make([]float64, columns)
		for i := 0; i < rows && err == nil; i++ {
			row(i, x)
			err = binary.Write(out, binary.LittleEndian, x)
		}
		return errors.Join(err, out.Flush())
	}
	err := write("X", fmt.Sprintf("(%d, %d)", r.Len(), r.Dim()), r.Len(), r.Dim(),
		func(i int, x []float64) { r.Row(i, x) })
	if err == nil && labels {
		err = write("y", fmt.Sprintf("(%d,)", r.Len()), r.Len(), 1, func(i int, x []float64) { x[0] = r.Label(i) })
	}
	return errors.Join(err, archive.Close())
}

// WriteNPY writes numbers as an NPY file of float64, from which a program can read scores without parsing text.
// If columns is 0, the array is a vector. Otherwise the array is a row-major matrix.
func WriteNPY(w io.Writer, values []float64, columns int) error {
	shape := fmt.Sprintf("(%d,)", len(values))
	if columns > 0 {
		shape = fmt.Sprintf("(%d, %d)", len(values)/columns, columns)
	}
	if _, err := w.Write(npyHeader("<f8", shape)); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, values)
}

// npyHeader returns an NPY header of version 1, padded to a multiple of 64 bytes as in NumPy.
func npyHeader(descr, shape string) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text))), text...)
}
