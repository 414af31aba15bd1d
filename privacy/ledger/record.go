package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"dyad/privacy"
	"dyad/privacy/account"
)

// ledgerFormat is the version in the header line.
const ledgerFormat = 1

// Types of ledger lines.
const (
	typeHeader  = "header"
	typeCharge  = "charge"
	typeCap     = "cap"
	typeFinish  = "finish"
	typeResume  = "resume"
	typeArchive = "archive"
)

type lineHash [sha256.Size]byte

func (h lineHash) String() string { return hex.EncodeToString(h[:]) }

// lineContent is the part of a line that is hashed.
type lineContent struct {
	Seq  int             `json:"seq"`
	Type string          `json:"type"`
	Time string          `json:"time"`
	Body json.RawMessage `json:"body"`
}

type headerBody struct {
	Format int    `json:"format"`
	Key    string `json:"key"` // key of Fingerprint, in hex
}

type chargeBody struct {
	DataID      string            `json:"data_id"`
	Run         string            `json:"run"`
	Algorithm   string            `json:"algorithm"`
	Events      []json.RawMessage `json:"events"`
	Guarantee   string            `json:"guarantee,omitempty"`
	Unit        string            `json:"unit,omitempty"`
	Relation    string            `json:"relation,omitempty"`
	Released    string            `json:"released,omitempty"`
	Objective   string            `json:"objective,omitempty"`
	Plan        string            `json:"plan,omitempty"`
	Approved    string            `json:"approved,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	SeededNoise bool              `json:"seeded_noise,omitempty"`
	Resumable   bool              `json:"resumable,omitempty"`
	Counted     bool              `json:"counted,omitempty"`
}

type capBody struct {
	DataID  string  `json:"data_id"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	By      Counted `json:"by,omitempty"`
}

type finishBody struct {
	Run    string `json:"run"`
	Status string `json:"status"`
	Digest string `json:"digest,omitempty"`
	Place  string `json:"place,omitempty"`
}

type resumeBody struct {
	Run string `json:"run"`
	// Released is the number of releases that a stream had made before it was resumed.
	Released int `json:"released,omitempty"`
}

// Entry is one line of a ledger.
type Entry struct {
	Seq  int
	Time time.Time // zero if not readable; informative
	Type string    // "charge", "cap", "finish", "resume", "archive", or a type unknown to this version
	// Known is false for a line that this version cannot read exactly. The events of a ledger with such
	// a line are not composed, so the ledger has no total.
	Known bool

	DataID string         // of a charge or a cap
	Run    string         // of a charge, a finish or a resume
	Charge *Charge        // of a charge
	Cap    privacy.Budget // budget of a cap
	CapBy  Counted        // the total that a cap is compared with
	Status string         // of a finish
	Kept   Kept           // of a finish; zero if the line names nothing
	// Released is the number of releases that a stream had made when it was
	// resumed.
	Released int
	Archive  *Archive // of an archive
	Hash     string   // hash of the line, in hex; it commits to all lines before it
}

func hashContent(prev lineHash, content []byte) lineHash {
	h := sha256.New()
	h.Write(prev[:])
	h.Write(content)
	return lineHash(h.Sum(nil))
}

// formatLine returns the line, with its newline, and its hash.
func formatLine(prev lineHash, seq int, kind string, at time.Time, body []byte) ([]byte, lineHash, error) {
	return formatContent(prev, lineContent{Seq: seq, Type: kind, Time: at.UTC().Format(time.RFC3339Nano), Body: body})
}

func formatContent(prev lineHash, c lineContent) ([]byte, lineHash, error) {
	content, err := json.Marshal(c)
	if err != nil {
		return nil, lineHash{}, err
	}
	line, hash := chained(prev, content)
	return line, hash, nil
}

// chained returns the line of a content that follows the line with hash prev.
func chained(prev lineHash, content []byte) ([]byte, lineHash) {
	hash := hashContent(prev, content)
	line := append(content[:len(content)-1:len(content)-1], hashSuffix(hash)...)
	return append(line, '\n'), hash
}

func hashSuffix(h lineHash) string { return `,"hash":"` + h.String() + `"}` }

var errChain = errors.New("the hash of the line does not match, because this line or an earlier line was edited, " +
	"removed or moved")

// parseLine verifies a line without its newline. It accepts only the exact bytes that formatLine wrote.
func parseLine(prev lineHash, seq int, line []byte) (lineContent, lineHash, error) {
	cut := len(line) - len(hashSuffix(lineHash{}))
	if cut < 1 {
		return lineContent{}, lineHash{}, errChain
	}
	content := append(line[:cut:cut], '}')
	hash := hashContent(prev, content)
	if string(line[cut:]) != hashSuffix(hash) {
		return lineContent{}, lineHash{}, errChain
	}
	var c lineContent
	if err := json.Unmarshal(content, &c); err != nil {
		return c, hash, errors.New("it is not a ledger line")
	}
	if again, err := json.Marshal(c); err != nil || !bytes.Equal(again, content) {
		return c, hash, errors.New("it is not a ledger line in this format")
	}
	if c.Seq != seq {
		return c, hash, fmt.Errorf("its sequence number is %d, but must be %d", c.Seq, seq)
	}
	return c, hash, nil
}

