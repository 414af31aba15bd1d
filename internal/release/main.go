// Command release makes the files of a release: NOTICE (the licences of everything in the program), a list of parts
// (CycloneDX), and archives that have the same bytes on every machine.
//
//	go run ./internal/release notice        # writes NOTICE
//	go run ./internal/release sbom          # prints the parts
//	go run ./internal/release dist FOLDER   # archives, packages and SHA256SUMS
//	go run ./internal/release dist FOLDER linux_amd64   # those of some systems
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"dyad"
)

//go:generate go run . notice

// target is a system that archives are made for.
type target struct{ system, processor string }

func (t target) String() string { return t.system + "_" + t.processor }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := root()
	if err != nil {
		return err
	}
	parts, err := partsOf(root)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "notice":
		return os.WriteFile(filepath.Join(root, "NOTICE"), notice(parts), 0o644)
	case len(args) == 1 && args[0] == "sbom":
		text, err := sbom(parts)
		if err == nil {
			_, err = os.Stdout.Write(text)
		}
		return err
	case len(args) > 1 && args[0] == "dist":
		some := targets
		if len(args) > 2 {
			some = nil
		}
		for _, name := range args[2:] {
			i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
			if i < 0 {
				return fmt.Errorf("no target %q, only %v", name, targets)
			}
			some = append(some, targets[i])
		}
		return dist(root, args[1], some, parts)
	}
	return fmt.Errorf("want notice, sbom, or dist FOLDER [TARGET ...]")
}

// root is the folder of the module.
func root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
}

// build compiles the program for a target to a file. The file contains no folders, times or other properties of
// the machine.
func build(root, file string, t target, tags string) error {
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w -buildid=", "-o",
		file, "./cmd/dyad")
	c.Dir = root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOOS="+t.system,
		"GOARCH="+t.processor)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", t, err, out)
	}
	return nil
}

// helpers returns the manual pages and completion scripts, as the program of this machine writes them. They are the
// same on every system.
func helpers(root, work string) ([]file, error) {
	at := filepath.Join(work, "here")
	if err := build(root, at, target{runtime.GOOS, runtime.GOARCH}, "static"); err != nil {
		return nil, err
	}
	pages := filepath.Join(work, "man1")
	if out, err := exec.Command(at, "man", "--dir", pages).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	list, err := os.ReadDir(pages) // in order
	if err != nil {
		return nil, err
	}
	var files []file
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join(pages, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{"man1/" + e.Name(), text, 0o644})
	}
	for _, shell := range []struct{ name, file string }{{"bash", "dyad"}, {"zsh", "_dyad"}, {"fish", "dyad.fish"}} {
		text, err := exec.Command(at, "completion", shell.name).Output()
		if err != nil {
			return nil, err
		}
		files = append(files, file{"completion/" + shell.name + "/" + shell.file, text, 0o644})
	}
	return files, nil
}

// dist fills a folder with an archive for each target. For Linux it also adds a program that needs no library, and a
// Debian package.
func dist(root, folder string, targets []target, parts []part) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	bill, err := sbom(parts)
	if err != nil {
		return err
	}
	papers := []file{{"sbom.cdx.json", bill, 0o644}}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		papers = append(papers, file{name, text, 0o644})
	}
	work, err := os.MkdirTemp("", "dyad-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	helps, err := helpers(root, work)
	if err != nil {
		return err
	}
	papers = append(papers, helps...)
	var out []file
	for _, t := range targets {
		variants := []string{""}
		if t.system == "linux" {
			variants = append(variants, "static")
		}
		for _, tags := range variants {
			at := filepath.Join(work, "dyad")
			if err := build(root, at, t, tags); err != nil {
				return err
			}
			program, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			name := "dyad_" + dyad.Version + "_" + t.String() + strings.TrimSuffix("_"+tags, "_")
			made, err := pack(name, t, append([]file{{"dyad", program, 0o755}}, papers...))
			if err != nil {
				return err
			}
			out = append(out, made)
			if t.system == "linux" && tags == "" {
				deb, err := debian(t, program, papers)
				if err != nil {
					return err
				}
				out = append(out, deb)
			}
		}
	}
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var sums strings.Builder
	for _, f := range out {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.text), f.name)
		if err := os.WriteFile(filepath.Join(folder, f.name), f.text, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
