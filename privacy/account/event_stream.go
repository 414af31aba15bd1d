package account

import (
	"cmp"
	"fmt"
)

// StreamEvent is at most Count adaptive releases with one joint sensitivity: for
// every pair of neighbours there are public numbers s_1, s_2, ... with
//
//	s_1^2 + s_2^2 + ... <= Sensitivity^2
//
// such that, whatever was released before, query i moves by at most s_i in the L2
// norm. Each gets exact continuous Gaussian noise of standard deviation Sigma in
// every coordinate, rounded to a grid after the addition.
//
// All together are (Sensitivity/Sigma)-GDP by adaptive composition
// (docs/theory.md#composition). GDP, and with it the ledger, composes it; the other accountants
// refuse it.
type StreamEvent struct {
	Sensitivity float64 // joint, > 0, roundoff included
	Sigma       float64 // > 0
	Count       int     // >= 1
}

// String returns e.g. "Gaussian stream(joint sensitivity 1.3, sigma 5) x 1000".
func (e StreamEvent) String() string {
	return fmt.Sprintf("Gaussian stream(joint sensitivity %.6g, sigma %.6g) x %d", e.Sensitivity, e.Sigma, e.Count)
}

func (e StreamEvent) validate() error {
	return cmp.Or(positive("sensitivity of a stream event", e.Sensitivity), positive("sigma of a stream event", e.Sigma), counted("a stream event", e.Count))
}

func (e StreamEvent) facts() facts {
	return facts{event: e, count: e.Count, joint: true, mu: muOf(e.Sensitivity, e.Sigma)}
}

// streamRecord has names of its own: saved states of streams hold a StreamEvent as JSON.
type streamRecord struct {
	Sensitivity float64 `json:"sensitivity"`
	Sigma       float64 `json:"sigma"`
	Count       int     `json:"count"`
}

func (recorded) Stream() kind {
	return recordAs("stream", func(e StreamEvent) streamRecord { return streamRecord(e) }, func(r streamRecord) Event { return StreamEvent(r) })
}

// counted returns an error unless a joint event covers a release.
func counted(what string, count int) error {
	if count < 1 {
		return fmt.Errorf("account: count of %s is %d, must be at least 1", what, count)
	}
	return nil
}
