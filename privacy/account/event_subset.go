package account

import (
	"fmt"

	"dyad/privacy/internal/round"
)

// WithoutReplacementEvent is a release of a query on a batch, with Gaussian or Laplace noise. Batch is the
// number of records in the batch, and Records is the number of all records. The field Event describes the
// release without the sampling. The batch is uniform over all subsets of this size, and independent of
// everything else and of other releases. The batch stays secret. The query moves by at most the sensitivity
// of Event when one record of the batch is replaced. The relation is ReplaceOne, and Records is public.
//
// Let f be the noise density in one dimension, m = sensitivity/scale and gamma = Batch/Records. The
// hockey-stick divergence of every order exp(epsilon) >= 1 between neighbouring data sets is at most the
// divergence of
//
//	((1-gamma) f(x) + gamma f(x-m),  f(x))
//
// The relation is symmetric, so this pair also determines the orders below 1 (proof:
// docs/theory.md#without-replacement).
type WithoutReplacementEvent struct {
	Event   Event
	Batch   int // Batch is >= 1.
	Records int // Records is >= Batch.
}

// String returns e.g. "gaussian(sensitivity 1, scale 2) on batches of 16 of 256
// records (replace-one) x 1".
func (e WithoutReplacementEvent) String() string {
	return fmt.Sprintf("%v on batches of %d of %d records (%s) x 1", textOf(e.Event), e.Batch, e.Records, ReplaceOne)
}

func (e WithoutReplacementEvent) validate() error {
	if e.Batch < 1 || e.Batch > e.Records {
		return fmt.Errorf("account: a batch has %d records, but must have 1 to %d (all records)",
			e.Batch, e.Records)
	}
	_, err := noiseOf("an event on batches", e.Event)
	return err
}

func (e WithoutReplacementEvent) facts() facts {
	d := e.pair()
	f := facts{event: e, count: 1, known: e.Event}
	f.sampledBounds(d.law, e.pair)
	if d.law == GaussianLaw {
		f.renyi = func(alpha float64) float64 { return subsetRenyi(alpha, d.m, d.q) }
	}
	f.noRenyi = "Renyi divergences for batches drawn without replacement need Gaussian noise"
	return f
}

func (e WithoutReplacementEvent) pair() dominatingPair {
	n := e.Event.facts().noise
	q := 1.0
	if e.Batch < e.Records {
		q = min(1, round.Up(float64(e.Batch)/float64(e.Records), 1))
	}
	return dominatingPair{law: n.law, kind: subset, m: n.ratio(), q: q}
}

type subsetRecord struct {
	Sensitivity float64  `json:"sensitivity"`
	Scale       float64  `json:"scale"`
	Law         NoiseLaw `json:"law"`
	Batch       int      `json:"batch"`
	Records     int      `json:"records"`
}

func (recorded) WithoutReplacement() kind {
	return recordAs("without-replacement", func(e WithoutReplacementEvent) subsetRecord {
		n := e.Event.facts().noise
		return subsetRecord{n.sensitivity, n.scale, n.law, e.Batch, e.Records}
	}, func(r subsetRecord) Event {
		return WithoutReplacementEvent{Event: r.Law.Event(r.Sensitivity, r.Scale), Batch: r.Batch, Records: r.Records}
	})
}
