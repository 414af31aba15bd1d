package dataset

import (
	"fmt"

	"dyad/engine/dataset/schema"
)

// LabelMode selects how a reader treats labels.
type LabelMode int

// The label modes.
const (
	// LabelsRequired is for training: every row has a label and there are at least
	// 2 rows. Whether they have anything to compare, Dataset.CheckPairs says.
	LabelsRequired LabelMode = iota
	// LabelsOptional is for prediction: the label column may be absent from the
	// file, in which case Dataset.HasLabels is false; if it is there, every row
	// must have a valid label. 1 row and 1 class are enough.
	LabelsOptional
	// LabelsIgnored is LabelsOptional without reading the labels.
	LabelsIgnored
)

// Options of Load. The zero value is for training.
type Options struct {
	Labels LabelMode
	// KeepIDs fills Dataset.IDs from the column with role id.
	KeepIDs bool
	// Persons selects how a column with role person is treated.
	Persons PersonMode
	// IgnoreOthers drops named columns that the schema lacks, as its ignore_others does. It is for
	// a use that is not training, such as scoring.
	IgnoreOthers bool
	// Also are further files, folders or patterns, whose rows follow those of the first name.
	Also []string
	// LabelsFile is the file of the labels of FormatNPY and FormatIDX. Empty
	// means what Schema.LabelsFile says.
	LabelsFile string
	// InMemory copies the records of a pack; otherwise they stay in its file, which must not be
	// changed while the program runs.
	InMemory bool
	// Progress, if not nil, is called now and then with the rows read so far;
	// an error stops the load and is returned.
	Progress func(rows int) error

	rowByRow bool // CSV is read as rows one after the other, which tests compare with
}

// encoderFor is the encoder of a schema that has the labels that o wants.
func encoderFor(s *schema.Schema, o Options) (*schema.Encoder, error) {
	if o.Labels == LabelsRequired && s.Unlabelled() {
		return nil, fmt.Errorf("dataset: %s: its schema has no label column, because the pairs had the labels, but records need labels here; train with a schema that has a label column (role: label)", s.DataID)
	}
	if s.ByPerson() && o.Persons == RefusePersons {
		return nil, fmt.Errorf("dataset: %s: its schema has a column with role: person, but this command works on single rows; it would protect rows, while the schema asks for persons. Train with dyad train, or give the column role: ignore to work on rows", s.DataID)
	}
	return schema.NewEncoder(s)
}

// PersonMode selects how a reader treats a column with role person.
type PersonMode int

// The person modes.
const (
	// RefusePersons is the default: rows that are read one by one would be protected one by
	// one, while the schema protects persons.
	RefusePersons PersonMode = iota
	// KeepPersons makes records of persons (engine.Records.GroupPersons).
	KeepPersons
	// IgnorePersons is for what says nothing of persons, such as prediction.
	IgnorePersons
)
