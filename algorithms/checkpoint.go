package algorithms

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyad/engine"
	"dyad/engine/team"
	"dyad/internal/create"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Checkpoints holds the options for saving the state of a long training, so that Options.Resume continues the
// training instead of starting again. The zero value keeps no checkpoints.
//
// A checkpoint holds the noiseless iterate. It is therefore as private as the records, and only its owner can
// read the file. It is written between two steps and removed when the run is finished. It belongs to one run,
// one plan and the same records in the same order. If the run, the plan or the records differ, or if the file
// was cut short or edited, Run refuses the checkpoint with ErrCheckpoint before anything is done. Without the
// file a resumed run starts from step 1.
//
// A seeded run keeps no checkpoint. A resumed attempt would draw the noise of the first steps once more for
// later steps, and starting again gives the same result anyway.
//
// Why resuming is sound. An attempt that starts from a checkpoint at step t draws fresh noise for the releases
// after step t. The releases up to step t were drawn by the attempt that wrote the checkpoint; their noise is
// in its iterate, and the session does not repeat them. So attempts form a tree: every node is a step with its
// own noise, which is independent of all other noise. Weights leave Run only after ledger.Ledger.Release, which
// succeeds for at most one attempt. So an observer sees one path from the root to a leaf, and on this path
// every planned release was drawn exactly once. The choice of the path depends on crashes, interrupts, clocks
// and locks (even if an older checkpoint, or none, is put back), not on records or noise. Given the path, the
// releases have the distribution of the releases of one undisturbed run. An attempt that fails by itself could
// break this argument. Its run is therefore closed if its iterate contains noise, drawn by the attempt itself
// or before its checkpoint. A person who reads checkpoints and chooses among them can read the records as well,
// so this person is outside the attack model.
type Checkpoints struct {
	// Prefix is the beginning of the file names, e.g. the ledger's name and a dot. If it is "" there are no
	// checkpoints. The file of run R is Prefix + R + ".checkpoint".
	Prefix string
	// Every is the time between two checkpoints. It must be positive.
	Every time.Duration
	// Failed is called with the reason if a checkpoint could not be written, e.g. because the disk is full. The
	// training goes on. Failed may be nil.
	Failed func(error)
}

// ErrCheckpoint is wrapped by Run if it cannot use the checkpoint of the run to be resumed.
var ErrCheckpoint = errors.New("algorithms: the checkpoint cannot be used")

const (
	checkpointFormat = "dyad-checkpoint/3"
	oldCheckpoint    = "dyad-checkpoint/2" // this format hashes the records in another way
	checkpointSuffix = ".checkpoint"
)

// checkpoint is the content of a checkpoint file.
type checkpoint struct {
	Format  string `json:"format"`
	Run     string `json:"run"`
	Plan    string `json:"plan"`    // the hash of Plan.identity
	Records string `json:"records"` // hash

	Done     int         `json:"steps_done"`
	Releases []int       `json:"releases"` // releases made in the steps that are done (privacy.LiveSession.Releases)
	Order    []int32     `json:"order,omitempty"`
	Vectors  [][]float64 `json:"vectors"`
}

// keeper keeps the checkpoints of a run.
type keeper struct {
	o       Options
	plan    string                                                   // hash
	records func(ctx context.Context, format string) (string, error) // hash
	ctx     context.Context
	session *privacy.LiveSession
	path    string
	from    *checkpoint // the checkpoint of an earlier attempt, or nil
	next    checkpoint
	last    time.Time
}

// newKeeper reads the checkpoint of the run to be resumed, if there is one. It returns a nil keeper if no
// checkpoints are to be kept.
func newKeeper(ctx context.Context, j Job, secret bool, o Options) (*keeper, error) {
	c := o.Checkpoints
	if c.Prefix == "" || o.Public || !secret || !j.Withholds || j.OwnNoise || o.Ledger == nil {
		return nil, nil
	}
	if c.Every <= 0 {
		return nil, fmt.Errorf("algorithms: Checkpoints.Every is %v, must be positive", c.Every)
	}
	identity, err := j.Plan.identity()
	if err != nil {
		return nil, err
	}
	plan, err := json.Marshal(identity)
	if err != nil {
		return nil, fmt.Errorf("algorithms: the plan has a number that is not finite, so it cannot have a "+
			"checkpoint: %w", err)
	}
	sum := sha256.Sum256(plan)
	k := &keeper{o: o, ctx: ctx, plan: hex.EncodeToString(sum[:]), records: j.Records, last: time.Now()}
	k.sweep()
	if o.Resume == "" {
		return k, nil
	}
	if k.path = k.file(o.Resume); k.path == "" {
		return k, nil
	}
	f, err := create.Open(k.path, os.O_RDONLY) // not a FIFO, which would wait
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	refuse := func(why any) (*keeper, error) {
		return nil, fmt.Errorf("%w: %s: %v; remove the file to start the run from step 1, at no further cost",
			ErrCheckpoint, k.path, why)
	}
	if err != nil {
		return refuse(err)
	}
	defer f.Close()
	from := &checkpoint{}
	switch err := readSealed(f, from); {
	case err != nil:
		return refuse(err)
	case from.Format != checkpointFormat && from.Format != oldCheckpoint:
		return refuse(fmt.Sprintf("the checkpoint has format %q, but this program reads %q and %q",
			from.Format, oldCheckpoint, checkpointFormat))
	case from.Run != o.Resume:
		return refuse(fmt.Sprintf("it is of run %q", from.Run))
	case from.Plan != k.plan:
		return nil, fmt.Errorf("%w: %s: the checkpoint is for another plan; use the options of the first attempt",
			ErrCheckpoint, k.path)
	}
	records, err := j.Records(ctx, from.Format)
	switch {
	case err != nil:
		return nil, err
	case from.Records != records:
		return nil, fmt.Errorf("%w: %s: the checkpoint is for other records or another order; use the same data "+
			"and split as in the first attempt", ErrCheckpoint, k.path)
	}
	if k.from = from; from.Format == checkpointFormat {
		k.next.Records = records
	}
	return k, nil
}

