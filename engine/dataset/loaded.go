package dataset

import (
	"dyad/engine"
	"dyad/engine/dataset/schema"
)

// Dataset holds the data of one or several files, read with a schema.
type Dataset struct {
	// Records holds the records. Labels are -1 and +1, or in [-1, 1] if they are graded. If HasLabels is false,
	// all labels are 0. With Options.KeepPersons, records are grouped by person.
	Records *engine.Records
	Encoder *schema.Encoder
	// HasLabels reports whether the file has labels and they were read.
	HasLabels bool
	// Positives and Negatives are the numbers of records of the two classes. Both are 0 if labels are graded or
	// records are grouped by person. These numbers are private like the records. A report may show them only if
	// the data are public.
	Positives, Negatives int
	// IDs holds the n texts of the id column. It is nil without Options.KeepIDs, without an id column, and if
	// records are grouped by person.
	IDs []string
	// Groups holds the query group of each of the n records, or of each person if records are grouped by
	// person. Groups come from the column with role group and are numbered from 0 to GroupCount-1 in the order
	// of their first appearance. Groups is nil without such a column. Query groups are public.
	Groups     []int32
	GroupCount int
	// Files lists the files that Load read. The first DataFiles entries are the files with rows, in the order
	// in which they were read. The other entries are the files with labels.
	Files     []string
	DataFiles int
	// Pack describes the pack if the data were read from a pack. Otherwise Pack is nil.
	Pack *Used
	// Others reports whether columns were dropped because of Options.IgnoreOthers.
	Others bool

	name string // name of the file, for errors
}

// Name returns the name of the file or files that the data were read from, for messages.
func (d *Dataset) Name() string { return d.name }

// Schema returns the schema that the data were read with.
func (d *Dataset) Schema() *schema.Schema { return d.Encoder.Schema() }

// CheckPairs returns a *ParseError if a pairwise loss has no pair to compare. A pair consists of two records
// with different labels, of the same query group if there are groups. Labels must have been read.
//
// The result is a joint property of the records: changing one label can change it. So CheckPairs must not be
// called for private data before the budget is charged, and its result must not end a run. If there is no pair
// to compare, a private run trains as on any other records. The gradients are then 0 (or come from pairs of one
// class), and the distribution of the noise is the same.
func (d *Dataset) CheckPairs() error {
	var spread labelSpread[int32]
	for k := range d.Records.Units() {
		var group int32
		if d.Groups != nil {
			group = d.Groups[k]
		}
		from, to := d.Records.UnitRows(k)
		for _, y := range d.Records.Labels()[from:to] {
			spread.add(group, y)
		}
	}
	return spread.check(d.name, d.Encoder)
}
