package array

import (
	"archive/zip"
	"io"
	"math"

	"dyad/engine/dataset/source"
)

// Open opens an array file and reads its header.
func Open(format string, in *source.Input, u *source.Unpacked) (*Array, error) {
	switch {
	case in.At == nil:
		held, err := in.Hold(u)
		if err != nil {
			return nil, err
		}
		return openAt(format, held, held.R)
	case u.Compressed:
		size, err := unpackedSize(in)
		if err != nil {
			return nil, err
		}
		return openAt(format, &source.Input{Name: in.Name, Size: size}, u)
	}
	return openAt(format, in, u)
}

func openAt(format string, in *source.Input, r io.Reader) (*Array, error) {
	var a *Array
	var err error
	if format == "npy" {
		a, err = readNPYHeader(in.Name, r, in.Size)
	} else {
		a, err = readIDXHeader(in.Name, r, in.Size)
	}
	if err != nil {
		return nil, err
	}
	a.at = in.At
	return a, nil
}

// unpackedSize returns the uncompressed length of a compressed file. It reads the file once.
func unpackedSize(in *source.Input) (int64, error) {
	u, err := source.Unpack(in.Name, io.NewSectionReader(in.At, 0, in.Size))
	if err != nil {
		return 0, err
	}
	defer u.Close()
	n, err := io.Copy(io.Discard, u)
	if err != nil {
		return 0, u.ReadError(in.Name, 0, err)
	}
	return n, nil
}

// maxDeflate is the largest expansion factor of deflate: 2 bits can stand for a match of 258 bytes.
const maxDeflate = 1032

// OpenMember opens one array of an archive. If the array is absent and not required, a is nil. Errors name the column.
func OpenMember(in *source.Input, z *zip.Reader, name string, required bool,
	column string) (a *Array, closer func(), err error) {
	refuse := func(rule string) (*Array, func(), error) {
		return nil, nil, &source.ParseError{File: in.Name, Column: column, Rule: rule}
	}
	var f *zip.File
	for _, m := range z.File {
		if m.Name == name+".npy" || m.Name == name {
			f = m
		}
	}
	if f == nil {
		if required {
			return refuse(RuleNPZArray)
		}
		return nil, func() {}, nil
	}
	r, err := f.Open()
	if err != nil || f.UncompressedSize64 > math.MaxInt64/2 || f.UncompressedSize64 > maxDeflate*(f.CompressedSize64+1) {
		return refuse(RuleBadZip)
	}
	a, err = readNPYHeader(in.Name+": "+name, r, int64(f.UncompressedSize64))
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	if start, err := f.DataOffset(); err == nil && f.Method == zip.Store {
		a.at, a.offset = in.At, a.offset+start
	}
	return a, func() { r.Close() }, nil
}
