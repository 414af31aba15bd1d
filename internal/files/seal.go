package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
)

const (
	sealedEnd = "\n}\n"
	lastKey   = ",\n  \"" // before the last member of an object
	keySum    = "checksum"
	kindOfSum = "sha256:"
	sealBytes = 256 // longer than the last member, if that is the checksum
)

// Sealed returns the JSON of an object with a checksum as its last member. The checksum is the SHA-256 of the
// text without this member.
func Sealed(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	sum := sha256.Sum256(text)
	return append(text[:len(text)-len(sealedEnd)], checksum(sum[:])...), nil
}

// reportBytes is the size that is reserved for every report of an evaluation or a curve, so that whether it can be
// stored does not depend on its numbers.
const reportBytes = 2 << 20

// SealedReport seals the report v as Sealed does. It also returns the size that is reserved for the report.
func SealedReport(v any) ([]byte, int, error) {
	text, err := Sealed(v)
	return text, max(len(text), reportBytes), err
}

// SumOf returns the checksum in a text that Sealed returned.
func SumOf(text []byte) string {
	at := len(text) - len(sealedEnd) - 1 - 2*sha256.Size // hexadecimal digits, a quotation mark
	return kindOfSum + string(text[at:][:2*sha256.Size])
}

// checksum returns the end of a text of Sealed, for the SHA-256 of the text without its last member.
func checksum(sum []byte) []byte {
	return []byte(lastKey + keySum + `": "` + kindOfSum + hex.EncodeToString(sum) + `"` + sealedEnd)
}

// Seal computes the checksum of a text that is written to it.
type Seal struct {
	sum  hash.Hash // of all bytes except last
	last []byte    // the last bytes
}

// NewSeal returns a Seal before the first byte.
func NewSeal() *Seal { return &Seal{sum: sha256.New()} }

// ReadSealed reads a small file of JSON into v. It returns the seal of the file for Intact.
func ReadSealed(path string, v any) (*Seal, error) {
	s := NewSeal()
	return s, ReadJSON(path, MaxSmallBytes, v, s)
}

// Write implements io.Writer.
func (s *Seal) Write(text []byte) (int, error) {
	s.last = append(s.last, text...)
	if old := len(s.last) - sealBytes; old > 0 {
		s.sum.Write(s.last[:old])
		s.last = append(s.last[:0], s.last[old:]...)
	}
	return len(text), nil
}

// Intact reports whether the text is unchanged since it was sealed. It must be called only once, after the whole
// text was written. A text without a seal counts as intact, unless `needed` is true. If a single byte of a
// sealed text was changed, the end of the text still looks like a seal, so Intact finds the change.
func (s *Seal) Intact(needed bool) bool {
	if !s.Present() {
		return !needed
	}
	at := max(0, bytes.LastIndex(s.last, []byte(lastKey)))
	s.sum.Write(s.last[:at])
	s.sum.Write([]byte(sealedEnd))
	return bytes.Equal(s.last[at:], checksum(s.sum.Sum(nil)))
}

// Present reports whether the text has a checksum.
func (s *Seal) Present() bool {
	return bytes.Contains(s.last, []byte(keySum)) || bytes.Contains(s.last, []byte(kindOfSum))
}

// Sum returns the checksum that is written in the text, or "" if the text has no checksum. The text must be Intact.
func (s *Seal) Sum() string {
	if !s.Present() {
		return ""
	}
	return SumOf(s.last)
}
