package face

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// Whatever one byte of a model file becomes, the file is refused; and so is one without its end, or with a plan and no
// checksum.
func TestChangedModelsAreRefused(t *testing.T) {
	old := must.Get(os.ReadFile(filepath.FromSlash("../../cmd/command/testdata/formats/model-1.json")))(t)
	m := &dyad.Model{}
	must.Do(t, json.Unmarshal(old, m))
	m.Plan = json.RawMessage(`{"format":"dyad-plan/1","releases":null}`)
	name := filepath.Join(t.TempDir(), "m.json")
	must.Do(t, m.Save(name))
	text := must.Get(os.ReadFile(name))(t)
	load := func(text []byte) error {
		must.Do(t, os.WriteFile(name, text, 0o600))
		_, err := dyad.Load(name)
		return err
	}
	must.Do(t, load(text), "as it was saved")
	var changed []byte
	for i := range text {
		for k, to := range []byte{text[i] ^ 1, text[i] ^ 0x20, 'x', ' ', '\n', '0'} {
			if to == text[i] || k != i%6 && !sizes.Full() {
				continue
			}
			changed = append(append(append(changed[:0], text[:i]...), to), text[i+1:]...)
			if load(changed) == nil {
				t.Fatalf("byte %d, %q, was changed to %q and the model is read", i, text[i], to)
			}
		}
	}
	at := bytes.LastIndex(text, []byte(",\n  \"checksum\""))
	for what, other := range map[string]string{
		"no checksum, and a plan": string(text[:at]) + "\n}\n",
		"other line ends":         strings.ReplaceAll(string(text), "\n", "\r\n"),
		"twice the checksum":      string(text[:len(text)-3]) + string(text[at:]),
		"more behind it":          strings.Replace(string(text), "\n}\n", ",\n  \"more\": 1\n}\n", 1),
	} {
		must.FailDo(t, load([]byte(other)), "checksum", what)
	}
	must.CheckDo(t, load(old), "a model of a version before the checksum")
}
