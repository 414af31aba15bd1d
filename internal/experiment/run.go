package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"dyad/internal/create"
	"dyad/internal/input"
	"dyad/internal/tasks"
	"dyad/privacy/durable"
)

// Options configures the run of a plan. No option changes a value in a row.
type Options struct {
	// Folders are the folders of the data files. Each file is in a subfolder that is named after its data
	// set. If several folders contain a file, the first folder is used.
	Folders []string
	// Programs maps the names of peers' programs to other programs, such as the interpreter of an environment.
	Programs map[string]string
	// Machine is the name of the CPU for the head of the table.
	Machine string
	// Part and Parts divide the training sets. Part i, counted from 1, has every Parts-th training set. If
	// both are 0, all training sets are used.
	Part, Parts int
	// Splits limits the number of splits that are run for every data set, beginning with the first split. If it
	// is 0, all splits are run.
	Splits int
	// Retry repeats the runs that the table records as failed.
	Retry bool
	// Parallel is the number of training sets that are processed at the same time. The default is 1.
	Parallel int
	// Progress, if not nil, is called after each run.
	Progress func(Progress)
	// Now is the clock. The default is time.Now.
	Now func() time.Time
}

// Progress counts the finished runs.
type Progress struct {
	Done, Total int
	// Last describes the last finished run in words.
	Last string
	// Left estimates the remaining time. The estimated time of a run is the time of the last run of the same
	// method on the same data set with the same number of records. If there was no such run, the estimate is
	// the mean of the known times.
	Left time.Duration
}

// runner is the state of Run.
type runner struct {
	plan *Plan
	o    Options
	data []loaded
	bent map[string]loaded // by a basis
	temp string

	mu       sync.Mutex
	file     *os.File
	comments map[string]bool
	progress Progress
	pending  map[string]int           // runs to do, by group
	took     map[string]time.Duration // by the last run of a group
}

