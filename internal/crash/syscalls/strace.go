package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// patience ends a hanging command; no verdict depends on time.
const patience = 5 * time.Minute

// ended is how a process ended. code is -1 if a signal killed it.
type ended struct {
	code           int
	stdout, stderr string
	hung           bool
}

// program runs the program in a folder, by itself or under a command such as strace.
type program struct{ path, dir string }

func (p program) run(under []string, args string) (ended, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	words := append(append(under[:len(under):len(under)], p.path), strings.Fields(args)...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = p.dir
	// No variable of the caller, such as a folder of states, reaches the program.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "XDG_STATE_HOME=" + p.dir, "TMPDIR=" +
		filepath.Join(p.dir, "tmp")}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	if cmd.ProcessState == nil {
		return ended{}, err
	}
	return ended{cmd.ProcessState.ExitCode(), out.String(), errs.String(), ctx.Err() != nil}, err
}

// foreign are calls of the loader and of Go's start and scheduler, and memory without a file.
var foreign = regexp.MustCompile(`/(proc|sys|lib|lib64|dev)/|/etc/ld\.so|anon_inode:|/etc/localtime|zoneinfo|MAP_ANONYMOUS`)

var (
	began   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)`)
	resumed = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)`)
)

// traced is a call in a log of strace. It has the number of the call among the calls of the same name in its thread,
// and the text of its arguments and result.
type traced struct {
	name, text string
	nth        int
}

// readTrace reads a log of strace.
func readTrace(log string) (all []*traced, err error) {
	b, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	count, open := map[string]int{}, map[string]*traced{}
	for line := range strings.Lines(string(b)) {
		if m := began.FindStringSubmatch(line); m != nil {
			count[m[1]+m[2]]++
			open[m[1]] = &traced{m[2], m[3], count[m[1]+m[2]]}
			all = append(all, open[m[1]])
		} else if m := resumed.FindStringSubmatch(line); m != nil && open[m[1]] != nil {
			open[m[1]].text += m[3]
		}
	}
	return all, nil
}

// places returns the numbers, in their threads, of the command's own calls in a run without a fault.
func (p program) places(args, log string) (map[string][]int, error) {
	var names []string
	for _, c := range calls {
		names = append(names, c.all)
	}
	e, err := p.run(straced(log, strings.Join(names, ","), ""), args)
	if err != nil {
		return nil, err
	}
	if e.code != exitOK {
		return nil, errors.New("without a fault: " + args + ": " + e.stderr)
	}
	trace, err := readTrace(log)
	at := map[string][]int{}
	for _, t := range trace {
		for _, c := range calls {
			if slices.Contains(strings.Split(c.all, ","), t.name) && !foreign.MatchString(t.text) {
				at[c.name] = append(at[c.name], t.nth)
			}
		}
	}
	return at, err
}

// straced returns the command line of strace, with an injection unless it is "".
func straced(log, calls, injection string) []string {
	words := []string{"strace", "-f", "-y", "-qq", "--seccomp-bpf", "-e", "signal=none", "-s", "0", "-o", log, "-e",
		"trace=" + calls}
	if injection != "" {
		words = append(words, "-e", "inject="+calls+":"+injection)
	}
	return words
}

// hitBy returns the call that a fault hit, or nil if no call was hit.
func hitBy(log, fault string, nth int) (*traced, error) {
	trace, err := readTrace(log)
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(trace) {
		if fault == kill && t.nth == nth || fault != kill && strings.Contains(t.text, "(INJECTED)") {
			return t, nil
		}
	}
	return nil, nil
}
