// Package command implements the program dyad. Another Go program can call Main to have all commands of dyad
// and commands of its own.
package command

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Main runs the program dyad, with the additions in `with`, on the command line in os.Args. Main then ends the
// process. The first interrupt cancels the running command. The second interrupt kills the process.
func Main(with With) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	signals = slices.DeleteFunc(signals, signal.Ignored) // signals ignored by the parent, as with nohup
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // after this, the second interrupt kills the process
	code := runHooked(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, hooks{with: with})
	stop()
	os.Exit(code)
}
