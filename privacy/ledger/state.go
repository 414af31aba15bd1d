package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"dyad/privacy"
	"dyad/privacy/account"
)

// ledgerState is a verified ledger.
type ledgerState struct {
	key     []byte
	entries []Entry // all lines after the header
	header  string  // hash of the header line
	lines   int     // header included
	last    lineHash
	size    int64 // bytes of the lines
	// torn holds the bytes after the last whole line, which are an append that did not complete.
	torn       []byte
	headBehind bool // the head does not cover the last line
}

// parseLedger verifies data against its chain and its head (nil if there is no head file) by the rules in the
// comment of Ledger. The head's hash commits to every byte of the acknowledged lines. So accepted data start
// with exactly the bytes that were acknowledged.
func parseLedger(data []byte, head *ledgerHead) (*ledgerState, error) {
	st := &ledgerState{}
	acknowledged := 1 // a crash during creation leaves a file with only the header
	if head != nil {
		acknowledged = head.Lines
	}
	rest := data
	for len(rest) > 0 {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		if !whole {
			break
		}
		content, hash, err := parseLine(st.last, st.lines, line)
		if err != nil {
			if head != nil && st.lines == acknowledged && len(after) == 0 {
				break // only some pages of one line reached the disk
			}
			return nil, fmt.Errorf("line %d is not valid: %w; restore the ledger and its head from a backup", st.lines+1, err)
		}
		if st.lines == 0 {
			if st.key, err = parseHeader(content); err != nil {
				return nil, err
			}
			st.header = hash.String()
		} else {
			e := parseEntry(content)
			e.Hash = hash.String()
			st.entries = append(st.entries, e)
		}
		st.last = hash
		st.lines++
		st.size += int64(len(line)) + 1
		rest = after
		if head != nil && st.lines == head.Lines && hash.String() != head.Hash {
			return nil, fmt.Errorf("line %d does not match the head; restore the ledger and its head from the same "+
				"backup", st.lines)
		}
	}
	st.torn = rest
	st.headBehind = head == nil || st.lines > acknowledged
	switch {
	case st.lines < acknowledged && head == nil:
		return nil, errors.New("the file is not a ledger, because it has no header line; name another file")
	case st.lines < acknowledged:
		return nil, fmt.Errorf("the ledger lost lines: it has %d, but its head file records %d; restore both files "+
			"from a backup", st.lines, acknowledged)
	case head == nil && (st.lines > 1 || len(st.torn) > 0):
		return nil, fmt.Errorf("the head file of the ledger (%s) is missing, so lines may be lost; restore both "+
			"files from a backup", headSuffix)
	case st.lines > acknowledged+1, st.lines > acknowledged && len(st.torn) > 0:
		return nil, fmt.Errorf("the ledger has more lines than its head file counts (%d); restore both files from "+
			"a backup", acknowledged)
	}
	return st, nil
}

// charges calls f for every charge of the data id, in order.
func (st *ledgerState) charges(dataID string, f func(*Charge)) {
	for _, e := range st.entries {
		if e.Charge != nil && e.DataID == dataID {
			f(e.Charge)
		}
	}
}

// charged reports whether a run on the data id was charged.
func (st *ledgerState) charged(dataID string) (charged bool) {
	st.archived(dataID, func(*ArchivedTotal) { charged = true })
	st.charges(dataID, func(*Charge) { charged = true })
	return charged
}

// limit is a cap, with the name of the total that the cap is compared with.
type limit struct {
	privacy.Budget
	by Counted
}

// cap returns the last cap that was set for the data id.
func (st *ledgerState) cap(dataID string) (c limit, ok bool) {
	for _, e := range st.entries {
		if e.Type == typeCap && e.Known && e.DataID == dataID {
			c, ok = limit{e.Cap, e.CapBy}, true
		}
	}
	return c, ok
}

// errUnits is wrapped by compose for charges about different units. It is an ErrUnsupported without the words of
// accountants, as models and pages show it.
var errUnits error = unitsError{}

type unitsError struct{}

func (unitsError) Error() string { return "costs of different units cannot be added" }

func (unitsError) Unwrap() error { return account.ErrUnsupported }

