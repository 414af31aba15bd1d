package evaluate

import "fmt"

// Aim is the purpose of a decision threshold.
type Aim struct {
	// Name is Balanced, Accuracy, Sensitivity or Specificity.
	Name string `json:"aim"`
	// AtLeast, in (0, 1), is set only for Sensitivity and Specificity. The lower end of the interval of this
	// figure must be at least AtLeast.
	AtLeast float64 `json:"at_least,omitempty"`
}

// The aims of a threshold.
const (
	Balanced    = "balanced"    // the largest sum of sensitivity and specificity (Youden's index)
	Accuracy    = "accuracy"    // the largest accuracy
	Sensitivity = "sensitivity" // the largest specificity among the points with enough sensitivity
	Specificity = "specificity" // the largest sensitivity among the points with enough specificity
)

// Validate returns an error for an unknown aim, or for an AtLeast that does not fit the aim. A nil Aim is valid.
func (a *Aim) Validate() error {
	if a == nil {
		return nil
	}
	switch a.Name {
	case Balanced, Accuracy:
		if a.AtLeast != 0 {
			return fmt.Errorf("evaluate: the aim %s takes no lower limit; only %s and %s take one",
				a.Name, Sensitivity, Specificity)
		}
	case Sensitivity, Specificity:
		if !(a.AtLeast > 0 && a.AtLeast < 1) {
			return fmt.Errorf("evaluate: the aim %s needs a lower limit, strictly between 0 and 1", a.Name)
		}
	default:
		return fmt.Errorf("evaluate: the aim is %q, want %s, %s, %s or %s", a.Name, Balanced, Accuracy,
			Sensitivity, Specificity)
	}
	return nil
}

// Chosen is a decision threshold.
type Chosen struct {
	Aim
	Point
	// Reached is false if no operating point reaches AtLeast. Then the point that comes nearest to AtLeast is chosen.
	Reached bool `json:"reached"`
	// Never is the accuracy of a classifier that classifies every record as negative. It is computed from the
	// released number of positives.
	Never float64 `json:"accuracy_of_never"`
}

// Threshold chooses the operating point that serves an aim best. Among equally good points it chooses the point
// with the smallest threshold. It reads released figures only, so it needs no privacy budget
// (docs/theory.md#threshold). The figures of the chosen point were used for the choice, so on average they are
// slightly too good.
func (f *Figures) Threshold(a Aim) (*Chosen, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if len(f.Points) == 0 || f.Records < 1 {
		return nil, fmt.Errorf("evaluate: these figures have no operating points; evaluate a model of scores on " +
			"two classes")
	}
	c := &Chosen{Aim: a, Reached: a.AtLeast == 0, Never: min(max(1-f.Positives/float64(f.Records), 0), 1)}
	best, first := 0.0, true
	for _, p := range f.Points {
		limited, value := a.of(p)
		reached := limited.Low >= a.AtLeast
		switch {
		case c.Reached && !reached:
			continue
		case reached && !c.Reached: // the first point that reaches it
			c.Reached, first = true, true
		}
		if !reached {
			value = limited.Low
		}
		if first || value > best {
			c.Point, best, first = p, value, false
		}
	}
	return c, nil
}

// of returns the figure of a point that has to reach the limit, and the value to maximise.
func (a Aim) of(p Point) (limited Figure, value float64) {
	switch a.Name {
	case Accuracy:
		return Figure{}, p.Accuracy.Value
	case Sensitivity:
		return p.Sensitivity, p.Specificity.Value
	case Specificity:
		return p.Specificity, p.Sensitivity.Value
	}
	return Figure{}, p.Sensitivity.Value + p.Specificity.Value
}
