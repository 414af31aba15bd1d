package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dyad/engine/pairgraph"
)

type pairsInspectCmd struct {
	pairSource
	Loss      string  `default:"contrastive" enum:"contrastive,bradley-terry" help:"As in train. The loss sets the meaning of labels."`
	DegreeCap int     `positive:"" placeholder:"D"`
	Density   float64 `positive:"" placeholder:"F"`
	PairSeed  uint64  `default:"1"`
}

type pairsInspectResult struct {
	Public      bool   `json:"public"`
	Warning     string `json:"warning,omitempty"`
	Individuals int    `json:"individuals"`
	Unpaired    int    `json:"in_no_pair"`
	Pairs       int    `json:"pairs"`
	Dropped     int    `json:"pairs_above_the_cap,omitempty"`
	LabelTrue   int    `json:"dissimilar_or_first_preferred"`
	// Degrees holds the minimum, the three quartiles and the maximum of the number of pairs of an individual.
	Degrees           [5]int `json:"degrees"`
	Kappa             *int   `json:"kappa,omitempty"`
	KappaBound        int    `json:"kappa_bound"`
	KappaIntransitive int    `json:"kappa_intransitive"`
	KappaWarning      string `json:"kappa_warning,omitempty"`
}

// Run describes the pairs.
func (c *pairsInspectCmd) Run(a *app) error {
	d, err := c.load(a, pairFlags{Loss: c.Loss, DegreeCap: c.DegreeCap, Density: c.Density, PairSeed: c.PairSeed}, false)
	if err != nil {
		return err
	}
	g := d.Graph
	r := pairsInspectResult{
		Public: c.PublicData || d.Schema().Public, Individuals: g.Len(), Pairs: len(g.Pairs()), Dropped: d.Dropped,
		KappaBound: g.KappaBound(pairgraph.Transitive), KappaIntransitive: g.KappaBound(pairgraph.Intransitive),
	}
	for _, l := range d.Labels {
		if l {
			r.LabelTrue++
		}
	}
	degrees := make([]int, g.Len())
	for v := range degrees {
		if degrees[v] = g.Degree(v); degrees[v] == 0 {
			r.Unpaired++
		}
	}
	slices.Sort(degrees)
	for i := range r.Degrees {
		r.Degrees[i] = degrees[i*(len(degrees)-1)/4]
	}
	switch kappa, err := g.Kappa(); {
	case err == nil:
		r.Kappa = &kappa
	case !errors.Is(err, pairgraph.ErrTooLarge):
		return err
	}
	r.Warning = pick(r.Public, "", strings.ReplaceAll(strings.TrimSpace(privateFigures), "\n", " "))
	if c.Density == 0 {
		r.KappaWarning = "if the pairing is private, do not set the noise by this kappa or these degrees; fix " +
			"--kappa in advance, or draw pairs with --density"
	}
	return a.emit(r, r.text())
}

func (r *pairsInspectResult) text() string {
	var b strings.Builder
	b.WriteString(pick(r.Public, "", privateFigures))
	line(&b, "pairs", "%d pairs of %d individuals; %d individuals are in no pair", r.Pairs, r.Individuals, r.Unpaired)
	if r.Dropped > 0 {
		line(&b, "", "the degree cap dropped %d more pairs", r.Dropped)
	}
	line(&b, "labels", "%d dissimilar (or first preferred), %d similar (or second)", r.LabelTrue, r.Pairs-r.LabelTrue)
	line(&b, "degrees", "smallest %d, quartiles %d, %d and %d, largest %d", r.Degrees[0], r.Degrees[1], r.Degrees[2],
		r.Degrees[3], r.Degrees[4])
	kappa := fmt.Sprintf("not computed for more than %d pairs", pairgraph.MaxExactPairs)
	if r.Kappa != nil {
		kappa = fmt.Sprint(*r.Kappa)
	}
	line(&b, "kappa", "%s; upper bound kappa' = %d; if relationships are not transitive, kappa = %d", kappa, r.KappaBound,
		r.KappaIntransitive)
	some(&b, "warning", r.KappaWarning)
	return b.String()
}
