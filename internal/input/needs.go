package input

// Needs describes what a computation needs from its records and its model. Each field is the text of an error. The
// method Of returns this error if the records or the model do not meet the need. If a field is "", the computation
// does not have this need.
type Needs struct {
	Labels, TwoClasses, Ungrouped, Rows string // needs of records
	Scores, Metric, Linear              string // needs of a model
}

// Lacks states which of the Needs are not met. Labels is true if the records have no labels. TwoClasses is true if
// the labels are not of two classes, Ungrouped is true if the records are in query groups, and Rows is true if a
// person may have several rows. Scores is true if the model has no scores, Metric is true if the model has no
// metric, and Linear is true if the model is not a linear map.
type Lacks struct{ Labels, TwoClasses, Ungrouped, Rows, Scores, Metric, Linear bool }

// Of returns an error if a needed property is missing. If several properties are missing, the error is about
// the first one in the order of the fields.
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
