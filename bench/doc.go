// Package bench holds what benchmarks share. What times a piece of work is a benchmark of this
// package, with ratios to the peak of the processor as metrics (bench/cpu.sh runs them all):
//
//	go test ./bench -run '^$' -bench NAME -count 3
//
// Raw files that claims rest on and that are functions of seeds are computed again by its tests, a few lines
// in every run and all with -update. What repeats an experiment or attacks a guarantee is a program in a folder of its own. Raw output
// is committed under bench/results; a number in a document stands in one of those files.
package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
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
	if v := procField("/proc/cpuinfo", "model name"); v != "" {
		return v
	}
	return "CPU not known"
}

// PeakBytes is the peak resident size of this process, 0 where the system does
// not tell.
func PeakBytes() int64 {
	kb, err := strconv.ParseInt(strings.TrimSuffix(procField("/proc/self/status", "VmHWM"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

// procField is the text after "name:" in a file of that form.
func procField(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
