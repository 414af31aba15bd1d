package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/tasks"
)

// Errors of Submit. The state is unchanged when Submit returns one of them.
var (
	// ErrMessage means that the message is malformed or that no user can have sent it.
	ErrMessage = errors.New("message refused")
	// ErrEpoch means that the message was made for another epoch. The client must fetch the state, and may
	// make a new message only if the user has not sent one in the present epoch.
	ErrEpoch = errors.New("the message is for another epoch")
	// ErrTwice means that this user's message of this epoch was already accepted.
	ErrTwice = errors.New("the user has already sent a message in this epoch")
	// ErrFull means that all users of the epoch have been visited, or that all epochs are over.
	ErrFull = errors.New("no more messages are accepted")
	// ErrUnavailable means that the log cannot be written, or that the service is closing.
	ErrUnavailable = errors.New("service unavailable")
	// errRate means that the message is acceptable but too many messages arrive.
	errRate = errors.New("too many messages; try again in a second")
)

// Service holds the state of a protocol and applies messages one after another. Its methods may be called by
// several goroutines.
type Service struct {
	plan *local.Plan
	log  *messageLog

	mu     sync.RWMutex
	state  *local.State
	batch  []local.Message   // messages of an update that waits for more messages
	public []engine.Record   // users of prestige-label, in order of arrival
	last   map[string]int    // the epoch of a user's last applied message
	visits map[string]int    // the number of applied messages of a user
	known  map[string]string // the user of each dataset.IDKey whose message was applied; nil if look-alike ids are allowed

	queue   chan *pending
	stopped chan struct{}
	done    chan struct{}
	stop    sync.Once
	working tasks.Group // commit
}

type pending struct {
	submission Submission
	admit      func() bool // called once, for a message that would be accepted
	receipt    Receipt
	err        error
	ready      chan struct{}
}

// maxGroup is the largest number of messages in one write to disk.
const maxGroup = 256

// Open starts a service whose log is in dir. It creates or replays the log. The protocol must privatise every message.
// If the ids of users look alike (dataset.IDKey), the ids may belong to one person. Then the service accepts messages
// only under the first of these ids. It accepts all of them if `alike` is dataset.AllowLookAlikes.
func Open(dir string, plan *local.Plan, alike dataset.LookAlikes) (*Service, error) {
	switch plan.Method {
	case local.Prestige, local.PrestigeParticipation, local.PrestigeLabel, local.DJW:
	default:
		return nil, fmt.Errorf("serve: method %s is not served; want prestige, prestige-participation, "+
			"prestige-label or djw", plan.Method)
	}
	public := PublicPlan(plan)
	if public.Loss.Formula == "" {
		return nil, fmt.Errorf("serve: loss %s has no formula that can be sent to clients", public.Loss.Name)
	}
	seen, err := public.Plan()
	if err != nil {
		return nil, fmt.Errorf("serve: clients would refuse this protocol: %w", err)
	}
	if seen.Lipschitz != plan.Lipschitz || seen.EstimateNorm != plan.EstimateNorm {
		return nil, fmt.Errorf("serve: the published protocol gives Lipschitz = %v and EstimateNorm = %v, but the "+
			"plan has %v and %v",
			seen.Lipschitz, seen.EstimateNorm, plan.Lipschitz, plan.EstimateNorm)
	}
	header, err := json.Marshal(public)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s := &Service{
		plan: plan, state: plan.Start(), last: map[string]int{}, visits: map[string]int{},
		queue: make(chan *pending, maxGroup), stopped: make(chan struct{}), done: make(chan struct{}),
	}
	if alike != dataset.AllowLookAlikes {
		s.known = map[string]string{}
	}
	s.log, err = openLog(dir, header, func(m Submission) error {
		message, err := s.check(m)
		if err != nil {
			return err
		}
		return s.apply(m, message)
	})
	if err != nil {
		return nil, err
	}
	s.working.Go(s.commit)
	return s, nil
}

// Plan returns the protocol.
func (s *Service) Plan() *local.Plan { return s.plan }

