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

// Archive is a line that stands for finished runs, whose own lines are in a file next to the ledger.
type Archive struct {
	// Lines and Hash describe the whole ledger before: its chain ends in Hash, which identifies
	// the file of the archive to the byte.
	Lines int    `json:"lines"`
	Hash  string `json:"hash"`
	File  string `json:"file"` // its name in the folder of the ledger
	// Totals holds the costs of all archived runs, of earlier archives too.
	Totals []ArchivedTotal `json:"totals"`
}

// ArchivedTotal is the cost of the archived runs of one data id, for one unit.
type ArchivedTotal struct {
	DataID     string `json:"data_id"`
	Unit       string `json:"unit,omitempty"`
	Runs       int    `json:"runs"`
	SeededRuns int    `json:"seeded_runs,omitempty"`
	// Fingerprint belongs to the last of them; it serves to warn of other data as before.
	Fingerprint string          `json:"fingerprint,omitempty"`
	LastRun     string          `json:"last_run"`
	Events      []ArchivedEvent `json:"events"`
}

// ArchivedEvent is an event that runs were charged for, and how often.
type ArchivedEvent struct {
	Times int             `json:"times"`
	Event json.RawMessage `json:"event"`
}

// Compacted is the result of Compact.
type Compacted struct {
	Runs          int    // that were archived
	Before, After int    // lines
	File          string // with all lines of before; "" if there was nothing to archive
}

// Compact moves finished runs out of the ledger: the whole file is copied to PATH.archive-*, and begins again with its
// header and one line that has their events with how often each was charged, and the hash at which the old chain ends. So
// totals stay what they are (the same events are composed), caps hold, and the chain goes on: it commits to that hash, which commits to
// every byte of the archive.
//
// A run stays, with all its lines, while it is unfinished, is a stream, or released a model that is kept and has no
// name yet. The program forgets the ids of the others: to resume one is refused, as before, since its id has no charge.
//
// A crash leaves the old ledger or the new one. In order: the archive is written durably; the new ledger is
// written durably under another name; the head is replaced by one that admits both; the new ledger
// gets its name; the head is replaced by its own. The next change finishes or undoes what a crash left. Programs that do
// not know archives refuse the ledger: they compute no total of it.
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
	done := Compacted{Before: st.lines, File: filepath.Base(l.path) + fmt.Sprintf("%s%d-%s", archiveInfix, st.lines, st.last.String()[:12])}
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
	if err := durable.Write(filepath.Join(filepath.Dir(l.path), done.File), true, true, nil, durable.Text(old)); err != nil {
		return Compacted{}, l.errorf("cannot write the archive %s: %w", done.File, err)
	}
	l.at("archive saved")
	err = durable.Write(l.path, true, true, func() error {
		l.at("compact written")
		err := l.replaceHead(ledgerHead{Lines: st.lines, Hash: st.last.String(), NextLines: head.Lines, NextHash: head.Hash}, nil)
		if err == nil {
			l.at("both admitted")
		}
		return err
	}, durable.Text(text))
	if err != nil {
		return Compacted{}, l.errorf("cannot replace it by the compacted one: %w", err)
	}
	l.at("compacted")
	err = l.writeHead(head)
	l.at("acknowledged")
	return done, err
}

// archivable are the runs that a ledger may forget.
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

// compact is the text of the ledger, and its head, without the runs that it may forget, whose number it counts.
func (st *ledgerState) compact(text []byte, done *Compacted) (out []byte, head ledgerHead, err error) {
	archive := Archive{Lines: st.lines, Hash: st.last.String(), File: done.File}
	runs := st.archivable()
	caps := map[string]int{} // the last of each data id
	for _, e := range st.entries {
		switch {
		case !e.Known:
			return nil, head, fmt.Errorf("%w: line %d (%q) was written by a later version; use that version", account.ErrUnsupported, e.Seq+1, e.Type)
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
		return nil, head, fmt.Errorf("an archive would stand for more than %d charged events; go on without compacting, or begin another ledger for data of other people", maxArchived)
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

// maxArchived is the largest number of charged events that an archive stands for. They are composed one after the other, so that
// totals stay what they were to the last bit, and a million takes about a second.
const maxArchived = 1 << 22

// few reports whether the archive stands for no more than maxArchived events.
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

// known reports whether every number and event of an archive was read exactly, none of them is
// negative, since such a line would take back what was spent, and totals of them end.
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

// charge is a charge like those that a total stands for, with each event once.
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

// sameTotals compares everything that totals and caps follow from: the events of each data id and unit with
// how often they were charged, the runs, and the caps.
func (st *ledgerState) sameTotals(other *ledgerState) error {
	if !maps.Equal(st.tally(), other.tally()) {
		return errors.New("the totals would not be the same; this is an error of the program")
	}
	return nil
}

// tally counts charged events, runs and seeded runs by data id and unit, and has the caps.
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

// archives reads the files of archives, the newest first, and compares them with what the ledger knows of them: each must be there
// with the very bytes whose chain ends in the recorded hash, or be away. It calls f with the lines of each, and returns the name of one that is away.
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
		if st, err = parseLedger(text, &ledgerHead{Lines: a.Lines, Hash: a.Hash}); err != nil || st.headBehind || len(st.torn) > 0 {
			return "", l.errorf("the archive %s is not the one that the ledger knows (%v); restore it from a backup, or move it away", a.File, err)
		}
		f(slices.Clone(st.entries))
	}
}
