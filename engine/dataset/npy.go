package dataset

import (
	"encoding/binary"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// maxNPYHeader bounds the header of an NPY file; NumPy writes about 100 bytes.
const maxNPYHeader = 1 << 16

var (
	npyDescr   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	npyFortran = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9,\sL]*)\)`)
	npyType    = regexp.MustCompile(`^([<>|=]?)([fiub])([1248])$`)
)

// readNPYHeader reads the header of an NPY file (NumPy's format, versions 1 to
// 3), in which size bytes are there, and leaves r at the first element.
func readNPYHeader(name string, r io.Reader, size int64) (*array, error) {
	a := &array{name: name, r: r}
	var start [12]byte
	if _, err := io.ReadFull(r, start[:10]); err != nil || string(start[:6]) != "\x93NUMPY" {
		return nil, a.errorf(0, ruleNPYHeader)
	}
	length, used := int64(binary.LittleEndian.Uint16(start[8:])), int64(10)
	if start[6] >= 2 {
		if _, err := io.ReadFull(r, start[10:]); err != nil {
			return nil, a.errorf(0, ruleNPYHeader)
		}
		length, used = int64(binary.LittleEndian.Uint32(start[8:])), 12
	}
	if start[6] < 1 || start[6] > 3 || length > maxNPYHeader {
		return nil, a.errorf(0, ruleNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, a.errorf(0, ruleNPYHeader)
	}
	a.offset = used + length
	a.size = size - a.offset
	descr, fortran, shape := npyDescr.FindSubmatch(text), npyFortran.FindSubmatch(text), npyShape.FindSubmatch(text)
	if fortran == nil || shape == nil {
		return nil, a.errorf(0, ruleNPYHeader)
	}
	a.fortran = string(fortran[1]) == "True"
	ok := false
	if descr != nil { // a structured type has none of this form
		a.element, ok = npyElement(string(descr[1]))
	}
	if !ok {
		return nil, a.errorf(0, ruleNPYType)
	}
	for _, s := range strings.Split(string(shape[1]), ",") {
		if s = strings.TrimSuffix(strings.TrimSpace(s), "L"); s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, a.errorf(0, ruleNPYHeader)
		}
		a.shape = append(a.shape, n)
	}
	if len(a.shape) == 0 {
		return nil, a.errorf(0, ruleMatrix)
	}
	return a, a.check()
}

// npyElement reads a type such as "<f8".
func npyElement(descr string) (e element, ok bool) {
	m := npyType.FindStringSubmatch(descr)
	if m == nil {
		return e, false
	}
	e = element{kind: m[2][0], size: int(m[3][0] - '0'), big: m[1] == ">"}
	switch e.kind {
	case 'f':
		return e, e.size >= 4
	case 'b':
		return e, e.size == 1
	}
	return e, true
}
