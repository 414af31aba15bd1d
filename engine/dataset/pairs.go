package dataset

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/sniff"
	"dyad/engine/dataset/source"
)

// PairColumns holds the names of the columns of a file of pairs. If a name is empty, its default applies.
type PairColumns struct {
	First  string // column with the id of the first individual; default "first"
	Second string // column with the id of the second individual; default "second"
	Label  string // column with the label; default "label"
}

// PairOptions are the options of Dataset.Listed.
type PairOptions struct {
	Columns PairColumns
	// True and False are the two values of the label. They are matched like categories and must differ.
	True, False string
	// Oriented reports whether a label depends on the order of the two individuals, as for a preference. The
	// pairs (a, b, True) and (b, a, False) then have the same meaning. If the file has no label column, every
	// label is True.
	Oriented bool
	// CSV holds the options of a delimited file. The first row of such a file is always a header.
	CSV schema.CSVOptions
	// LookAlikes is the treatment of record ids that differ only in how they are written. In any case, an id in
	// the file of pairs must equal the id of a record to the byte.
	LookAlikes schema.LookAlikes
}

// LabelledPair is a pair of two different individuals, given by their indices in the list of ids, and its
// label.
type LabelledPair struct {
	A, B  int32
	Label bool
}

// The rules of a file of pairs.
const (
	rulePairNoID    = "an id is missing; give the ids of both individuals of the pair"
	rulePairUnknown = "the id is not in the features file; add its record to that file, or remove the pair"
	rulePairSelf    = "the pair has the same individual twice; remove the row"
	rulePairLabel   = "the label is neither %q nor %q; correct it, or name the values of the file " +
		"(label-values)"
	rulePairNoLabel = "the label is missing; every pair needs a label"
	rulePairHeader  = "lacks this column; rename the column in the file, or name the file's columns " +
		"(--pair-columns)"
	rulePairTwice     = "names this column twice; rename one of the two columns"
	rulePairEmpty     = "file has no pairs"
	rulePairFormat    = "the file is neither CSV nor Parquet; convert it (dyad data convert)"
	rulePairTooMany   = "the file has more than 2^30 pairs"
	rulePairDuplicate = "row %d has the same pair; keep only the row with the true label"
)

// readPairs reads labelled pairs from a CSV or Parquet file, which may be compressed with gzip or zstd. The
// slice ids holds the ids of the individuals. If the content breaks a rule, readPairs returns a *ParseError
// with the row. No id may be missing, every id must be in ids, and no two records may have ids that look alike
// (IDKey). A pair must have two different individuals and one of the two labels. No pair may occur twice, not
// even in the other order or with another label. In errors about ids, file is the name of the records' file,
// and column is the name of its id column.
//
// The memory needed is O(ids + pairs): a map entry for each id and each pair, and 16 bytes for each pair.
func readPairs(path string, ids []string, file, column string, o PairOptions) ([]LabelledPair, error) {
	if err := schema.CheckIDs(ids, file, column, o.LookAlikes); err != nil {
		return nil, err
	}
	at := make(map[string]int32, len(ids))
	for i, id := range ids {
		at[id] = int32(i)
	}
	if o.True == "" || o.False == "" || o.True == o.False {
		return nil, fmt.Errorf("dataset: the two values of a pair's label must be different and must not be empty")
	}
	in, err := source.OpenInput(path, "pairs")
	if err != nil {
		return nil, err
	}
	r := &pairReader{
		name: path, at: at, o: o, values: parse.NewSet([]string{o.True, o.False}), seen: map[uint64]int32{},
		names: [3]string{cmp.Or(o.Columns.First, "first"), cmp.Or(o.Columns.Second, "second"),
			cmp.Or(o.Columns.Label, "label")},
	}
	if err := in.Close(r.read(in)); err != nil {
		return nil, err
	}
	if len(r.pairs) == 0 {
		return nil, r.errorf(0, -1, rulePairEmpty)
	}
	return r.pairs, nil
}

// pairReader collects the pairs of a file.
type pairReader struct {
	name   string
	names  [3]string // names of the columns of the two ids and of the label
	place  [3]int    // indices of these columns in a row, -1 if absent
	at     map[string]int32
	values *parse.Set
	o      PairOptions
	seen   map[uint64]int32 // maps the two individuals to 1 + the index of their pair in pairs
	pairs  []LabelledPair
	rows   []int32 // row of each pair in the file
}

