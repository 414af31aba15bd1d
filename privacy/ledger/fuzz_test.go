package ledger

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/privacy/account"
)

func FuzzLedger(f *testing.F) {
	var valid []byte
	var last lineHash
	key := strings.Repeat("0f", 32)
	for seq, l := range [][2]string{
		{typeHeader, `{"format":1,"key":"` + key + `"}`},
		{typeCharge, `{"data_id":"clinic","run":"a","algorithm":"","events":[{"kind":"gaussian","sensitivity":1,"sigma":2,"count":1}]}`},
		{typeCap, `{"data_id":"clinic","epsilon":1,"delta":1e-06}`},
		{typeResume, `{"run":"a"}`},
		{typeFinish, `{"run":"a","status":"released"}`},
	} {
		line, hash := must.Get2(formatLine(last, seq, l[0], time.Unix(0, 0), []byte(l[1])))(f)
		valid, last = append(valid, line...), hash
	}
	head := &ledgerHead{Lines: 5, Hash: last.String()}
	must.Get(parseLedger(valid, head))(f)
	header := valid[:bytes.IndexByte(valid, '\n')+1]
	f.Add(valid, true)
	f.Add(header, false)
	f.Add(valid[:len(valid)-1], true)
	f.Add(slices.Concat(valid, []byte("torn")), true)
	f.Add(bytes.Replace(valid, []byte(`"sigma":2`), []byte(`"sigma":9`), 1), true)
	f.Add([]byte(strings.Repeat(`{"events":[`, 200)), false)
	f.Fuzz(func(t *testing.T, data []byte, withHead bool) {
		// Readers of parts must not panic on anything.
		account.Decode(data)
		parseEntry(lineContent{Type: typeCharge, Body: data})
		_, _ = parseHeader(lineContent{Type: typeHeader, Body: data})
		if !withHead {
			// Without a head only a lone header with a true hash is accepted.
			if st, err := parseLedger(data, nil); err == nil && (st.lines != 1 || len(st.torn) > 0 || bytes.Count(data, []byte("\n")) != 1) {
				t.Fatalf("accepted without a head: %q", data)
			}
			return
		}
		st, err := parseLedger(data, head)
		if err == nil && !bytes.HasPrefix(data, valid) {
			t.Fatalf("a modified ledger was accepted: %q", data)
		}
		if err == nil && (st.lines < 5 || int(st.size)+len(st.torn) != len(data)) {
			t.Fatalf("bytes were lost: %+v", st)
		}
		if err != nil && bytes.Equal(data, valid) {
			t.Fatal("the valid ledger was refused")
		}
	})
}
