package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"dyad/privacy"
	"dyad/privacy/account"
)

type accountCmd struct {
	Epsilon     float64 `xor:"amount" required:"" positive:"" placeholder:"EPSILON" help:"Print the noise that reaches this epsilon."`
	Sigma       float64 `xor:"amount" required:"" positive:"" placeholder:"SIGMA" help:"Print the epsilon of Gaussian noise with this standard deviation per coordinate."`
	Scale       float64 `xor:"amount" required:"" positive:"" placeholder:"SCALE" help:"Print the epsilon of Laplace or K-norm noise of this scale."`
	Delta       float64 `within:"[0,1)" default:"1e-5" help:"Delta of the guarantee. 0: pure epsilon (Laplace or K-norm noise)."`
	Noise       string  `default:"" enum:",gaussian,laplace,knorm" help:"gaussian, laplace (in every coordinate) or knorm (density exp(-||z||/scale)). Default: gaussian; knorm with --delta 0."`
	Coordinates int     `positive:"" default:"1" help:"Number of released coordinates, for laplace and knorm."`
	Sensitivity float64 `positive:"" default:"1" help:"L2 sensitivity of a release. With --rate: change if a record enters or leaves the batch."`
	Steps       int     `positive:"" default:"1" help:"Number of adaptive releases."`
	Rate        float64 `xor:"sampling" within:"(0,1]" positive:"" placeholder:"Q" help:"Rate of the Poisson sample of records for each release."`
	Batch       int     `xor:"sampling" needs:"records" positive:"" placeholder:"M" help:"Each release uses M of --records records, drawn without replacement."`
	Records     int     `needs:"batch" positive:"" placeholder:"N" help:"Number of records, with --batch."`
	Relation    string  `default:"replace-one" enum:"replace-one,add/remove" help:"Neighbouring data sets: replace-one or add/remove. Without --rate, --sensitivity is for the same neighbours."`
	Group       int     `name:"person-rows" aliases:"group" positive:"" default:"1" placeholder:"K" help:"Also print the guarantee of a person with K records."`
	Padded      bool    `help:"Assume that data sets are padded to one public size, so replace-one covers add/remove."`
}

type accountResult struct {
	Epsilon     *float64 `json:"epsilon"` // smallest epsilon in Bounds, nil if infinite
	Delta       float64  `json:"delta"`
	Mu          float64  `json:"mu,omitempty"`
	Relation    string   `json:"relation"`
	Noise       string   `json:"noise"`
	Sigma       float64  `json:"sigma,omitempty"`
	Multiplier  float64  `json:"noise_multiplier,omitempty"` // sigma divided by the sensitivity
	Scale       float64  `json:"scale,omitempty"`
	Coordinates int      `json:"coordinates,omitempty"`
	NoiseNorm   float64  `json:"noise_norm,omitempty"`
	Sensitivity float64  `json:"sensitivity"`
	Steps       int      `json:"steps"`
	Event       string   `json:"event"`

	Bounds    []accountBound      `json:"accountants"`
	Converted []accountConversion `json:"converted,omitempty"`
}

// accountBound is the result of one accountant. Epsilon is nil if it is infinite or the accountant does not
// cover the event.
type accountBound struct {
	Accountant string   `json:"accountant"`
	Epsilon    *float64 `json:"epsilon"`
	Note       string   `json:"note,omitempty"`
}

