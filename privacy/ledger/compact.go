package ledger

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"dyad/privacy/account"
	"dyad/privacy/durable"
)

const archiveInfix = ".archive-"

// Archive is a line of the ledger that replaces the lines of finished runs. The replaced lines are in a
// file in the folder of the ledger.
type Archive struct {
	// Lines and Hash describe the whole ledger before the compaction. Hash is the hash of its last
	// line. It commits to every byte of the archive file.
	Lines int    `json:"lines"`
	Hash  string `json:"hash"`
	File  string `json:"file"` // name of the archive file, which is in the folder of the ledger
	// Totals holds the costs of all archived runs, including the runs of earlier archives.
	Totals []ArchivedTotal `json:"totals"`
}

// ArchivedTotal is the cost of the archived runs of one data id, for one unit.
type ArchivedTotal struct {
	DataID     string `json:"data_id"`
	Unit       string `json:"unit,omitempty"`
	Runs       int    `json:"runs"`
	SeededRuns int    `json:"seeded_runs,omitempty"`
	// Fingerprint is the fingerprint of the last archived run that has a fingerprint. It is still used to
	// warn if the data id points to other data than before.
	Fingerprint string          `json:"fingerprint,omitempty"`
	LastRun     string          `json:"last_run"`
	Events      []ArchivedEvent `json:"events"`
}

// ArchivedEvent is an event that archived runs were charged for, with the number of charges.
type ArchivedEvent struct {
	Times int             `json:"times"`
	Event json.RawMessage `json:"event"`
}

// Compacted is the result of Compact.
type Compacted struct {
	Runs          int    // number of runs that were archived
	Before, After int    // numbers of lines before and after
	File          string // file with all lines from before the compaction; "" if there was nothing to archive
}

// Compact moves finished runs out of the ledger. It copies the whole file to PATH.archive-*. The new ledger
// begins with the old header and one archive line. The archive line has the events of the archived runs, the
// number of charges of each event, and the hash at which the old chain ends. So the same events are composed
// as before, totals do not change, and caps still hold. The new chain continues the old chain: it commits to
// the hash in the archive line, and this hash commits to every byte of the archive.
//
// A run stays in the ledger with all its lines if it is unfinished, if it is a stream, or if it released a
// model that is stored but has no name yet. The ledger no longer contains the ids of the other runs. Resume
// refuses these runs as before, because their ids have no charge.
//
// A crash leaves the old ledger or the new one. Compact makes these steps in this order. It writes the
// archive durably. It writes the new ledger durably under another name. It replaces the head by a head that
// admits both ledgers. It renames the new ledger to PATH. It replaces the head by the head of the new ledger.
// After a crash, the next change completes or undoes an unfinished compaction. Programs that do not know
// archives refuse the ledger and compute no total of it.
func (l *Ledger) Compact() (Compacted, error) {
	unlock, err := l.lock()
	if err != nil {
		return Compacted{}, err
	}
	defer unlock()
	l.at("locked")
	st, err := l.read()
	if err != nil {
		return Compacted{}, err
	}
	if _, err := l.repair(st); err != nil {
		return Compacted{}, err
	}
	old, err := readLines(l.path)
	if err != nil {
		return Compacted{}, l.errorf("cannot read it: %w", err)
	}
	done := Compacted{Before: st.lines, File: filepath.Base(l.path) + fmt.Sprintf("%s%d-%s", archiveInfix, st.lines,
		st.last.String()[:12])}
	text, head, err := st.compact(old, &done)
	if err != nil {
		return Compacted{}, l.errorf("cannot compact it: %w", err)
	}
	if done.Runs == 0 {
		return Compacted{Before: st.lines, After: st.lines}, nil
	}
	after, err := parseLedger(text, &head)
	if err == nil {
		err = st.sameTotals(after)
	}
	if err != nil {
		return Compacted{}, l.errorf("cannot compact it: %w", err)
	}
	done.After = after.lines
	if err := durable.Write(filepath.Join(filepath.Dir(l.path), done.File), true, true, nil,
		durable.Text(old)); err != nil {
		return Compacted{}, l.errorf("cannot write the archive %s: %w", done.File, err)
	}
	l.at("archive saved")
	err = durable.Write(l.path, true, true, func() error {
		l.at("compact written")
		both := ledgerHead{Lines: st.lines, Hash: st.last.String(), NextLines: head.Lines, NextHash: head.Hash}
		err := l.replaceHead(both, nil)
		if err == nil {
			l.at("both admitted")
		}
		return err
	}, durable.Text(text))
	if err != nil {
		return Compacted{}, l.errorf("cannot replace the ledger by the compacted ledger: %w", err)
	}
	l.at("compacted")
	err = l.writeHead(head)
	l.at("acknowledged")
	return done, err
}

