package dataset

import (
	"bytes"
	"fmt"
	"io"
)

// draftNamed drafts a schema for a format whose columns have names.
func draftNamed(text []byte, path, format string) ([]byte, error) {
	c := &collector{place: map[string]int{}}
	var err error
	switch format {
	case FormatARFF:
		err = c.arff(path)
	case FormatJSONL:
		err = c.jsonl(path)
	default:
		err = c.parquet(path)
	}
	if err != nil {
		return nil, err
	}
	if c.rows == 0 {
		return nil, &ParseError{File: path, Rule: ruleEmpty}
	}
	label, others, err := guessLabel(c.names, c.stats, c.rows)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	text = fmt.Appendf(text, "format: %s\n", format)
	return appendColumns(text, c.names, c.stats, c.rows, label, others), nil
}

// collector gathers the statistics of named columns.
type collector struct {
	names []string
	stats []*columnStats
	place map[string]int
	rows  int
}

// column returns the place of a column; a new one was missing so far.
func (c *collector) column(name string) int {
	i, ok := c.place[name]
	if !ok {
		i = len(c.names)
		c.place[name] = i
		c.names = append(c.names, name)
		c.stats = append(c.stats, newColumnStats())
		if c.rows > 0 {
			c.stats[i].add(nil)
		}
	}
	return i
}

func (c *collector) arff(path string) error {
	src, closer, err := openLines(path)
	if err != nil {
		return err
	}
	defer closer()
	r, err := newARFFReader(src)
	if err != nil {
		return err
	}
	for _, a := range r.attributes {
		c.stats = append(c.stats, newColumnStats())
		c.names = append(c.names, a.name)
		c.stats[len(c.stats)-1].nominal = a.nominal
	}
	for {
		row, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(row) != len(c.stats) {
			return &ParseError{File: path, Row: src.line, Rule: fmt.Sprintf("row has %d fields, the header %d; correct the row", len(row), len(c.stats))}
		}
		c.rows++
		for i, b := range row {
			if !r.attributes[i].other {
				c.stats[i].add(b)
			}
		}
	}
}

func (c *collector) jsonl(path string) error {
	src, closer, err := openLines(path)
	if err != nil {
		return err
	}
	defer closer()
	r := &jsonReader{src: src}
	nestedColumn := map[int]bool{}
	for {
		var seen []bool
		err := r.next(func(key, value []byte, nested bool) error {
			i := c.column(string(key))
			for len(seen) <= i {
				seen = append(seen, false)
			}
			if seen[i] {
				return &ParseError{File: path, Row: src.line, Rule: ruleJSONTwice}
			}
			seen[i] = true
			nestedColumn[i] = nestedColumn[i] || nested
			c.stats[i].add(bytes.TrimSpace(value))
			return nil
		})
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		for i, s := range c.stats {
			if i >= len(seen) || !seen[i] {
				s.add(nil)
			}
		}
		c.rows++
	}
	for i := range nestedColumn {
		if nestedColumn[i] {
			c.stats[i] = newColumnStats() // ignored by the draft
		}
	}
	return nil
}

func (c *collector) parquet(path string) error {
	in, _, closer, err := openPath(path)
	if err != nil {
		return err
	}
	defer closer()
	if in.at == nil {
		return &ParseError{File: path, Rule: "a Parquet file cannot be drafted from a pipe; store it first"}
	}
	r, err := openParquet(in)
	if err != nil {
		return err
	}
	defer r.close()
	for i, column := range r.columns {
		c.stats = append(c.stats, newColumnStats())
		c.names = append(c.names, column.Name())
		r.used[i] = parquetTypeOf(column) != parquetRefused
	}
	for {
		if err := r.next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		c.rows++
		for i, s := range c.stats {
			if r.used[i] {
				s.add(r.texts[i])
			}
		}
	}
}
