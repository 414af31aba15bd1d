package account_test

import (
	"bytes"
	"testing"

	"dyad/privacy/account"
)

// An event of a ledger line is unknown, or it is written with the same bytes and says what it is.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"gaussian","sensitivity":1,"sigma":2,"count":1}`, `{"kind":"laplace","sensitivity":1,"scale":2,"count":3}`,
		`{"kind":"nonprivate"}`, `{"kind":"composed","events":[{"kind":"gaussian","sensitivity":1,"sigma":2,"count":1}]}`,
		`{"kind":"stream","count":3}`, `{"kind":"gaussian","sigma":1e999}`, `{"events":[{"events":[]}]}`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := account.Decode(raw)
		if _, unknown := e.(account.UnknownEvent); unknown {
			return
		}
		again, err := account.Encode(e)
		if err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%q became %q, %v", raw, again, err)
		}
		if e.String() == "" {
			t.Fatalf("%q says nothing", raw)
		}
	})
}
