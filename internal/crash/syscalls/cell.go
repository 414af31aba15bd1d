package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyad/privacy/ledger"
)

// verdict is how a cell ended.
type verdict string

const (
	holds   verdict = "holds"
	fails   verdict = "fails"
	known   verdict = "known"    // fails, and the row says why
	leftOut verdict = "left out" // the fault did not hit a call of the command's own
)

// cell is a fault in a run of a command.
type cell struct {
	command command
	call    call
	fault   string
	// occurrences of the call in its thread, tried until one is hit; none if the command never makes the call
	places []int
}

// result is a line of the table. why names the rule that does not hold, or the reason why the cell was left out.
type result struct {
	cell
	verdict verdict
	code    int // of the run with the fault
	nth     int // the place that was hit
	why     string
}

// delta is the delta at which totals are compared.
const delta = 1e-5

// books holds the ledger entries of the runs that are not in the template.
type books struct {
	charges  []string          // runs, in order
	digests  map[string]string // of finished runs: what the finish line has
	epsilons map[string]float64
}

// read opens the ledger of a folder, verifies it, and leaves out the runs that before contains.
func read(dir string, before *books) (*books, error) {
	l, err := ledger.Open(filepath.Join(dir, "led"))
	if err != nil {
		return nil, err
	}
	if _, err := l.Verify(); err != nil {
		return nil, err
	}
	entries, err := l.Entries()
	if err != nil {
		return nil, err
	}
	b := &books{digests: map[string]string{}, epsilons: map[string]float64{}}
	for _, e := range entries {
		if before != nil && slices.Contains(before.charges, e.Run) {
			continue
		}
		switch {
		case e.Charge != nil:
			b.charges = append(b.charges, e.Run)
		case e.Type == "finish" && e.Status == ledger.StatusReleased:
			b.digests[e.Run] = e.Kept.Digest
		}
	}
	for _, id := range dataIDs {
		s, err := l.Summary(id, delta)
		if err != nil {
			return nil, err
		}
		b.epsilons[id] = s.Epsilon
	}
	return b, nil
}

// digestsOf returns the SHA-256 of all files of a folder by their names, in the form of finish lines.
func digestsOf(dir string) (map[string]string, error) {
	all := map[string]string{}
	return all, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		sum := sha256.Sum256(b)
		all["sha256:"+hex.EncodeToString(sum[:])], _ = filepath.Rel(dir, path)
		return err
	})
}

// paid reports whether the charged results exist: every charge has its finish line, and the result of each charge
// has the digest of this line. The result is the named file, or any file if anywhere is true. If the line has no
// digest, the result is the printed output.
func (c command) paid(dir string, b *books, e ended, anywhere bool) (bool, error) {
	all, err := digestsOf(dir)
	if err != nil {
		return false, err
	}
	named := c.out == ""
	for _, run := range b.charges {
		digest, finished := b.digests[run]
		file, there := all[digest]
		switch {
		case !finished, digest != "" && !there, digest == "" && (e.code != exitOK || !strings.HasSuffix(e.stdout, "\n")):
			return false, nil
		}
		named = named || file == c.out
	}
	return len(b.charges) == c.charges && (named || anywhere), nil
}

// judge checks what a run left, continues the run as the program's message says, and returns the rule that does not
// hold, or "" if all rules hold.
func (c command) judge(p program, t *template, e ended) (rule string, err error) {
	if e.hung {
		return "it hangs", nil
	}
	b, err := read(p.dir, t.books)
	if err != nil {
		return "ledger: " + err.Error(), nil
	}
	if rule, whole, err := c.left(p, t, b, e); err != nil || rule != "" || whole && c.kind != book {
		return rule, err
	}
	again := c.args
	switch {
	case c.kind == charged && len(b.charges) > 0:
		again += " --resume " + c.open(p, b)
	case c.kind == stream:
		again += " --force" // the file of a release before
		if _, err := os.Stat(filepath.Join(p.dir, streamState)); err == nil {
			again += " --resume"
		}
	}
	next, err := p.run(nil, again)
	if err != nil {
		return "", err
	}
	b, err = read(p.dir, t.books)
	if err != nil {
		return "ledger, after going on: " + err.Error(), nil
	}
	whole, err := c.whole(p, t, b, next)
	switch {
	case err != nil:
		return "", err
	case next.code != exitOK || !whole:
		return fmt.Sprintf("lost: exit %d after %q: %s", next.code, again, strings.TrimSpace(next.stderr)), nil
	case len(b.charges) > c.charges:
		return fmt.Sprintf("the ledger has %d charges after the run was continued, want %d", len(b.charges), c.charges), nil
	}
	return "", nil
}

