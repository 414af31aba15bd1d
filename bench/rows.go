package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"strings"
)

// ReadRows returns the rows of a CSV file after its head. Lines that begin with # are comments.
func ReadRows(path string) ([][]string, error) {
	_, rows, err := read(path)
	return rows[min(len(rows), 1):], err
}

func read(path string) (text []byte, rows [][]string, err error) {
	if text, err = os.ReadFile(path); err != nil {
		return nil, nil, err
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment, r.LazyQuotes = '#', true
	if rows, err = r.ReadAll(); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return text, rows, err
}

// ReadTable returns the comments of a CSV file, and its rows by column.
func ReadTable(path string) (comments []string, rows []map[string]string, err error) {
	text, all, err := read(path)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			comments = append(comments, strings.TrimSpace(line))
		}
	}
	if len(all) < 2 || len(comments) == 0 {
		return nil, nil, fmt.Errorf("%s has no rows or no comments", path)
	}
	for _, line := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return comments, rows, nil
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
