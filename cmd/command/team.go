package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"dyad/engine"
	"dyad/engine/team"
	"dyad/engine/team/mpi"
)

// teamFlags are the flags of commands that several processes carry out together.
type teamFlags struct {
	Team         string        `enum:",mpi" default:"" placeholder:"mpi" help:"Train with all processes of an MPI job, with the same bits for any number: mpirun -n R dyad train --team mpi ...; docs/several-machines.md."`
	TeamDeadline time.Duration `within:"[0,]" default:"10m" placeholder:"DURATION" help:"End the job if a process of the team does not answer for this time; 0: wait forever."`
}

// job is a team that the operating system started.
type job interface {
	engine.Team
	// Close leaves the job; all do.
	Close() error
	// Abort ends all processes; it may return if only the end of this process can do that.
	Abort(code int)
}

// crew is this process as one of a team. The zero pointer is a process alone.
type crew struct {
	job
	lead    *team.Leader // of rank 0, after all agreed
	waiting bool         // others wait to be told whether there is work
	orderly bool         // all ranks are at the same point, or have ended their work
}

// errTold marks an error that another rank tells.
var errTold = errors.New("dyad: another process says why")

// openTeam joins the job of the flags; nil without them.
func (f teamFlags) openTeam(a *app) error {
	j := a.hooks.team
	switch {
	case f.Team == "":
		return nil
	case j == nil:
		t, err := mpi.Open(mpi.Options{Library: os.Getenv("DYAD_LIBMPI"), Deadline: f.TeamDeadline})
		if err != nil {
			return err
		}
		j = t
	}
	a.hold()
	a.team = &crew{job: j, waiting: true}
	return nil
}

// checkAlone refuses a charge by each of several processes that one launcher started, as when --team is forgotten.
func (f teamFlags) checkAlone() error {
	if n := mpi.Started(); f.Team == "" && n > 1 {
		return badInput("the launcher started %d processes, and each would charge the ledger and train by itself; add --team mpi to train one model together, or start one process. For a run apart from its job, unset OMPI_COMM_WORLD_SIZE, PMI_SIZE and SLURM_STEP_NUM_TASKS", n)
	}
	return nil
}

// follows reports whether this process serves another.
func (c *crew) follows() bool { return c != nil && c.Rank() > 0 }

// member is the team for backends, nil alone.
func (c *crew) member() engine.Team {
	if c == nil {
		return nil
	}
	return c.job
}

// prefix begins the messages of processes that serve.
func (c *crew) prefix() string {
	if !c.follows() {
		return ""
	}
	return fmt.Sprintf("rank %d: ", c.Rank())
}

// begin tells the others that there is work, or hears of it.
func (c *crew) begin(ctx context.Context) (work bool, err error) {
	if c == nil {
		return true, nil
	}
	word := []float64{1}
	err = c.Broadcast(ctx, word)
	c.waiting, c.orderly = false, err == nil && word[0] == 0
	return word[0] == 1, err
}

// settle compares how the ranks fared up to here. If any failed, all get an error: those that did
// not, that of the first rank which did.
func (c *crew) settle(ctx context.Context, err error) error {
	codes, _, lost := engine.GatherValues(ctx, c, []float64{float64(exitCode(err))})
	if lost != nil {
		return errors.Join(err, lost)
	}
	first := -1
	for rank, code := range codes {
		if code != exitOK && first < 0 {
			first = rank
		}
	}
	switch c.orderly = first >= 0; {
	case first < 0:
		return nil
	case err == nil:
		if err = fmt.Errorf("%w: rank %d could not prepare the run; no budget was charged", errTold, first); codes[first] == exitInput {
			err = asInput(err)
		}
		return err
	case c.Rank() > first && codes[first] == codes[c.Rank()]:
		return fmt.Errorf("%w: %w", errTold, err)
	}
	return err
}

// agreed notes the outcome of lib.Training.Join. What all ranks know rank 0 tells.
func (c *crew) agreed(err error) error {
	c.orderly = errors.Is(err, team.ErrDisagree)
	if c.orderly && c.follows() {
		return fmt.Errorf("%w: %w", errTold, err)
	}
	return err
}

// leave ends this process's part in the team, after everything is written.
func (c *crew) leave(code int) {
	switch {
	case c == nil:
		return
	case c.waiting && c.Rank() == 0:
		c.orderly = c.Broadcast(context.Background(), []float64{0}) == nil
	case c.lead != nil:
		c.orderly = c.lead.Stop() == nil
	}
	if !c.orderly || c.Close() != nil {
		c.Abort(code)
	}
}

// patience is how long a rank that was interrupted waits for rank 0 to end the job.
const patience = 5 * time.Second

// patient is a context for ranks that serve: rank 0 hears of an interrupt, too, and ends the job in
// good order.
func patient(ctx context.Context) (context.Context, func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
	return late, func() { stop(); cancel() }
}
