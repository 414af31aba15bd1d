package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/durable"
	"dyad/privacy/local"
)

// Memories have a checksum (files.Sealed) since format 2.
const (
	memoryFormat      = "dyad-local-client/2"
	plainMemoryFormat = "dyad-local-client/1"
)

// Memory is the file in which a user keeps every message that was drawn from a record. A message is durably in
// the file before it is sent. So after any crash the same message is sent again, and a second message of an
// epoch is never drawn.
//
// This property holds for one file, whatever name is used to open the file. Symbolic links are resolved once,
// before the lock. A file with two hard links is refused, because the rename that replaces one name would leave
// an older memory under the other name. A copy of the file is a different memory.
//
// The file has a checksum. Without it, a digit changed by a disk or an editor could hide a message that was sent, and a
// second message of the epoch would be drawn.
type Memory struct {
	file *durable.Document
	kept remembered
}

// remembered is the content of the file.
type remembered struct {
	Format  string       `json:"format"`
	Answers []Remembered `json:"answers"`
}

// Remembered is one message.
type Remembered struct {
	Protocol string     `json:"protocol"` // the hash of the protocol
	Epoch    int        `json:"epoch"`
	Epsilon  float64    `json:"epsilon"`
	Accepted bool       `json:"accepted"`
	Message  Submission `json:"message"`
}

// key returns the SHA-256, in hex, that identifies a protocol. The hash covers the whole protocol except the
// server's guarantee.
func (p Protocol) key() string {
	p.Guarantee = privacy.Guarantee{}
	text, err := json.Marshal(p)
	if err != nil {
		return "" // no number of a plan is infinite or NaN
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// OpenMemory reads the file, or starts an empty memory, and locks out other processes until Close. If another
// process has opened the file, the error wraps ErrAway. All other errors wrap ErrInput.
func OpenMemory(name string) (*Memory, error) {
	file, err := durable.Own(name)
	switch {
	case errors.Is(err, durable.ErrBusy):
		return nil, fmt.Errorf("%w: another client uses the memory file: %w", ErrAway, err)
	case err != nil:
		return nil, inputError("the memory file %s cannot be locked: %w", name, err)
	}
	m := &Memory{file, remembered{Format: memoryFormat}}
	if err := file.Alone(); err != nil {
		m.Close()
		return nil, inputError("the memory: %w", err)
	}
	if err := m.read(file.Name()); err != nil {
		m.Close()
		return nil, inputError("%s is damaged, or no memory file of a client (%v); no message was sent; restore "+
			"its newest version, no older copy", file.Name(), err)
	}
	return m, nil
}

func (m *Memory) read(path string) error {
	seal := files.NewSeal()
	if err := files.ReadJSON(path, files.MaxModelBytes, &m.kept, seal); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !seal.Intact(m.kept.Format == memoryFormat) {
		return errors.New("its checksum does not match, so it was changed after it was written")
	}
	plain := m.kept.Format == plainMemoryFormat
	if m.kept.Format != memoryFormat && !plain {
		return fmt.Errorf("it has format %q, but this program reads %q and %q",
			m.kept.Format, memoryFormat, plainMemoryFormat)
	}
	for _, a := range m.kept.Answers {
		if !(a.Epsilon > 0 && a.Epsilon <= local.MaxEpsilon) {
			return errors.New("an answer in the file has no valid epsilon")
		}
	}
	if plain {
		m.kept.Format = memoryFormat
		return m.write()
	}
	return nil
}

// Messages returns all messages that were drawn, in the order of their drawing.
func (m *Memory) Messages() []Remembered { return m.kept.Answers }

// find returns the message of an epoch, or nil if no message was drawn.
func (m *Memory) find(protocol string, epoch int) *Remembered {
	for i := range m.kept.Answers {
		if a := &m.kept.Answers[i]; a.Protocol == protocol && a.Epoch == epoch {
			return a
		}
	}
	return nil
}

// Spent returns the epsilon of all messages.
func (m *Memory) Spent() float64 { return m.spent("") }

// spent returns the sum of more and the epsilon of all messages, except the messages of one protocol.
func (m *Memory) spent(except string, more ...float64) float64 {
	for _, a := range m.kept.Answers {
		if a.Protocol != except {
			more = append(more, a.Epsilon)
		}
	}
	return privacy.DecimalSum(more...)
}

// add stores a message durably.
func (m *Memory) add(a Remembered) (*Remembered, error) {
	m.kept.Answers = append(m.kept.Answers, a)
	if err := m.write(); err != nil {
		return nil, err
	}
	return &m.kept.Answers[len(m.kept.Answers)-1], nil
}

func (m *Memory) write() error {
	text, err := files.Sealed(m.kept)
	if err != nil {
		return err
	}
	if err := m.file.Alone(); err != nil {
		return err
	}
	return m.file.Replace(text, nil)
}

// Close releases the memory for other processes.
func (m *Memory) Close() { _ = m.file.Close() } // the lock ends with the process anyway
