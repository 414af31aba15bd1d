// Command mutants seeds known defects, one at a time, and fails unless the named test finds each of them
// (docs/design.md). The defects are the files in patches. The source tree is not changed: go test gets the files with
// the defect as an overlay.
//
//	go run ./internal/mutants              every mutant
//	go run ./internal/mutants -base REF    those whose code, test or patch changed since REF
//	go run ./internal/mutants -log FILE    those that a log does not have, such as bench/results/mutants.txt
//	go run ./internal/mutants NAME...      these
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// folder is the folder of the mutants, relative to the root of the module.
const folder = "internal/mutants/patches"

func main() {
	base := flag.String("base", "", "run only mutants whose code, test or patch changed since this commit")
	log := flag.String("log", "", "run only mutants that this log does not list")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runAll(ctx, *base, *log, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func runAll(ctx context.Context, base, log string, names []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := readMutants(folder)
	if err != nil {
		return err
	}
	if base != "" {
		out, err := exec.CommandContext(ctx, "git", "diff", "--name-only", base, "--").Output()
		if err != nil {
			return fmt.Errorf("git diff %s: %w", base, err)
		}
		changed := strings.Fields(string(out))
		all = slices.DeleteFunc(all, func(m Mutant) bool { return !m.touched(changed) })
	}
	if log != "" {
		text, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(m Mutant) bool { return strings.Contains("\n"+string(text), "\n"+m.Name+" ") })
	}
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(m Mutant) bool { return !slices.Contains(names, m.Name) })
		if len(all) != len(names) {
			return fmt.Errorf("%d of the %d mutants %q are there", len(all), len(names), names)
		}
	}
	alive := 0
	for _, m := range all {
		began := time.Now()
		problem := m.run(ctx, root)
		verdict := "found by " + m.Test
		if problem != nil {
			alive++
			verdict = "LIVES: " + problem.Error()
		}
		fmt.Printf("%-34s %5.1f s  %s\n", m.Name, time.Since(began).Seconds(), verdict)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	fmt.Printf("%d mutants, %d found\n", len(all), len(all)-alive)
	if alive > 0 {
		return fmt.Errorf("the tests of %d mutants did not find the defect", alive)
	}
	return nil
}

// run returns nil if the test of the mutant fails. It returns an error if only the build fails.
func (m Mutant) run(ctx context.Context, root string) error {
	files, err := m.Apply(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range files {
		with := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay.Replace)))
		if err := os.WriteFile(with, []byte(text), 0o600); err != nil {
			return err
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(name))] = with
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-overlay", filepath.Join(dir, "overlay.json"), "-vet=off",
		"-count=1", "-timeout=10m", "-run", "^"+m.Test+"$", m.Package).CombinedOutput()
	switch {
	case strings.Contains(string(out), "--- FAIL: "+m.Test):
		return nil
	case err == nil:
		return fmt.Errorf("%s passes with it", m.Test)
	}
	return fmt.Errorf("%s was not carried out: %w\n%s", m.Test, err, out)
}
