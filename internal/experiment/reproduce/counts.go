package reproduce

import (
	"fmt"
	"strings"

	"dyad/internal/experiment"
)

// counts returns sentences with the number of cells of each data set in which our result is better than the
// paper's number.
func (r results) counts(all []comparison) []string {
	var order []string
	won, cells := map[string]int{}, map[string]int{}
	for _, c := range all {
		_, ahead, compared := c.outcome(r.lower())
		if !compared {
			continue
		}
		if cells[c.data] == 0 {
			order = append(order, c.data)
		}
		if cells[c.data]++; ahead {
			won[c.data]++
		}
	}
	var parts []string
	for _, d := range order {
		parts = append(parts, fmt.Sprintf("%s: ahead of the paper in %d of %d cells", d, won[d], cells[d]))
	}
	if parts == nil {
		return nil
	}
	return []string{r.ours() + " on " + strings.Join(parts, "; ")}
}

// nothing returns the value of a model that learned nothing at a point: AUC 1/2, the accuracy of the identity,
// or the objective of the model 0.
func (r results) nothing(c comparison) (value float64, name string, ok bool) {
	if r.Plan.Measure == "" && r.Plan.Task != "metric" {
		return 0.5, "chance", true
	}
	want := map[bool]string{true: "zero", false: "identity"}[r.Plan.Measure != ""]
	for _, b := range c.baselines {
		if b.Algorithm == want && b.Splits > 0 {
			return b.Mean, short(want), true
		}
	}
	return 0, "", false
}

// learned returns sentences with the number of cells in which each kind of method is better, by more than two
// standard errors, than a model that learned nothing.
func (r results) learned(all []comparison) []string {
	names := []string{"literal", "changed schedule", "certified", r.ours()}
	var better, cells [4]int
	seen := map[string]bool{}
	reference := ""
	for _, c := range all {
		value, name, ok := r.nothing(c)
		if !ok {
			continue
		}
		reference = name
		for k, s := range []*experiment.Summary{c.literal, c.changed, c.certified, c.ours} {
			if s == nil || s.Splits < 2 {
				continue
			}
			cell := fmt.Sprint(c.point, names[k], s.Algorithm, s.Options)
			if seen[cell] { // ours stands in every line of a point
				continue
			}
			seen[cell] = true
			gain := s.Mean - value
			if r.lower() {
				gain = -gain
			}
			if cells[k]++; gain > 2*s.SE {
				better[k]++
			}
		}
	}
	var parts []string
	for k, name := range names {
		if cells[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d of %d", name, better[k], cells[k]))
		}
	}
	if parts == nil {
		return nil
	}
	return []string{"Cells that are better than " + reference + " by more than two standard errors: " +
		strings.Join(parts, ", ")}
}