// archivable returns the runs whose lines a compaction may move to the archive.
func (st *ledgerState) archivable() map[string]bool {
	runs := map[string]bool{}
	streams := map[string]bool{}
	for _, e := range st.entries {
		switch {
		case e.Charge != nil:
			streams[e.Run] = e.Charge.stream()
		case e.Type == typeFinish:
			stream, charged := streams[e.Run]
			_, err := os.Lstat(e.Kept.Place)
			runs[e.Run] = charged && !stream && (e.Kept.Place == "" || errors.Is(err, fs.ErrNotExist))
		}
	}
	return runs
}

// compact returns the text and the head of the ledger without the runs whose lines move to the archive. It
// counts these runs in done.
func (st *ledgerState) compact(text []byte, done *Compacted) (out []byte, head ledgerHead, err error) {
	archive := Archive{Lines: st.lines, Hash: st.last.String(), File: done.File}
	runs := st.archivable()
	caps := map[string]int{} // the last cap of each data id
	for _, e := range st.entries {
		switch {
		case !e.Known:
			return nil, head, fmt.Errorf("%w: line %d (%q) was written by a later version; use that version",
				account.ErrUnsupported, e.Seq+1, e.Type)
		case e.Archive != nil:
			for _, t := range e.Archive.Totals {
				t.Events = slices.Clone(t.Events)
				archive.Totals = append(archive.Totals, t)
			}
		case e.Charge != nil && runs[e.Run]:
			done.Runs++
			if err := archive.add(*e.Charge); err != nil {
				return nil, head, err
			}
		case e.Type == typeCap:
			caps[e.DataID] = e.Seq
		}
	}
	if !archive.few() {
		return nil, head, fmt.Errorf("an archive holds at most %d charged events; do not compact this ledger", maxArchived)
	}
	var last lineHash
	seq := 0
	write := func(c lineContent) error {
		line, hash, err := formatContent(last, lineContent{Seq: seq, Type: c.Type, Time: c.Time, Body: c.Body})
		out, last, seq = append(out, line...), hash, seq+1
		return err
	}
	var before lineHash
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'}) {
		c, hash, err := parseLine(before, i, line)
		if err != nil {
			return nil, head, err
		}
		before = hash
		if i > 0 {
			e := st.entries[i-1]
			if e.Archive != nil || e.Run != "" && runs[e.Run] || e.Type == typeCap && caps[e.DataID] != e.Seq {
				continue
			}
		}
		if err := write(c); err != nil {
			return nil, head, err
		}
		if i == 0 {
			body, err := json.Marshal(archive)
			if err != nil {
				return nil, head, err
			}
			if err := write(lineContent{Type: typeArchive, Time: c.Time, Body: body}); err != nil {
				return nil, head, err
			}
		}
	}
	return out, ledgerHead{Lines: seq, Hash: last.String()}, nil
}

// add adds the events of a charge.
func (a *Archive) add(c Charge) error {
	i := slices.IndexFunc(a.Totals, func(t ArchivedTotal) bool { return t.DataID == c.DataID && t.Unit == c.protects() })
	if i < 0 {
		i, a.Totals = len(a.Totals), append(a.Totals, ArchivedTotal{DataID: c.DataID, Unit: c.protects()})
	}
	t := &a.Totals[i]
	t.Runs++
	t.LastRun = c.Run
	if c.SeededNoise {
		t.SeededRuns++
	}
	if c.Fingerprint != "" {
		t.Fingerprint = c.Fingerprint
	}
	for _, e := range c.Events {
		raw, err := account.Encode(e)
		if err != nil {
			return err
		}
		k := slices.IndexFunc(t.Events, func(e ArchivedEvent) bool { return bytes.Equal(e.Event, raw) })
		if k < 0 {
			k, t.Events = len(t.Events), append(t.Events, ArchivedEvent{Event: raw})
		}
		t.Events[k].Times++
	}
	return nil
}

// maxArchived is the largest number of charged events that an archive may replace. Events are composed one
// after the other, so that totals do not change in the last bit. Composing a million events takes about a
// second.
const maxArchived = 1 << 22

// few reports whether the archive replaces at most maxArchived events.
func (a *Archive) few() bool {
	events := 0
	for _, t := range a.Totals {
		for _, e := range t.Events {
			if e.Times > maxArchived-events {
				return false
			}
			events += max(e.Times, 0)
		}
	}
	return true
}

