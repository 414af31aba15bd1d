// Package files writes the files of commands and trainings. Files are written whole or not at all. Models are
// kept privately until the ledger has recorded their release.
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

// Output is a file that will be written. It is checked before the work begins.
type Output struct {
	Asked string // the name that the user gave
	Path  string // the path after resolving links
	Force bool   // an existing file is replaced
	// Spare is true if the name is a default that the user did not type. If a file with this name exists, the
	// new file gets a name that contains the id of its run, and there is no error.
	Spare bool
}

// ErrTaken is wrapped by the error for an output file that already exists and must not be replaced.
var ErrTaken = errors.New("choose another name")

// NewOutput checks, before anything is charged, that a file can be written. The file must not be one of the
// inputs, even with force. If path is "", NewOutput returns nil.
func NewOutput(path string, force bool, inputs ...string) (*Output, error) {
	return Output{Asked: path, Force: force}.Checked(inputs...)
}

// Checked checks o as NewOutput does and returns a copy of o with Path set, or nil if Asked is "".
func (o Output) Checked(inputs ...string) (*Output, error) {
	path, kept := o.Asked, !o.Force
	if path == "" {
		return nil, nil
	}
	if kept && o.Spare {
		inputs = nil // a spare name replaces no input
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
		return nil, input.Errorf("cannot read the properties of %s: %w", path, err)
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
		return nil, input.Errorf("cannot write to the folder of %s: %v%s", path, err,
			map[bool]string{true: "; name a file in another folder (--out)"}[o.Spare])
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

// The largest sizes of files in JSON, in bytes.
const (
	MaxModelBytes = 32 << 30 // for a model, or the memory of a client
	MaxSmallBytes = 64 << 20 // for a protocol
)

// ReadJSON reads the one JSON value of a file into v. It stops at the first byte that cannot begin a value, at
// the end of the first value and after `limit` bytes. So a device or a data file that the user names by
// mistake does not fill the memory. ReadJSON also writes all bytes that it reads to each writer in copies. If
// it reads to the end of the file, each writer gets the whole file.
func ReadJSON(path string, limit int64, v any, copies ...io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(io.TeeReader(io.LimitReader(f, limit), io.MultiWriter(copies...)))
	if err := d.Decode(v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the file is empty, was cut short or has more than %d bytes", limit)
		}
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("the file has more than one JSON value")
	}
	return nil
}

// ReadSmall returns the content of a regular file of at most limit bytes. Links to the file are followed. ReadSmall
// does not read a device or a large data file that the user names by mistake.
func ReadSmall(path string, limit int64) ([]byte, error) {
	name, err := durable.Resolve(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return durable.Read(name, limit)
}

// ReadStart returns the first bytes of a file, which can be a pipe. An error is marked as an error of the user's input.
func ReadStart(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, input.As(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	return text, input.As(err)
}

// The readers of a file.
const (
	Private = true  // only the owner may read it: records, scores, states
	Shared  = false // readers as the umask allows: releases, plots, documents
)

// Fill writes the file, whole or not at all. If another program has written a file of this name since
// NewOutput, Fill replaces that file only if Force is true.
func (o *Output) Fill(secret bool, fill func(io.Writer) error) error {
	err := durable.Write(o.Path, secret, o.Force, nil, fill)
	if errors.Is(err, fs.ErrExist) {
		return input.Errorf("meanwhile, another program created %s, so this file was not replaced; %w",
			o.Asked, ErrTaken)
	}
	return err
}

// Write calls Fill with a text.
func (o *Output) Write(secret bool, text []byte) error {
	return o.Fill(secret, durable.Text(text))
}

// Replace durably writes text as the new content of the file at path. If path is a symbolic link, the content
// of its target is replaced. Everybody may read the new file.
func Replace(path string, text []byte) error {
	name, err := durable.Resolve(path)
	if err != nil {
		return err
	}
	return durable.Write(name, Shared, true, nil, durable.Text(text))
}
