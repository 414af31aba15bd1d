package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"dyad"
	"dyad/internal/must"
)

// A model whose network was changed and sealed again is refused when it is read, or it is a network of the same weights that scores: never
// another network's function, and no panic.
func TestHostileNetworksOfFiles(t *testing.T) {
	folder(t)
	says(t, 0, "model", "train --data r.csv --schema public.yaml --model net.yaml --steps 1 --out m.json")
	text := must.Get(os.ReadFile("m.json"))(t)
	list := func(items ...any) []any { return append([]any{}, items...) }
	object := func(key string, v any) map[string]any { return map[string]any{key: v} }
	part := func(rows, cols any, radius float64) map[string]any {
		return map[string]any{"name": "x", "rows": rows, "cols": cols, "radius": radius}
	}
	for key, values := range map[string][]any{
		"kind":     {nil, "mlp", "waves", 7},
		"features": {nil, 0, -1, 11, 1 << 40},
		"dim":      {nil, 0, 2, -1},
		"hidden":   {list(), list(3), list(1 << 40)},
		"clip":     {nil, 0, -1},
		"compare":  {"cosine"},
		"layers": {nil, list(), object("layers", list()), object("layers", list(object("dense", 1<<40))), object("layers", list(object("dense", 3))),
			object("layers", list(object("residual", list(object("residual", list(object("attention", object("size", 1))))))))},
		"parts": {nil, list(), list(part(1, 1, 1)), list(part(1<<40, 1<<40, 1)), list(part(-1, 1, 1)), list(part("x", 1, 1))},
	} {
		for _, value := range values {
			var m map[string]any
			must.Do(t, json.Unmarshal(text, &m))
			network := m["network"].(map[string]any)
			if network[key] = value; value == nil {
				delete(network, key)
			}
			delete(m, "checksum")
			body := must.Get(json.MarshalIndent(m, "", "  "))(t)
			write(t, "forged.json", fmt.Sprintf("%s,\n  \"checksum\": \"sha256:%x\"\n}\n", body[:len(body)-2], sha256.Sum256(append(body, '\n'))))
			if _, err := dyad.Load("forged.json"); !errors.Is(err, dyad.ErrInput) && !(err == nil && (key == "parts" && value == nil || key == "clip" && value != -1)) {
				t.Errorf("network.%s = %v: %v", key, value, err)
			}
		}
	}
}
