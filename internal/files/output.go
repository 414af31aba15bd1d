// Package files writes what commands and trainings leave: files that are there whole or not
// at all, and models that are kept privately until the ledger has recorded their release.
package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"dyad/internal/input"
	"dyad/privacy/durable"
)

// Output is a file that will be written, found before the work begins.
type Output struct {
	Asked string // as the user named it
	Path  string // resolved
	Force bool   // what is there is replaced
	// Spare: the name is a default, which nobody typed. If it is taken the file gets one with the id of its
	// run instead of an error.
	Spare bool
}

// ErrTaken is wrapped by the error about a file that is there and must not be replaced.
var ErrTaken = errors.New("choose another name")

// NewOutput makes sure, before anything is charged, that a file can be written. It never
// is one of the inputs, not even with force. It is nil for no path.
func NewOutput(path string, force bool, inputs ...string) (*Output, error) {
	return newOutput(Output{Asked: path, Force: force}, inputs)
}

// NewSpare is NewOutput for a default name (Output.Spare). An existing file is left as it is, unless by force.
func NewSpare(path string, force bool, inputs ...string) (*Output, error) {
	return newOutput(Output{Asked: path, Force: force, Spare: true}, inputs)
}

func newOutput(o Output, inputs []string) (*Output, error) {
	path, kept := o.Asked, !o.Force
	if path == "" {
		return nil, nil
	}
	if kept && o.Spare {
		inputs = nil // a spare name replaces none of them
	}
	for _, in := range inputs {
		if in != "" && Same(path, in) {
			return nil, input.Errorf("%s is an input of this command; name another file to write", path)
		}
	}
	switch info, err := os.Stat(path); {
	case err == nil && kept && o.Spare:
	case err == nil && !info.Mode().IsRegular():
		return nil, input.Errorf("%s is a directory or a device; name a file to write", path)
	case err == nil && kept:
		return nil, input.Errorf("%s exists; %w", path, ErrTaken)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, input.Errorf("cannot look at %s: %w", path, err)
	}
	name, err := durable.Resolve(path)
	if err == nil {
		var probe *durable.File
		durable.SweepTemporary(filepath.Dir(name))
		if probe, err = durable.Create(filepath.Dir(name), durable.TempPrefix, ""); err == nil {
			probe.Remove()
		}
	}
	if err != nil {
		return nil, input.Errorf("cannot write to the folder of %s: %v%s", path, err, map[bool]string{true: "; name a file in another one (--out)"}[o.Spare])
	}
	o.Path = name
	return &o, nil
}

// Same reports whether two names lead to one file.
func Same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// Limits of files in JSON, in bytes.
const (
	MaxModelBytes = 32 << 30 // of a model, or the memory of a client
	MaxSmallBytes = 64 << 20 // of a protocol
)

// ReadJSON stores the one JSON value of a file in v. It stops at the first byte that no
// value can begin with, at the end of the first value and at the limit, so that a device or
// a data file that is named by mistake does not fill the memory. All bytes of a file that it reads to
// its end are written to copies, too.
func ReadJSON(path string, limit int64, v any, copies ...io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(io.TeeReader(io.LimitReader(f, limit), io.MultiWriter(copies...)))
	if err := d.Decode(v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("it ends early, is empty or has more than %d bytes", limit)
		}
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("it has more than one JSON value")
	}
	return nil
}

// ReadSmall is the content of a regular file of at most limit bytes. Links that lead to it are followed; a device or a
// data file that is named by mistake is not read.
func ReadSmall(path string, limit int64) ([]byte, error) {
	name, err := durable.Resolve(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return durable.Read(name, limit)
}

// What may be read by whom.
const (
	Private = true  // by the owner: records, scores, states
	Shared  = false // by whom the umask lets: what is released, plots, documents
)

// Fill writes the file, whole or not at all. What another program wrote there since
// NewOutput is replaced only by force.
func (o *Output) Fill(secret bool, fill func(io.Writer) error) error {
	err := durable.Write(o.Path, secret, o.Force, nil, fill)
	if errors.Is(err, fs.ErrExist) {
		return input.Errorf("%s was made by another program meanwhile and was not replaced; %w", o.Asked, ErrTaken)
	}
	return err
}

// Write is Fill by a text.
func (o *Output) Write(secret bool, text []byte) error {
	return o.Fill(secret, durable.Text(text))
}

// Replace replaces the file that path leads to by text, which is for everybody, durably.
func Replace(path string, text []byte) error {
	name, err := durable.Resolve(path)
	if err != nil {
		return err
	}
	return durable.Write(name, Shared, true, nil, durable.Text(text))
}