// left checks the files that the run itself left, and reports whether the result is complete.
func (c command) left(p program, t *template, b *books, e ended) (rule string, whole bool, err error) {
	if len(b.charges) > c.charges {
		return fmt.Sprintf("%d charges, want at most %d", len(b.charges), c.charges), false, nil
	}
	if whole, err = c.whole(p, t, b, e); err != nil {
		return "", false, err
	}
	if c.kind == file && !whole {
		if _, err := os.Stat(filepath.Join(p.dir, c.out)); err == nil {
			return "partial: " + c.out + " is not whole", false, nil
		}
	}
	rule, err = c.code(p, b, e, whole)
	return rule, whole, err
}

// open returns the run that must be resumed. It is the first run without its named result.
func (c command) open(p program, b *books) string {
	all, _ := digestsOf(p.dir)
	for _, run := range b.charges {
		if digest, finished := b.digests[run]; !finished || digest != "" && all[digest] != c.out {
			return run
		}
	}
	return b.charges[0]
}

// code checks the rule for exit codes. 0 and exitElsewhere are allowed only with a complete result, and exitInput
// only without a charge.
func (c command) code(p program, b *books, e ended, whole bool) (rule string, err error) {
	untrue := func(what string) (string, error) {
		return fmt.Sprintf("untrue exit code %d: %s: %s", e.code, what, strings.TrimSpace(e.stderr)), nil
	}
	switch code := e.code; {
	case code == -1 || code == exitFailure || code == exitResource:
	case code == exitOK:
		if !whole {
			return untrue("the result is not complete")
		}
	case code == exitInput:
		if len(b.charges) > 0 {
			return untrue("something was charged")
		}
	case code == exitElsewhere:
		if there, err := c.paid(p.dir, b, e, true); err != nil || !there {
			return untrue("the result is nowhere")
		}
	case code == exitDied:
		return untrue("the program died")
	default:
		return untrue("no such code")
	}
	return "", nil
}

// whole reports whether the command's result is complete.
func (c command) whole(p program, t *template, b *books, e ended) (bool, error) {
	switch c.kind {
	case charged:
		return c.paid(p.dir, b, e, false)
	case book:
		for id, before := range t.books.epsilons {
			if b.epsilons[id] != before {
				return false, nil
			}
		}
		return true, nil
	}
	text, err := os.ReadFile(filepath.Join(p.dir, c.out))
	if os.IsNotExist(err) {
		return false, nil
	}
	if c.kind == stream {
		return len(text) > 0 && len(b.charges) == c.charges, err
	}
	want := t.files[c.row]
	return string(text) == want || want == "" && len(text) > 0, err // "": two runs differ, as times are in it
}

// run tries the places of a cell until the fault hits one of them.
func (c cell) run(path, work string, t *template) (r result, err error) {
	r = result{cell: c, verdict: leftOut, why: "the command makes no such call"}
	for _, nth := range c.places {
		if r, err = c.at(nth, path, work, t); err != nil || r.why != notReached {
			break
		}
	}
	return r, err
}

const notReached = "not reached" // by the same thread as in the run without a fault

// at runs the cell in a new folder below work.
func (c cell) at(nth int, path, work string, t *template) (r result, err error) {
	dir, err := os.MkdirTemp(work, "cell")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	p, log := program{path, filepath.Join(dir, "at")}, filepath.Join(dir, "log")
	if err := os.CopyFS(p.dir, os.DirFS(t.dir)); err != nil {
		return r, err
	}
	injection := "error=" + c.fault
	if c.fault == kill {
		injection = "signal=SIGKILL"
	}
	e, err := p.run(straced(log, c.call.all, injection+":when="+strconv.Itoa(nth)), c.command.args)
	if err != nil {
		return r, err
	}
	hit, err := hitBy(log, c.fault, nth)
	if err != nil {
		return r, err
	}
	r = result{c, leftOut, e.code, nth, ""}
	switch {
	case hit == nil || c.fault == kill && e.code != -1:
		r.why = notReached
		return r, nil
	case foreign.MatchString(hit.text):
		r.why = "of the loader or Go's own"
		return r, nil
	}
	r.why, err = c.command.judge(p, t, e)
	switch {
	case r.why == "":
		r.verdict = holds
	case c.command.known != "":
		r.verdict, r.why = known, c.command.known+": "+r.why
	default:
		r.verdict = fails
	}
	return r, err
}
