package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"unsafe"
)

// Number is the element type of slices of a file.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// ErrChanged is wrapped by the error for a file that was changed while it was mapped.
var ErrChanged = errors.New("pages: another program changed the file while this program was using it")

// Mapping is the content of a regular file as bytes.
type Mapping struct {
	// Bytes are mapped if the system supports it, and read into memory otherwise. A mapping is address space whose
	// pages the system reads when they are first used. It stays until the program ends, so that no slice of Bytes can
	// outlive it. If another program shortens the file, reading the missing bytes is a fault, which
	// debug.SetPanicOnFault turns into a panic.
	Bytes []byte

	// file is open as long as it is mapped, so that Unchanged does not confuse it with another file of the same
	// name. file is nil if the file was read.
	file *os.File
	was  os.FileInfo // the state of the file before it was mapped
}

// File maps a regular file. The file must not be changed while the mapping is used; Unchanged checks this. The
// caller may close f.
func File(f *os.File) (*Mapping, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", f.Name())
	case size == 0:
		return &Mapping{}, nil
	case uint64(size) > math.MaxInt:
		return nil, fmt.Errorf("%s has %d bytes, which is more than this machine can address", f.Name(), size)
	}
	if m, err := os.Open(f.Name()); err == nil {
		if again, err := m.Stat(); err == nil && os.SameFile(info, again) {
			if b, err := mapped(m, int(size)); err == nil {
				return &Mapping{b, m, info}, nil
			}
		}
		m.Close()
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return &Mapping{Bytes: b}, nil
}

// Unchanged returns an error that wraps ErrChanged if the file was written to since it was mapped. It compares the
// size, the modification time and, on Linux, the change time, which no program can set. If the name now belongs to
// another file, the change time is not compared: a file that loses its name gets a new change time. A program that
// writes through its own mapping can leave all times unchanged.
func (m *Mapping) Unchanged() error {
	if m.file == nil {
		return nil
	}
	now, err := m.file.Stat()
	if err != nil {
		return err
	}
	changed := now.Size() != m.was.Size() || !now.ModTime().Equal(m.was.ModTime())
	if named, err := os.Stat(m.file.Name()); err == nil && os.SameFile(named, m.was) {
		changed = changed || changeTime(now) != changeTime(m.was)
	}
	if changed {
		return fmt.Errorf("%w: %s", ErrChanged, m.file.Name())
	}
	return nil
}

// littleEndian reports whether numbers lie in memory as they lie in files.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// Slice returns the little-endian numbers in b. The result uses the memory of b. But if this machine stores
// numbers in another byte order, or if b does not start at a multiple of the size of a number, the result is
// a copy. It panics if the length of b is not a multiple of the size of a number.
func Slice[T Number](b []byte) []T {
	size := int(unsafe.Sizeof(T(0)))
	if len(b)%size != 0 {
		panic("pages: Slice: a part of a number")
	}
	if len(b) == 0 {
		return nil
	}
	if littleEndian() && uintptr(unsafe.Pointer(&b[0]))%uintptr(size) == 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/size)
	}
	x := make([]T, len(b)/size)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(b))
	copy(raw, b)
	swap(raw, size)
	return x
}

// Bytes returns the numbers of x as bytes in the format of a file. If memory has the same format, the
// result is the memory of x itself. So neither x nor the result may be changed while the other is used.
func Bytes[T Number](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(x[0]))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*size)
	if littleEndian() {
		return raw
	}
	raw = append([]byte(nil), raw...)
	swap(raw, size)
	return raw
}

// swap reverses the bytes of each number unless this machine is little-endian.
func swap(raw []byte, size int) {
	if littleEndian() {
		return
	}
	for ; len(raw) > 0; raw = raw[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			raw[i], raw[j] = raw[j], raw[i]
		}
	}
}
