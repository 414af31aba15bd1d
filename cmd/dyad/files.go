package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"dyad/privacy/durable"
)

// output is a file that a command will write, found before its work begins.
type output struct {
	asked string // as the user named it
	path  string // resolved
	force bool   // what is there is replaced
}

// newOutput makes sure, before anything is charged, that a file can be written. It never
// is one of the inputs, not even with force. It is nil for no path.
func newOutput(path string, force bool, inputs ...string) (*output, error) {
	if path == "" {
		return nil, nil
	}
	for _, in := range inputs {
		if in != "" && sameFile(path, in) {
			return nil, badInput("%s is an input of this command; name another file to write", path)
		}
	}
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return nil, badInput("%s is a directory or a device; name a file to write", path)
	case err == nil && !force:
		return nil, badInput("%s exists; choose another name, or --force to replace it", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, asInput(fmt.Errorf("cannot look at %s: %w", path, err))
	}
	name, err := durable.Resolve(path)
	if err != nil {
		return nil, badInput("cannot write to the folder of %s: %v", path, err)
	}
	durable.SweepTemporary(filepath.Dir(name))
	probe, err := durable.Create(filepath.Dir(name), durable.TempPrefix, "")
	if err != nil {
		return nil, badInput("cannot write to the folder of %s: %v", path, err)
	}
	probe.Remove()
	return &output{path, name, force}, nil
}

// Limits of files in JSON, in bytes.
const (
	maxModelBytes = 32 << 30 // of a model, or the memory of a client
	maxSmallBytes = 64 << 20 // of a protocol
)

// readJSON stores the one JSON value of a file in v. It stops at the first byte that no
// value can begin with, at the end of the first value and at the limit, so that a device or
// a data file that is named by mistake does not fill the memory.
func readJSON(path string, limit int64, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(io.LimitReader(f, limit))
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

// checkOut is newOutput without creating anything.
func checkOut(path string, force bool, inputs ...string) error {
	_, err := newOutput(path, force, inputs...)
	return err
}

// What may be read by whom.
const (
	private = true  // by the owner: records, scores, states
	shared  = false // by whom the umask lets: what is released, plots, documents
)

// fill writes the file, whole or not at all. What another program wrote there since
// newOutput is replaced only by force.
func (o *output) fill(secret bool, fill func(io.Writer) error) error {
	err := durable.Write(o.path, secret, o.force, nil, fill)
	if errors.Is(err, fs.ErrExist) {
		return badInput("%s was made by another program meanwhile; it was not replaced: choose another name, or --force", o.asked)
	}
	return err
}

// write is fill by a text.
func (o *output) write(secret bool, text []byte) error {
	return o.fill(secret, writerOf(text))
}

func writerOf(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// zipped compresses what fill writes.
func zipped(fill func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := fill(z); err != nil {
			return err
		}
		return z.Close()
	}
}

// writeFile replaces path by text, which is for everybody.
func writeFile(path string, text []byte) error {
	name, err := durable.Resolve(path)
	if err != nil {
		return err
	}
	return durable.Write(name, shared, true, nil, writerOf(text))
}
