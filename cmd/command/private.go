package command

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"dyad/internal/files"
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
		if path == "" || !begins(path, what) {
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

// privateStarts has words at the start of private files. Without its word a file is something else, perhaps named by
// mistake, and its mode is not our concern: the command will refuse the file.
var privateStarts = map[string]string{
	ledgerFile:          `"type":"header"`,
	"state of a stream": `"dyad-stream/`,
	"memory":            `"dyad-local-client/`,
	"key of tokens":     "dyad-local-token-key/",
	"TLS key":           "-----BEGIN ",
}

// begins tells whether path is a regular file that begins as private files of this kind do. It does not read a pipe.
func begins(path, what string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	start, err := files.ReadStart(path, 64)
	return err == nil && bytes.Contains(start, []byte(privateStarts[what]))
}

func (a *app) warnOfReader(what, path string) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0 {
		a.note("dyad: others can read the %s %s (mode %04o), but it is as private as the records; run chmod 600 %s", what,
			path, info.Mode().Perm(), shell(path))
	}
}