func (r *pairReader) read(in *source.Input) error {
	u, err := source.Unpack(in.Name, in.R)
	if err != nil {
		return err
	}
	defer u.Close()
	head, _ := u.Peek(sniff.Bytes) // an error will recur when the rows are read
	switch sniff.Binary(head) {
	case "":
		return r.readCSV(in.Name, u)
	case schema.FormatParquet:
		if u.Compressed {
			return r.errorf(0, -1, rulePackedTwice)
		}
		if in.At == nil {
			if in, err = in.Hold(u); err != nil {
				return err
			}
		}
		return r.readParquet(in)
	}
	return r.errorf(0, -1, rulePairFormat)
}

func (r *pairReader) readCSV(name string, u *source.Unpacked) error {
	delim, _ := r.o.CSV.Separator()
	c := csv.NewReader(source.NewLines(name, u, r.o.CSV.Encoding), delim, r.o.CSV.Comment)
	header, err := c.Header(r.named)
	if err == io.EOF {
		return r.errorf(0, -1, rulePairEmpty)
	}
	if err != nil {
		return err
	}
	width := len(header)
	if err := r.layout(header, c.Row, "the header"); err != nil {
		return err
	}
	return source.Each(c.Next, func(row [][]byte) error {
		if len(row) != width {
			return r.errorf(c.Row, -1, fmt.Sprintf("row has %d fields, but the header has %d; quote a field that "+
				"contains the delimiter, or correct the row", len(row), width))
		}
		return r.add(row, c.Row)
	})
}

func (r *pairReader) readParquet(in *source.Input) error {
	p, err := parquet.Open(in)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := r.layout(fieldsOf(p.Names()), 0, "the Parquet schema"); err != nil {
		return err
	}
	for i, at := range r.place {
		if at < 0 {
			continue
		}
		if !p.Use(at, false) {
			return r.errorf(0, i, ruleParquetType)
		}
	}
	return source.Each(p.Next, func(row [][]byte) error { return r.add(row, p.Row) })
}

// named reports whether a header names one of the columns.
func (r *pairReader) named(header [][]byte) bool {
	return slices.ContainsFunc(header, func(name []byte) bool { return slices.Contains(r.names[:], string(name)) })
}

// layout finds the columns by name. Its errors never contain a field.
func (r *pairReader) layout(header [][]byte, row int, where string) error {
	r.place = [3]int{-1, -1, -1}
	for at, name := range header {
		for i := range r.names {
			if string(name) != r.names[i] {
				continue
			}
			if r.place[i] >= 0 {
				return r.errorf(row, i, where+" "+rulePairTwice)
			}
			r.place[i] = at
		}
	}
	for i, at := range r.place {
		if at < 0 && !(i == 2 && r.o.Oriented) {
			return r.errorf(row, i, where+" "+rulePairHeader)
		}
	}
	return nil
}

// add processes the fields of one row.
func (r *pairReader) add(row [][]byte, number int) error {
	var who [2]int32
	for i := range who {
		id := row[r.place[i]]
		at, known := r.at[string(id)]
		switch {
		case len(id) == 0:
			return r.errorf(number, i, rulePairNoID)
		case !known:
			return r.errorf(number, i, rulePairUnknown)
		}
		who[i] = at
	}
	p := LabelledPair{who[0], who[1], true}
	if p.A == p.B {
		return r.errorf(number, -1, rulePairSelf)
	}
	if at := r.place[2]; at >= 0 {
		value := r.values.Find(row[at])
		switch {
		case len(row[at]) == 0:
			return r.errorf(number, 2, rulePairNoLabel)
		case value < 0:
			return r.errorf(number, 2, fmt.Sprintf(rulePairLabel, r.o.True, r.o.False))
		}
		p.Label = value == 0
	}
	key := uint64(min(p.A, p.B))<<32 | uint64(max(p.A, p.B))
	if k := r.seen[key]; k > 0 {
		// Which individuals form a pair is public. Whether the labels of two rows agree is private, so a
		// repeated pair is refused regardless of its labels.
		return r.errorf(number, -1, fmt.Sprintf(rulePairDuplicate, r.rows[k-1]))
	}
	if len(r.pairs) >= 1<<30 || number > math.MaxInt32 {
		return r.errorf(0, -1, rulePairTooMany)
	}
	r.pairs, r.rows = append(r.pairs, p), append(r.rows, int32(number))
	r.seen[key] = int32(len(r.pairs))
	return nil
}

// errorf returns a ParseError about column i of the two ids and the label, or about the whole row if i is negative.
func (r *pairReader) errorf(row, i int, rule string) error {
	e := &source.ParseError{File: r.name, Row: row, Rule: rule}
	if i >= 0 {
		e.Column = r.names[i]
		e.Position = max(0, r.place[i]+1)
	}
	return e
}
