package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"dyad/privacy/durable"
)

// TokenKey makes and checks the tokens of users. Anyone holding the key can impersonate every user;
// a token speaks for one.
//
// A token is the HMAC-SHA256 of the user's id. Without the key it cannot be told from
// random bits, even by somebody who knows the tokens of other ids (HMAC is a pseudorandom
// function: Bellare, CRYPTO 2006). So a server needs no list of users; to revoke a token
// takes another key. Tokens say who sends. Privacy does not rest on them.
type TokenKey struct {
	secret [32]byte
}

const tokenKeyHeader = "dyad-local-token-key/1 "

// NewTokenKey draws a key from the operating system.
func NewTokenKey() (*TokenKey, error) {
	k := new(TokenKey)
	if _, err := rand.Read(k.secret[:]); err != nil {
		return nil, fmt.Errorf("serve: drawing a key: %w", err)
	}
	return k, nil
}

// ReadTokenKey reads a file that Create wrote. It wraps fs.ErrNotExist if there is none.
func ReadTokenKey(path string) (*TokenKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	digits, ok := strings.CutPrefix(strings.TrimSpace(string(text)), tokenKeyHeader)
	secret, err := hex.DecodeString(digits)
	k := new(TokenKey)
	if !ok || err != nil || len(secret) != len(k.secret) {
		return nil, fmt.Errorf("serve: %s is not a key written by \"dyad local token\"", path)
	}
	copy(k.secret[:], secret)
	return k, nil
}

// Create writes the key, durably, to a file that its owner alone can read. It fails if
// the file exists.
func (k *TokenKey) Create(path string) error {
	if err := durable.Write(path, true, false, nil, durable.Text(fmt.Appendf(nil, "%s%x\n", tokenKeyHeader, k.secret))); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Token is the token of a user, 43 letters, digits, "-" and "_".
func (k *TokenKey) Token(user string) (string, error) {
	if err := checkUser(user); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(k.sum(user)), nil
}

// Valid says whether token is that of user, in a time that does not depend on where they
// differ.
func (k *TokenKey) Valid(user, token string) bool {
	got, err := base64.RawURLEncoding.DecodeString(token)
	return err == nil && hmac.Equal(got, k.sum(user))
}

func (k *TokenKey) sum(user string) []byte {
	h := hmac.New(sha256.New, k.secret[:])
	h.Write([]byte("dyad local token 1\x00" + user))
	return h.Sum(nil)
}

// ReadToken reads a file that holds one token.
func ReadToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("serve: %w", err)
	}
	words := strings.Fields(string(text))
	if len(words) != 1 || len(words[0]) != base64.RawURLEncoding.EncodedLen(sha256.Size) {
		return "", fmt.Errorf("serve: %s is not one token of \"dyad local token\"", path)
	}
	return words[0], nil
}
