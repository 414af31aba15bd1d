package ptxtest

import (
	"encoding/binary"
	"strings"
	"testing"

	"dyad/internal/must"
)

// Kit runs the kernels of a module on Go slices, for a test.
type Kit struct {
	T *testing.T
	Machine
	Module *Module
}

// NewKit returns a kit for a program with the instructions of an extension. A nil extension has none.
func NewKit(t *testing.T, ptx string, more Extension) *Kit {
	t.Helper()
	return &Kit{T: t, Module: must.Get(ParseExtended(ptx, more))(t)}
}

// In returns the address of a new buffer with the numbers of the slice v.
func (k *Kit) In(v any) uint64 {
	b := must.Get(binary.Append(nil, binary.LittleEndian, v))(k.T)
	at := k.Alloc(len(b))
	copy(k.Bytes(at, len(b)), b)
	return at
}

// Out reads the slice v from a buffer.
func (k *Kit) Out(at uint64, v any) {
	must.Get(binary.Decode(k.Bytes(at, binary.Size(v)), binary.LittleEndian, v))(k.T)
}

// Launch runs a kernel that must not fail.
func (k *Kit) Launch(name string, x, y int, args ...uint64) {
	k.T.Helper()
	must.Do(k.T, k.Run(k.Module, name, x, y, args...))
}

// Fill runs a kernel whose first argument is a copy of v. It then copies what the kernel wrote there back to v.
func (k *Kit) Fill(v any, name string, x, y int, args ...uint64) {
	k.T.Helper()
	at := k.In(v)
	k.Launch(name, x, y, append([]uint64{at}, args...)...)
	k.Out(at, v)
}

// Broken fails the test for each edit after which the program still computes the right result. An edit
// holds a name, a text of the program, and the text that replaces it.
func Broken(t *testing.T, ptx string, more Extension, same func(k *Kit) (bool, error), edits ...[3]string) {
	t.Helper()
	for _, e := range edits {
		text := strings.ReplaceAll(ptx, e[1], e[2])
		if text == ptx {
			t.Errorf("%s: the PTX has no %q", e[0], e[1])
			continue
		}
		ok, err := same(NewKit(t, text, more))
		if t.Logf("%s: %v", e[0], err); ok && err == nil {
			t.Errorf("%s: not found", e[0])
		}
	}
}

// Fault parses and runs a program. It must fail with an error that contains want, or succeed if want is "".
func Fault(t *testing.T, name, text string, more Extension, want string, run func(k *Kit) error) {
	t.Helper()
	m, err := ParseExtended(text, more)
	if err == nil {
		err = run(&Kit{T: t, Module: m})
	}
	if want == "" {
		must.Do(t, err, name)
	} else {
		must.FailDo(t, err, want, name)
	}
}
