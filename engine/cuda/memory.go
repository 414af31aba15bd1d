package cuda

import (
	"encoding/binary"
	"errors"
	"math"

	"dyad/engine/cuda/driver"
)

// memory holds the allocations on a GPU.
type memory []driver.Pointer

// block is memory to be allocated.
type block struct {
	at    *driver.Pointer
	bytes int
}

func (m *memory) alloc(c driver.Context, blocks []block) error {
	for _, b := range blocks {
		p, err := c.Alloc(uint64(max(b.bytes, 1)))
		if err != nil {
			return err
		}
		*b.at = p
		*m = append(*m, p)
	}
	return nil
}

func (m *memory) free(c driver.Context) error {
	var errs []error
	for _, p := range *m {
		errs = append(errs, c.Free(p))
	}
	*m = nil
	return errors.Join(errs...)
}

// putFloats and floats convert numbers to and from the byte order of the GPU.
func putFloats(to []byte, v []float64) {
	for i, f := range v {
		binary.LittleEndian.PutUint64(to[8*i:], math.Float64bits(f))
	}
}

func floats(v []float64, from []byte) {
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:]))
	}
}

// copyFloats is the number of float64 per copy.
const copyFloats = 1 << 16

func copyIn(c driver.Context, to driver.Pointer, v []float64) error {
	host := make([]byte, 8*min(len(v), copyFloats))
	for from := 0; from < len(v); from += copyFloats {
		part := v[from:min(from+copyFloats, len(v))]
		putFloats(host, part)
		if err := c.CopyIn(to+driver.Pointer(8*from), host[:8*len(part)]); err != nil {
			return err
		}
	}
	return nil
}

func copyOut(c driver.Context, v []float64, from driver.Pointer) error {
	host := make([]byte, 8*min(len(v), copyFloats))
	for at := 0; at < len(v); at += copyFloats {
		part := v[at:min(at+copyFloats, len(v))]
		if err := c.CopyOut(host[:8*len(part)], from+driver.Pointer(8*at)); err != nil {
			return err
		}
		floats(part, host)
	}
	return nil
}
