package main

import (
	"context"
	"fmt"
	"time"

	"dyad/algorithms/local"
	"dyad/cmd/dyad/localserve"
	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// wait waits for the next beat after the state arrived.
//
// What a server can see of a message besides its bytes is when it comes. Nothing between the
// arrival of the state and this call depends on the record but the arithmetic of
// local.Client, which does the same work for every record; planning, drawing and writing to
// disk do not look at it, and the record was read before the server was asked. A fixed beat
// hides what is left, and scheduling and the disk too, unless the work crosses a beat; a
// random delay would only add noise that an average over epochs takes away.
func (c *localClientCmd) wait(ctx context.Context, arrived time.Time) error {
	gone := time.Since(arrived)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.Beat - gone%c.Beat):
		return nil
	}
}

// planCache is the plan of the protocol that a server told last. A plan is work, and a
// client that follows asks every second.
type planCache struct {
	key  string
	plan *local.Plan
}

// accept is the plan of a protocol that this user may answer.
func (c *localClientCmd) accept(a *app, protocol localserve.Protocol, memory *clientMemory, z engine.Record, planned *planCache) (*local.Plan, error) {
	switch {
	case len(z.X) != protocol.Dim:
		return nil, badInput("the schema gives %d features and the protocol has %d; nothing was sent", len(z.X), protocol.Dim)
	case protocol.Epochs > c.Epochs:
		return nil, badInput("the protocol has %d epochs, more than --max-epochs %d; nothing was sent", protocol.Epochs, c.Epochs)
	case protocol.Pairs > c.Pairs:
		return nil, badInput("the protocol has %d direction pairs, more than --max-direction-pairs %d; nothing was sent", protocol.Pairs, c.Pairs)
	}
	key := protocolKey(protocol)
	p := planned.plan
	if p == nil || planned.key != key {
		var err error
		if p, err = protocol.Plan(); err != nil {
			return nil, asInput(err)
		}
		*planned = planCache{key, p}
		a.at("planned")
	}
	switch {
	case p.FeatureNorm < engine.UnitBounds().FeatureNorm:
		return nil, badInput("the protocol wants features of norm at most %g, and records of this program have norm up to 1; nothing was sent", p.FeatureNorm)
	case p.Guarantee.Kind == privacy.LabelLDP && !c.Public:
		return nil, badInput("method %s sends the features in clear; if they are public, say so with --public-features", p.Method)
	case p.Guarantee.Kind != privacy.LocalDP && p.Guarantee.Kind != privacy.LabelLDP:
		return nil, badInput("method %s gives no guarantee; nothing was sent", p.Method)
	}
	if cost := memory.spent(key, p.Guarantee.Epsilon); cost > c.Most {
		return nil, fmt.Errorf("%w: all messages of this protocol, and those of others in the memory file, cost epsilon %s, more than --max-epsilon %g; nothing was sent", ledger.ErrBudget, privacy.FormatUp(cost), c.Most)
	}
	return p, nil
}
