package face

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad"
	"dyad/internal/files"
	"dyad/internal/must"
)

// A model that the caller saves is kept next to the ledger until Train returns, and the line of its release
// has the digest of its file.
func TestReleaseOfAModelWithoutAFile(t *testing.T) {
	inClinic(t)
	data, plan, book := opened(t, dyad.Options{Epsilon: 1})
	folder := filepath.Dir(book.Path())
	kept := func() (names []string) {
		list := must.Get(os.ReadDir(folder))(t)
		for _, f := range list {
			if strings.HasPrefix(f.Name(), ".dyad-") {
				names = append(names, f.Name())
			}
		}
		return names
	}
	var while []string
	m := must.Get(plan.Run(context.Background(), data, dyad.Run{Ledger: book, ID: "mine", Watch: dyad.Watch{Trace: func(stage string) {
		if stage == "released" {
			while = kept()
		}
	}}}))(t)
	text := must.Get(m.Text())(t)
	if e, err := book.Released("mine"); err != nil || m.Run != "mine" || e.Kept.Digest != files.Digest(text) {
		t.Errorf("run %q: %+v, %v", m.Run, e, err)
	}
	if len(while) != 1 || len(kept()) != 0 || m.File != "" {
		t.Errorf("kept %v at the release and %v after it, file %q", while, kept(), m.File)
	}
}

// A default name that is taken is no error: the file gets one with the id of its run, and what was there
// stays. Released comes before the name.
func TestSpareName(t *testing.T) {
	inClinic(t)
	data, plan, book := opened(t, dyad.Options{Epsilon: 1})
	name := filepath.Join(t.TempDir(), "model.json")
	must.Do(t, os.WriteFile(name, []byte("mine"), 0o600))
	released := false
	m, err := plan.Run(context.Background(), data, dyad.Run{Ledger: book, ID: "r1", Out: name, Spare: true, Watch: dyad.Watch{Released: func(m *dyad.Model) {
		_, err := os.Stat(files.WithRun(name, "r1"))
		released = m.Run == "r1" && os.IsNotExist(err)
	}}})
	if err != nil || m.File != files.WithRun(name, "r1") || !released {
		t.Fatalf("%v, released %v, %v", m, released, err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	must.Check(dyad.Load(m.File))(t)
}
