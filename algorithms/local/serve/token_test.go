package serve_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/algorithms/local/serve"
	"dyad/internal/must"
)

// A token is right for its id, study and key only, and the key survives its file.
func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	must.Fail(serve.ReadTokenKey(path))(t, fs.ErrNotExist, "no file")
	key := must.Get(serve.NewTokenKey())(t)
	must.Do(t, key.Create(path))
	other := must.Get(serve.NewTokenKey())(t)
	must.ErrDo(t, other.Create(path), "a key file was replaced")
	again := must.Get(serve.ReadTokenKey(path))(t)
	protocols := []serve.Protocol{serve.PublicPlan(planOf(t, protocol(20))), serve.PublicPlan(planOf(t, protocol(21)))}
	study := key.Study(protocols[0])
	token, err := again.Study(protocols[0]).Token("alice")
	if err != nil || !study.Valid("alice", token) {
		t.Fatalf("the token of alice is not valid: %v", err)
	}
	flipped := "A" + token[1:]
	if token[0] == 'A' {
		flipped = "B" + token[1:]
	}
	for what, valid := range map[string]bool{
		"of another user": study.Valid("bob", token), "of another key": other.Study(protocols[0]).Valid("alice", token),
		"of nobody": study.Valid("", token),
		"changed":   study.Valid("alice", flipped), "cut": study.Valid("alice", token[:42]),
		"longer": study.Valid("alice", token+"AA"), "empty": study.Valid("alice", ""),
		"of the id with a suffix": study.Valid("alice\x00", token),
		"of another study":        key.Study(protocols[1]).Valid("alice", token),
	} {
		if valid {
			t.Errorf("a token %s is valid", what)
		}
	}
	for _, id := range []string{"", strings.Repeat("u", 129), "\xff"} {
		must.Err(study.Token(id))(t, "id %q got a token", id)
	}
	text := must.Get(os.ReadFile(path))(t)
	for what, bad := range map[string]string{"empty": "", "cut": string(text[:len(text)-3]), "other": "hello",
		"no hex": strings.Replace(string(text), string(text[len(text)-2]), "g", 1) + "g"} {
		must.Do(t, os.WriteFile(path, []byte(bad), 0o600))
		must.Err(serve.ReadTokenKey(path))(t, "%s key file was read", what)
	}
}

// Two servers of two studies have one key: a token of one is refused by the other, and so is a token of an earlier version,
// which belonged to no study; the refusal of the latter names the cure.
func TestTokensOfAnotherStudy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	key := must.Get(serve.NewTokenKey())(t)
	must.Do(t, key.Create(path))
	text := must.Get(os.ReadFile(path))(t)
	_, digits, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	secret := must.Get(hex.DecodeString(digits))(t)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("dyad local token 1\x00alice"))
	old := base64.RawURLEncoding.EncodeToString(mac.Sum(nil))

	var studies []*serve.Service
	var servers []string
	for _, users := range []int{20, 21} {
		s := open(t, t.TempDir(), protocol(users))
		studies, servers = append(studies, s), append(servers, served(t, s, serve.HandlerOptions{Tokens: key}))
	}
	first := must.Get(key.Study(serve.PublicPlan(studies[0].Plan())).Token("alice"))(t)
	send := func(i int, token string) (int, string) {
		m := must.Get(json.Marshal(submission(t, studies[i].Plan(), studies[i].State(), "alice", 1)))(t)
		status, refusal := post(t, servers[i], string(m), token)
		return status, refusal.Code + ": " + refusal.Error
	}
	if status, body := send(1, first); status != http.StatusForbidden || !strings.HasPrefix(body, "token: ") ||
		!strings.Contains(body, "this study") {
		t.Errorf("a token of another study: %d %s", status, body)
	}
	for i := range servers {
		if status, body := send(i, old); status != http.StatusForbidden || !strings.Contains(body, "belongs to no study") ||
			!strings.Contains(body, "dyad local token --protocol") {
			t.Errorf("a token of an earlier version: %d %s", status, body)
		}
	}
	must.Equal(t, studies[0].State().Visits+studies[1].State().Visits, 0, "messages were taken")
	if status, body := send(0, first); status != http.StatusOK {
		t.Errorf("the token of the study: %d %s", status, body)
	}
}

// What is not a small regular file is not read as a token or a key: a device would fill the memory.
func TestTokenFilesHaveLimits(t *testing.T) {
	dir := t.TempDir()
	long, good := filepath.Join(dir, "long"), filepath.Join(dir, "good")
	token := strings.Repeat("A", 43)
	must.Do(t, errors.Join(os.WriteFile(long, []byte(token+strings.Repeat(" ", 4096)), 0o600),
		os.WriteFile(good, []byte(token+"\n"), 0o600)))
	for path, says := range map[string]string{os.DevNull: "not a regular file", dir: "not a regular file",
		long: "at most 4096"} {
		must.Fail(serve.ReadToken(path))(t, says, "token ", path)
		must.Fail(serve.ReadTokenKey(path))(t, says, "key ", path)
	}
	link(t, dir, "good", "link")
	must.Equal(t, must.Get(serve.ReadToken(filepath.Join(dir, "link")))(t), token, "a link to a token")
}
