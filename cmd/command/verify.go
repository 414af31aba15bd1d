package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/docs/checker"
	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

type verifyCmd struct {
	Model     string `arg:"" help:"Model file, or another release of a charged run (clusters, figures or a curve)."`
	Key       string `placeholder:"KEY" help:"Public key of the run's ledger, or a file with the key. The owner of the key must have signed MODEL."`
	Signature string `needs:"key" why:"it is checked with the public key of its owner" placeholder:"FILE" help:"Signature of the file (default: MODEL.minisig)."`
	Ledger    string `private:"ledger" placeholder:"FILE" help:"Ledger of the run. Also check that it is intact and has one charge and one release."`
}

// Run verifies a file and prints the verdict.
func (c *verifyCmd) Run(a *app) error {
	signature, head := "", ""
	text, unread := files.ReadStart(c.Model, files.MaxModelBytes)
	if c.Key != "" {
		var err error
		if signature, head, err = c.signed(text, unread); err != nil {
			return err
		}
	}
	m, err := lib.Load(c.Model) // Load also verifies the checksum
	if errors.Is(err, lib.ErrClusters) {
		var found *lib.Clusters
		if found, err = lib.LoadClusters(c.Model); err == nil {
			m = &model{Run: found.Run, DataID: found.DataID, Plan: found.Plan, Guarantee: found.Guarantee}
		}
	}
	if err != nil && signature != "" && c.Ledger == "" { // the file may hold figures or a curve
		r := judgement{Verdict: checker.Verdict{Verdict: checker.NotCovered,
			Why: "the file is not a model; only its signature is checked"}, Signature: signature}
		return a.emit(r, fmt.Sprintf("signature  %s\nnot known  %s\n", signature, r.Why))
	}
	unplanned := false
	if other := releaseIn(text); err != nil && other != nil {
		m, err, unplanned = other, nil, other.Plan == nil
	}
	if err = cmp.Or(err, unread); err != nil {
		return err
	}
	r := judgement{Verdict: checker.Check(text), Signature: signature}
	if unplanned && c.Ledger != "" {
		r.Ledger = "not compared: the file has no plan, because making it charged nothing or an earlier version " +
			"made it"
	} else if c.Ledger != "" && r.Verdict.Verdict != checker.Refused {
		if r, err = r.compared(m, text, head, c.Ledger, false); err != nil {
			return err
		}
	}
	r.Signature = signature
	var b strings.Builder
	some(&b, "signature", signature)
	line(&b, "verdict", "%s", r.Verdict.Verdict)
	some(&b, "why", r.Why)
	some(&b, "proved", r.Statement)
	for _, u := range r.Unknown {
		line(&b, "not known", "%s", u)
	}
	switch {
	case r.Ledger != "":
		line(&b, "ledger", "%s", r.Ledger)
	case r.Verdict.Verdict == checker.Verified:
		line(&b, "ledger", "not compared (--ledger FILE)")
	}
	if err := a.emit(r, b.String()); err != nil {
		return err
	}
	switch r.Verdict.Verdict {
	case checker.NotCovered:
		return fmt.Errorf("%w: not covered: %s", errCheckFailed, r.Why)
	case checker.Refused:
		return refusedFile(c.Model, errors.New(r.Why))
	}
	return nil
}

func refusedFile(path string, why error) error { return badInput("%s is refused: %v", path, why) }

// signed returns the statement that the owner of the key signed about a file with this text, and the head of the ledger
// in the statement.
func (c *verifyCmd) signed(text []byte, unread error) (statement, head string, err error) {
	key, err := publicKey(c.Key)
	if err != nil {
		return "", "", err
	}
	name := cmp.Or(c.Signature, files.SignatureOf(c.Model))
	sig, err := files.ReadSmall(name, ledger.MaxSignature)
	if err != nil {
		return "", "", badInput("the signature of %s cannot be read: %v; give its file with --signature, or ask "+
			"the signer for it",
			c.Model, err)
	}
	if unread != nil {
		return "", "", unread
	}
	s, err := key.Signed(text, sig)
	if err == nil {
		switch m := said(text); {
		case m == nil:
			err = errors.New("it is not a file of JSON")
		case s.Seeded:
			err = errors.New("the signature states that the noise is seeded, so the guarantee does not hold")
		case strings.Contains(s.Guarantee, algorithms.BoundsFromData):
			err = errors.New("the signature states that ranges were taken from the data, so the guarantee does not " +
				"hold")
		default:
			err = s.About(m.Run, m.DataID, m.Guarantee.Unit, m.Guarantee.String(), algorithms.RecordHash(m.Plan))
		}
	}
	if err != nil {
		return "", "", refusedFile(c.Model, err)
	}
	again := pick(s.ReleasedBy != "", fmt.Sprintf("; run %s released it again (at a cost that is not included)",
		s.ReleasedBy), "")
	return fmt.Sprintf("key %s signed this file: run %s, data id %s, %s%s; ledger head %s", key, s.Run, s.DataID,
		cmp.Or(s.Guarantee, "no guarantee"), again, s.Head), s.Head, nil
}

// said returns the statements of a file about its run, for any kind of run. It returns nil if the file is not JSON.
func said(text []byte) *model {
	var x struct {
		Run       string            `json:"run"`
		DataID    string            `json:"data_id"`
		Guarantee privacy.Guarantee `json:"guarantee"`
		Plan      json.RawMessage   `json:"plan"`
	}
	if json.Unmarshal(text, &x) != nil {
		return nil
	}
	return &model{Run: x.Run, DataID: x.DataID, Plan: x.Plan, Guarantee: x.Guarantee}
}

// releaseIn returns a release that is neither a model nor clusters: figures, a curve, or the release of an additional
// kind of run. It returns nil for another file. A model without its format counts as a damaged model.
func releaseIn(text []byte) *model {
	var x struct {
		Format           string `json:"format"`
		Weights, Centres json.RawMessage
	}
	m := said(text)
	if m == nil || json.Unmarshal(text, &x) != nil || x.Format != "" && x.Format != kindFormat || x.Weights != nil ||
		x.Centres != nil || m.Guarantee.Validate() != nil {
		return nil
	}
	return m
}

// publicKey parses a key, or reads the key from a file.
func publicKey(text string) (ledger.PublicKey, error) {
	key, err := ledger.ParsePublicKey(text)
	if err == nil {
		return key, nil
	}
	raw, errRead := files.ReadSmall(text, ledger.MaxSignature)
	if errRead == nil {
		if key, err = ledger.ParsePublicKey(string(raw)); err == nil {
			return key, nil
		}
	}
	return nil, badInput("--key %s: %v", text, err)
}
