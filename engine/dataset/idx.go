package dataset

import (
	"encoding/binary"
	"io"
)

// maxIDXAxes is the most axes of an IDX file; images have 3.
const maxIDXAxes = 8

// idxTypes are the element types by their code.
var idxTypes = [256]element{
	0x08: {kind: 'u', size: 1},
	0x09: {kind: 'i', size: 1},
	0x0b: {kind: 'i', size: 2, big: true},
	0x0c: {kind: 'i', size: 4, big: true},
	0x0d: {kind: 'f', size: 4, big: true},
	0x0e: {kind: 'f', size: 8, big: true},
}

// readIDXHeader reads the header of an IDX file (the format of MNIST), in which
// size bytes are there, and leaves r at the first element.
func readIDXHeader(name string, r io.Reader, size int64) (*array, error) {
	a := &array{name: name, r: r}
	var start [4]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || start[0] != 0 || start[1] != 0 || start[3] == 0 || start[3] > maxIDXAxes {
		return nil, a.errorf(0, ruleIDXHeader)
	}
	if a.element = idxTypes[start[2]]; a.element.size == 0 {
		return nil, a.errorf(0, ruleIDXHeader)
	}
	for range start[3] {
		var b [4]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, a.errorf(0, ruleIDXHeader)
		}
		a.shape = append(a.shape, int(binary.BigEndian.Uint32(b[:])))
	}
	a.size = size - 4 - 4*int64(start[3])
	return a, a.check()
}
