package dyad

import (
	"slices"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/input"
)

// Data are the records of a file, encoded by its schema. Nothing of private data may be
// printed but what Shape says: see "What a caller must not print" in the package's comment.
type Data struct {
	// Records are n encoded records; do not change them. Those of a query group are
	// consecutive, except after Model.Open.
	Records *engine.Records
	// IDs are the texts of the id column, in the order of Records, after Model.Open; nil
	// without such a column.
	IDs []string

	encoder  *dataset.Encoder
	groups   []int // number of the group of each record, ascending; nil without groups
	graded   bool  // labels in [-1, 1] instead of two classes
	labelled bool
	files    []string // that the records came from; parts of them have the rows
	parts    int
}

// Open reads a data file by a schema file, for training and evaluation. The file may be several, by a
// folder or a pattern such as "part-*.parquet", which are read as one (dataset.Expand). What is wrong with
// the schema or a single record is an error with file, row, column and remedy; of data that
// the schema declares public also that there is nothing to compare. Nothing is charged.
func Open(path, schema string) (*Data, error) {
	s, err := dataset.LoadSchema(schema)
	if err != nil {
		return nil, input.As(err)
	}
	return open(path, s)
}

func open(path string, s *dataset.Schema) (*Data, error) {
	d, err := dataset.Load(path, s, dataset.Options{Persons: dataset.KeepPersons})
	if err == nil && s.Public {
		err = d.CheckPairs()
	}
	if err != nil {
		return nil, input.As(err)
	}
	return NewData(d), nil
}

// NewData are the labelled records of a data set. The files that it was read from are those that
// the ledger compares with earlier runs on the same data id.
func NewData(d *dataset.Dataset) *Data {
	all := &Data{Records: d.Records, encoder: d.Encoder, graded: d.Schema().IsGraded(), labelled: d.HasLabels, files: d.Files, parts: d.DataFiles}
	if d.Groups == nil {
		return all
	}
	if slices.IsSorted(d.Groups) { // as in a pack: nothing is moved
		for _, g := range d.Groups {
			all.groups = append(all.groups, int(g))
		}
		return all
	}
	rows := make([]int, len(d.Groups))
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return int(d.Groups[a]) - int(d.Groups[b]) })
	return all.of(rows, func(row int) int { return int(d.Groups[row]) })
}

// Schema is the schema that the data were read by; do not change it.
func (d *Data) Schema() *dataset.Schema { return d.encoder.Schema() }

// Shape is what is public about the data.
func (d *Data) Shape() Shape {
	s := ShapeOf(d.encoder, d.Records.Total())
	s.Groups = d.sizes()
	return s
}

// Shape is everything about records that a plan depends on. It is public.
type Shape struct {
	Records  int   // or persons, if PersonRows is not 0
	Features int   // after encoding
	NonZeros int   // most of a record that are not 0; 0 means Features
	Groups   []int // sizes of query groups; nil without
	// PersonRows is the most rows of a person; 0: each row is a record of its own.
	PersonRows int
	// LabelValues is the number of different labels, if it is known (engine.Problem).
	LabelValues int
	algorithms.Provenance
}

// ProvenanceOf is what a schema says of where its records come from.
func ProvenanceOf(s *dataset.Schema) algorithms.Provenance {
	return algorithms.Provenance{BoundsFromData: s.RangesFromData(), SelectedByLabel: s.SelectsByLabel(), RowsPerPerson: s.RowsPerPerson}
}

// ShapeOf is what a schema's encoder makes public about n records without query groups, or n
// persons if the schema has a column for them.
func ShapeOf(e *dataset.Encoder, n int) Shape {
	s := Shape{
		Records: n, Features: e.Dim(), LabelValues: e.LabelValues(), PersonRows: e.Schema().PersonCap(),
		Provenance: ProvenanceOf(e.Schema()),
	}
	if nz := e.NonZerosPerRow(); nz < s.Features {
		s.NonZeros = nz
	}
	return s
}

// with are other records of the same data, without groups.
func (d *Data) with(r *engine.Records) *Data {
	out := *d
	out.Records, out.groups, out.IDs = r, nil, nil
	return &out
}

// of are the given rows of data with groups, in that order.
func (d *Data) of(rows []int, group func(row int) int) *Data {
	out := d.with(d.Records.Subset(rows))
	out.groups = make([]int, len(rows))
	for i, row := range rows {
		out.groups[i] = group(row)
	}
	return out
}

// sizes are the sizes of the groups in order, nil without groups.
func (d *Data) sizes() []int {
	var out []int
	for i, g := range d.groups {
		if i == 0 || g != d.groups[i-1] {
			out = append(out, 0)
		}
		out[len(out)-1]++
	}
	return out
}

// Split holds out a fraction of the records, persons with all their rows, or of the query
// groups if there are any, chosen by a public seed.
func (d *Data) Split(fraction float64, seed uint64) (train, held *Data, err error) {
	if d.groups == nil {
		keep, out, err := dataset.Split(d.Records.Units(), 1-fraction, seed)
		if err != nil {
			return nil, nil, input.As(err)
		}
		return d.with(d.Records.UnitSubset(keep)), d.with(d.Records.UnitSubset(out)), nil
	}
	keep, out, err := dataset.Split(len(d.sizes()), 1-fraction, seed)
	if err != nil {
		return nil, nil, input.As(err)
	}
	return d.ofGroups(keep), d.ofGroups(out), nil
}

// ofGroups are the records of the groups with these positions.
func (d *Data) ofGroups(positions []int) *Data {
	wanted := make(map[int]bool)
	for _, p := range positions {
		wanted[p] = true
	}
	var rows []int
	position := -1
	for i, g := range d.groups {
		if i == 0 || g != d.groups[i-1] {
			position++
		}
		if wanted[position] {
			rows = append(rows, i)
		}
	}
	return d.of(rows, func(row int) int { return d.groups[row] })
}
