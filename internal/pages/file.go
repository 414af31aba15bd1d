package pages

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"unsafe"
)

// Number is what slices of a file hold.
type Number interface {
	~int32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// File returns the bytes of a regular file, which nobody may change: mapped where the system can, and
// else read into memory. A mapping is address space that the system fills on use; it stays until the
// program ends, so that no slice of it can outlive it. A file that is made shorter meanwhile ends the
// program when it is read there.
func File(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch size := info.Size(); {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", f.Name())
	case size == 0:
		return nil, nil
	case uint64(size) > math.MaxInt:
		return nil, fmt.Errorf("%s has %d bytes, more than this machine can address", f.Name(), size)
	default:
		if b, err := mapped(f, int(size)); err == nil {
			return b, nil
		}
		b := make([]byte, size)
		_, err := f.ReadAt(b, 0)
		if err == io.EOF {
			err = nil
		}
		return b, err
	}
}

// littleEndian says that numbers lie in memory as they lie in files.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// Slice are the little-endian numbers of b: b itself, or a copy where this machine stores numbers
// otherwise or b does not start at a multiple of their size. It panics if b has a part of a number.
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

// Bytes are the numbers of x as a file stores them: x itself where they lie in memory so. Both must
// not be changed while the other is used.
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

// swap turns the bytes of each number around unless this machine is little-endian.
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
