package local

import (
	"errors"
	"fmt"
	"math"
)

var (
	errPersons   = errors.New("local: each user must have one record; choose one row per person with Records.Subset")
	errShape     = errors.New("local: a record or model does not have the plan's number of features")
	errLabel     = errors.New("local: a label is neither -1 nor 1")
	errLabelOnly = errors.New("local: method prestige-label sends labels, not gradients; use Client.Label and Plan.Learn")
	errState     = errors.New("local: the published model or epoch does not fit the plan; no message is sent")
	errMessage   = errors.New("local: the private sample of a message is missing or invalid")
)

// State is the state that the server publishes. It is a function of messages.
type State struct {
	Epoch   int       // 1 to Epochs, and Epochs+1 when all epochs are over
	Visits  int64     // the number of visited users in all epochs
	Updates int64     // the number t of updates
	W       []float64 // the model: ||w|| <= Radius, or a network's layers in their balls
	Sum     []float64 // the sum of the models after every update: Updates times Average

	g    []float64 // scratch space for one update
	pass *pass     // of Learn
}

// Start returns the state before the first visit: w = 0, or the public start of a network.
func (p *Plan) Start() *State {
	st := &State{Epoch: 1, W: make([]float64, p.Parameters), Sum: make([]float64, p.Parameters)}
	if p.Network != nil {
		copy(st.W, p.Network.start(p.model))
	}
	return st
}

// scratch returns d zeros, valid until the next call.
func (st *State) scratch(d int) []float64 {
	if len(st.g) != d {
		st.g = make([]float64, d)
	}
	clear(st.g)
	return st.g
}

// Done reports whether all epochs are over.
func (p *Plan) Done(st *State) bool { return st.Epoch > p.Epochs }

// Average returns the mean of the models after each update, or the model if there was no update. For a network
// the models have weights in proportion to the number of the update, because the first models are near an
// uninformative start.
func (st *State) Average() []float64 {
	a := append([]float64(nil), st.W...)
	if st.Updates > 0 {
		for i, v := range st.Sum {
			a[i] = v / float64(st.Updates)
		}
	}
	return a
}

// Apply takes the messages of the next Batch users, or fewer at the end of an epoch, and makes at most one update. The
// update is w = Pi_R[w - eta_t (lambda w + mean of the decoded gradients)]. The mean is over the messages that carry a
// gradient. For a network lambda = 0 and Pi projects each layer. If Apply returns an error, the state is unchanged.
//
// Averaging privatised gradients keeps every message locally private. If the average were privatised instead, a
// trusted aggregator would be needed.
func (p *Plan) Apply(st *State, batch []Message) error {
	if p.Done(st) {
		return errors.New("local: all epochs are over")
	}
	inEpoch := st.Visits - int64(st.Epoch-1)*int64(p.Users)
	if len(batch) == 0 || len(batch) > p.Batch || inEpoch+int64(len(batch)) > int64(p.Users) {
		return fmt.Errorf("local: got %d messages after %d of %d visits; give 1 to %d messages, and at most one "+
			"per remaining visit",
			len(batch), inEpoch, p.Users, p.Batch)
	}
	g := st.scratch(p.Parameters)
	taken, err := p.sum(g, batch)
	if err != nil {
		return err
	}
	if taken > 0 {
		p.update(st, g, 1/float64(taken))
	}
	p.visited(st, len(batch))
	return nil
}

// sum adds the decoded gradients to g and returns their number.
func (p *Plan) sum(g []float64, batch []Message) (taken int, err error) {
	for _, m := range batch {
		if err := p.Check(m); err != nil {
			return 0, err
		}
		if !m.Takes {
			continue
		}
		taken++
		if err := p.AddEstimate(g, m); err != nil {
			return 0, err
		}
	}
	return taken, nil
}

