package algorithms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
)

// errSeal is the error of a sealed file that was changed after it was written, or was not written completely.
var errSeal = errors.New("it was cut short, edited, or written in part")

// writeSealed writes v as one line of JSON, followed by a line with the SHA-256 of the first line. The hash
// protects against accidents and edits by hand. It is not a signature.
func writeSealed(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	_, err = w.Write(append(append(append(text, '\n'), hex.EncodeToString(sum[:])...), '\n'))
	return err
}

// readSealed reads the output of writeSealed into v. It returns errSeal if the hash or the JSON is wrong.
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
