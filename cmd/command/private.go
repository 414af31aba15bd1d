package command

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// warnOfReaders warns of files that are as private as the records and that other users can read, in the same way as ssh
// does for its keys. Such files come from a backup or were copied. Flags tagged "private" name these files. The tag
// describes the file, and it is preceded by "default" if the default ledger is meant when the flag is missing.
func (a *app) warnOfReaders(command *kong.Context) {
	if runtime.GOOS == "windows" { // Windows has access lists instead of modes
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
		if what == ledgerFile { // include archives, checkpoints, and files left by a crash
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
		a.note("dyad: others can read the %s %s (mode %04o), but it is as private as the records; run chmod 600 %s", what,
			path, info.Mode().Perm(), shell(path))
	}
}
