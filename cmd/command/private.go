package command

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// warnOfReaders names files that others can read and that are as private as the records, as ssh does for its keys: they
// come from a backup, or were copied. A flag tagged "private" names such a file; the tag describes it, after "default"
// if a ledger in the usual place is meant without the flag.
func (a *app) warnOfReaders(command *kong.Context) {
	if runtime.GOOS == "windows" { // access lists, not modes
		return
	}
	for _, f := range command.Flags() {
		if !f.Tag.Has("private") {
			continue
		}
		what, hasDefault := strings.CutPrefix(f.Tag.Get("private"), "default ")
		path := f.Target.String()
		if hasDefault && path == "" {
			path, _ = ledgerFlag{}.path()
		}
		if path == "" {
			continue
		}
		a.warnOfReader(what, path)
		if what == ledgerFile { // with archives, checkpoints, and what a crash left
			if resolved, err := filepath.EvalSymlinks(path); err == nil {
				path = resolved
			}
			files, _ := os.ReadDir(filepath.Dir(path))
			for _, file := range files {
				name, next := strings.CutPrefix(file.Name(), filepath.Base(path)+".")
				if next && !slices.Contains([]string{".lock", ".head"}, filepath.Ext("."+name)) {
					a.warnOfReader("file of the ledger", filepath.Join(filepath.Dir(path), file.Name()))
				}
			}
		}
	}
}

// ledgerFile is the tag of a ledger.
const ledgerFile = "ledger"

func (a *app) warnOfReader(what, path string) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0 {
		a.note("dyad: others can read the %s %s (mode %04o), which is as private as the records: chmod 600 %s", what, path, info.Mode().Perm(), shell(path))
	}
}
