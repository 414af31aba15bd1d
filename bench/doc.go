// Package bench holds what benchmarks share. What times a piece of work is a benchmark of this
// package, with ratios to the peak of the processor as metrics (bench/cpu.sh runs them all):
//
//	go -C bench test . -run '^$' -bench NAME -count 3
//
// Raw files that claims rest on and that are functions of seeds are computed again by its tests, a few
// lines in every run and all with -update. TestAudits attacks every algorithm and writes the table of
// the audits. What repeats an experiment or searches for neighbours is a program in a folder of its own.
// Raw output is committed under bench/results; a number in a document stands in one of those files.
package bench

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"dyad/internal/machine/cases"
)

// Exit ends a program with an error, if there is one.
func Exit(program string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

// Header writes comment lines that say which program ran on which machine. args
// are the program's arguments with file paths shortened to names.
func Header(w io.Writer, program string, args []string) {
	short := make([]string, len(args))
	for i, a := range args {
		short[i] = a[strings.LastIndexByte(a, '/')+1:]
	}
	fmt.Fprintf(w, "# %s %s\n", program, strings.Join(short, " "))
	fmt.Fprintf(w, "# %s %s/%s, %d threads, %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0),
		cases.CPUModel())
}