// Run carries out the runs of the plan that are not yet in the CSV file path. Each run adds one whole line to
// the file. So if Run is interrupted, the same call continues the work. At the end the lines are in the order
// of the plan. If a method fails, its row states the failure. Run returns an error only if the plan, the data
// or the file is wrong, or if ctx ends.
func (p *Plan) Run(ctx context.Context, path string, o Options) error {
	if o.Parts < 0 || o.Part < 0 || o.Part > o.Parts || o.Parts > 0 && o.Part == 0 {
		return input.As(fmt.Errorf("experiment: part is %d of %d, but must be 1 to the number of parts",
			o.Part, o.Parts))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	// Two runs on one file would repeat each other's work and replace each other's rows.
	name, err := durable.Resolve(path)
	if err != nil {
		return input.As(fmt.Errorf("experiment: %s: %w", path, err))
	}
	lock, err := durable.Lock(name+".lock", 0)
	if err != nil {
		return fmt.Errorf("experiment: cannot lock %s: %w", path, err)
	}
	defer func() {
		_ = os.Remove(lock.Path())
		_ = lock.Unlock()
	}()
	data, err := p.load(ctx, o.Folders)
	if err != nil {
		return err
	}
	r := &runner{plan: p, o: o, data: data, bent: map[string]loaded{}, comments: map[string]bool{},
		pending: map[string]int{}, took: map[string]time.Duration{}}
	part := ""
	if o.Parts > 0 {
		part = fmt.Sprintf("part %d/%d", o.Part, o.Parts)
	}
	comments := []string{
		fmt.Sprintf("plan %s %s; data count as public, and noise is seeded", p.name, p.digest),
		fmt.Sprintf("%s %s/%s, %d threads, %s", runtime.Version(), runtime.GOOS, runtime.GOARCH,
			runtime.GOMAXPROCS(0), o.Machine),
	}
	for i, l := range data {
		comments = append(comments, l.describe(p.Data[i].Name))
	}
	t, whole, err := p.readTable(path)
	if err != nil {
		return err
	}
	if err := p.checkTable(path, t, comments[2:]); err != nil {
		return err
	}
	if old := t.part(); old != part && len(t.rows) > 0 {
		return input.As(fmt.Errorf("experiment: %s has the runs of %s, but the new runs are of %s; write to another "+
			"file", path,
			cmp.Or(old, "the whole plan"), cmp.Or(part, "the whole plan")))
	}
	if part != "" {
		comments = append(comments, part)
	}
	if o.Retry {
		for key, row := range t.rows {
			if strings.HasPrefix(row.Status, statusFailed) {
				delete(t.rows, key)
			}
		}
		if err := p.write(path, t); err != nil {
			return err
		}
		if t, whole, err = p.readTable(path); err != nil {
			return err
		}
	}
	if r.file, err = create.Kept(name, 0o666); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	defer r.file.Close()
	// A line that a killed run wrote in part is removed.
	if err := r.file.Truncate(whole); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if _, err := r.file.Seek(whole, 0); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	for _, c := range t.comments {
		r.comments[c] = true
	}
	for _, c := range comments {
		if err := r.comment(c); err != nil {
			return err
		}
	}
	if whole == 0 {
		if err := r.append(csvLine(p.columns())); err != nil {
			return err
		}
	}
	if err := r.work(ctx, r.todo(t)); err != nil {
		return err
	}
	if t, _, err = p.readTable(path); err != nil {
		return err
	}
	// Lines of earlier versions of the plan are left out.
	earlier := func(c string) bool { return strings.HasPrefix(c, "plan ") }
	t.comments = append(slices.DeleteFunc(t.comments, earlier), comments[0])
	return p.write(path, t)
}

// group returns a key that is equal for runs that take about the same time.
func (r run) group() string { return fmt.Sprint(r.row.Data, " ", r.row.N, " ", r.method.label()) }

// todo lists the blocks of the part with the runs that are not in the table.
func (r *runner) todo(t *table) []block {
	var out []block
	for i, b := range r.plan.blocks() {
		if r.o.Parts > 0 && i%r.o.Parts != r.o.Part-1 || r.o.Splits > 0 && b.split >= r.o.Splits {
			continue
		}
		var runs []run
		for _, one := range b.runs {
			if _, done := t.rows[one.row.key()]; !done {
				runs = append(runs, one)
				r.pending[one.group()]++
			}
		}
		r.progress.Total += len(b.runs)
		r.progress.Done += len(b.runs) - len(runs)
		if b.runs = runs; len(runs) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// work processes blocks, a few at a time.
func (r *runner) work(ctx context.Context, blocks []block) error {
	var err error
	if r.temp, err = os.MkdirTemp("", "dyad-experiment"); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	defer os.RemoveAll(r.temp)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := make([]*worker, max(1, r.o.Parallel))
	for i := range workers {
		workers[i] = &worker{runner: r, peers: map[*Peer]*peerProcess{}}
		defer workers[i].close()
	}
	errs := make([]error, len(workers))
	err = tasks.Each(ctx, len(workers), len(blocks), func(w, i int) {
		if errs[w] = workers[w].block(ctx, blocks[i]); errs[w] != nil {
			cancel()
		}
	})
	for _, failed := range errs {
		if failed != nil && !errors.Is(failed, context.Canceled) {
			return failed
		}
	}
	return err
}

// append adds text to the file by one write.
func (r *runner) append(text string) error {
	if _, err := r.file.WriteString(text); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	return nil
}

// comment adds a comment that the file does not have.
func (r *runner) comment(text string) error {
	if r.comments[text] {
		return nil
	}
	r.comments[text] = true
	return r.append("# " + text + "\n")
}

// finished adds a row.
func (r *runner) finished(one run, version string, took time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if version != "" {
		if err := r.comment("peer " + one.row.Algorithm + ": " + version); err != nil {
			return err
		}
	}
	if err := r.append(one.row.line()); err != nil {
		return err
	}
	g := one.group()
	r.pending[g]--
	r.took[g] = took
	r.progress.Done++
	if r.o.Progress == nil {
		return nil
	}
	r.progress.Left = r.left()
	row := one.row
	r.progress.Last = fmt.Sprintf("%s n %d epsilon %g split %d %s", row.Data, row.N, row.Epsilon, row.Split,
		one.method.label())
	if !row.ok() {
		r.progress.Last += ": " + row.Status
	}
	r.o.Progress(r.progress)
	return nil
}

// left estimates the time that is left.
func (r *runner) left() time.Duration {
	var known, left time.Duration
	for _, took := range r.took {
		known += took
	}
	for g, n := range r.pending {
		took, ok := r.took[g]
		if !ok {
			took = known / time.Duration(len(r.took))
		}
		left += took * time.Duration(n)
	}
	return left / time.Duration(max(1, r.o.Parallel))
}
