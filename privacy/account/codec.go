package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxDepth bounds the nesting of composed events.
const MaxDepth = 64

// UnknownEvent is what Decode returns for an event that this program cannot read
// exactly. No accountant composes it.
type UnknownEvent struct{ Kind string }

func (UnknownEvent) event() {}

// String names the kind.
func (e UnknownEvent) String() string {
	return fmt.Sprintf("event of kind %q, unknown to this version", e.Kind)
}

// eventJSON holds every known kind. A field that a kind does not use is nil.
type eventJSON struct {
	Kind        string            `json:"kind"`
	Sensitivity *float64          `json:"sensitivity,omitempty"`
	Sigma       *float64          `json:"sigma,omitempty"`
	Scale       *float64          `json:"scale,omitempty"`
	Epsilon     *float64          `json:"epsilon,omitempty"`
	Law         *NoiseLaw         `json:"law,omitempty"`
	Batch       *int              `json:"batch,omitempty"`
	Records     *int              `json:"records,omitempty"`
	Rate        *float64          `json:"rate,omitempty"`
	Group       *int              `json:"group,omitempty"`
	Gap         *float64          `json:"gap,omitempty"`
	Contraction *float64          `json:"contraction,omitempty"`
	Diameter    *float64          `json:"diameter,omitempty"`
	Grid        *float64          `json:"grid,omitempty"`
	Count       *int              `json:"count,omitempty"`
	Events      []json.RawMessage `json:"events,omitempty"`
}

const (
	kindGaussian   = "gaussian"
	kindLaplace    = "laplace"
	kindPure       = "pure"
	kindStream     = "stream"
	kindConvergent = "convergent"
	kindBatch      = "without-replacement"
	kindPoisson    = "poisson"
	kindPureStream = "pure-stream"
	kindNonPrivate = "non-private"
	kindPublic     = "public"
	kindComposed   = "composed"
	kindParallel   = "parallel"
)

// Encode writes e exactly: encoding/json prints the shortest decimal that
// reads back as the same float64. It fails for events out of range.
func Encode(e Event) (json.RawMessage, error) { return encodeEventAt(e, 0) }

func encodeEventAt(e Event, depth int) (json.RawMessage, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("account: events are nested more than %d deep", MaxDepth)
	}
	switch e := e.(type) {
	case GaussianEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		return json.Marshal(eventJSON{Kind: kindGaussian, Sensitivity: &e.Sensitivity, Sigma: &e.Sigma, Count: &e.Count})
	case StreamEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		return json.Marshal(eventJSON{Kind: kindStream, Sensitivity: &e.Sensitivity, Sigma: &e.Sigma, Count: &e.Count})
	case ConvergentEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		return json.Marshal(eventJSON{Kind: kindConvergent, Sigma: &e.Sigma, Gap: &e.Gap, Contraction: &e.Contraction, Diameter: &e.Diameter, Grid: &e.Grid, Count: &e.Steps})
	case WithoutReplacementEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		return json.Marshal(eventJSON{Kind: kindBatch, Sensitivity: &e.Sensitivity, Scale: &e.Scale, Law: &e.Law, Batch: &e.Batch, Records: &e.Records, Count: &e.Count})
	case PoissonEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		if e.Relation != ReplaceOne { // which the kind stands for
			return nil, fmt.Errorf("account: ledgers count replaced records, not %v", e)
		}
		group := e.group()
		return json.Marshal(eventJSON{Kind: kindPoisson, Sensitivity: &e.Sensitivity, Scale: &e.Scale, Law: &e.Law, Rate: &e.Rate, Group: &group, Count: &e.Count})
	case LaplaceEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		return json.Marshal(eventJSON{Kind: kindLaplace, Sensitivity: &e.Sensitivity, Scale: &e.Scale, Count: &e.Count})
	case PureEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		return json.Marshal(eventJSON{Kind: kindPure, Epsilon: &e.Epsilon, Count: &e.Count})
	case PureStreamEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		return json.Marshal(eventJSON{Kind: kindPureStream, Epsilon: &e.Epsilon, Count: &e.Count})
	case NonPrivateEvent:
		return json.Marshal(eventJSON{Kind: kindNonPrivate})
	case PublicEvent:
		return json.Marshal(eventJSON{Kind: kindPublic})
	case ComposedEvent:
		if len(e.Events) == 0 {
			return nil, errors.New("account: a composed event has no parts")
		}
		return encodeParts(kindComposed, e.Events, depth)
	case ParallelEvent:
		if err := e.Validate(); err != nil {
			return nil, err
		}
		return encodeParts(kindParallel, e.Parts, depth)
	}
	return nil, fmt.Errorf("account: no ledger can record an event of type %T", e)
}

