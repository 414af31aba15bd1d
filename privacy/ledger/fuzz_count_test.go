package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/durable"
)

// The count of a stream is never below a whole slot of the file, whatever else is in it, and head files are read
// exactly or not at all.
func FuzzCount(f *testing.F) {
	r := RunLock{run: "a"}
	slot := func(releases int) []byte {
		return must.Get(r.text(StreamPosition{releases, "0f"}))(f)
	}
	f.Add(append(slot(3), slot(4)...))
	f.Add(append(slot(5), make([]byte, slotSize)...))
	f.Add(append(slot(5)[:100], slot(6)...))
	f.Add([]byte(`{"run":"a","releases":1} `))
	path := filepath.Join(f.TempDir(), "count")
	whole := slot(7)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, content := range [][]byte{data, append(append([]byte(nil), whole...), data...)} {
			must.Do(t, os.WriteFile(path, content, 0o600))
			file := must.Get(durable.Open(path))(t)
			got := RunLock{run: "a", file: file}
			read := got.read()
			file.Close()
			if got.at.Releases < 0 || read && got.at.Releases == 0 && got.torn {
				t.Fatalf("%+v", got.at)
			}
			if len(content) >= slotSize && string(content[:slotSize]) == string(whole) && (!read || got.at.Releases < 7) {
				t.Fatalf("a whole slot of 7 releases was read as %+v", got.at)
			}
		}
	})
}
