package dyad

import (
	"bytes"
	"encoding/hex"
	"hash"
)

const (
	modelEnd  = "\n}\n"
	lastKey   = ",\n  \"" // before the last member of a model
	keySum    = "checksum"
	kindOfSum = "sha256:"
	sealBytes = 256 // more than the last member takes, if that is the checksum
)

// checksum is the end of the file of a model, for the SHA-256 of the file without that member.
func checksum(sum []byte) []byte {
	return []byte(lastKey + keySum + `": "` + kindOfSum + hex.EncodeToString(sum) + `"` + modelEnd)
}

// seal computes the checksum of a model's text that is written to it.
type seal struct {
	sum  hash.Hash // of all but last
	last []byte    // bytes
}

// Write implements io.Writer.
func (s *seal) Write(text []byte) (int, error) {
	s.last = append(s.last, text...)
	if old := len(s.last) - sealBytes; old > 0 {
		s.sum.Write(s.last[:old])
		s.last = append(s.last[:0], s.last[old:]...)
	}
	return len(text), nil
}

// intact says whether the text is as it was written. Models of versions before the checksum have none,
// and no plan. Whatever any one byte was changed to, the end still looks like that of a checksum.
func (s *seal) intact(planned bool) bool {
	if !s.present() {
		return !planned
	}
	at := max(0, bytes.LastIndex(s.last, []byte(lastKey)))
	s.sum.Write(s.last[:at])
	s.sum.Write([]byte(modelEnd))
	return bytes.Equal(s.last[at:], checksum(s.sum.Sum(nil)))
}

// present says that the text has a checksum.
func (s *seal) present() bool {
	return bytes.Contains(s.last, []byte(keySum)) || bytes.Contains(s.last, []byte(kindOfSum))
}
