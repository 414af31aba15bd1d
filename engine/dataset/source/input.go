// Package source reads files: it opens a file once, decompresses it, cuts it into lines, and reports errors with file,
// row and column. The packages of all formats are based on it.
package source

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Input is an open file. At is nil unless the file can be read twice.
type Input struct {
	Name   string
	R      io.Reader
	At     io.ReaderAt
	Size   int64
	File   *os.File    // file opened by OpenInput, otherwise nil
	Opened fs.FileInfo // state of a regular file when it was opened; nil for other files
}

// OpenInput opens a file of data, labels or pairs. The caller must close it with Close.
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

// Close closes the file and returns err, the result of reading it. If the file was modified meanwhile, it
// returns ErrChanged, because the data may then be a mixture of the old and the new content.
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

// Changed reports whether the size or the modification time of the file differs from the time when it was opened.
func (in *Input) Changed(now fs.FileInfo) bool {
	return now.Size() != in.Opened.Size() || !now.ModTime().Equal(in.Opened.ModTime())
}

// ErrChanged returns the error for a file that was modified.
func (in *Input) ErrChanged() error {
	return fmt.Errorf("%w: %s; copy the file, and read the copy", ErrChanged, in.Name)
}

// Each calls the function add for every value that the function next returns before io.EOF.
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

// Hold reads the remaining content of u into memory.
func (in *Input) Hold(u *Unpacked) (*Input, error) {
	b, err := io.ReadAll(u)
	if err != nil {
		return nil, u.ReadError(in.Name, 0, err)
	}
	return &Input{Name: in.Name, R: bytes.NewReader(b), At: bytes.NewReader(b), Size: int64(len(b))}, nil
}

// RuleFolder is the rule broken by a name that is a folder.
const RuleFolder = "this is a folder; give a file"
