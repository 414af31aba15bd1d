package algorithms

import (
	"strings"

	"dyad/engine"
	"dyad/privacy"
)

// Relabel lets tests see what a paper's plan says about other noise.
func Relabel(p *Plan, m privacy.Mechanism) error {
	return p.releasePlan(p.Certificate(), m, "a theorem")
}

// OldRecordHash is the hash of the plan that an earlier version put into a charge.
func OldRecordHash(p *Plan) (string, error) {
	record, err := p.oldRecord()
	return RecordHash(record), err
}

// OldCheckpoint makes the text of a checkpoint of format 2 of one of the current format.
func OldCheckpoint(text string, records *engine.Records) (string, error) {
	var c checkpoint
	if err := readSealed(strings.NewReader(text), &c); err != nil {
		return "", err
	}
	c.Format, c.Records = oldCheckpoint, hashRecords(records, oldCheckpoint)
	var b strings.Builder
	err := writeSealed(&b, c)
	return b.String(), err
}
