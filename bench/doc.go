// Package bench holds what benchmarks share. What times a piece of work is a benchmark of this
// package, with ratios to the peak of the processor as metrics (bench/cpu.sh runs them all):
//
//	go test ./bench -run '^$' -bench NAME -count 3
//
// Raw files that claims rest on and that are functions of seeds are computed again by its tests, a few
// lines in every run and all with -update. TestAudits attacks every algorithm and writes the table of
// the audits. What repeats an experiment or searches for neighbours is a program in a folder of its own.
// Raw output is committed under bench/results; a number in a document stands in one of those files.
package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Header writes comment lines that say which program ran on which machine. args
// are the program's arguments with file paths shortened to names.
func Header(w io.Writer, program string, args []string) {
	short := make([]string, len(args))
	for i, a := range args {
		short[i] = a[strings.LastIndexByte(a, '/')+1:]
	}
	fmt.Fprintf(w, "# %s %s\n", program, strings.Join(short, " "))
	fmt.Fprintf(w, "# %s %s/%s, %d threads, %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), CPUModel())
}

// CPUModel names the CPU, or says that it is not known.
func CPUModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "CPU not known"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "CPU not known"
}
