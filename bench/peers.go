package bench

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"dyad/internal/experiment"
)

// ProgramFlag adds the flag -program, which tells where the programs of peers are.
func ProgramFlag(programs map[string]string) {
	flag.Func("program", "NAME=PATH: where a program of the peers is; may be repeated", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("want NAME=PATH")
		}
		programs[name] = path
		return nil
	})
}

// Progress tells how far the runs are: on a terminal in one line, else every half minute.
func Progress() func(experiment.Progress) {
	terminal, last := term.IsTerminal(int(os.Stderr.Fd())), time.Now()
	return func(p experiment.Progress) {
		left := p.Left.Round(time.Second)
		switch {
		case terminal:
			fmt.Fprintf(os.Stderr, "\r\x1b[K%d of %d runs, %s left, %.100s", p.Done, p.Total, left, p.Last)
			if p.Done == p.Total {
				fmt.Fprintln(os.Stderr)
			}
		case time.Since(last) > 30*time.Second || p.Done == p.Total:
			last = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d runs, %s left, %s\n", p.Done, p.Total, left, p.Last)
		}
	}
}
