package ledger

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"dyad/internal/hostile"
	"dyad/internal/must"
	"dyad/privacy/account"
)

// hostileLedgers are parts of genuine ledgers without their hashes, each a list of a header and five lines: a whole one takes
// ten times as long.
func hostileLedgers(t testing.TB) (all []*hostile.Value) {
	names, err := filepath.Glob("testdata/*/ledger.jsonl")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d ledgers, %v", len(names), err)
	}
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(t)
		var lines []*hostile.Value
		for line := range bytes.Lines(text) {
			v := must.Get(hostile.Parse(append(line[:len(line)-1-len(hashSuffix(lineHash{}))], '}')))(t)
			lines = append(lines, v)
		}
		for i := 1; i < len(lines); i += 3 {
			part := append([]*hostile.Value{lines[0]}, lines[i:min(i+5, len(lines))]...)
			all = append(all, hostile.List(part...).Change(nil))
			for seq, line := range all[len(all)-1].Items {
				line.Get("seq").Leaf = strconv.Itoa(seq)
			}
		}
	}
	return all
}

// chain writes lines with true hashes, and a head of one of the kinds that crashes leave.
func chain(t testing.TB, lines []*hostile.Value, kind byte) (text []byte, head *ledgerHead) {
	t.Helper()
	hashes := []lineHash{{}}
	for _, v := range lines {
		content := must.Get(json.Marshal(v))(t)
		line, hash := chained(hashes[len(hashes)-1], content)
		text, hashes = append(text, line...), append(hashes, hash)
	}
	n := len(hashes) - 1
	switch kind % 8 {
	case 0:
		return text, nil
	case 1:
		n = max(n-1, 0)
	case 2:
		text = append(text, "{torn"...)
	}
	return text, &ledgerHead{Lines: n, Hash: hashes[n].String()}
}

// Whatever is changed in a genuine ledger by somebody who computes the chain again, it is refused, or every total is
// a number that another charge does not lower, and that stays when the ledger is compacted.
func FuzzHostileLedger(f *testing.F) {
	seeds := hostileLedgers(f)
	for i, v := range seeds {
		text, head := chain(f, v.Items, 3)
		if st, err := parseLedger(text, head); err != nil || st.lines != len(v.Items) || !st.entries[0].Known {
			f.Fatalf("ledger %d, without a change: %+v, %v", i, st, err)
		}
		for k := range len(v.Leaves()) {
			if k%16 == i%16 {
				f.Add(byte(i), byte(3), []byte{byte(k >> 8), byte(k), byte(7 * k)})
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, kind byte, changes []byte) {
		text, head := chain(t, seeds[int(which)%len(seeds)].Change(changes[:min(len(changes), 12)]).Items, kind)
		if head != nil && head.Lines < 1 {
			return // which Ledger.read refuses
		}
		st, err := parseLedger(text, head)
		if err != nil {
			return
		}
		if len(st.entries) != st.lines-1 || int(st.size)+len(st.torn) != len(text) {
			t.Fatalf("lines were lost: %d entries of %d lines", len(st.entries), st.lines)
		}
		ids := map[string]bool{"clinic": true}
		for _, e := range st.entries {
			ids[e.DataID] = true
		}
		times := 0
		st.archived("", func(a *ArchivedTotal) {
			ids[a.DataID] = true
			for _, e := range a.Events {
				times += e.Times
			}
		})
		if times > 1000 {
			return // seconds
		}
		delete(ids, "")
		for id := range ids {
			total, err := st.compose(id, nil)
			if err != nil {
				continue
			}
			extra := Charge{DataID: id, Run: "new", Events: []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 3}}}
			more := must.Get(st.compose(id, &extra))(t, id, " has a total, and none with another run")
			if !(total.Mu() >= 0 && more.Mu() >= total.Mu()) {
				t.Fatalf("%q: mu %v, with another run %v", id, total.Mu(), more.Mu())
			}
			if sum := crc32.ChecksumIEEE(changes); sum%4 != 0 || total.Sampled() && sum%64 != 0 {
				continue // that takes as long as all else, and with secret batches a tenth of a second
			}
			was, is := total.Epsilon(1e-5), more.Epsilon(1e-5)
			if !(was >= 0 && is >= was) {
				t.Fatalf("%q: epsilon %v, with another run %v", id, was, is)
			}
			if b, ok := st.cap(id); ok && !(more.Epsilon(b.Delta) <= b.Epsilon) {
				if _, err := st.admit(extra); err == nil {
					t.Fatalf("%q: a run is admitted above the cap %v", id, b)
				}
			}
		}
		done := Compacted{File: "archive"}
		text, compacted, err := st.compact(text[:st.size], &done)
		if err != nil {
			return
		}
		after, err := parseLedger(text, &compacted)
		if err != nil {
			t.Fatalf("the compacted ledger is not read: %v\n%s", err, text)
		}
		if err := st.sameTotals(after); err != nil {
			t.Errorf("%v\n%v\n%v", err, st.tally(), after.tally())
		}
	})
}
