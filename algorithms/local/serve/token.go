package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"dyad/internal/files"
	"dyad/privacy/durable"
)

// TokenKey makes and checks the tokens of users. Anyone holding the key can impersonate every user. A token
// authenticates one user in one study.
//
// A token is the HMAC-SHA256 of a hash of the study's protocol and the user's id. Without the key a token
// cannot be distinguished from random bits, even by somebody who knows the tokens of other ids and studies
// (HMAC is a pseudorandom function: Bellare, CRYPTO 2006). So a server needs no list of users. A token can be
// revoked only by changing the key. With the same key, two studies with the same protocol have the same
// tokens. Tokens authenticate senders. Privacy does not rest on tokens.
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

// ReadTokenKey reads a file that Create wrote. Its error wraps fs.ErrNotExist if there is no file.
func ReadTokenKey(path string) (*TokenKey, error) {
	text, err := files.ReadSmall(path, maxTokenFile)
	if err != nil {
		return nil, fmt.Errorf("serve: cannot read the key of tokens: %w", err)
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

// Create writes the key durably to a file that its owner alone can read. It fails if the file exists.
func (k *TokenKey) Create(path string) error {
	if err := durable.Write(path, true, false, nil,
		durable.Text(fmt.Appendf(nil, "%s%x\n", tokenKeyHeader, k.secret))); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Study returns the Study of one protocol.
func (k *TokenKey) Study(p Protocol) Study { return Study{k, p.key()} }

// Study makes and checks the tokens of the users of one protocol.
type Study struct {
	key      *TokenKey
	protocol string // a hash of a fixed length
}

// Token returns the token of a user: 43 letters, digits, "-" and "_".
func (s Study) Token(user string) (string, error) {
	if err := checkUser(user); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.key.sum("dyad local token 2\x00" + s.protocol + user)), nil
}

// Valid reports whether token is the token of user in the study. Its time does not depend on where the tokens differ.
func (s Study) Valid(user, token string) bool {
	return s.key.made(token, "dyad local token 2\x00"+s.protocol+user)
}

// old reports whether token is a token of user for all studies of a key, as an earlier version made it. It is used only
// for the error message: such a token is refused, because anyone who got it in one study could use it in other studies.
func (s Study) old(user, token string) bool {
	return s.key.made(token, "dyad local token 1\x00"+user)
}

func (k *TokenKey) made(token, of string) bool {
	got, err := base64.RawURLEncoding.DecodeString(token)
	return err == nil && hmac.Equal(got, k.sum(of))
}

func (k *TokenKey) sum(of string) []byte {
	h := hmac.New(sha256.New, k.secret[:])
	h.Write([]byte(of))
	return h.Sum(nil)
}

// maxTokenFile is the largest size of the file of a token or a key in bytes.
const maxTokenFile = 4096

// ReadToken reads a file that holds one token.
func ReadToken(path string) (string, error) {
	text, err := files.ReadSmall(path, maxTokenFile)
	if err != nil {
		return "", fmt.Errorf("serve: cannot read the token: %w", err)
	}
	words := strings.Fields(string(text))
	if len(words) != 1 || len(words[0]) != base64.RawURLEncoding.EncodedLen(sha256.Size) {
		return "", fmt.Errorf(`serve: %s must contain exactly one token of "dyad local token"`, path)
	}
	return words[0], nil
}
