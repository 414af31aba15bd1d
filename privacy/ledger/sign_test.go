package ledger

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// signedLedger is a ledger with a key and the release of a file.
func signedLedger(t *testing.T, file []byte) (l *Ledger, key PublicKey, sig []byte) {
	t.Helper()
	l = must.Get(Open(filepath.Join(t.TempDir(), "ledger.jsonl")))(t)
	if _, err := l.Sign(file); !errors.Is(err, ErrNoKey) {
		t.Fatalf("signed without a key: %v", err)
	}
	key = must.Get(l.CreateKey())(t)
	if again, err := l.CreateKey(); err != nil || again.String() != key.String() {
		t.Fatalf("the key is drawn twice: %v, %v", again, err)
	}
	release(t, l, "a", file)
	sig = must.Get(l.Sign(file))(t)
	return l, key, sig
}

func release(t *testing.T, l *Ledger, run string, file []byte) {
	t.Helper()
	_, err := l.Begin(Charge{
		DataID: "clinic", Run: run, Algorithm: "moments", Plan: "0f", Unit: "one record", Resumable: true,
		Guarantee: "(1, 1e-05)-differentially private (0.269-GDP) for one record (neighbours: replace one); released: weights",
		Events:    []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 5}},
	}, privacy.NewSeededSource(1))
	if err == nil {
		err = l.Release(run, Kept{Digest: digestOf(file)})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSignaturesAreOfReleases(t *testing.T) {
	file := []byte("{\"run\": \"a\"}\n")
	l, key, sig := signedLedger(t, file)
	s, err := key.Signed(file, sig)
	if err != nil || s.Run != "a" || s.Epsilon != "1" || s.Delta != "1e-05" || s.Unit != "one record" || s.Plan != "0f" || !s.Seeded || len(s.Head) != 64 {
		t.Fatalf("%+v, %v", s, err)
	}
	must.Equal(t, must.Get(os.Stat(l.Path()+keySuffix))(t).Mode().Perm(), 0o600, "the key has mode")
	must.Equal(t, string(must.Get(l.Sign(file))(t)), string(sig), "signed again")
	must.Fail(l.Sign([]byte("another file")))(t, ErrResume, "signed what was not released")
	must.Get(l.Compact())(t)
	must.Equal(t, string(must.Get(l.Sign(file))(t)), string(sig), "signed from the archive")
	ledgerText, err := os.ReadFile(l.Path())
	secret, err2 := os.ReadFile(l.Path() + keySuffix)
	if err := errors.Join(err, err2); err != nil || strings.Contains(string(ledgerText), strings.TrimPrefix(strings.TrimSpace(string(secret)), keyHeader)) {
		t.Errorf("the key is in the ledger: %v", err)
	}
	for _, text := range []string{key.String(), "untrusted comment: minisign public key\n" + key.String() + "\n"} {
		must.Equal(t, must.Get(ParsePublicKey(text))(t).String(), key.String(), "%q", text)
	}
}

// Every way to make a signature say something else is refused, with its reason.
func TestForgedSignatures(t *testing.T) {
	file := []byte("{\"run\": \"a\"}\n")
	l, key, sig := signedLedger(t, file)
	other := []byte("{\"run\": \"b\"}\n")
	release(t, l, "b", other)
	otherSig := must.Get(l.Sign(other))(t)
	_, stranger, strangers := signedLedger(t, file)
	lines := func(s []byte) []string { return strings.SplitAfter(string(s), "\n") }
	swap := func(from []byte, line int) []byte {
		all := lines(sig)
		all[line] = lines(from)[line]
		return []byte(strings.Join(all, ""))
	}
	wrong := must.Get(signature(mustKey(t, l), file, Statement{Digest: digestOf(other), Run: "b"}))(t)
	for name, c := range map[string]struct {
		key       PublicKey
		file, sig []byte
		want      string
	}{
		"another file":               {key, other, sig, "the file is not the one that was signed"},
		"a byte more":                {key, append([]byte(" "), file...), sig, "the file is not the one that was signed"},
		"another key":                {stranger, file, sig, "the signature was made with key"},
		"by a stranger":              {key, file, strangers, "the signature was made with key"},
		"statement of another run":   {key, file, swap(otherSig, 2), "the statement in the signature was changed"},
		"first of another file":      {key, file, swap(otherSig, 1), "the statement in the signature was changed"},
		"both of the statement":      {key, file, []byte(strings.Join(append(lines(sig)[:2:2], lines(otherSig)[2:]...), "")), "the statement in the signature was changed"},
		"a smaller epsilon":          {key, file, []byte(strings.Replace(string(sig), `"epsilon":"1"`, `"epsilon":"0.001"`, 1)), "the statement in the signature was changed"},
		"another unit":               {key, file, []byte(strings.Replace(string(sig), `"unit":"one record"`, `"unit":"one person"`, 1)), "the statement in the signature was changed"},
		"no signature":               {key, file, nil, "does not have four lines"},
		"more lines":                 {key, file, append(sig[:len(sig):len(sig)], "x\n"...), "does not have four lines"},
		"signed about another file":  {key, file, wrong, "the signature is for another file, with hash"},
		"a version that is not ours": {key, file, []byte(strings.Replace(string(sig), statementHeader, "dyad-signature/2 ", 1)), "this version cannot read the signature"},
	} {
		must.Fail(c.key.Signed(c.file, c.sig))(t, must.All{ErrSignature, c.want}, name)
	}
	s := must.Get(key.Signed(file, sig))(t)
	about := []string{"a", "clinic", "one record", s.Guarantee, "0f"}
	must.CheckDo(t, s.About(about[0], about[1], about[2], about[3], about[4]))
	for i, changed := range []string{"b", "other", "one person", "(0.001, 1e-05)-differentially private", "10"} {
		c := append([]string{}, about...)
		c[i] = changed
		must.FailDo(t, s.About(c[0], c[1], c[2], c[3], c[4]), ErrSignature, "a file that says ", changed)
	}
}

func mustKey(t *testing.T, l *Ledger) ed25519.PrivateKey {
	t.Helper()
	return must.Get(l.signingKey())(t)
}

// A witness tells that a ledger was put back, to whatever older copy, also after a compaction.
func TestLedgerThatWasPutBackIsTold(t *testing.T) {
	l, _, _ := signedLedger(t, []byte("1"))
	dir := t.TempDir()
	copyOf := func() map[string][]byte {
		files := map[string][]byte{}
		for _, suffix := range []string{"", headSuffix} {
			text := must.Get(os.ReadFile(l.Path() + suffix))(t)
			files[l.Path()+suffix] = text
		}
		return files
	}
	putBack := func(files map[string][]byte) {
		for name, text := range files {
			must.Do(t, os.WriteFile(name, text, 0o600))
		}
	}
	file := filepath.Join(dir, "witness")
	again := func(l *Ledger) error {
		_, _, err := l.Witness(file)
		return err
	}
	for step := range 3 {
		_, compared := must.Get2(l.Witness(file))(t)
		must.Equal(t, compared, step > 0, "step %d: an earlier head was compared", step)
		old := copyOf()
		release(t, l, strings.Repeat("x", step+1), []byte{byte(step)})
		if step == 1 {
			must.Get(l.Compact())(t)
		}
		must.Get2(l.Witness(file))(t, "a ledger that went on")
		before, now := copyOf(), file
		kept := must.Get(os.ReadFile(now))(t)
		putBack(old)
		must.Get(l.Verify())(t, "the older copy is whole")
		must.FailDo(t, again(l), must.All{ErrUnavailable, "older copy"}, "step ", step, ": a ledger that was put back")
		must.Equal(t, string(must.Get(os.ReadFile(file))(t)), string(kept), "the witness was replaced")
		putBack(before)
	}
	other, _, _ := signedLedger(t, []byte("1"))
	must.FailDo(t, again(other), ErrUnavailable, "another ledger")
	must.Do(t, os.WriteFile(file, []byte("notes\n"), 0o600))
	must.FailDo(t, again(l), ErrUnavailable, "a file that is no witness was replaced")
}

// A signature that is accepted is the one that the key makes of the file and what is read.
func FuzzSignature(f *testing.F) {
	key := make([]byte, 64)
	copy(key[32:], mustPublic())
	file := []byte("file")
	sig := must.Get(signature(seededKey(), file, Statement{Digest: digestOf(file), Run: "a", Unit: "one record", Epsilon: "1"}))(f)
	f.Add(sig, "untrusted comment: x\n"+mustPublic().String())
	f.Add([]byte("untrusted comment: \n"+base64.StdEncoding.EncodeToString(key)+"\ntrusted comment: dyad-signature/1 {}\nAAAA\n"), mustPublic().String())
	f.Fuzz(func(t *testing.T, sig []byte, public string) {
		if k, err := ParsePublicKey(public); err == nil && !strings.Contains(public, k.String()) {
			t.Fatalf("%q became %v", public, k)
		}
		s, err := mustPublic().Signed(file, sig)
		if err != nil {
			return
		}
		again, err := signature(seededKey(), file, s)
		if err != nil || strings.SplitN(string(again), "\n", 2)[1] != strings.SplitN(string(sig), "\n", 2)[1] {
			t.Fatalf("%q became %q, %v", sig, again, err)
		}
	})
}

func seededKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func mustPublic() PublicKey { return PublicKey(seededKey().Public().(ed25519.PublicKey)) }

// Keys, signatures and witnesses of the first version are read by every later one.
func TestSignatureFormats(t *testing.T) {
	read := func(name string) []byte {
		return must.Get(os.ReadFile(filepath.Join("testdata", "formats", name)))(t)
	}
	l := must.Get(Open(filepath.Join(t.TempDir(), "ledger.jsonl")))(t)
	must.Do(t, os.WriteFile(l.Path()+keySuffix, read("ledger-1.key"), 0o600))
	key := must.Get(l.CreateKey())(t)
	want := Statement{Digest: digestOf([]byte("{}\n")), Plan: "0f", DataID: "clinic", Run: "a", Unit: "one record", Epsilon: "1", Delta: "1e-05", Guarantee: "(1, 1e-05)-differentially private for one record", Head: "1f"}
	must.Equal(t, must.Get(key.Signed([]byte("{}\n"), read("signature-1.minisig")))(t), want, "Signed")
	var w witness
	if text := read("witness-1"); !decodeExact(text[:len(text)-1], &w) || w.Format != witnessFormat || w.Lines != 7 {
		t.Errorf("%+v", w)
	}
	for _, bad := range []string{"", "dyad-ledger-key/2 00\n", keyHeader + "00\n", keyHeader + strings.Repeat("g", 64) + "\n"} {
		must.Do(t, os.WriteFile(l.Path()+keySuffix, []byte(bad), 0o600))
		must.Err(l.CreateKey())(t, "a key file of %q is accepted", bad)
		must.Equal(t, string(must.Get(os.ReadFile(l.Path()+keySuffix))(t)), bad, "a damaged key was replaced")
	}
}
