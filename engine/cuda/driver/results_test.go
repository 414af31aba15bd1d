package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

func TestResultText(t *testing.T) {
	if got := Result(100).Error(); !strings.Contains(got, "100") || !strings.Contains(got, "CUDA_VISIBLE_DEVICES") {
		t.Errorf("code 100: %q", got)
	}
	must.Equal(t, Result(4711).Error(), "CUDA error 4711", "code 4711")
	for code, r := range results {
		if len(r.text) < 10 || strings.ToLower(r.text) == r.text && strings.HasSuffix(r.text, ".") || r.name != strings.ToUpper(r.name) {
			t.Errorf("code %d: %q, %q", code, r.name, r.text)
		}
	}
	var code Result
	if err := outOfPinned(Result(2)); !errors.As(err, &code) || code != 2 || !strings.Contains(err.Error(), "the host has") || strings.Contains(err.Error(), "the GPU has") {
		t.Errorf("pinned memory: %v", err)
	}
	if err := outOfPinned(Result(1)); err != Result(1) {
		t.Errorf("another error of pinned memory: %v", err)
	}
}

var (
	errorOfHeader = regexp.MustCompile(`(?s)/\*\*((?:[^*]|\*[^/])*)\*/\s*CUDA_ERROR_(\w+)\s*=\s*(\d+)`)
	versionOf     = regexp.MustCompile(`#define CUDA_VERSION (\d+)`)
)

// strayResults are the errors of a header that results and lost do not have, or have otherwise.
func strayResults(header string) (stray []string) {
	seen := map[Result]bool{35: true}
	for _, m := range errorOfHeader.FindAllStringSubmatch(header, -1) {
		n, _ := strconv.Atoi(m[3])
		if seen[Result(n)] = true; results[Result(n)].name != m[2] {
			stray = append(stray, fmt.Sprintf("%d is %s, here %q", n, m[2], results[Result(n)].name))
		}
		if strings.Contains(m[1], "terminated") && strings.Contains(m[1], "relaunched") && !Result(n).Lost() {
			stray = append(stray, fmt.Sprintf("%d loses the context", n))
		}
	}
	version := versionOf.FindStringSubmatch(header)
	if version == nil || len(seen) < 80 {
		return append(stray, fmt.Sprintf("%d errors of CUDA %v: this is not cuda.h", len(seen), version))
	}
	if number, _ := strconv.Atoi(version[1]); number >= 13050 { // those of CUDA 12 are fewer
		for code, r := range results {
			if !seen[code] {
				stray = append(stray, fmt.Sprintf("%d, %s, is not in the header", code, r.name))
			}
		}
	}
	return stray
}

// TestResultsOfTheHeader: every error of cuda.h has its name, its text and what it does to the
// context, where DYAD_CUDA_H names the folder of the header; gorgonia.sh does.
func TestResultsOfTheHeader(t *testing.T) {
	folder := os.Getenv("DYAD_CUDA_H")
	if folder == "" {
		t.Skip("DYAD_CUDA_H names no folder with cuda.h")
	}
	header := must.Get(os.ReadFile(filepath.Join(folder, "cuda.h")))(t)
	for _, s := range strayResults(string(header)) {
		t.Error(s)
	}
}

// headerOf is a header with the errors of results.
func headerOf() string {
	var b strings.Builder
	b.WriteString("#define CUDA_VERSION 13050\n")
	for code, r := range results {
		text := r.text
		if code.Lost() {
			text = "the process must be terminated and relaunched"
		}
		fmt.Fprintf(&b, "/**\n * %s\n */\nCUDA_ERROR_%s = %d,\n", text, r.name, code)
	}
	return b.String()
}

// TestStrayResults is the control: a header with one error more, one less, another name, or
// another error that loses the context, and one without errors.
func TestStrayResults(t *testing.T) {
	header := headerOf()
	if stray := strayResults(header); len(stray) != 0 {
		t.Errorf("its own header: %q", stray)
	}
	for what, changed := range map[string]string{
		"one more":     header + "/** new */ CUDA_ERROR_NEW = 920,",
		"one less":     strings.Replace(header, "CUDA_ERROR_NOT_READY", "CUDA_OTHER", 1),
		"another name": strings.Replace(header, "CUDA_ERROR_ASSERT", "CUDA_ERROR_ASSERTION", 1),
		"another loss": strings.Replace(header, results[400].text, "must be terminated and relaunched", 1),
		"no header":    "#define CUDA_VERSION 13050",
	} {
		if len(strayResults(changed)) == 0 {
			t.Errorf("%s is not found", what)
		}
	}
}

// TestCause: of joined errors the first that loses the context is left, with its own prefixes.
func TestCause(t *testing.T) {
	first := fmt.Errorf("cuda: kernel k: %w", Result(700))
	for _, err := range []error{first, errors.Join(first, Result(719), Result(700)), errors.Join(errors.New("other"), errors.Join(first, first)), fmt.Errorf("more: %w", errors.Join(first, Result(1)))} {
		must.Equal(t, cause(err), first, "%q has the cause", err)
	}
	two := fmt.Errorf("%w: %w", Result(700), errors.New("why"))
	must.Equal(t, cause(errors.Join(two, Result(2))), two, "two errors in a line")
	for _, err := range []error{nil, Result(2), errors.Join(Result(2), errors.New("x")), pinned{2}} {
		if got := cause(err); got != nil {
			t.Errorf("%v has the cause %v", err, got)
		}
	}
	if !slices.IsSorted(lost) {
		t.Error("lost is not sorted")
	}
}
