// Package command is the body of the program dyad, so that a program of one's own can have all of its commands.
package command

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Main runs the command line in os.Args, with what a program of one's own adds, and ends the process. The first interrupt cancels what is running, and
// the second kills the process.
func Main(with With) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	signals = slices.DeleteFunc(signals, signal.Ignored) // as by nohup
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // the second one kills
	code := runHooked(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, hooks{with: with})
	stop()
	os.Exit(code)
}
