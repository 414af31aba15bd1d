package serve

import (
	"encoding/json"
	"sync"

	"dyad/privacy"
)

// epsilon returns the cost of a number of visits.
func (s *Service) epsilon(visits int) float64 { return privacy.DecimalTimes(visits, s.plan.Epsilon) }

// maxHeld bounds the memory, in bytes, of encoded states that are being sent to clients. Two states are always
// possible.
const maxHeld = 64 << 20

// states encodes the published state once for all requests between two messages, and bounds the memory that
// slow readers hold.
type states struct {
	service *Service

	mu     sync.Mutex // also held while a state is encoded
	newest *encodedState
	held   int // the number of encodings that are being read
}

type encodedState struct {
	of      *states
	body    []byte
	epoch   int
	visits  int64
	readers int
}

// read returns the state, which must be released after use. If readers hold too many older states, it returns
// the newest held state, which serves equally well for a message of the same epoch, or nil.
func (c *states) read() (*encodedState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	epoch, visits := c.service.position()
	e := c.newest
	if e == nil || e.visits != visits || e.epoch != epoch {
		switch {
		case e == nil || c.held < max(2, maxHeld/len(e.body)):
			st := c.service.State()
			body, err := json.Marshal(st)
			if err != nil {
				return nil, err
			}
			e = &encodedState{of: c, body: append(body, '\n'), epoch: st.Epoch, visits: st.Visits}
			c.newest = e
		case e.epoch != epoch:
			return nil, nil
		}
	}
	if e.readers++; e.readers == 1 {
		c.held++
	}
	return e, nil
}

func (e *encodedState) release() {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	if e.readers--; e.readers == 0 {
		e.of.held--
	}
}
