package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"dyad/cmd/dyad/localserve"
	"dyad/privacy"
	"dyad/privacy/durable"
	"dyad/privacy/local"
)

const memoryFormat = "dyad-local-client/1"

// clientMemory is the file in which a user keeps every message that was drawn from a
// record. A message is there, durably, before it is sent; so after any crash the same
// one is sent again, and no second one of an epoch is ever drawn.
//
// That holds for one file, by whatever name it is reached: symbolic links are resolved
// once, before the lock, and a file with two hard links is refused, because the rename
// that replaces one name would leave the other with an older memory. A copy of the file is
// another memory.
type clientMemory struct {
	path string // without symbolic links
	lock *flock.Flock
	file memoryFile
}

type memoryFile struct {
	Format  string         `json:"format"`
	Answers []clientAnswer `json:"answers"`
}

// clientAnswer is one message.
type clientAnswer struct {
	Protocol string                `json:"protocol"` // hash
	Epoch    int                   `json:"epoch"`
	Epsilon  float64               `json:"epsilon"`
	Accepted bool                  `json:"accepted"`
	Message  localserve.Submission `json:"message"`
}

// protocolKey identifies a protocol by what it asks for; the text of the server's
// guarantee is not part of it.
func protocolKey(p localserve.Protocol) string {
	p.Guarantee = privacy.Guarantee{}
	text, err := json.Marshal(p)
	if err != nil {
		return "" // no number of a plan is infinite or NaN
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// openClientMemory reads the file, or starts an empty one, and keeps others out.
func openClientMemory(name string) (*clientMemory, error) {
	path, err := durable.Resolve(name)
	if err != nil {
		return nil, asInput(fmt.Errorf("the memory file %s cannot be used: %w", name, err))
	}
	m := &clientMemory{path: path, lock: flock.New(path + ".lock"), file: memoryFile{Format: memoryFormat}}
	ok, err := m.lock.TryLock()
	if err != nil {
		return nil, asInput(fmt.Errorf("cannot lock the memory file: %w", err))
	}
	if !ok {
		return nil, fmt.Errorf("%w: another client uses %s", errUnavailable, path)
	}
	if err := m.alone(); err != nil {
		m.close()
		return nil, asInput(err)
	}
	err = readJSON(path, maxModelBytes, &m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil && m.file.Format != memoryFormat {
		err = fmt.Errorf("it has format %q, this program reads %q", m.file.Format, memoryFormat)
	}
	for _, a := range m.file.Answers {
		if !(a.Epsilon > 0 && a.Epsilon <= local.MaxEpsilon) {
			err = errors.New("an answer in it has no epsilon")
		}
	}
	if err != nil {
		m.close()
		return nil, badInput("%s is not the memory of a client, or is damaged (%v); without it nothing is sent, since it would be unknown what was", path, err)
	}
	return m, nil
}

// alone fails if the file has another name than its own.
func (m *clientMemory) alone() error {
	info, err := os.Lstat(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; name a file for the memory", m.path)
	}
	n, err := names(m.path, info)
	if err == nil && n > 1 {
		err = fmt.Errorf("%s is one file with %d names (hard links); remove all but one, so that nothing is answered twice", m.path, n)
	}
	return err
}

// find is the message of an epoch, nil if none was drawn.
func (m *clientMemory) find(protocol string, epoch int) *clientAnswer {
	for i := range m.file.Answers {
		if a := &m.file.Answers[i]; a.Protocol == protocol && a.Epoch == epoch {
			return a
		}
	}
	return nil
}

// spent is the epsilon of all messages, but those of one protocol, and more in all.
func (m *clientMemory) spent(except string, more ...float64) float64 {
	for _, a := range m.file.Answers {
		if a.Protocol != except {
			more = append(more, a.Epsilon)
		}
	}
	return privacy.DecimalSum(more...)
}

// add keeps a message, durably.
func (m *clientMemory) add(a clientAnswer) (*clientAnswer, error) {
	m.file.Answers = append(m.file.Answers, a)
	if err := m.write(); err != nil {
		return nil, err
	}
	return &m.file.Answers[len(m.file.Answers)-1], nil
}

func (m *clientMemory) write() error {
	text, err := json.MarshalIndent(m.file, "", "  ")
	if err != nil {
		return err
	}
	if err := m.alone(); err != nil {
		return err
	}
	return replaceFile(m.path, append(text, '\n'), 0o600, func() {})
}

func (m *clientMemory) close() { _ = m.lock.Unlock() } // the lock ends with the process anyway