// protects returns the unit for the composition with other charges. A run that protects labels alone does not
// protect the records that its unit names.
func (c *Charge) protects() string {
	if c.Unit != "" && privacy.LabelsOnly(c.Relation) {
		return "the label of " + c.Unit
	}
	return c.Unit
}

// units returns the distinct units that the charges of the data id and extra (nil: none) protect, in order. A
// charge without a unit adds no unit. A charge of exact releases only adds no unit either: it protects
// nothing, and it makes every total infinite.
func (st *ledgerState) units(dataID string, extra *Charge) (units []string) {
	private := func(e account.Event) bool {
		_, exact := e.(account.NonPrivateEvent)
		return !exact
	}
	add := func(c *Charge) {
		if unit := c.protects(); unit != "" && slices.ContainsFunc(c.Events, private) && !slices.Contains(units, unit) {
			units = append(units, unit)
		}
	}
	st.archived(dataID, func(t *ArchivedTotal) { add(t.charge()) })
	st.charges(dataID, add)
	if extra != nil {
		add(extra)
	}
	return units
}

// compose composes all charged events of the data id and then the events of extra, if extra is not nil. It
// returns an error if this version does not know a line of the ledger, because such a line might concern the
// data id. It refuses to compose costs of different units. For example, a person who is in several pairs may
// lose several times the epsilon of one pair.
func (st *ledgerState) compose(dataID string, extra *Charge) (*account.Total, error) {
	for _, e := range st.entries {
		if !e.Known {
			return nil, fmt.Errorf("%w: line %d of the ledger (%q) was written by a later version; use that version",
				account.ErrUnsupported, e.Seq+1, e.Type)
		}
	}
	if units := st.units(dataID, extra); len(units) > 1 {
		return nil, fmt.Errorf("%w: the runs of data id %q protect different units (%s); declare a data id for each "+
			"unit", errUnits, dataID, strings.Join(units, ", and "))
	}
	total := new(account.Total)
	var err error
	add := func(run string, events []account.Event) {
		for i := 0; i < len(events) && err == nil; i++ {
			if e := total.Compose(events[i]); e != nil {
				err = fmt.Errorf("run %q of data id %q: %s: %w", run, dataID, events[i], e)
			}
		}
	}
	st.archived(dataID, func(t *ArchivedTotal) {
		for i, e := range t.charge().Events {
			for range t.Events[i].Times {
				add(t.LastRun, []account.Event{e})
			}
		}
	})
	st.charges(dataID, func(c *Charge) { add(c.Run, c.Events) })
	if extra != nil {
		add("new", extra.Events)
	}
	if err != nil {
		return nil, err
	}
	return total, nil
}

// admit returns an error if c must not be charged. Otherwise it returns warnings.
func (st *ledgerState) admit(c Charge) (warnings []string, err error) {
	for _, e := range st.entries {
		if e.Charge != nil && e.Run == c.Run {
			return nil, fmt.Errorf("ledger: run %q is already charged; give every run its own id, or no id to have one generated",
				c.Run)
		}
	}
	total, err := st.compose(c.DataID, &c)
	limit, capped := st.cap(c.DataID)
	switch {
	case err != nil && capped:
		return nil, err
	case err == nil && capped:
		if eps := limit.spent(total); !(eps <= limit.Epsilon) {
			counted := ""
			if limit.by != Planned {
				counted = " for " + limit.by.String()
			}
			return nil, fmt.Errorf("%w: data id %q would reach %s at delta %.6g%s, but its cap is %.6g; no budget "+
				"was charged", ErrBudget, c.DataID, epsilonText(eps), limit.Delta, counted, limit.Epsilon)
		}
	}
	return st.warnings(c, total, err), nil
}

// warnings returns the warnings for the user of run c. The argument total is the total of the data id,
// including c. If there is no total, err is the reason.
func (st *ledgerState) warnings(c Charge, total *account.Total, err error) (warnings []string) {
	if err != nil {
		warnings = append(warnings, "the total of data id "+c.DataID+" cannot be computed: "+err.Error())
	} else if math.IsInf(total.Mu(), 1) {
		warnings = append(warnings, "no finite epsilon: data id "+c.DataID+" has a non-private release")
	}
	if c.SeededNoise {
		warnings = append(warnings, privacy.SeededWarning)
	}
	for _, e := range st.entries {
		if w := e.Charge; w != nil && c.Approved != "" && w.Approved == c.Approved && w.Run != c.Run {
			warnings = append(warnings, fmt.Sprintf("run %s was charged with the same approved page, which allows one run; "+
				"have a page approved for every run", w.Run))
			break
		}
	}
	return warnings
}

