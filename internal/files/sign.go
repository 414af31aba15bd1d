package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"dyad/privacy/durable"
	"dyad/privacy/ledger"
)

// SignatureOf returns the name of the signature of a file.
func SignatureOf(name string) string { return name + ".minisig" }

// signed signs a file that has its final name. The release is already complete, so signing can be repeated at any
// time if it fails (Sign).
func (l Log) signed(book *ledger.Ledger, name string) {
	_, err := Sign(book, name)
	switch {
	case err == nil:
		l.at("model signed")
	case !errors.Is(err, ledger.ErrNoKey):
		l.note(`%s was written but not signed; sign it with "dyad ledger sign %s": %v`, name, name, err)
	}
}

// Sign writes the signature of a file that a ledger released. It writes the signature to a file in the same
// folder and returns the name of the signature. Sign replaces an earlier signature, but no other file.
func Sign(book *ledger.Ledger, name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	sig, err := book.Sign(text)
	if err != nil {
		return "", err
	}
	// a link would lead to a file that nobody named
	if info, err := os.Lstat(SignatureOf(name)); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file (it may be a link), so it was not replaced; move it away",
			SignatureOf(name))
	}
	out, err := durable.Resolve(SignatureOf(name))
	if err != nil {
		return "", err
	}
	was, err := durable.Read(out, ledger.MaxSignature)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case !ledger.IsSignature(was):
		return "", fmt.Errorf("%s is not a ledger's signature, so it was not replaced; move it away", SignatureOf(name))
	case bytes.Equal(was, sig):
		return SignatureOf(name), nil
	}
	return SignatureOf(name), durable.Write(out, Shared, true, nil, durable.Text(sig))
}