func encodeParts(kind string, events []Event, depth int) (json.RawMessage, error) {
	parts := make([]json.RawMessage, len(events))
	for i, p := range events {
		var err error
		if parts[i], err = encodeEventAt(p, depth+1); err != nil {
			return nil, err
		}
	}
	return json.Marshal(eventJSON{Kind: kind, Events: parts})
}

// Decode reads an event. It trusts nothing that it would not have written
// itself: if encoding the result does not give the same bytes (another kind, a
// field added by a later version, a number out of range) the event is unknown.
func Decode(raw []byte) Event {
	if e := decodeEventAt(raw, 0); e != nil {
		if again, err := Encode(e); err == nil && bytes.Equal(again, raw) {
			return e
		}
	}
	var named struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(raw, &named) // an unreadable kind stays empty
	return UnknownEvent{Kind: named.Kind}
}

// decodeEventAt returns nil for what it cannot read.
func decodeEventAt(raw []byte, depth int) Event {
	var j eventJSON
	if depth > MaxDepth || json.Unmarshal(raw, &j) != nil {
		return nil
	}
	switch j.Kind {
	case kindGaussian:
		if j.Sensitivity == nil || j.Sigma == nil || j.Count == nil {
			return nil
		}
		return GaussianEvent{Sensitivity: *j.Sensitivity, Sigma: *j.Sigma, Count: *j.Count}
	case kindStream:
		if j.Sensitivity == nil || j.Sigma == nil || j.Count == nil {
			return nil
		}
		return StreamEvent{Sensitivity: *j.Sensitivity, Sigma: *j.Sigma, Count: *j.Count}
	case kindConvergent:
		if j.Sigma == nil || j.Gap == nil || j.Contraction == nil || j.Diameter == nil || j.Grid == nil || j.Count == nil {
			return nil
		}
		return ConvergentEvent{Gap: *j.Gap, Contraction: *j.Contraction, Diameter: *j.Diameter, Sigma: *j.Sigma, Grid: *j.Grid, Steps: *j.Count}
	case kindBatch:
		if j.Sensitivity == nil || j.Scale == nil || j.Law == nil || j.Batch == nil || j.Records == nil || j.Count == nil {
			return nil
		}
		return WithoutReplacementEvent{Law: *j.Law, Sensitivity: *j.Sensitivity, Scale: *j.Scale, Batch: *j.Batch, Records: *j.Records, Count: *j.Count}
	case kindPoisson:
		if j.Sensitivity == nil || j.Scale == nil || j.Law == nil || j.Rate == nil || j.Group == nil || j.Count == nil {
			return nil
		}
		return PoissonEvent{Law: *j.Law, Sensitivity: *j.Sensitivity, Scale: *j.Scale, Rate: *j.Rate, Relation: ReplaceOne, Group: *j.Group, Count: *j.Count}
	case kindLaplace:
		if j.Sensitivity == nil || j.Scale == nil || j.Count == nil {
			return nil
		}
		return LaplaceEvent{Sensitivity: *j.Sensitivity, Scale: *j.Scale, Count: *j.Count}
	case kindPure:
		if j.Epsilon == nil || j.Count == nil {
			return nil
		}
		return PureEvent{Epsilon: *j.Epsilon, Count: *j.Count}
	case kindPureStream:
		if j.Epsilon == nil || j.Count == nil {
			return nil
		}
		return PureStreamEvent{Epsilon: *j.Epsilon, Count: *j.Count}
	case kindNonPrivate:
		return NonPrivateEvent{}
	case kindPublic:
		return PublicEvent{}
	case kindComposed, kindParallel:
		parts := make([]Event, len(j.Events))
		for i, p := range j.Events {
			if parts[i] = decodeEventAt(p, depth+1); parts[i] == nil {
				return nil
			}
		}
		if j.Kind == kindParallel {
			return ParallelEvent{Parts: parts}
		}
		return ComposedEvent{Events: parts}
	}
	return nil
}