// AddEstimate decodes the gradient of m and adds the gradient to g, which has length Parameters. m.Takes must be true.
func (p *Plan) AddEstimate(g []float64, m Message) error {
	if !p.Method.private() {
		for i, v := range m.Gradient {
			g[i] += v
		}
		return nil
	}
	weight := 1.0
	if p.Method == PrestigePrinted {
		weight = 2
	}
	if err := p.channel.AddDecoded(g, weight, m.Direction); err != nil {
		return fmt.Errorf("%w: %w", errMessage, err)
	}
	return nil
}

// Check returns an error if no user can have sent m.
func (p *Plan) Check(m Message) error {
	switch everybody := p.Method == Prestige || p.Method == DJW; {
	case !m.Takes && (everybody || m.Gradient != nil):
		return errMessage
	case !m.Takes:
		return nil
	case !p.Method.private():
		if len(m.Gradient) != p.Parameters {
			return errMessage
		}
		return nil
	case p.channel == nil || m.Gradient != nil:
		return errMessage
	}
	return p.channel.Check(m.Direction)
}

// update makes one step along scale g.
func (p *Plan) update(st *State, g []float64, scale float64) {
	st.Updates++
	eta := p.StepSize(st.Updates)
	decay := p.L2
	if p.Method == PrestigePrinted {
		decay = 0 // the sampled gradient contains it
	}
	for i, w := range st.W {
		st.W[i] = w - eta*(decay*w+scale*g[i])
	}
	if p.Method != PrestigePrinted {
		p.Project(st.W)
	}
	for i, w := range st.W {
		if p.Network == nil {
			st.Sum[i] += w
			continue
		}
		average := st.Sum[i] / max(1, float64(st.Updates-1))
		st.Sum[i] = (average + 2/float64(st.Updates+1)*(w-average)) * float64(st.Updates)
	}
}

// visited counts visits and ends the epoch after its last visit.
func (p *Plan) visited(st *State, n int) {
	st.Visits += int64(n)
	if st.Visits == int64(st.Epoch)*int64(p.Users) {
		st.Epoch++
	}
}

// Learn runs the server of PrestigeLabel for one visit. x is public and y is the user's one randomised label.
func (p *Plan) Learn(st *State, x []float64, y float64) error {
	if p.Method != PrestigeLabel {
		return fmt.Errorf("local: Learn is for method prestige-label, not %s", p.Method)
	}
	if p.Done(st) {
		return errors.New("local: all epochs are over")
	}
	if len(x) != p.Dim {
		return errShape
	}
	if y != 1 && y != -1 {
		return errLabel
	}
	g := st.scratch(p.Parameters)
	if st.pass == nil || st.pass.plan != p {
		st.pass = p.newPass()
	}
	copy(st.pass.x, x)
	if f, margin := st.pass.loss(st.W, y); margin >= p.ThresholdAt(st.Epoch) {
		st.pass.gradient(g, f)
		p.update(st, g, 1)
	}
	p.visited(st, 1)
	return nil
}

// Validate returns an error unless st can be a state of p, e.g. a state read from a file.
func (p *Plan) Validate(st *State) error {
	if len(st.W) != p.Parameters || len(st.Sum) != p.Parameters {
		return errShape
	}
	low, high := int64(st.Epoch-1)*int64(p.Users), int64(st.Epoch)*int64(p.Users)
	if st.Epoch < 1 || st.Epoch > p.Epochs+1 || st.Visits < low || st.Visits >= high || st.Updates < 0 ||
		st.Updates > st.Visits || p.Done(st) && st.Visits != low {
		return fmt.Errorf("local: the state (epoch %d, %d visits, %d updates) is impossible in a plan of %d epochs "+
			"with %d users", st.Epoch,
			st.Visits, st.Updates, p.Epochs, p.Users)
	}
	for i := range st.W {
		if math.IsNaN(st.W[i]-st.W[i]) || math.IsNaN(st.Sum[i]-st.Sum[i]) {
			return errors.New("local: a state has a weight or a sum that is not finite")
		}
	}
	return nil
}
