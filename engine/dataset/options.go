package dataset

import (
	"fmt"

	"dyad/engine/dataset/schema"
)

// LabelMode selects how a reader treats labels.
type LabelMode int

// The label modes.
const (
	// LabelsRequired is for training: every row must have a label, and there must be at least 2 rows.
	// Dataset.CheckPairs reports whether the labels allow a comparison.
	LabelsRequired LabelMode = iota
	// LabelsOptional is for prediction: the label column may be absent from the file, and Dataset.HasLabels is
	// then false. If the column is present, every row must have a valid label. One row and one class are
	// enough.
	LabelsOptional
	// LabelsIgnored is like LabelsOptional, but labels are never read.
	LabelsIgnored
)

// Options are the options of Load. The zero value is for training.
type Options struct {
	Labels LabelMode
	// KeepIDs fills Dataset.IDs from the column with role id.
	KeepIDs bool
	// Persons selects how a column with role person is treated.
	Persons PersonMode
	// AnyPersons changes KeepPersons for exact figures, which count rows and take the rows of a person together. Any
	// number of persons is accepted, and all their rows count. If a row has no person, records are not grouped.
	AnyPersons bool
	// IgnoreOthers drops named columns that the schema lacks, like ignore_others in the schema. It is for uses
	// other than training, such as scoring.
	IgnoreOthers bool
	// Also is the list of further files, folders or patterns to read. Their rows follow the rows of the first name.
	Also []string
	// LabelsFile is the labels file of FormatNPY and FormatIDX. If it is empty, Schema.LabelsFile applies.
	LabelsFile string
	// InMemory copies the records of a pack to memory. If it is false, the records stay in the file, which must
	// not be changed while the program runs.
	InMemory bool
	// Progress, if not nil, is called from time to time with the number of rows read so far. If it returns an
	// error, the load stops and returns the error.
	Progress func(rows int) error

	rowByRow bool // CSV rows are read one after the other; tests compare results with this mode
}

// encoderFor returns the encoder of a schema that has the labels required by o.
func encoderFor(s *schema.Schema, o Options) (*schema.Encoder, error) {
	if o.Labels == LabelsRequired && s.Unlabelled() {
		return nil, fmt.Errorf("dataset: %s: the schema has no label column; train with a schema that has one "+
			"(role: label)", s.DataID)
	}
	if s.ByPerson() && o.Persons == RefusePersons {
		return nil, fmt.Errorf("dataset: %s: this command protects rows, not persons (role: person); use dyad "+
			"train, or give the column role: ignore", s.DataID)
	}
	return schema.NewEncoder(s)
}

// PersonMode selects how a reader treats a column with role person.
type PersonMode int

// The person modes.
const (
	// RefusePersons is the default and refuses files with a person column. If the rows of such a file
	// were read one by one, only single rows would be protected, but the schema protects persons.
	RefusePersons PersonMode = iota
	// KeepPersons groups the records by person (engine.Records.GroupPersons).
	KeepPersons
	// IgnorePersons ignores persons. It is for uses whose result does not concern persons, such as prediction.
	IgnorePersons
)
