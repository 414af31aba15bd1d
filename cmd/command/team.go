package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"dyad/engine"
	"dyad/engine/team"
	"dyad/engine/team/mpi"
)

// teamFlags are the flags of commands that several processes can carry out together.
type teamFlags struct {
	Team         string        `enum:",mpi" default:"" placeholder:"mpi" help:"Train with all processes of an MPI job: mpirun -n R dyad train --team mpi ... (docs/several-machines.md)."`
	TeamDeadline time.Duration `within:"[0,]" default:"10m" placeholder:"DURATION" help:"End the job if a process of the team is silent for this long. 0: wait forever."`
}

// job is a team of processes started by a launcher.
type job interface {
	engine.Team
	// Close leaves the job. All processes must call it.
	Close() error
	// Abort ends all processes. It can return if only the end of this process can end the others.
	Abort(code int)
}

// crew represents this process as a member of a team. A nil pointer represents a process without a team.
type crew struct {
	job
	lead    *team.Leader // leader on rank 0, set after all ranks agreed
	waiting bool         // other ranks are waiting for the message whether there is work
	orderly bool         // all ranks are at the same point or have completed their work
}

// errTold marks an error that another rank reports.
var errTold = errors.New("dyad: another process says why")

// openTeam joins the job given by the flags. Without the flags, the team stays nil.
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

// checkAlone returns an error if one launcher started several processes without --team, because each of them would
// charge the budget.
func (f teamFlags) checkAlone() error {
	if n := mpi.Started(); f.Team == "" && n > 1 {
		return badInput("the launcher started %d processes, and each would charge the ledger; add --team mpi, or "+
			"start one process. Without a launcher, unset OMPI_COMM_WORLD_SIZE, PMI_SIZE and SLURM_STEP_NUM_TASKS", n)
	}
	return nil
}

// follows reports whether this process serves rank 0.
func (c *crew) follows() bool { return c != nil && c.Rank() > 0 }

// member returns the team for backends, or nil if there is no team.
func (c *crew) member() engine.Team {
	if c == nil {
		return nil
	}
	return c.job
}

// prefix returns the beginning of messages of serving processes.
func (c *crew) prefix() string {
	if !c.follows() {
		return ""
	}
	return fmt.Sprintf("rank %d: ", c.Rank())
}

// begin informs the other ranks that there is work, or, on another rank, waits for this message.
func (c *crew) begin(ctx context.Context) (work bool, err error) {
	if c == nil {
		return true, nil
	}
	word := []float64{1}
	err = c.Broadcast(ctx, word)
	c.waiting, c.orderly = false, err == nil && word[0] == 0
	return word[0] == 1, err
}

// settle exchanges the errors of all ranks up to this point. If any rank failed, all ranks get an error. A rank
// without an error of its own gets an error that names the first failed rank.
func (c *crew) settle(ctx context.Context, err error) error {
	codes, _, lost := engine.GatherValues(ctx, c, []float64{float64(exitCode(err))})
	if lost != nil {
		return errors.Join(err, lost)
	}
	first := slices.IndexFunc(codes, func(code float64) bool { return code != exitOK })
	switch c.orderly = first >= 0; {
	case first < 0:
		return nil
	case err == nil:
		err = fmt.Errorf("%w: rank %d could not prepare the run; no budget was charged", errTold, first)
		if codes[first] == exitInput {
			err = asInput(err)
		}
		return err
	case c.Rank() > first && codes[first] == codes[c.Rank()]:
		return fmt.Errorf("%w: %w", errTold, err)
	}
	return err
}

// agreed records the result of lib.Training.Join. An error that all ranks have is reported by rank 0.
func (c *crew) agreed(err error) error {
	c.orderly = errors.Is(err, team.ErrDisagree)
	if c.orderly && c.follows() {
		return fmt.Errorf("%w: %w", errTold, err)
	}
	return err
}

// leave ends the participation of this process in the team, after everything is written.
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

// patience is the time that an interrupted rank waits for rank 0 to end the job.
const patience = 5 * time.Second

// patient returns a context for serving ranks that outlives an interrupt for a while. Rank 0 receives the
// interrupt, too, and ends the job in order.
func patient(ctx context.Context) (context.Context, func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
	return late, func() { stop(); cancel() }
}
