package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrSignature is wrapped by every error about a signature that is not valid for its file and key.
var ErrSignature = errors.New("ledger: the signature is not valid")

// Statement holds the facts about a released file that the owner of a ledger signs. All of them were in the
// ledger when the release was recorded.
type Statement struct {
	Digest     string `json:"digest"`         // digest of the file: "sha256:" and hex
	Plan       string `json:"plan,omitempty"` // equal to Charge.Plan
	DataID     string `json:"data_id"`
	Run        string `json:"run"`
	ReleasedBy string `json:"released_by,omitempty"` // the run that released the file, if the file is a copy of a file of Run
	Unit       string `json:"unit,omitempty"`
	Epsilon    string `json:"epsilon,omitempty"` // in the form of privacy.FormatUp; "" without a finite guarantee
	Delta      string `json:"delta,omitempty"`   // "" for a pure or local guarantee
	Guarantee  string `json:"guarantee"`         // equals Charge.Guarantee
	Seeded     bool   `json:"seeded,omitempty"`  // the noise is not secret: the guarantee does not hold
	// Head is the hash of the line of the ledger that recorded the release. It commits to this line and to
	// all earlier lines.
	Head string `json:"head"`
}

// PublicKey is the public half of the key of a ledger.
type PublicKey ed25519.PublicKey

const (
	signatureHeader = "untrusted comment: signature of a ledger of Dyad, key "
	trustedHeader   = "trusted comment: "
	statementHeader = "dyad-signature/1 "
	minisignScheme  = "Ed" // Ed25519 of the whole file

	// MaxSignature is the largest size of a signature, and of a public key, in bytes.
	MaxSignature = 1 << 14
)

// id returns the first 8 bytes of the key's SHA-256, which are the key number in minisign's format.
func (k PublicKey) id() []byte {
	sum := sha256.Sum256(k)
	return sum[:8]
}

// String returns the key in one line, in minisign's format.
func (k PublicKey) String() string {
	return base64.StdEncoding.EncodeToString(append(append([]byte(minisignScheme), k.id()...), k...))
}

// ParsePublicKey parses the output of String or a public key file of minisign.
func ParsePublicKey(text string) (PublicKey, error) {
	if comment, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(comment, "untrusted comment: ") {
		text = rest
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(text, "\n"))
	if err != nil || len(raw) != 10+ed25519.PublicKeySize || string(raw[:2]) != minisignScheme {
		return nil, errors.New("ledger: this is not a public key; give the line that \"dyad ledger key\" prints, or a " +
			"file with this line")
	}
	k := PublicKey(raw[10:])
	if !bytes.Equal(k.id(), raw[2:10]) {
		return nil, errors.New("ledger: the public key was changed, because its key number does not match the key")
	}
	return k, nil
}

// signature returns the text of a signature file in the format of minisign. Its first signature is of the
// file. Its second signature is of the first signature and the trusted comment, which contains the statement.
func signature(key ed25519.PrivateKey, file []byte, s Statement) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	k := PublicKey(key.Public().(ed25519.PublicKey))
	comment := statementHeader + string(text)
	first := ed25519.Sign(key, file)
	second := ed25519.Sign(key, append(bytes.Clone(first), comment...))
	return fmt.Appendf(nil, "%s%x\n%s\n%s%s\n%s\n", signatureHeader, k.id(),
		base64.StdEncoding.EncodeToString(append(append([]byte(minisignScheme), k.id()...), first...)),
		trustedHeader, comment, base64.StdEncoding.EncodeToString(second)), nil
}

// IsSignature reports whether a file begins with the header of a ledger's signature.
func IsSignature(text []byte) bool { return bytes.HasPrefix(text, []byte(signatureHeader)) }

// Signed reads a signature of a file. It returns the statement in the signature if both Ed25519
// signatures are valid for the key. It needs no ledger. Errors wrap ErrSignature.
func (k PublicKey) Signed(file, sig []byte) (s Statement, err error) {
	no := func(format string, args ...any) (Statement, error) {
		return Statement{}, fmt.Errorf("%w: %s", ErrSignature, fmt.Sprintf(format, args...))
	}
	lines := strings.SplitAfter(string(sig), "\n")
	if len(sig) > MaxSignature || len(lines) != 5 || lines[4] != "" {
		return no("the signature file does not have four lines")
	}
	comment, ok := strings.CutPrefix(strings.TrimSuffix(lines[2], "\n"), trustedHeader+statementHeader)
	first, err1 := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(lines[1], "\n"))
	second, err2 := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(lines[3], "\n"))
	switch {
	case !ok || err1 != nil || err2 != nil || len(first) != 10+ed25519.SignatureSize ||
		string(first[:2]) != minisignScheme:
		return no("this version cannot read the signature")
	case !bytes.Equal(first[2:10], k.id()):
		return no("the signature was made with key %x, but the given key is %x", first[2:10], k.id())
	case len(second) != ed25519.SignatureSize ||
		!ed25519.Verify(ed25519.PublicKey(k), append(bytes.Clone(first[10:]), statementHeader+comment...), second):
		return no("the statement in the signature was changed or belongs to another signature")
	case !ed25519.Verify(ed25519.PublicKey(k), file, first[10:]):
		return no("the file is not the one that was signed")
	case !decodeExact([]byte(comment), &s):
		return no("the statement in the signature has fields that this version does not know")
	case s.Digest != digestOf(file):
		return no("the signature is for another file, with hash %s", s.Digest)
	}
	return s, nil
}

// digestOf returns the digest of a released file.
func digestOf(file []byte) string {
	sum := sha256.Sum256(file)
	return "sha256:" + hex.EncodeToString(sum[:])
}

var (
	approximate = regexp.MustCompile(`^\(([0-9.e+-]+), ([0-9.e+-]+)\)-differentially private`)
	purely      = regexp.MustCompile(`^([0-9.e+-]+)-(?:locally )?differentially private`)
)

// budgetIn returns the epsilon and delta in the text of a guarantee that privacy.Guarantee wrote. If the text
// does not state one of the two values, the result for this value is "".
func budgetIn(guarantee string) (epsilon, delta string) {
	if m := approximate.FindStringSubmatch(guarantee); m != nil {
		return m[1], m[2]
	}
	if m := purely.FindStringSubmatch(guarantee); m != nil {
		return m[1], ""
	}
	return "", ""
}

// About returns an error wrapping ErrSignature if the facts that a file states about itself differ from the
// statement. They can differ even if the signature is valid, because the file can state facts that differ
// from the charge in the ledger.
func (s Statement) About(run, dataID, unit, guarantee, plan string) error {
	epsilon, delta := budgetIn(guarantee)
	for _, f := range []struct{ what, signed, file string }{
		{"run", s.Run, run}, {"data id", s.DataID, dataID}, {"unit", s.Unit, unit},
		{"epsilon", s.Epsilon, epsilon}, {"delta", s.Delta, delta}, {"plan", s.Plan, plan},
	} {
		if f.signed != f.file && (f.what != "plan" || f.file != "") { // files of figures state no plan
			return fmt.Errorf("%w: the %s is %q in the signature, but %q in the file", ErrSignature, f.what, f.signed, f.file)
		}
	}
	return nil
}
