package ledger

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"dyad/privacy/durable"
)

const (
	keySuffix    = ".key"
	keyHeader    = "dyad-ledger-key/1 "
	maxKeyFile   = 1 << 10
	maxWitnesses = 1 << 20
)

// ErrNoKey is wrapped if a ledger has no signing key.
var ErrNoKey = errors.New("ledger: the ledger has no key; \"dyad ledger key\" creates a key")

// CreateKey returns the public key of the ledger. If the ledger has no key, CreateKey first draws a key
// pair. The private key is in the file PATH.key, mode 0600, next to the ledger. It is never in the ledger
// file. Anyone who has the private key can sign any file.
func (l *Ledger) CreateKey() (PublicKey, error) {
	unlock, err := l.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	key, err := l.signingKey()
	if errors.Is(err, ErrNoKey) {
		seed := make([]byte, ed25519.SeedSize)
		_, _ = rand.Read(seed) // never fails
		if err = durable.Write(l.path+keySuffix, true, false, nil,
			durable.Text(fmt.Appendf(nil, "%s%x\n", keyHeader, seed))); err == nil {
			key = ed25519.NewKeyFromSeed(seed)
		}
	}
	if err != nil {
		return nil, l.errorf("its key: %w", err)
	}
	return PublicKey(key.Public().(ed25519.PublicKey)), nil
}

// signingKey reads the private key. The error wraps ErrNoKey if there is none.
func (l *Ledger) signingKey() (ed25519.PrivateKey, error) {
	if info, err := os.Stat(l.path + keySuffix); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users can access the key %s; run chmod 600 on it; if somebody may have read "+
			"it, move it away and create another key", l.path+keySuffix)
	}
	text, err := durable.Read(l.path+keySuffix, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoKey, l.path)
	}
	if err != nil {
		return nil, err
	}
	digits, ok := bytes.CutPrefix(bytes.TrimSuffix(text, []byte("\n")), []byte(keyHeader))
	seed, err := hex.DecodeString(string(digits))
	if !ok || err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s is not a key written by \"dyad ledger key\"; restore it from a backup", l.path+keySuffix)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// Sign returns the signature of a file that the ledger records as released. The signature depends only on the
// lines of the ledger and the key, since Ed25519 draws no randomness. So Sign can be repeated, and a crash
// between a release and its signature loses nothing. The error wraps ErrNoKey if the ledger has no key, and
// ErrResume if the ledger records no release of such a file.
func (l *Ledger) Sign(file []byte) ([]byte, error) {
	key, err := l.signingKey()
	if err != nil {
		return nil, err
	}
	entries, away, err := l.History()
	if err != nil {
		return nil, err
	}
	s := Statement{Digest: digestOf(file)}
	var names struct { // a search among models releases a copy of a model, and the copy names the run of its training
		Run string `json:"run"`
	}
	_ = json.Unmarshal(file, &names) // a file that names no run belongs to the run that released it
	by := ""
	for _, e := range entries {
		if e.Known && e.Type == typeFinish && e.Status == StatusReleased && e.Kept.Digest == s.Digest &&
			(by == "" || e.Run == names.Run) {
			by, s.Head = e.Run, e.Hash
		}
	}
	if s.Run = cmp.Or(names.Run, by); s.Run != by {
		s.ReleasedBy = by
	}
	for _, e := range entries {
		if c := e.Charge; by != "" && c != nil && e.Run == s.Run {
			s.Plan, s.DataID, s.Unit, s.Guarantee, s.Seeded = c.Plan, c.DataID, c.Unit, c.Guarantee, c.SeededNoise
			s.Epsilon, s.Delta = budgetIn(c.Guarantee)
			return signature(key, file, s)
		}
	}
	if by != "" && away == "" {
		return nil, fmt.Errorf("%w: the ledger has the release of this file, but no charge of its run %q",
			ErrResume, s.Run)
	}
	if away != "" {
		return nil, fmt.Errorf("%w: the ledger has no release of a file with the hash %s; if you have the archive "+
			"%s, put it next to the ledger", ErrResume, s.Digest, away)
	}
	return nil, fmt.Errorf("%w: the ledger has no release of a file with the hash %s", ErrResume, s.Digest)
}

// Witness compares the ledger with an earlier head of this ledger, which another person keeps in a file
// elsewhere. It then writes the current head to this file. If the ledger does not continue from the recorded
// head, the ledger was replaced by an older copy or by another ledger. In this case Witness fails with
// ErrUnavailable and does not change the file. Witness also searches for the recorded head in archives. If
// the head may be in a missing archive, the error names the archive. If there is no such file, Witness makes it
// and compares nothing. It returns the number of lines of the ledger and whether it compared an earlier head.
func (l *Ledger) Witness(file string) (lines int, compared bool, err error) {
	st, err := l.load()
	if err != nil {
		return 0, false, err
	}
	text, err := durable.Read(file, maxWitnesses)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return 0, false, l.errorf("cannot read the witness %s: %w", file, err)
	default:
		var was witness
		if !bytes.HasSuffix(text, []byte("\n")) || !decodeExact(text[:len(text)-1], &was) || was.Format != witnessFormat ||
			was.Lines < 1 {
			return 0, false, l.errorf("%s is not the witness of a ledger; name another file", file)
		}
		if err := l.goesOn(st, was); err != nil {
			return 0, false, err
		}
		compared = true
	}
	body, err := encodeBody("witness", witness{witnessFormat, st.lines, st.last.String()}, witnessFormat)
	if err == nil {
		err = durable.Write(file, true, true, nil, durable.Text(append(body, '\n')))
	}
	if err != nil {
		return 0, false, l.errorf("cannot write the witness %s: %w", file, err)
	}
	return st.lines, compared, nil
}

// witness is a head that another person keeps.
type witness struct {
	Format string `json:"format"`
	Lines  int    `json:"lines"`
	Hash   string `json:"hash"`
}

const witnessFormat = "dyad-witness/1"

// goesOn returns an error unless a line of the ledger or of its archives has the hash of the recorded head.
func (l *Ledger) goesOn(st *ledgerState, was witness) error {
	found := st.header == was.Hash
	look := func(entries []Entry) {
		for _, e := range entries {
			found = found || e.Hash == was.Hash || e.Archive != nil && e.Archive.Hash == was.Hash
		}
	}
	look(st.entries)
	away, err := l.archives(st, look)
	switch {
	case err != nil:
		return err
	case found:
		return nil
	case away != "":
		return l.errorf("the archive %s is missing, so the witness cannot be checked; put the archive back next to "+
			"the ledger", away)
	}
	return l.errorf("the ledger lacks line %d of the witness (hash %s), so it is an older copy or another ledger; "+
		"restore the newest copy before the next charge", was.Lines, was.Hash)
}
