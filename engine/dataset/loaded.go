package dataset

import (
	"dyad/engine"
	"dyad/engine/dataset/schema"
)

// Dataset is a file read by a schema.
type Dataset struct {
	// Records have labels -1 and +1, or in [-1, 1] if they are graded, or all 0 without
	// HasLabels. With Options.KeepPersons they are grouped by person.
	Records *engine.Records
	Encoder *schema.Encoder
	// HasLabels reports whether the file had labels that were read.
	HasLabels bool
	// Positives and Negatives count the two classes; both are 0 for graded
	// labels and of persons. They are private like the records; no report may show them
	// unless the data are public.
	Positives, Negatives int
	// IDs are n texts with Options.KeepIDs and an id column, otherwise and of persons nil.
	IDs []string
	// Groups are the query groups of the n records, or persons, by the column with role group, numbered from
	// 0 to GroupCount-1 by first appearance, otherwise nil. They are public.
	Groups     []int32
	GroupCount int
	// Files are those that Load read: DataFiles of them with rows, in this order, then those
	// that the labels came from.
	Files     []string
	DataFiles int
	// Pack is the file if that is a pack, else nil.
	Pack *Used
	// Others reports whether Options.IgnoreOthers dropped columns.
	Others bool

	name string // of the file, for errors
}

// Name is the file, or the files, that the data were read from, for messages.
func (d *Dataset) Name() string { return d.name }

// Schema is the schema that the data were read by.
func (d *Dataset) Schema() *schema.Schema { return d.Encoder.Schema() }

// CheckPairs returns a *ParseError unless a pairwise loss has something to compare: two
// records whose labels differ, of the same query group if there are groups. Labels must
// have been read.
//
// The answer is a joint property of well-formed records: flip one label, and it can be
// another one. So nobody may ask it about private data before they are charged, nor let it
// end a run: a private run trains on such records like on all others. Its gradients are 0
// (or those of pairs of one class), and the noise that is released is the same.
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
