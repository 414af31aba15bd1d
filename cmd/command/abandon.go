package command

import (
	"slices"

	"github.com/alecthomas/kong"

	"dyad/internal/tasks"
)

// computing lists the commands that charge nothing and write only their result, at the end. After an interrupt, such a
// command need not be waited for, in whatever computation it is.
var computing = []string{"plan train", "plan compare", "account", "lab losses check", "pairs plan", "pairs inspect",
	"local plan"}

// perform runs a command.
func (a *app) perform(command *kong.Context) error {
	if err := a.judgeStarts(command); err != nil {
		return err
	}
	if !slices.Contains(computing, command.Selected().Path()) {
		ctx, stop := a.waited()
		defer stop()
		err, left := tasks.Await(ctx, func() error { return command.Run(a) })
		if left != nil {
			return left
		}
		return err
	}
	shut := &door{}
	inner := *a
	inner.stdout, inner.stderr = shut.writer(a.stdout), shut.writer(a.stderr)
	if a.logs != nil {
		inner.logs = &jsonLog{to: shut.writer(a.logs.to), began: a.began}
		inner.stderr = inner.logs
	}
	err, interrupted := tasks.Await(a.ctx, func() error { return command.Run(&inner) })
	if interrupted != nil {
		shut.close()
		return interrupted
	}
	return err
}