// decodeExact reads body into v and reports whether encoding v gives body again. The result is false for an
// additional field of a later version, a duplicate key, or a key that is spelled differently.
func decodeExact(body []byte, v any) bool {
	if json.Unmarshal(body, v) != nil {
		return false
	}
	again, err := json.Marshal(v)
	return err == nil && bytes.Equal(again, body)
}

func parseHeader(c lineContent) ([]byte, error) {
	var version struct {
		Format int `json:"format"`
	}
	if c.Type != typeHeader || json.Unmarshal(c.Body, &version) != nil {
		return nil, errors.New("the first line is not a ledger header")
	}
	if version.Format != ledgerFormat {
		return nil, fmt.Errorf("the format version of the ledger is %d, but this program reads version %d; use the "+
			"program that wrote the ledger", version.Format, ledgerFormat)
	}
	var h headerBody
	if !decodeExact(c.Body, &h) {
		return nil, errors.New("the header has unknown fields")
	}
	key, err := hex.DecodeString(h.Key)
	if err != nil || len(key) != sha256.Size {
		return nil, errors.New("the header's key is malformed")
	}
	return key, nil
}

func parseEntry(c lineContent) Entry {
	e := Entry{Seq: c.Seq, Type: c.Type}
	e.Time, _ = time.Parse(time.RFC3339Nano, c.Time) // zero if unreadable
	switch c.Type {
	case typeCharge:
		var b chargeBody
		if e.Known = decodeExact(c.Body, &b); !e.Known {
			return e
		}
		e.DataID, e.Run = b.DataID, b.Run
		e.Charge = &Charge{
			DataID: b.DataID, Run: b.Run, Algorithm: b.Algorithm, Events: make([]account.Event, len(b.Events)),
			Guarantee: b.Guarantee, Unit: b.Unit, Relation: b.Relation, Released: b.Released,
			Objective: b.Objective, Plan: b.Plan, Approved: b.Approved, Fingerprint: b.Fingerprint,
			SeededNoise: b.SeededNoise, Time: e.Time,
			Resumable: b.Resumable, Counted: b.Counted,
		}
		for i, raw := range b.Events {
			e.Charge.Events[i] = account.Decode(raw)
		}
	case typeCap:
		var b capBody
		if e.Known = decodeExact(c.Body, &b); e.Known {
			e.DataID, e.Cap, e.CapBy = b.DataID, privacy.Budget{Epsilon: b.Epsilon, Delta: b.Delta}, b.By
		}
	case typeFinish:
		var b finishBody
		if e.Known = decodeExact(c.Body, &b); e.Known {
			e.Run, e.Status, e.Kept = b.Run, b.Status, Kept{b.Digest, b.Place}
		}
	case typeResume:
		var b resumeBody
		if e.Known = decodeExact(c.Body, &b); e.Known {
			e.Run, e.Released = b.Run, b.Released
		}
	case typeArchive:
		var a Archive
		if e.Known = decodeExact(c.Body, &a) && a.known(); e.Known {
			e.Archive = &a
		}
	}
	e.Known = e.Known && e.possible()
	return e
}

// possible reports whether the program writes such a line. It rejects a charge without a data id, for
// example. Totals and compactions are correct only for possible lines.
func (e *Entry) possible() bool {
	switch e.Type {
	case typeCharge:
		return e.DataID != "" && e.Run != ""
	case typeCap:
		return e.DataID != "" && e.Cap.Validate() == nil && e.Cap.Delta > 0 && e.CapBy.known()
	case typeFinish, typeResume:
		return e.Run != "" && e.Released >= 0
	}
	return true
}

func encodeCharge(c Charge) ([]byte, error) {
	b := chargeBody{
		DataID: c.DataID, Run: c.Run, Algorithm: c.Algorithm, Events: make([]json.RawMessage, len(c.Events)),
		Guarantee: c.Guarantee, Unit: c.Unit, Relation: c.Relation, Released: c.Released,
		Objective: c.Objective, Plan: c.Plan, Approved: c.Approved, Fingerprint: c.Fingerprint, SeededNoise: c.SeededNoise,
		Resumable: c.Resumable, Counted: c.Counted,
	}
	for i, e := range c.Events {
		var err error
		if b.Events[i], err = account.Encode(e); err != nil {
			return nil, err
		}
	}
	return encodeBody(typeCharge, b, c.DataID, c.Run, c.Algorithm, c.Guarantee, c.Unit, c.Relation, c.Released,
		c.Objective, c.Plan, c.Approved, c.Fingerprint)
}

// encodeBody encodes a body. texts holds the texts of the body again, with its key first. They must be valid
// UTF-8, so that they survive the round trip through JSON.
func encodeBody(kind string, body any, texts ...string) ([]byte, error) {
	if texts[0] == "" {
		return nil, fmt.Errorf("ledger: a %s needs an id", kind)
	}
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return nil, fmt.Errorf("ledger: a text of the %s is not UTF-8", kind)
		}
	}
	return json.Marshal(body)
}
