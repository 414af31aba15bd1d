package dataset

import (
	"errors"
	"slices"
	"strings"

	"dyad/engine/dataset/schema"
	"dyad/engine/pairgraph"
)

// Drawn returns the graph of drawn pairs. The indices in pairs refer to individuals in the order of their ids, or in
// the order of the file if there are no ids. A label reports whether the classes of the two individuals differ.
func (d *Dataset) Drawn(alike schema.LookAlikes,
	pairs []pairgraph.Pair) (g *pairgraph.Graph, classes []int32, labels []bool, err error) {
	order, err := d.Order(alike)
	if err != nil {
		return nil, nil, nil, err
	}
	r, drawn := d.Records, make([]pairgraph.Pair, len(pairs))
	for i, q := range pairs {
		drawn[i] = pairgraph.Pair{A: order[q.A], B: order[q.B]}
	}
	if g, err = pairgraph.New(r.Len(), drawn); err != nil {
		return nil, nil, nil, err
	}
	classes, labels = make([]int32, r.Len()), make([]bool, len(drawn))
	for v := range classes {
		if r.Label(v) > 0 {
			classes[v] = 1
		}
	}
	for i, q := range drawn {
		labels[i] = classes[q.A] != classes[q.B]
	}
	return g, classes, labels, nil
}

// Listed returns the graph of the pairs in a file. It keeps at most the first `cap` pairs of each individual. If cap
// is 0, it keeps all pairs. dropped is the number of pairs left out.
func (d *Dataset) Listed(file string, o PairOptions,
	cap int) (g *pairgraph.Graph, labels []bool, dropped int, err error) {
	if d.IDs == nil {
		return nil, nil, 0, errors.New("dataset: pairs name individuals by id, but no column has role: id; give " +
			"the column of ids this role")
	}
	switch {
	case o.True != "" || o.False != "":
	case o.Oriented:
		o.True, o.False = "first", "second"
	default:
		o.True, o.False = "dissimilar", "similar"
	}
	list, err := readPairs(file, d.IDs, d.Name(), d.IDColumn(), o)
	if err != nil {
		return nil, nil, 0, err
	}
	all := make([]pairgraph.Pair, len(list))
	labels = make([]bool, len(list))
	for i, q := range list {
		all[i], labels[i] = pairgraph.Pair{A: q.A, B: q.B}, q.Label
	}
	n := d.Records.Len()
	if g, err = pairgraph.New(n, all); err != nil || cap == 0 {
		return g, labels, 0, err
	}
	keep := g.Capped(cap)
	for to, from := range keep {
		all[to], labels[to] = all[from], labels[from]
	}
	g, err = pairgraph.New(n, all[:len(keep)])
	return g, labels[:len(keep)], len(all) - len(keep), err
}

// Order returns the indices of the rows in the order of their ids, or in the order of the file if there are no ids.
func (d *Dataset) Order(alike schema.LookAlikes) ([]int32, error) {
	order := make([]int32, d.Records.Len())
	for i := range order {
		order[i] = int32(i)
	}
	if d.IDs == nil {
		return order, nil
	}
	if err := schema.CheckIDs(d.IDs, d.Name(), d.IDColumn(), alike); err != nil {
		return nil, err
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(d.IDs[a], d.IDs[b]) })
	return order, nil
}

// IDColumn returns the name of the column with ids, or "" if there is no such column.
func (d *Dataset) IDColumn() string {
	if c := d.Schema().ColumnOf(schema.RoleID); c != nil {
		return c.Name
	}
	return ""
}
