package account

import (
	"cmp"
	"fmt"
)

// StreamEvent is a sequence of at most Count adaptive releases with one joint sensitivity. For every pair of
// neighbouring data sets there are public numbers s_1, s_2, ... with
//
//	s_1^2 + s_2^2 + ... <= Sensitivity^2
//
// such that, for every outcome of the earlier releases, query i moves by at most s_i in the L2 norm. Exact
// continuous Gaussian noise of standard deviation Sigma is added to every coordinate of each query, and the
// sum is rounded to a grid.
//
// By adaptive composition, all releases together are (Sensitivity/Sigma)-GDP (docs/theory.md#composition).
// The accountant GDP, and therefore the ledger, can compose the event. The accountants PLD, RDP and ZCDP
// refuse the event.
type StreamEvent struct {
	Sensitivity float64 // Sensitivity is the joint sensitivity, > 0, and includes roundoff.
	Sigma       float64 // Sigma is > 0.
	Count       int     // Count is >= 1.
}

// String returns e.g. "Gaussian stream(joint sensitivity 1.3, sigma 5) x 1000".
func (e StreamEvent) String() string {
	return fmt.Sprintf("Gaussian stream(joint sensitivity %.6g, sigma %.6g) x %d", e.Sensitivity, e.Sigma, e.Count)
}

func (e StreamEvent) validate() error {
	return cmp.Or(positive("sensitivity of a stream event", e.Sensitivity), positive("sigma of a stream event", e.Sigma),
		counted("a stream event", e.Count))
}

func (e StreamEvent) facts() facts {
	return facts{event: e, count: e.Count, joint: true, mu: muOf(e.Sensitivity, e.Sigma)}
}

// streamRecord has its own field names, because saved states of streams contain a StreamEvent as JSON.
type streamRecord struct {
	Sensitivity float64 `json:"sensitivity"`
	Sigma       float64 `json:"sigma"`
	Count       int     `json:"count"`
}

func (recorded) Stream() kind {
	return recordAs("stream", func(e StreamEvent) streamRecord { return streamRecord(e) },
		func(r streamRecord) Event { return StreamEvent(r) })
}

// counted returns an error unless a joint event covers at least one release.
func counted(what string, count int) error {
	if count < 1 {
		return fmt.Errorf("account: the count of %s is %d, but must be at least 1", what, count)
	}
	return nil
}
