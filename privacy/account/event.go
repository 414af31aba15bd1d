// Package account says what releases of private data cost together. An Event describes a
// release, with public numbers only; an Accountant composes events and answers with an
// upper bound of epsilon or delta, roundoff included:
//
//	GDP    exact for Gaussian noise; pure releases by their epsilon or their mu
//	PLD    privacy loss distributions: the tightest, and the one for sampled batches
//	RDP    Renyi divergences
//	ZCDP   zero-concentrated differential privacy
//	Total  what plans and ledgers use: GDP, and PLD as well where batches were drawn
//
// Encode and Decode are the record of an event in a ledger.
package account

import "fmt"

// Event describes what a run releases, completely enough that an accountant can
// be written without knowing any other implementation. The meaning of an event
// never changes. It is sealed.
type Event interface {
	event()
	// String is one line for reports.
	String() string
}

// GaussianEvent is Count adaptive releases, each of a query with replace-one L2
// sensitivity Sensitivity plus exact continuous Gaussian noise of standard
// deviation Sigma in every coordinate, rounded to a grid after the addition.
type GaussianEvent struct {
	Sensitivity float64 // > 0, roundoff included
	Sigma       float64 // > 0
	Count       int     // >= 1
}

// NonPrivateEvent is a release of private data without noise: no finite epsilon.
type NonPrivateEvent struct{}

// PublicEvent is a release computed from public data: it costs nothing.
type PublicEvent struct{}

// ComposedEvent is the adaptive composition of its parts, in any order.
type ComposedEvent struct{ Events []Event }

func (GaussianEvent) event()   {}
func (NonPrivateEvent) event() {}
func (PublicEvent) event()     {}
func (ComposedEvent) event()   {}

// String returns e.g. "Gaussian(sensitivity 0.01, sigma 0.05) x 1".
func (e GaussianEvent) String() string {
	return fmt.Sprintf("Gaussian(sensitivity %.6g, sigma %.6g) x %d", e.Sensitivity, e.Sigma, e.Count)
}

// String returns "non-private release".
func (NonPrivateEvent) String() string { return "non-private release" }

// String returns "release of public data".
func (PublicEvent) String() string { return "release of public data" }

// String lists the parts.
func (e ComposedEvent) String() string {
	s := "composition of"
	for i, p := range e.Events {
		if i > 0 {
			s += ","
		}
		s += " " + p.String()
	}
	return s
}
