package checker

import (
	"bytes"
	"os"
	"testing"

	"dyad/internal/must"
)

// A file that is accepted is accepted again, and says so for a checksum that is its own.
func FuzzCheck(f *testing.F) {
	b := must.Get(os.ReadFile("../../cmd/command/testdata/formats/model-1-plan.json"))(f)
	f.Add(b)
	f.Add(bytes.Replace(b, []byte("1"), []byte("2"), 1))
	f.Fuzz(func(t *testing.T, file []byte) {
		v := Check(file)
		if v.Verdict == Verified && !bytes.Equal(file, b) {
			t.Errorf("another file is accepted without a checksum of its own: %+v", v)
		}
	})
}