// compareFingerprint returns notes for the owner of the data about earlier runs on other data of the same id, or on the
// same data of another id. They tell whether all records are the same, so they must not be part of a result.
func (st *ledgerState) compareFingerprint(c Charge) []string {
	if c.Fingerprint == "" {
		return nil
	}
	var other, alias *Charge
	compare := func(was *Charge) {
		switch {
		case was == nil || was.Fingerprint == "":
		case was.DataID == c.DataID && was.Fingerprint != c.Fingerprint:
			other = was
		case was.DataID != c.DataID && was.Fingerprint == c.Fingerprint:
			alias = was
		}
	}
	st.archived("", func(t *ArchivedTotal) { compare(t.charge()) })
	for _, e := range st.entries {
		compare(e.Charge)
	}
	var warnings []string
	if other != nil {
		warnings = append(warnings, fmt.Sprintf("the data of id %q differ from the data of run %s; if the data are "+
			"about other people, use another --data-id", c.DataID, other.Run))
	}
	if alias != nil {
		warnings = append(warnings, fmt.Sprintf("the data of id %q were already charged under id %q in run %s; the "+
			"ledger does not add the two totals", c.DataID, alias.DataID, alias.Run))
	}
	return warnings
}

func epsilonText(eps float64) string {
	if math.IsInf(eps, 1) || math.IsNaN(eps) {
		return "no finite epsilon"
	}
	return "epsilon " + privacy.FormatUp(eps)
}

// Summary is the spending on one data id.
type Summary struct {
	DataID     string
	Runs       int // number of charged runs, finished or not
	SeededRuns int // number of these runs whose noise is not secret
	// Unit is the protected unit of the runs, or "" if no run states a unit. If Mixed is true, the runs
	// protect different units, and Unit lists these units. Costs for different units do not compose, so
	// there is no total, and Mu, Epsilon, Looking and Pure are +Inf.
	Unit  string
	Mixed bool
	// Mu is a value for which the composition of all charged events is mu-GDP. It is +Inf if there is no
	// guarantee. Mu is 0 if the batches of a run, or a number of runs, are secret. In this case Epsilon is
	// smaller than the value that follows from any mu.
	Mu    float64
	Delta float64
	// Epsilon is the total at Delta, rounded up. It is valid for budgets that were fixed in advance. It
	// is +Inf if no finite epsilon holds.
	Epsilon float64
	// Looking is the epsilon that is valid even if budgets, or the time at which the total is read,
	// were chosen by looking at releases.
	Looking float64
	Pure    float64        // epsilon at delta 0; +Inf unless all noise is pure-DP
	Cap     privacy.Budget // zero if no cap is set
	CapBy   Counted        // the total that the cap is compared with
}