// Repaired returns the number of bytes of an interrupted write that Open removed from the log. The messages
// in these bytes were not acknowledged, so the users send them again.
func (s *Service) Repaired() int64 { return s.log.cut }

// State returns the published state.
func (s *Service) State() PublicState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return PublicState{
		Epoch: s.state.Epoch, Epochs: s.plan.Epochs, Visits: s.accepted(), Users: s.plan.Users,
		Updates: s.state.Updates, Done: s.plan.Done(s.state),
		Model: append([]float64(nil), s.state.W...), Average: s.state.Average(),
	}
}

// position returns the epoch and the number of messages of State.
func (s *Service) position() (epoch int, visits int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.Epoch, s.accepted()
}

// accepted returns the number of accepted messages, including the messages of an unfinished batch.
func (s *Service) accepted() int64 { return s.state.Visits + int64(len(s.batch)) }

// User returns the number of visits of a user and their local epsilon.
func (s *Service) User(id string) (visits int, epsilon float64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.visits[id], s.epsilon(s.visits[id])
}

// Submit applies a message once it is durable and returns its receipt. If ctx ends first, the message may or
// may not have been applied. Sending the message again then returns ErrTwice or applies it, never both.
func (s *Service) Submit(ctx context.Context, m Submission) (Receipt, error) {
	return s.submit(ctx, m, func() bool { return true })
}

// submit calls admit once the message is known to be acceptable. If admit returns false, submit refuses the
// message with errRate. A message that is not acceptable, such as a message that was accepted before, is
// refused at once from the state. It does not wait for other messages.
func (s *Service) submit(ctx context.Context, m Submission, admit func() bool) (Receipt, error) {
	s.mu.RLock()
	_, err := s.check(m)
	s.mu.RUnlock()
	if err != nil {
		return Receipt{}, err
	}
	p := &pending{submission: m, admit: admit, ready: make(chan struct{})}
	select {
	case s.queue <- p:
	case <-s.stopped:
		return Receipt{}, ErrUnavailable
	case <-ctx.Done():
		return Receipt{}, ctx.Err()
	}
	select {
	case <-p.ready:
		return p.receipt, p.err
	case <-s.done:
		select {
		case <-p.ready:
			return p.receipt, p.err
		default:
			return Receipt{}, ErrUnavailable
		}
	case <-ctx.Done():
		return Receipt{}, ctx.Err()
	}
}

// commit is the only goroutine that changes the state. It takes the waiting messages, writes the acceptable
// messages in one write, and applies them.
func (s *Service) commit() {
	defer close(s.done)
	for {
		var group []*pending
		select {
		case p := <-s.queue:
			group = append(group, p)
		case <-s.stopped:
			return
		}
		for len(group) < maxGroup {
			select {
			case p := <-s.queue:
				group = append(group, p)
				continue
			default:
			}
			break
		}
		s.commitGroup(group)
	}
}

// commitGroup may need several writes, because a message of the next epoch can be checked only when all
// messages before it are applied.
func (s *Service) commitGroup(group []*pending) {
	for len(group) > 0 {
		var lines [][]byte
		var messages []local.Message
		var accepted []*pending
		writing := map[string]bool{} // individuals with a message in this write
		room := s.plan.Users*s.state.Epoch - int(s.accepted())
		for len(group) > 0 && len(accepted) < max(room, 1) {
			p := group[0]
			if writing[s.individual(p.submission.User)] {
				break // a second message of the user, or of an id that looks like it, waits until the first message is written
			}
			group = group[1:]
			m, err := s.check(p.submission)
			if err == nil && !p.admit() {
				err = errRate
			}
			if err != nil {
				p.err = err
				close(p.ready)
				continue
			}
			body, err := json.Marshal(p.submission)
			if err != nil {
				p.err = fmt.Errorf("%w: %w", ErrMessage, err)
				close(p.ready)
				continue
			}
			writing[s.individual(p.submission.User)] = true
			accepted, messages, lines = append(accepted, p), append(messages, m), append(lines, line(body))
		}
		if len(accepted) == 0 {
			continue
		}
		err := s.log.append(lines)
		s.settle(accepted, messages, err)
		for _, p := range accepted {
			close(p.ready)
		}
	}
}

