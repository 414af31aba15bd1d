package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"os"
	"strings"
)

// ReadRows returns the rows of a CSV file after its head. Lines that begin with # are comments.
func ReadRows(path string) ([][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment = '#'
	rows, err := r.ReadAll()
	return rows[min(len(rows), 1):], err
}

// WriteRows writes a CSV file.
func WriteRows(path string, rows [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return cmp.Or(csv.NewWriter(f).WriteAll(rows), f.Close())
}

// AppendRows appends rows to a CSV file. If the file is new, they are below a head of columns, separated by commas.
func AppendRows(path, columns string, rows ...[]string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if at, err := f.Seek(0, 2); err != nil || at == 0 {
		rows = append([][]string{strings.Split(columns, ",")}, rows...)
	}
	return cmp.Or(csv.NewWriter(f).WriteAll(rows), f.Close())
}
