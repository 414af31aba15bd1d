package localserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"dyad/algorithms/local"
	"dyad/privacy"
)

// Errors of Submit. Nothing has changed when one is returned.
var (
	// ErrMessage: the message is malformed or one that nobody can have sent.
	ErrMessage = errors.New("message refused")
	// ErrEpoch: the message was made for another epoch; fetch the state and make a new
	// one only if the user has not sent in the present epoch.
	ErrEpoch = errors.New("message is for another epoch")
	// ErrTwice: this user's message of this epoch is there already.
	ErrTwice = errors.New("user has sent a message in this epoch")
	// ErrFull: all users of the epoch have been visited, or all epochs are over.
	ErrFull = errors.New("no more messages are taken")
	// ErrUnavailable: the log cannot be written, or the service is closing.
	ErrUnavailable = errors.New("service unavailable")
)

// Service holds the state of a protocol and applies messages one after the other. Its
// methods may be called by several goroutines.
type Service struct {
	plan *local.Plan
	log  *messageLog

	mu     sync.RWMutex
	state  *local.State
	batch  []local.Message // of an update that waits for more messages
	public []labelled      // of prestige-label, in order of arrival
	taken  map[string]int  // epoch of a user's last message, applied or being written
	visits map[string]int  // of a user, applied

	queue   chan *pending
	stopped chan struct{}
	done    chan struct{}
	stop    sync.Once
}

// labelled is a user of prestige-label.
type labelled struct {
	x []float64
	y float64
}

type pending struct {
	submission Submission
	before     int // epoch of the user's message before
	receipt    Receipt
	err        error
	ready      chan struct{}
}

// maxGroup bounds how many messages share one write to disk.
const maxGroup = 256

// Open starts a service whose log is in dir, creating or replaying it. The protocol must
// privatise every message.
func Open(dir string, plan *local.Plan) (*Service, error) {
	switch plan.Method {
	case local.Prestige, local.PrestigeParticipation, local.PrestigeLabel, local.DJW:
	default:
		return nil, fmt.Errorf("localserve: method %s is not served: only prestige, prestige-participation, prestige-label and djw privatise every message", plan.Method)
	}
	public := PublicPlan(plan)
	if public.Loss.Formula == "" {
		return nil, fmt.Errorf("localserve: loss %s has no formula that clients could be told", public.Loss.Name)
	}
	header, err := json.Marshal(public)
	if err != nil {
		return nil, fmt.Errorf("localserve: %w", err)
	}
	s := &Service{
		plan: plan, state: plan.Start(), taken: map[string]int{}, visits: map[string]int{},
		queue: make(chan *pending, maxGroup), stopped: make(chan struct{}), done: make(chan struct{}),
	}
	s.log, err = openLog(dir, header, func(m Submission) error {
		message, err := s.check(m)
		if err != nil {
			return err
		}
		s.taken[m.User] = m.Epoch
		return s.apply(m, message)
	})
	if err != nil {
		return nil, err
	}
	go s.commit()
	return s, nil
}

// Plan returns the protocol.
func (s *Service) Plan() *local.Plan { return s.plan }

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

// accepted counts messages, those of an unfinished batch included.
func (s *Service) accepted() int64 { return s.state.Visits + int64(len(s.batch)) }

// User returns the visits of a user and their local epsilon.
func (s *Service) User(id string) (visits int, epsilon float64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.visits[id], s.epsilon(s.visits[id])
}

// epsilon is that of a number of visits.
func (s *Service) epsilon(visits int) float64 { return privacy.DecimalTimes(visits, s.plan.Epsilon) }

// Submit applies a message once it is durable, and returns its receipt. If ctx ends
// first the message may or may not have been applied: sending it again then gives
// ErrTwice or applies it, never both.
func (s *Service) Submit(ctx context.Context, m Submission) (Receipt, error) {
	if err := m.validate(); err != nil {
		return Receipt{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	p := &pending{submission: m, ready: make(chan struct{})}
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

// commit is the only goroutine that changes the state: it takes the messages that wait,
// writes those that are acceptable in one go, and applies them.
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

// commitGroup may need several writes: a message of the next epoch can be checked only
// when those before it are applied.
func (s *Service) commitGroup(group []*pending) {
	for len(group) > 0 {
		var lines [][]byte
		var messages []local.Message
		var accepted []*pending
		room := s.plan.Users*s.state.Epoch - int(s.accepted())
		for len(group) > 0 && len(accepted) < max(room, 1) {
			p := group[0]
			group = group[1:]
			m, err := s.check(p.submission)
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
			p.before = s.taken[p.submission.User]
			s.taken[p.submission.User] = p.submission.Epoch
			accepted, messages, lines = append(accepted, p), append(messages, m), append(lines, line(body))
		}
		if len(accepted) == 0 {
			continue
		}
		err := s.log.append(lines)
		s.mu.Lock()
		for i, p := range accepted {
			if err != nil {
				p.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
				s.taken[p.submission.User] = p.before
				continue
			}
			// check has decided everything that apply refuses; an error here would be
			// one of this program, and the log is as it was.
			if p.err = s.apply(p.submission, messages[i]); p.err != nil {
				s.log.broken = p.err
				err = p.err
				continue
			}
			v := s.visits[p.submission.User]
			p.receipt = Receipt{Visit: s.accepted(), Visits: v, Epsilon: s.epsilon(v), Left: s.ahead(p.submission.Epoch)}
		}
		s.mu.Unlock()
		for _, p := range accepted {
			close(p.ready)
		}
	}
}

// check says whether a message can be accepted now.
func (s *Service) check(m Submission) (local.Message, error) {
	if s.plan.Done(s.state) {
		return local.Message{}, fmt.Errorf("%w: all %d epochs are over", ErrFull, s.plan.Epochs)
	}
	if err := m.validate(); err != nil {
		return local.Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if m.Epoch != s.state.Epoch {
		return local.Message{}, fmt.Errorf("%w: it is for epoch %d, the present one is %d", ErrEpoch, m.Epoch, s.state.Epoch)
	}
	if s.taken[m.User] == m.Epoch {
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

// apply changes the state by a checked message. An update waits until its batch is
// complete or the epoch ends.
func (s *Service) apply(m Submission, message local.Message) error {
	s.visits[m.User]++
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

// learn visits a user of prestige-label when the label arrives, and after the last one
// all users in the other epochs, in the order of their arrival.
func (s *Service) learn(m Submission) error {
	x, y, err := m.labelled(s.plan)
	if err != nil {
		return err
	}
	s.public = append(s.public, labelled{x, y})
	if err := s.plan.Learn(s.state, x, y); err != nil || s.state.Epoch == 1 {
		return err
	}
	for !s.plan.Done(s.state) {
		for _, u := range s.public {
			if err := s.plan.Learn(s.state, u.x, u.y); err != nil {
				return err
			}
		}
	}
	s.public = nil
	return nil
}

// ahead is the epsilon of the messages that a user still has to send after an epoch.
func (s *Service) ahead(epoch int) float64 {
	if s.plan.Method == local.PrestigeLabel {
		return 0
	}
	return s.epsilon(s.plan.Epochs - epoch)
}

// Close stops the service: messages in work are finished, later ones are refused. The
// state is in the log.
func (s *Service) Close() error {
	var err error
	s.stop.Do(func() {
		close(s.stopped)
		<-s.done
		err = s.log.close()
	})
	return err
}