// file returns the name of the checkpoint file of a run, or "" if the run's id cannot be part of a file name.
func (k *keeper) file(run string) string {
	if run == "" || strings.IndexFunc(run, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_')
	}) >= 0 {
		return ""
	}
	return k.o.Checkpoints.Prefix + run + checkpointSuffix
}

// sweep removes the checkpoints of runs that are finished in the ledger. Such a file remains if the program was
// killed just after the end of a run.
func (k *keeper) sweep() {
	folder, base := filepath.Split(k.o.Checkpoints.Prefix)
	files, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return
	}
	var open []ledger.Entry
	for _, f := range files {
		run, _, ours := strings.Cut(strings.TrimPrefix(f.Name(), base), checkpointSuffix)
		if !ours || !strings.HasPrefix(f.Name(), base) || k.file(run) == "" {
			continue
		}
		if open == nil {
			if open, err = k.o.Ledger.Unfinished(""); err != nil {
				return
			}
		}
		if !slices.ContainsFunc(open, func(e ledger.Entry) bool { return e.Run == run }) {
			_ = os.Remove(filepath.Join(folder, f.Name()))
		}
	}
}

// attach adopts the session of the run and makes the session skip the releases that are in the checkpoint. It
// returns t, extended to keep checkpoints, as the tracker of the training.
func (k *keeper) attach(s *privacy.LiveSession, t Tracker) (Tracker, error) {
	if k == nil {
		return t, nil
	}
	t.OnRestore, t.OnKeep, k.session = k.restore, k.keep, s
	k.path = k.file(s.Receipt().Run)
	k.next.Format, k.next.Run, k.next.Plan = checkpointFormat, s.Receipt().Run, k.plan
	if k.from == nil {
		return t, nil
	}
	return t, s.Skip(k.from.Releases)
}

// restored returns the number of steps that come from a checkpoint.
func (k *keeper) restored() int {
	if k == nil || k.from == nil {
		return 0
	}
	return k.from.Done
}

// restore implements Tracker.OnRestore.
func (k *keeper) restore(order []int32, vectors ...[]float64) (int, error) {
	if k.from == nil {
		return 0, nil
	}
	fits := len(order) == len(k.from.Order) && len(vectors) == len(k.from.Vectors)
	for i := 0; fits && i < len(vectors); i++ {
		fits = len(vectors[i]) == len(k.from.Vectors[i])
	}
	if !fits {
		return 0, fmt.Errorf("%w: %s: the sizes of the checkpoint do not fit the algorithm", ErrCheckpoint, k.path)
	}
	copy(order, k.from.Order)
	for i := range vectors {
		copy(vectors[i], k.from.Vectors[i])
	}
	return k.from.Done, nil
}

// keep implements Tracker.OnKeep.
func (k *keeper) keep(done int, order []int32, vectors ...[]float64) {
	if k.path == "" || time.Since(k.last) < k.o.Checkpoints.Every {
		return
	}
	failed := func(err error) {
		if k.o.Checkpoints.Failed != nil {
			k.o.Checkpoints.Failed(fmt.Errorf("algorithms: no checkpoint was written after step %d: %w", done, err))
		}
	}
	if k.next.Records == "" {
		var err error
		if k.next.Records, err = k.records(k.ctx, checkpointFormat); err != nil {
			failed(err)
			return
		}
	}
	k.next.Done, k.next.Order, k.next.Vectors, k.next.Releases = done, order, vectors, k.session.Releases()
	if err := k.write(); err != nil {
		failed(err)
	}
	k.last = time.Now() // the time of writing is not counted
}

// write replaces the file durably: a crash leaves the old file or the new file.
func (k *keeper) write() error {
	f, err := create.Temporary(filepath.Dir(k.path), filepath.Base(k.path)+".", "", create.Private)
	if err != nil {
		return err
	}
	err = writeSealed(f, k.next)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		k.o.at("checkpoint written")
		err = os.Rename(f.Name(), k.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	k.o.at("checkpoint saved")
	return nil
}

// remove removes the checkpoint of a run that is finished.
func (k *keeper) remove() {
	if k != nil && k.path != "" {
		_ = os.Remove(k.path)
	}
}

// hashRecords returns the hash of the records in their order, as checkpoints of the given format store it. The
// hash is stored only in files that are as private as the records.
func hashRecords(r *engine.Records, format string) string {
	if format != oldCheckpoint {
		return team.DigestOf(r.Digests(0, r.Units()))
	}
	h := sha256.New()
	row := make([]float64, r.Dim())
	text := make([]byte, 0, 8*(r.Dim()+1))
	for i := range r.Len() {
		r.Row(i, row)
		text = binary.LittleEndian.AppendUint64(text[:0], math.Float64bits(r.Label(i)))
		for _, v := range row {
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(v))
		}
		_, _ = h.Write(text)
	}
	for k := range r.Units() {
		if from, to := r.UnitRows(k); r.ByPerson() {
			_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(to-from)))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
