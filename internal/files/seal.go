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
	sealBytes = 256 // more than the last member takes, if that is the checksum
)

// Sealed is the JSON of an object with a checksum as its last member: the SHA-256 of the text without it.
func Sealed(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	sum := sha256.Sum256(text)
	return append(text[:len(text)-len(sealedEnd)], checksum(sum[:])...), nil
}

// SumOf is the checksum of a text of Sealed, as it stands there.
func SumOf(text []byte) string {
	at := len(text) - len(sealedEnd) - 1 - 2*sha256.Size // hexadecimal digits, a quotation mark
	return kindOfSum + string(text[at:][:2*sha256.Size])
}

// checksum is the end of a text of Sealed, for the SHA-256 of the text without that member.
func checksum(sum []byte) []byte {
	return []byte(lastKey + keySum + `": "` + kindOfSum + hex.EncodeToString(sum) + `"` + sealedEnd)
}

// Seal computes the checksum of a text that is written to it.
type Seal struct {
	sum  hash.Hash // of all but last
	last []byte    // bytes
}

// NewSeal is a Seal before the first byte.
func NewSeal() *Seal { return &Seal{sum: sha256.New()} }

// ReadSealed reads a small file of JSON into v, and its seal, for Intact.
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

// Intact says, once and after the whole text, whether it is as it was sealed, or was never sealed and need not be.
// Whatever any one byte was changed to, the end still looks like that of a sealed text.
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

// Sum is the checksum of a text that is Intact, as it stands there; "" if it has none.
func (s *Seal) Sum() string {
	if !s.Present() {
		return ""
	}
	return SumOf(s.last)
}
