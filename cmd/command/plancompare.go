package command

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"dyad/algorithms"
)

type planCompareCmd struct {
	plannedFlags
	budgetFlags
	problemFlags
	noiseFlags
}

// Run prints a ranking of all algorithms. All of them give the requested guarantee.
func (c *planCompareCmd) Run(a *app) error {
	f := planFlags{methodFlags: methodFlags{Mode: algorithms.Certified.String()}, budgetFlags: c.budgetFlags,
		problemFlags: c.problemFlags, noiseFlags: c.noiseFlags}
	_, shape, err := c.shape(a, &f, &plannedHoldout{})
	if err != nil {
		return err
	}
	shape.Groups = c.Groups
	closeDevice, err := f.open(true)
	if err != nil {
		return err
	}
	defer closeDevice()
	o, err := f.decided()
	if err != nil {
		return err
	}
	spec, err := o.Spec(shape)
	if err != nil {
		return err
	}
	options, err := f.algorithmOptions()
	if err != nil {
		return err
	}
	var candidates []algorithms.Candidate
	for _, algorithm := range algorithms.Catalog() {
		candidate := algorithms.Candidate{Algorithm: algorithm, L2: f.l2(algorithm, shape.Records)}
		if configured, err := algorithms.With(algorithm, options...); err != nil {
			candidate.Excluded = err
		} else {
			candidate.Algorithm = configured
		}
		candidates = append(candidates, candidate)
	}
	comparison, err := algorithms.Compare(spec, candidates)
	if err != nil {
		return asInput(err)
	}
	for _, s := range algorithms.StreamCatalog() {
		const why = "a stream (dyad online) releases a model after every batch, but these figures are for one release"
		comparison.Excluded = append(comparison.Excluded,
			algorithms.Excluded{Algorithm: s.Info().Name, Reason: why, Why: why})
	}
	if len(comparison.Rows) == 0 {
		var reasons []string
		for _, e := range comparison.Excluded {
			reasons = append(reasons, e.Algorithm+": "+e.Why)
		}
		return badInput("no algorithm applies:\n%s", strings.Join(reasons, "\n"))
	}
	return a.emit(comparison, comparisonText(comparison))
}

func comparisonText(c *algorithms.Comparison) string {
	var b strings.Builder
	of, unit := "records", "one replaced record"
	if c.PersonRows > 0 {
		of, unit = fmt.Sprintf("persons with up to %d rows each", c.PersonRows), "one person, all rows replaced"
	}
	fmt.Fprintf(&b, "n = %d %s, d = %d features, %s loss, ||w|| <= r = %.6g\n", c.Records, of, c.Features,
		c.Loss, c.Radius)
	fmt.Fprintf(&b, "every algorithm below is (%.6g, %.3g)-DP for %s; G = %.6g, L = %.6g, Dg = %.6g (%s)\n\n", c.Epsilon,
		c.Delta, unit, c.Lipschitz, c.Smooth, c.Diameter, c.Origin)
	rows := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "rank\talgorithm\talpha\tnoise\tnoise\tnoise\ttotal "+
		"step\tgradient\tpair\tvisits\tseconds\tutility bound")
	fmt.Fprintln(rows, "\t\t\t(length)\t(radii)\t(reach)\t(sum of "+
		"steps)\tsums\tgradients\t(estimated)\t(estimated)\t(objective)")
	for i, r := range c.Rows {
		utility := pick(r.UtilitySource != "", fmt.Sprintf("%.3g", r.Utility), "none")
		fmt.Fprintf(rows, "%d\t%s\t%g\t%.3g\t%.3g\t%.3g\t%.3g\t%d\t%.3g\t%.3g\t%.2g\t%s\n",
			i+1, r.Algorithm, r.L2, r.Noise, r.NoiseToRadius, r.NoiseToReach, r.TotalStep, r.Sums, r.Pairs, r.Visits,
			r.Seconds, utility)
	}
	rows.Flush()
	fmt.Fprintf(&b, `
noise       root mean square length of the noise in the model; per radius r of the domain, and per reach: how far
            the model can get from its start, G times the total step (half of it for an average), at most the domain
cost        gradient sums are evaluated one after the other, over pair gradients in all. Visits are to records where
            a sum is near-linear and to pairs where it is not; sums over all pairs are %s here;
            seconds are for one core at 2.5 GHz
utility     proved bound of the expected objective above its minimum, where a theorem gives a number; the objective
            varies by at most %.3g over the domain, so a larger bound says nothing
`, c.Method, c.Variation)
	for _, r := range c.Rows {
		if r.UtilitySource != "" {
			fmt.Fprintf(&b, "            %s: %s\n", r.Algorithm, r.UtilitySource)
		}
	}
	for i, e := range c.Excluded {
		label := pick(i == 0, "not ranked", "")
		fmt.Fprintf(&b, "%-11s %s: %s\n", label, e.Algorithm, e.Why)
	}
	fmt.Fprintf(&b, "recommended %s: its noise (reach) is within 5 %% of the smallest; of such algorithms, it "+
		"needs the fewest visits\n",
		c.Recommended)
	if c.BestBound != "" && c.BestBound != c.Recommended {
		fmt.Fprintf(&b, "            %s has the smallest utility bound\n", c.BestBound)
	}
	b.WriteString("            Little noise does not imply high accuracy; to compare accuracy, run dyad train " +
		"--public-data on similar data\n")
	b.WriteString("plan only   no data were read and no budget was charged\n")
	return b.String()
}
