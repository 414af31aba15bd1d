package input

// Needs lists the needs of a computation. A field is the text of the error for records or a model that do not meet the
// need. If a field is "", there is no such need.
type Needs struct {
	Labels, TwoClasses, Ungrouped, Rows string // needs of records
	Scores, Metric, Linear              string // needs of a model
}

// Lacks lists properties that records and a model do not have. Records may lack labels, two classes instead of grades,
// pairs of all records instead of query groups, or one row for each person. A model may lack scores, a metric, or a
// linear map instead of a network.
type Lacks struct{ Labels, TwoClasses, Ungrouped, Rows, Scores, Metric, Linear bool }

// Of returns an error if a needed property is missing. The error is for the first missing property in the order
// of the fields.
func (n Needs) Of(l Lacks) error {
	for _, one := range []struct {
		lacks bool
		why   string
	}{{l.Labels, n.Labels}, {l.TwoClasses, n.TwoClasses}, {l.Ungrouped, n.Ungrouped}, {l.Rows, n.Rows}, {l.Scores, n.Scores}, {l.Metric, n.Metric}, {l.Linear, n.Linear}} {
		if one.lacks && one.why != "" {
			return Errorf("dyad: %s", one.why)
		}
	}
	return nil
}