// settle applies the messages after a write to disk. If the write failed with err, settle applies no message.
func (s *Service) settle(accepted []*pending, messages []local.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range accepted {
		if err != nil {
			p.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
			continue
		}
		// check has already found every reason for which apply returns an error. An error here would be a bug
		// of this program, and the log is unchanged.
		if p.err = s.apply(p.submission, messages[i]); p.err != nil {
			s.log.Break(p.err)
			err = p.err
			continue
		}
		v := s.visits[p.submission.User]
		p.receipt = Receipt{Visit: s.accepted(), Visits: v, Epsilon: s.epsilon(v), Left: s.ahead(p.submission.Epoch)}
	}
}

// check returns an error unless a message can be accepted now. It reads the state, so the caller must hold mu
// or be the goroutine that changes the state.
func (s *Service) check(m Submission) (local.Message, error) {
	if s.plan.Done(s.state) {
		return local.Message{}, fmt.Errorf("%w: all %d epochs are over", ErrFull, s.plan.Epochs)
	}
	if err := m.validate(); err != nil {
		return local.Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if s.known != nil {
		if first, ok := s.known[s.individual(m.User)]; ok && first != m.User {
			return local.Message{}, fmt.Errorf("%w: the user's id looks like an earlier id; use that id, or let "+
				"the owner of the server allow such ids (--look-alike-ids allow)", ErrMessage)
		}
	}
	if m.Epoch != s.state.Epoch {
		return local.Message{}, fmt.Errorf("%w: the message is for epoch %d, but the current epoch is %d",
			ErrEpoch, m.Epoch, s.state.Epoch)
	}
	if s.last[m.User] == m.Epoch {
		return local.Message{}, ErrTwice
	}
	var message local.Message
	var err error
	if s.plan.Method == local.PrestigeLabel {
		_, _, err = m.labelled(s.plan)
	} else if message, err = m.message(); err == nil {
		err = s.plan.Check(message)
	}
	if err != nil {
		return local.Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return message, nil
}

// individual returns an identifier that is equal for all ids that count as one user.
func (s *Service) individual(user string) string {
	if s.known == nil {
		return user
	}
	return dataset.IDKey(user)
}

// apply changes the state by a checked message. An update waits until its batch is complete or the epoch ends.
func (s *Service) apply(m Submission, message local.Message) error {
	s.visits[m.User]++
	s.last[m.User] = m.Epoch
	if s.known != nil {
		s.known[s.individual(m.User)] = m.User
	}
	if s.plan.Method == local.PrestigeLabel {
		return s.learn(m)
	}
	s.batch = append(s.batch, message)
	if len(s.batch) < s.plan.Batch && s.accepted() < int64(s.state.Epoch)*int64(s.plan.Users) {
		return nil
	}
	err := s.plan.Apply(s.state, s.batch)
	s.batch = s.batch[:0]
	return err
}

// learn visits a user of prestige-label when the label arrives. After the last label it visits all users in the
// remaining epochs, in the order of their arrival.
func (s *Service) learn(m Submission) error {
	x, y, err := m.labelled(s.plan)
	if err != nil {
		return err
	}
	s.public = append(s.public, engine.Record{X: x, Y: y})
	if err := s.plan.Learn(s.state, x, y); err != nil || s.state.Epoch == 1 {
		return err
	}
	for !s.plan.Done(s.state) {
		for _, u := range s.public {
			if err := s.plan.Learn(s.state, u.X, u.Y); err != nil {
				return err
			}
		}
	}
	s.public = nil
	return nil
}

// ahead returns the epsilon of the messages that a user still has to send after an epoch.
func (s *Service) ahead(epoch int) float64 {
	if s.plan.Method == local.PrestigeLabel {
		return 0
	}
	return s.epsilon(s.plan.Epochs - epoch)
}

// Close stops the service. Messages in progress are finished, and later messages are refused. The state remains in
// the log.
func (s *Service) Close() error {
	var err error
	s.stop.Do(func() {
		close(s.stopped)
		<-s.done
		err = s.log.close()
	})
	return err
}