// known reports whether every number and event of an archive was read exactly and no number is negative. A
// negative number would give back what was spent. It also checks that the archive has at most maxArchived
// events, so that totals take bounded time.
func (a *Archive) known() bool {
	hash, err := hex.DecodeString(a.Hash)
	ok := err == nil && len(hash) == len(lineHash{}) && a.few() && a.Lines > 1 && a.File == filepath.Base(a.File)
	for _, t := range a.Totals {
		ok = ok && t.DataID != "" && t.Runs > 0 && t.SeededRuns >= 0 && t.SeededRuns <= t.Runs
		for _, e := range t.Events {
			_, unknown := account.Decode(e.Event).(account.UnknownEvent)
			ok = ok && e.Times > 0 && !unknown
		}
	}
	return ok
}

// charge returns a charge with each event of the archived total once.
func (t *ArchivedTotal) charge() *Charge {
	c := &Charge{DataID: t.DataID, Run: t.LastRun, Unit: t.Unit, Fingerprint: t.Fingerprint}
	for _, e := range t.Events {
		c.Events = append(c.Events, account.Decode(e.Event))
	}
	return c
}

// archived calls f for the archived totals of a data id, "" for all.
func (st *ledgerState) archived(dataID string, f func(*ArchivedTotal)) {
	for _, e := range st.entries {
		if e.Archive == nil {
			continue
		}
		for i := range e.Archive.Totals {
			if t := &e.Archive.Totals[i]; dataID == "" || t.DataID == dataID {
				f(t)
			}
		}
	}
}

// sameTotals compares everything that totals and caps depend on: the events of each data id and unit with the
// number of their charges, the runs, and the caps.
func (st *ledgerState) sameTotals(other *ledgerState) error {
	if !maps.Equal(st.tally(), other.tally()) {
		return errors.New("compacting would change the totals; report this defect of the program")
	}
	return nil
}

// tally counts charged events, runs, seeded runs and caps, by data id and unit.
func (st *ledgerState) tally() map[string]int {
	n := map[string]int{}
	key := func(parts ...string) string { return fmt.Sprintf("%q", parts) }
	ids := map[string]bool{}
	st.archived("", func(t *ArchivedTotal) {
		n[key("runs", t.DataID, t.Unit)] += t.Runs
		n[key("seeded", t.DataID, t.Unit)] += t.SeededRuns
		for _, e := range t.Events {
			n[key("event", t.DataID, t.Unit, string(e.Event))] += e.Times
		}
	})
	for _, e := range st.entries {
		if ids[e.DataID] = true; e.Charge == nil {
			continue
		}
		n[key("runs", e.DataID, e.Charge.protects())]++
		if n[key("seeded", e.DataID, e.Charge.protects())] += 0; e.Charge.SeededNoise {
			n[key("seeded", e.DataID, e.Charge.protects())]++
		}
		for _, v := range e.Charge.Events {
			raw, err := account.Encode(v)
			if err != nil {
				raw = []byte(err.Error())
			}
			n[key("event", e.DataID, e.Charge.protects(), string(raw))]++
		}
	}
	for id := range ids {
		if b, ok := st.cap(id); ok {
			n[key("cap", id, fmt.Sprint(b.Epsilon, b.Delta, b.by))] = 1
		}
	}
	return n
}

// archives reads the archive files, the newest first, and compares each with its line in the ledger. An
// archive file may be missing. If it is there, it must have exactly the bytes whose chain ends in the
// recorded hash. archives calls f with the entries of each file, and returns the name of a missing file in
// away.
func (l *Ledger) archives(st *ledgerState, f func([]Entry)) (away string, err error) {
	for {
		at := slices.IndexFunc(st.entries, func(e Entry) bool { return e.Archive != nil })
		if at < 0 {
			return "", nil
		}
		a := st.entries[at].Archive
		text, err := readLines(filepath.Join(filepath.Dir(l.path), a.File))
		if errors.Is(err, fs.ErrNotExist) {
			return a.File, nil
		}
		if err != nil {
			return "", l.errorf("cannot read the archive %s: %w", a.File, err)
		}
		if st, err = parseLedger(text, &ledgerHead{Lines: a.Lines, Hash: a.Hash}); err != nil || st.headBehind ||
			len(st.torn) > 0 {
			return "", l.errorf("the archive %s does not match the ledger (%v); restore the archive from a backup, "+
				"or move it away", a.File, err)
		}
		f(slices.Clone(st.entries))
	}
}
