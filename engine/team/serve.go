package team

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"dyad/engine"
)

// Serve computes this rank's part of every sum that rank 0 requests, until rank 0 stops it. r is the share of this
// rank. The function unchanged returns an error if the input files that this rank read have changed. It is nil if
// this rank read no files. Serve returns an error wrapping ErrInputs only after rank 0 has stopped it. Any other
// error means that the team is lost, and the process must end.
func Serve(ctx context.Context, t engine.Team, k engine.Kernel, r *engine.Records, unchanged func() error) error {
	s := &server{team: t, kernel: k, records: r, unchanged: unchanged}
	defer func() {
		if s.bound != nil {
			_ = s.bound.Close()
		}
	}()
	first := make([]float64, header)
	for {
		if err := t.Broadcast(ctx, first); err != nil {
			return err
		}
		body := make([]float64, int(first[1]))
		if len(body) > 0 {
			if err := t.Broadcast(ctx, body); err != nil {
				return err
			}
		}
		if op(first[0]) == opStop {
			return s.changed
		}
		if err := s.do(ctx, op(first[0]), first[2:], body); err != nil {
			return err
		}
	}
}

type server struct {
	team    engine.Team
	kernel  engine.Kernel
	records *engine.Records
	bound   engine.Evaluator
	sum     []float64
	order   []int32 // the order of the last part

	unchanged func() error
	changed   error // the error that unchanged returned
}

// do executes one op.
func (s *server) do(ctx context.Context, o op, head, body []float64) (err error) {
	switch o {
	case opBind:
		s.bound, err = s.kernel.Bind(s.records)
		return err
	case opDigests:
		_, err = digest(ctx, s.team, s.kernel, s.records)
		return err
	case opInputs:
		var changed error
		if changed, _, err = inputs(ctx, s.team, s.unchanged); changed != nil {
			s.changed = fmt.Errorf("%w: %w", ErrInputs, changed)
		}
		return err
	}
	if s.bound == nil {
		return fmt.Errorf("team: rank 0 requested a sum before Bind")
	}
	switch o {
	case opSum:
		return s.answer(ctx, head, body)
	case opClose:
		err, s.bound = s.bound.Close(), nil
		return err
	}
	return fmt.Errorf("team: rank 0 requested operation %v, which this rank cannot do", o)
}

func (s *server) answer(ctx context.Context, head, body []float64) error {
	q, order := unpack(body)
	switch head[0] {
	case allPairs:
		q.Pairs = s.kernel.Problem().Pairs()
	case subsetPairs:
		s.order = s.order[:0]
		for _, i := range order {
			s.order = append(s.order, int32(i))
		}
		fallthrough
	case samePairs:
		q.Pairs = engine.SubsetPairs{Order: s.order, From: int(head[1]), N: int(head[2])}
	}
	if len(s.sum) != int(head[3]) {
		s.sum = make([]float64, int(head[3]))
	}
	return s.bound.Sum(ctx, s.sum, q)
}

// inputs returns on every rank the ranks whose input files changed. own is the error of unchanged on this rank.
func inputs(ctx context.Context, t engine.Team, unchanged func() error) (own error, ranks []int, err error) {
	fact := []float64{0}
	if unchanged != nil {
		if own = unchanged(); own != nil {
			fact[0] = 1
		}
	}
	all, _, err := engine.GatherValues(ctx, t, fact)
	for rank, f := range all {
		if f != 0 {
			ranks = append(ranks, rank)
		}
	}
	return own, ranks, err
}

// digest returns the hash of all records. Each rank digests the whole runs of its share,
// except for runs that an earlier rank holds.
func digest(ctx context.Context, t engine.Team, k engine.Kernel, r *engine.Records) (string, error) {
	from, to := 0, 0
	for rank := range t.Rank() + 1 {
		a, b := engine.Share(k, rank)
		if from = max(a, to); b > to {
			to = b
		} else {
			from = to
		}
	}
	own := r.Digests(from-r.First(), to-r.First())
	numbers := make([]float64, 0, len(own)/4)
	for ; len(own) > 0; own = own[4:] {
		numbers = append(numbers, float64(binary.BigEndian.Uint32(own)))
	}
	all, _, err := engine.GatherValues(ctx, t, numbers)
	if err != nil {
		return "", err
	}
	text := make([]byte, 0, 4*len(all))
	for _, v := range all {
		text = binary.BigEndian.AppendUint32(text, uint32(v))
	}
	return DigestOf(text), nil
}

// DigestOf returns the hash of the engine.Records.Digests of all records.
func DigestOf(digests []byte) string {
	sum := sha256.Sum256(digests)
	return hex.EncodeToString(sum[:])
}

// op is an operation that the leader requests from the other ranks.
type op float64

const (
	opStop op = iota
	opBind
	opSum
	opClose
	opDigests
	opInputs
)

// header is the length of the first message of an op. The message contains the number of the
// op, followed by numbers that describe the second message.
const header = 8

// ErrInputs is wrapped by an error about input files that have changed since a rank read them.
var ErrInputs = errors.New("team: input files changed")

// The kinds of pairs that are sent.
const (
	noPairs = iota
	allPairs
	subsetPairs
	samePairs // a subset with the same order as in the previous query
)

// pack encodes q without its pairs, and the order of a part, as numbers.
func pack(q engine.Query, order []int32) []float64 {
	signed := 0.0
	if q.Signed {
		signed = 1
	}
	x := make([]float64, 0, packed+len(q.Centre)+len(q.W)+len(order))
	x = append(x, q.Radius, signed, q.Offset, q.Class, q.Intercept, float64(q.Second), float64(len(q.Centre)),
		float64(len(q.W)))
	x = append(append(x, q.Centre...), q.W...)
	for _, i := range order {
		x = append(x, float64(i))
	}
	return x
}

const packed = 8 // numbers before the vectors

// unpack decodes the result of pack. It returns the order as numbers.
func unpack(x []float64) (q engine.Query, order []float64) {
	q = engine.Query{Radius: x[0], Signed: x[1] != 0, Offset: x[2], Class: x[3], Intercept: x[4],
		Second: engine.SecondMoments(x[5])}
	centre, w, rest := int(x[6]), int(x[7]), x[packed:]
	if centre > 0 {
		q.Centre = rest[:centre]
	}
	if w > 0 {
		q.W = rest[centre:][:w]
	}
	return q, rest[centre+w:]
}
