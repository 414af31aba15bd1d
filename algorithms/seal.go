package algorithms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
)

// errSeal is the error of a sealed file that is not as it was written.
var errSeal = errors.New("it was cut short, edited, or written in part")

// writeSealed writes v as one line of JSON and a line with the SHA-256 of the
// first. It is a guard against accidents and edits by hand, not a signature.
func writeSealed(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	_, err = w.Write(append(append(append(text, '\n'), hex.EncodeToString(sum[:])...), '\n'))
	return err
}

// readSealed reads what writeSealed wrote, or fails with errSeal.
func readSealed(r io.Reader, v any) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	body, rest, _ := bytes.Cut(text, []byte{'\n'})
	sum := sha256.Sum256(body)
	if !bytes.Equal(rest, append([]byte(hex.EncodeToString(sum[:])), '\n')) || json.Unmarshal(body, v) != nil {
		return errSeal
	}
	return nil
}