// accountConversion is the guarantee for a group or for another neighbouring relation.
type accountConversion struct {
	For     string  `json:"for"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Refused string  `json:"refused,omitempty"`
	// Padded is true if the conversion was refused but would be possible with --padded.
	Padded bool `json:"-"`
}

// Run computes the guarantee from the noise or the noise from the guarantee.
func (c *accountCmd) Run(a *app) error {
	c.Noise = cmp.Or(c.Noise, pick(c.Delta == 0, "knorm", "gaussian"))
	if err := c.check(); err != nil {
		return err
	}
	amount := c.Sigma + c.Scale
	if c.Epsilon > 0 {
		var err error
		if amount, err = c.calibrate(); err != nil {
			return err
		}
	}
	event, mechanism := c.event(amount)
	r := accountResult{Delta: c.Delta, Relation: c.Relation, Noise: mechanism.Name(), Sensitivity: c.Sensitivity,
		Steps: c.Steps, Event: event.String()}
	if c.Noise == "gaussian" {
		r.Sigma, r.Multiplier = amount, amount/c.Sensitivity
	} else {
		r.Scale, r.Coordinates, r.NoiseNorm = amount, c.Coordinates, mechanism.NoiseNorm(c.Coordinates)
	}
	if err := r.account(event); err != nil {
		return asInput(err)
	}
	if r.Epsilon != nil {
		c.convert(&r, event)
	}
	return a.emit(r, c.text(&r, mechanism))
}

func (c *accountCmd) check() error {
	switch {
	case c.Noise == "gaussian" && c.Delta == 0:
		return badInput("Gaussian noise has no finite epsilon at delta 0; give a positive --delta, or --noise=knorm")
	case c.Noise == "gaussian" && c.Scale != 0, c.Noise != "gaussian" && c.Sigma != 0:
		return badInput("the noise is %s; give --sigma for Gaussian noise, and --scale for Laplace or K-norm noise",
			c.Noise)
	case c.Batch > c.Records:
		return badInput("--batch is %d, but must be at most --records", c.Batch)
	case c.Batch != 0 && c.Relation != string(account.ReplaceOne):
		return badInput("batches of fixed size need replace-one neighbours; leave --relation out")
	case (c.Rate != 0 || c.Batch != 0) && c.Noise == "knorm":
		return badInput("--rate and --batch need --noise gaussian or laplace")
	}
	if c.Epsilon != 0 {
		return asInput((privacy.Budget{Epsilon: c.Epsilon, Delta: c.Delta}).Validate())
	}
	return nil
}

// event returns the event for the accountants, given the amount of noise (sigma or scale).
func (c *accountCmd) event(amount float64) (account.Event, privacy.Mechanism) {
	sensitivity, law := c.Sensitivity, account.GaussianLaw
	var m privacy.Mechanism = privacy.Gaussian{Sigma: amount}
	var e account.Event = account.Repeat(account.GaussianEvent{Sensitivity: sensitivity, Sigma: amount}, c.Steps)
	switch c.Noise {
	case "laplace":
		if c.Coordinates > 1 { // L1 sensitivity from L2 sensitivity, rounded up
			sensitivity *= math.Sqrt(float64(c.Coordinates)) * (1 + 0x1p-51)
		}
		law, m = account.LaplaceLaw, privacy.Laplace{Scale: amount, Coordinates: c.Coordinates}
		e = account.Repeat(account.LaplaceEvent{Sensitivity: sensitivity, Scale: amount}, c.Steps)
	case "knorm":
		m = privacy.KNorm{Scale: amount}
		e = account.Repeat(account.PureEvent{Epsilon: sensitivity / amount * (1 + 0x1p-51)}, c.Steps)
	}
	switch {
	case c.Rate != 0:
		e = account.Repeat(account.PoissonEvent{Event: law.Event(sensitivity, amount), Rate: c.Rate,
			Relation: account.Relation(c.Relation)}, c.Steps)
	case c.Batch != 0:
		e = account.Repeat(account.WithoutReplacementEvent{Event: law.Event(sensitivity, amount), Batch: c.Batch,
			Records: c.Records}, c.Steps)
	}
	return e, m
}

// account sets the bounds, the most exact first, and the smallest bound.
func (r *accountResult) account(e account.Event) error {
	for _, k := range []struct {
		name string
		a    account.Accountant
	}{{"GDP", new(account.GDP)}, {"PLD", new(account.PLD)}, {"RDP", new(account.RDP)}, {"zCDP", new(account.ZCDP)}} {
		b := accountBound{Accountant: k.name}
		err := k.a.Compose(e)
		switch {
		case errors.Is(err, account.ErrUnsupported):
			b.Note = "does not cover this kind of release"
		case err != nil:
			return err
		default:
			epsilon := k.a.Epsilon(r.Delta)
			if math.IsInf(epsilon, 1) {
				b.Note = "no finite epsilon"
				break
			}
			b.Epsilon = &epsilon
			if r.Epsilon == nil || epsilon < *r.Epsilon {
				r.Epsilon = &epsilon
			}
			if g, ok := k.a.(*account.GDP); ok && r.Noise == "Gaussian" {
				r.Mu = g.Mu()
			}
		}
		r.Bounds = append(r.Bounds, b)
	}
	return nil
}

// calibrate returns the smallest noise, within 1e-9, whose smallest bound is at most the target.
func (c *accountCmd) calibrate() (float64, error) {
	meets := func(amount float64) bool {
		e, _ := c.event(amount)
		r := accountResult{Delta: c.Delta}
		return r.account(e) == nil && r.Epsilon != nil && *r.Epsilon <= c.Epsilon
	}
	high := c.Sensitivity
	for !meets(high) {
		high *= 2
		if math.IsInf(high, 1) || high > 1e12*c.Sensitivity {
			return 0, badInput("no noise up to 1e12 times the sensitivity gives epsilon = %g at delta = %g; use a "+
				"larger epsilon or delta",
				c.Epsilon, c.Delta)
		}
	}
	low := high / 2
	for low > 0 && meets(low) {
		low, high = low/2, low
	}
	for high-low > 1e-9*high {
		if mid := (low + high) / 2; meets(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}

// convert adds the guarantees for a group and for the other relation.
func (c *accountCmd) convert(r *accountResult, event account.Event) {
	b := privacy.Budget{Epsilon: *r.Epsilon, Delta: c.Delta}
	add := func(what string, budget privacy.Budget, mu float64, err error) {
		out := accountConversion{For: what}
		switch {
		case err != nil:
			out.Refused, out.Padded = err.Error(), errors.Is(err, privacy.ErrRelation)
		case mu > 0: // converting the whole curve is exact and better than converting one point
			out.Epsilon, out.Delta = account.GDPEpsilon(mu, c.Delta), c.Delta
		default:
			out.Epsilon, out.Delta = budget.Epsilon, budget.Delta
		}
		r.Converted = append(r.Converted, out)
	}
	if c.Group > 1 {
		mu, _ := privacy.GroupMu(r.Mu, c.Group)
		budget, err := privacy.GroupBudget(b, c.Group)
		if own, ok := c.sampledGroup(event, c.Group, account.Relation(c.Relation)); ok {
			budget, err = own, nil
		}
		if mu > 0 {
			err = nil
		}
		add(fmt.Sprintf("the %d records of one person", c.Group), budget, mu, err)
	}
	from, to := account.Relation(c.Relation), account.AddRemove
	if from == account.AddRemove {
		to = account.ReplaceOne
	}
	budget, err := privacy.ConvertBudget(b, from, to, c.Padded)
	mu := 0.0
	if err == nil && r.Mu > 0 {
		mu, err = privacy.ConvertMu(r.Mu, from, to, c.Padded)
	}
	if to == account.ReplaceOne {
		if own, ok := c.sampledGroup(event, 1, to); ok {
			budget, err = own, nil
		}
	}
	add(fmt.Sprintf("%s neighbours", to), budget, mu, err)
}

// sampledGroup returns the guarantee, at the same delta, for all records of one person on Poisson batches. It
// uses the distribution of the number of drawn records. ok is false for other events, for which this
// distribution is not known here, and if there is no finite epsilon.
//
// A PoissonEvent requires a bound on the change of the query by each record that enters a batch. The change by
// k records is then at most k times the bound, whatever the neighbouring relation is.
func (c *accountCmd) sampledGroup(event account.Event, group int, relation account.Relation) (privacy.Budget, bool) {
	if r, ok := event.(account.RepeatedEvent); ok {
		event = r.Event
	}
	e, ok := event.(account.PoissonEvent)
	if _, gaussian := e.Event.(account.GaussianEvent); !ok || !gaussian || group > account.MaxGroup {
		return privacy.Budget{}, false
	}
	e.Group, e.Relation = group, relation
	var total account.PLD
	if total.Compose(account.Repeat(e, c.Steps)) != nil {
		return privacy.Budget{}, false
	}
	b := privacy.Budget{Epsilon: total.Epsilon(c.Delta), Delta: c.Delta}
	return b, !math.IsInf(b.Epsilon, 1)
}

func (c *accountCmd) text(r *accountResult, m privacy.Mechanism) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Event)
	if r.Scale > 0 {
		fmt.Fprintf(&b, "noise       %v, norm about %.6g in %d coordinates\n", m, r.NoiseNorm, r.Coordinates)
	} else {
		fmt.Fprintf(&b, "noise       sigma = %.6g in every coordinate, noise multiplier %.6g\n", r.Sigma, r.Multiplier)
	}
	for _, k := range r.Bounds {
		text := k.Note
		if k.Epsilon != nil {
			text = "epsilon = " + privacy.FormatUp(*k.Epsilon)
		}
		fmt.Fprintf(&b, "%-11s %s\n", k.Accountant, text)
	}
	if r.Epsilon == nil {
		b.WriteString("guarantee   none: no accountant gives a finite epsilon\n")
		return b.String()
	}
	curve := pick(r.Mu > 0, ", "+privacy.FormatUp(r.Mu)+"-GDP", "")
	fmt.Fprintf(&b, "guarantee   (%s, %s)-DP%s for %s neighbours\n", privacy.FormatUp(*r.Epsilon),
		privacy.FormatUp(r.Delta), curve, r.Relation)
	for _, k := range r.Converted {
		if k.Refused != "" {
			hint := pick(k.Padded, " (see --padded)", "")
			fmt.Fprintf(&b, "            for %s: nothing follows%s\n", k.For, hint)
			continue
		}
		fmt.Fprintf(&b, "            (%s, %s)-DP for %s\n", privacy.FormatUp(k.Epsilon), privacy.FormatUp(k.Delta), k.For)
	}
	return b.String()
}
