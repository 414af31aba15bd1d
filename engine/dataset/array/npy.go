package array

import (
	"encoding/binary"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// MaxNPYHeader is the largest accepted length of the header of an NPY file, in bytes. Headers written by NumPy
// have about 100 bytes.
const MaxNPYHeader = 1 << 16

var (
	npyDescr   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	npyFortran = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9,\sL]*)\)`)
	npyType    = regexp.MustCompile(`^([<>|=]?)([fiub])([1248])$`)
)

// readNPYHeader reads the header of an NPY file (NumPy's format, versions 1 to 3) and leaves r at the first
// element. size is the length of the file in bytes.
func readNPYHeader(name string, r io.Reader, size int64) (*Array, error) {
	a := &Array{name: name, r: r}
	var start [12]byte
	if _, err := io.ReadFull(r, start[:10]); err != nil || string(start[:6]) != "\x93NUMPY" {
		return nil, a.Refuse(0, RuleNPYHeader)
	}
	length, used := int64(binary.LittleEndian.Uint16(start[8:])), int64(10)
	if start[6] >= 2 {
		if _, err := io.ReadFull(r, start[10:]); err != nil {
			return nil, a.Refuse(0, RuleNPYHeader)
		}
		length, used = int64(binary.LittleEndian.Uint32(start[8:])), 12
	}
	if start[6] < 1 || start[6] > 3 || length > MaxNPYHeader {
		return nil, a.Refuse(0, RuleNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, a.Refuse(0, RuleNPYHeader)
	}
	a.offset = used + length
	a.Size = size - a.offset
	descr, fortran, shape := npyDescr.FindSubmatch(text), npyFortran.FindSubmatch(text), npyShape.FindSubmatch(text)
	if fortran == nil || shape == nil {
		return nil, a.Refuse(0, RuleNPYHeader)
	}
	a.fortran = string(fortran[1]) == "True"
	ok := false
	if descr != nil { // a structured type has no descr of this form
		a.Element, ok = npyElement(string(descr[1]))
	}
	if !ok {
		return nil, a.Refuse(0, RuleNPYType)
	}
	for _, s := range strings.Split(string(shape[1]), ",") {
		if s = strings.TrimSuffix(strings.TrimSpace(s), "L"); s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, a.Refuse(0, RuleNPYHeader)
		}
		a.Shape = append(a.Shape, n)
	}
	if len(a.Shape) == 0 {
		return nil, a.Refuse(0, RuleMatrix)
	}
	return a, a.check()
}

// npyElement parses a type such as "<f8".
func npyElement(descr string) (e Element, ok bool) {
	m := npyType.FindStringSubmatch(descr)
	if m == nil {
		return e, false
	}
	e = Element{Kind: m[2][0], Size: int(m[3][0] - '0'), big: m[1] == ">"}
	switch e.Kind {
	case 'f':
		return e, e.Size >= 4
	case 'b':
		return e, e.Size == 1
	}
	return e, true
}
