package input

// Needs lists the needs of a computation. A field is the error for records or a model that lack it; "" requires nothing.
type Needs struct {
	Labels, TwoClasses, Ungrouped, Rows string // of records
	Scores, Metric, Linear              string // of a model
}

// Lacks lists what records and a model lack: the labels, two classes in place of grades, pairs of all records in place of query groups,
// one row for each person, scores or a metric, and a linear map in place of a network.
type Lacks struct{ Labels, TwoClasses, Ungrouped, Rows, Scores, Metric, Linear bool }

// Of returns an error if something is needed that is lacking: the first one in the order of the fields.
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
