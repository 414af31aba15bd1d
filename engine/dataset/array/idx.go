package array

import (
	"encoding/binary"
	"io"
)

// maxIDXAxes is the largest number of axes accepted in an IDX file. A file of images has 3 axes.
const maxIDXAxes = 8

// idxTypes maps the type codes of the format to element types.
var idxTypes = [256]Element{
	0x08: {Kind: 'u', Size: 1},
	0x09: {Kind: 'i', Size: 1},
	0x0b: {Kind: 'i', Size: 2, big: true},
	0x0c: {Kind: 'i', Size: 4, big: true},
	0x0d: {Kind: 'f', Size: 4, big: true},
	0x0e: {Kind: 'f', Size: 8, big: true},
}

// IsIDX reports whether head, the first bytes of a file, is the beginning of an IDX file.
func IsIDX(head []byte) bool {
	return len(head) >= 4 && head[0] == 0 && head[1] == 0 && idxTypes[head[2]].Size > 0 && head[3] > 0 &&
		head[3] <= maxIDXAxes
}

// readIDXHeader reads the header of an IDX file (the format of MNIST) and leaves r at the first element. size
// is the length of the file in bytes.
func readIDXHeader(name string, r io.Reader, size int64) (*Array, error) {
	a := &Array{name: name, r: r}
	var start [4]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || !IsIDX(start[:]) {
		return nil, a.Refuse(0, RuleIDXHeader)
	}
	a.Element = idxTypes[start[2]]
	for range start[3] {
		var b [4]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, a.Refuse(0, RuleIDXHeader)
		}
		a.Shape = append(a.Shape, int(binary.BigEndian.Uint32(b[:])))
	}
	a.Size = size - 4 - 4*int64(start[3])
	return a, a.check()
}
