package serve_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/algorithms/local/serve"
)

// A token is right for its id and key only, and the key survives its file.
func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if _, err := serve.ReadTokenKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	key, err := serve.NewTokenKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Create(path); err != nil {
		t.Fatal(err)
	}
	other, err := serve.NewTokenKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Create(path); err == nil {
		t.Error("a key file was replaced")
	}
	again, err := serve.ReadTokenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	token, err := again.Token("alice")
	if err != nil || !key.Valid("alice", token) {
		t.Fatalf("the token of alice is not valid: %v", err)
	}
	flipped := "A" + token[1:]
	if token[0] == 'A' {
		flipped = "B" + token[1:]
	}
	for what, valid := range map[string]bool{
		"of another user": key.Valid("bob", token), "of another key": other.Valid("alice", token), "of nobody": key.Valid("", token),
		"changed": key.Valid("alice", flipped), "cut": key.Valid("alice", token[:42]), "longer": key.Valid("alice", token+"AA"), "empty": key.Valid("alice", ""),
		"of the id with a suffix": key.Valid("alice\x00", token),
	} {
		if valid {
			t.Errorf("a token %s is valid", what)
		}
	}
	for _, id := range []string{"", strings.Repeat("u", 129), "\xff"} {
		if _, err := key.Token(id); err == nil {
			t.Errorf("id %q got a token", id)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, bad := range map[string]string{"empty": "", "cut": string(text[:len(text)-3]), "other": "hello", "no hex": strings.Replace(string(text), string(text[len(text)-2]), "g", 1) + "g"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := serve.ReadTokenKey(path); err == nil {
			t.Errorf("%s key file was read", what)
		}
	}
}
