// Package source reads files as they come: opened once, decompressed, cut into lines, with the errors that name file, row and
// column. Every room of a format stands on it.
package source

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Input is a file as it comes: at is nil unless it can be read twice.
type Input struct {
	Name   string
	R      io.Reader
	At     io.ReaderAt
	Size   int64
	File   *os.File    // nil unless openInput opened it
	Opened fs.FileInfo // nil unless it is a regular file
}

// OpenInput opens the file of data, labels or pairs, which close closes.
func OpenInput(path, what string) (*Input, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot read %s: %w", what, err)
	}
	in := &Input{Name: path, R: f, File: f}
	switch info, err := f.Stat(); {
	case err != nil:
	case info.IsDir():
		f.Close()
		return nil, &ParseError{File: path, Rule: RuleFolder}
	case info.Mode().IsRegular(): // a pipe can be read only once
		in.At, in.Size, in.Opened = f, info.Size(), info
	}
	return in, nil
}

// Close returns err, the outcome of reading, or ErrChanged if the file was written to
// meanwhile: what was read may be half of the old and half of the new file.
func (in *Input) Close(err error) error {
	defer in.File.Close()
	if in.Opened == nil {
		return err
	}
	if now, e := in.File.Stat(); e == nil && in.Changed(now) {
		return in.ErrChanged()
	}
	return err
}

// Changed reports whether the file is another one than when it was opened, by its size or its time.
func (in *Input) Changed(now fs.FileInfo) bool {
	return now.Size() != in.Opened.Size() || !now.ModTime().Equal(in.Opened.ModTime())
}

// ErrChanged is the error about a file that was written to.
func (in *Input) ErrChanged() error {
	return fmt.Errorf("%w: %s; read a copy that nothing writes to", ErrChanged, in.Name)
}

// Each calls add for all that next returns before io.EOF.
func Each[T any](next func() (T, error), add func(T) error) error {
	for {
		item, err := next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = add(item)
		}
		if err != nil {
			return err
		}
	}
}

// Hold reads what is left of u into memory.
func (in *Input) Hold(u *Unpacked) (*Input, error) {
	b, err := io.ReadAll(u)
	if err != nil {
		return nil, u.ReadError(in.Name, 0, err)
	}
	return &Input{Name: in.Name, R: bytes.NewReader(b), At: bytes.NewReader(b), Size: int64(len(b))}, nil
}

// RuleFolder is a rule of a name.
const RuleFolder = "this is a folder; give a file"