// countRuns returns a number of runs in words.
func countRuns(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

// String returns the summary in one line.
func (s Summary) String() string {
	runs := countRuns(s.Runs)
	if s.Mixed {
		runs += " that protect different units (" + s.Unit + "), so there is no total"
	}
	text := fmt.Sprintf("%s: %s, %s", s.DataID, runs, epsilonText(s.Epsilon))
	if !math.IsInf(s.Epsilon, 1) {
		text += " at delta " + privacy.FormatUp(s.Delta)
		if s.Mu > 0 || s.Epsilon == 0 {
			text += " (" + privacy.FormatUp(s.Mu) + "-GDP)"
		}
	}
	if s.Unit != "" && !s.Mixed {
		text += ", for " + s.Unit
	}
	if s.Pure > 0 && !math.IsInf(s.Pure, 1) {
		text += ", pure epsilon " + privacy.FormatUp(s.Pure)
	}
	if s.Cap != (privacy.Budget{}) {
		text += fmt.Sprintf(", cap: epsilon %.6g at delta %.6g for %s", s.Cap.Epsilon, s.Cap.Delta, s.CapBy)
	}
	if s.Runs > 1 && s.Looking > 0 && !s.Mixed && !math.IsInf(s.Epsilon, 1) {
		text += "; if budgets were chosen by looking at earlier releases: " + epsilonText(s.Looking)
	}
	if s.SeededRuns > 0 {
		text += fmt.Sprintf(", %s %s", countRuns(s.SeededRuns), privacy.SeededWarning)
	}
	return text
}

// Summary composes everything that was charged to the data id and states the total at delta, which must be in
// (0, 1). If delta is 0 and a cap is set, Summary uses the cap's delta. A data id that was never charged has
// mu 0. A data id whose runs protect different units has no total. Summary fails with ErrUnsupported if the
// ledger has events or lines that this version does not know, because a total without these events would be
// too small.
func (l *Ledger) Summary(dataID string, delta float64) (Summary, error) {
	st, err := l.load()
	if err != nil {
		return Summary{}, err
	}
	s := Summary{DataID: dataID, Delta: delta}
	limit, _ := st.cap(dataID)
	s.Cap, s.CapBy = limit.Budget, limit.by
	if s.Delta == 0 {
		s.Delta = s.Cap.Delta
	}
	if !(s.Delta > 0 && s.Delta < 1) {
		return Summary{}, fmt.Errorf("ledger: a summary needs a delta in (0, 1), not %v; only an id with a cap "+
			"allows 0", s.Delta)
	}
	units := st.units(dataID, nil)
	s.Unit, s.Mixed = strings.Join(units, "; "), len(units) > 1
	total, err := st.compose(dataID, nil)
	switch {
	case errors.Is(err, errUnits):
		s.Mu, s.Epsilon, s.Looking, s.Pure = math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)
	case err != nil:
		return Summary{}, err
	default:
		if !total.Sampled() {
			s.Mu = total.Mu()
		}
		s.Epsilon, s.Looking, s.Pure = total.Planned(s.Delta), total.Odometer(s.Delta), total.Epsilon(0)
	}
	st.archived(dataID, func(t *ArchivedTotal) {
		s.Runs += t.Runs
		s.SeededRuns += t.SeededRuns
	})
	st.charges(dataID, func(c *Charge) {
		s.Runs++
		if c.SeededNoise {
			s.SeededRuns++
		}
	})
	return s, nil
}

// Entries returns all lines after the header, in order.
func (l *Ledger) Entries() ([]Entry, error) {
	st, err := l.load()
	if err != nil {
		return nil, err
	}
	return st.entries, nil
}

// History returns the lines of the archived runs, as far as the archive files exist, followed by the lines of
// Entries. If an archive file is missing, the second result is the name of this file. If a file differs from
// the archive that the ledger records, History returns an error wrapping ErrUnavailable.
func (l *Ledger) History() (entries []Entry, away string, err error) {
	st, err := l.load()
	if err != nil {
		return nil, "", err
	}
	entries = st.entries
	away, err = l.archives(st, func(archived []Entry) {
		known := map[string]bool{"": true} // runs that stayed in the ledger are in both files
		for _, e := range entries {
			known[e.Run] = true
		}
		entries = append(slices.DeleteFunc(archived, func(e Entry) bool { return known[e.Run] }), entries...)
	})
	return entries, away, err
}

// Verification is the result of Verify for a valid ledger.
type Verification struct {
	Lines int // number of valid lines, header included
	// HeadBehind is true if the program that wrote the last line stopped before it updated the head. The
	// last line is valid all the same. The next change repairs the head.
	HeadBehind bool
	// TornBytes is the number of bytes after the last line. They come from a write that did not
	// complete. The next change moves these bytes to a separate file.
	TornBytes int
	// Away is the name of an archive file that is missing in the folder of the ledger, or "" if no archive
	// file is missing. Totals do not need archives.
	Away string
}

// Verify checks every line, the head and the archives, and changes nothing. Damage that a crash cannot cause
// is an error wrapping ErrUnavailable.
func (l *Ledger) Verify() (Verification, error) {
	st, err := l.load()
	if err != nil {
		return Verification{}, err
	}
	away, err := l.archives(st, func([]Entry) {})
	if err != nil {
		return Verification{}, err
	}
	return Verification{Lines: st.lines, HeadBehind: st.headBehind, TornBytes: len(st.torn), Away: away}, nil
}

func (l *Ledger) load() (*ledgerState, error) {
	unlock, err := l.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return l.read()
}
