package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// PartFormat is the first line of a file that holds a part.
const PartFormat = "dyad-audit-part/1"

// ErrParts is wrapped by errors about parts that do not make up one audit.
var ErrParts = errors.New("audit: these parts cannot be merged")

// Part holds some of the runs of an audit. On each data set these are the runs Part-1, Part-1+Parts, Part-1+2
// Parts and so on, counted from 0. A Part depends only on the target, the options and the numbers Part and
// Parts. So parts can be made on any machines and in any order.
type Part struct {
	// Plan is a hash of the attack: of the claim, the data sets, the options, and all bits of the first run on
	// each data set. Two Part values have different hashes if they belong to different attacks, or if the
	// vector instructions of their processors give different bits.
	Plan              [sha256.Size]byte
	Part, Parts, Runs int
	Trials            [2][]keptTrial
}

// RunPart makes one part of the runs of Run. part is the number of this part, from 1 to parts, and parts is
// the number of all parts. Options.Time cannot be used with parts.
func RunPart(ctx context.Context, t Target, o Options, part, parts int) (*Part, error) {
	if part < 1 || part > parts {
		return nil, fmt.Errorf("audit: part %d of %d does not exist; want a part from 1 to the number of parts", part, parts)
	}
	c, hash, _, err := t.divided(ctx, &o)
	if err != nil {
		return nil, err
	}
	c.part, c.parts = part, parts
	if err := c.extendTo(ctx, o.Runs, func(done int) { o.Tracker.Step(done, 2*o.Runs) }); err != nil {
		return nil, err
	}
	p := &Part{Plan: hash, Part: part, Parts: parts, Runs: o.Runs}
	for side, trials := range c.trials {
		for i := part - 1; i < len(trials); i += parts {
			p.Trials[side] = append(p.Trials[side], trials[i])
		}
	}
	return p, nil
}

// Join combines all parts of an audit, given in any order, and returns the report. The report differs from
// the report of Run only in the running time. The error wraps ErrParts if a part is missing, is given twice,
// or belongs to another audit.
func Join(ctx context.Context, t Target, o Options, parts ...*Part) (*Report, error) {
	start := time.Now()
	c, hash, r, err := t.divided(ctx, &o)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: no part is given", ErrParts)
	}
	count := parts[0].Parts
	for side := range c.trials {
		c.trials[side] = make([]keptTrial, o.Runs)
	}
	seen := map[int]bool{}
	for _, p := range parts {
		switch {
		case p.Plan != hash:
			return nil, fmt.Errorf("%w: part %d of %d belongs to another audit; make all parts with the same "+
				"options, version and kind of processor", ErrParts, p.Part, p.Parts)
		case p.Parts != count || p.Runs != o.Runs || p.Part < 1 || p.Part > count:
			return nil, fmt.Errorf("%w: part %d of %d does not belong to an audit in %d parts", ErrParts, p.Part, p.Parts, count)
		case seen[p.Part]:
			return nil, fmt.Errorf("%w: part %d of %d is given twice", ErrParts, p.Part, count)
		}
		seen[p.Part] = true
		for side, trials := range p.Trials {
			if len(trials) != (o.Runs-p.Part+count)/count {
				return nil, fmt.Errorf("%w: part %d of %d has %d runs, want %d",
					ErrParts, p.Part, count, len(trials), (o.Runs-p.Part+count)/count)
			}
			for i, k := range trials {
				c.trials[side][p.Part-1+i*count] = k
			}
		}
	}
	for part := 1; part <= count; part++ {
		if !seen[part] {
			return nil, fmt.Errorf("%w: part %d of %d is missing", ErrParts, part, count)
		}
	}
	all := c.trials
	for _, l := range looks(o.Runs, 1-o.Confidence, false) {
		c.trials = [2][]keptTrial{all[0][:l.runs], all[1][:l.runs]}
		r.look(c, l.alpha)
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// divided prepares an audit in parts. It returns the campaign without runs, the hash of the plan, and the report
// without bounds.
func (t Target) divided(ctx context.Context, o *Options) (*campaign, [sha256.Size]byte, *Report, error) {
	var hash [sha256.Size]byte
	if o.Time != 0 {
		return nil, hash, nil, errors.New("audit: an audit in parts takes no time limit; leave the limit out")
	}
	r, err := t.prepared(o)
	if err != nil {
		return nil, hash, nil, err
	}
	c, err := r.campaign(ctx, t, *o)
	if err != nil {
		return nil, hash, nil, err
	}
	first := *c
	if err := first.extend(ctx, 1, func(int) {}); err != nil {
		return nil, hash, nil, err
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(r); err != nil {
		return nil, hash, nil, fmt.Errorf("audit: %w", err)
	}
	for _, s := range c.scores {
		fmt.Fprintln(&b, s.name)
	}
	if err := gob.NewEncoder(&b).Encode([2]keptTrial{first.trials[0][0], first.trials[1][0]}); err != nil {
		return nil, hash, nil, fmt.Errorf("audit: %w", err)
	}
	return c, sha256.Sum256(b.Bytes()), r, nil
}

// Write writes the part in the format that ReadPart reads: a line with PartFormat, then encoding/gob.
func (p *Part) Write(w io.Writer) error {
	if _, err := fmt.Fprintln(w, PartFormat); err != nil {
		return err
	}
	return gob.NewEncoder(w).Encode(p)
}

// ReadPart reads a part that Write wrote.
func ReadPart(r io.Reader) (*Part, error) {
	line := make([]byte, len(PartFormat)+1)
	if _, err := io.ReadFull(r, line); err != nil || string(line) != PartFormat+"\n" {
		return nil, fmt.Errorf("%w: the file does not have format %s", ErrParts, PartFormat)
	}
	p := new(Part)
	if err := gob.NewDecoder(r).Decode(p); err != nil {
		return nil, fmt.Errorf("%w: the file is damaged: %w", ErrParts, err)
	}
	return p, nil
}
