package dataset

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
)

// CopyContents writes what a fingerprint of files is of: their contents, or, if more than one of them has rows (parts), the SHA-256 of each. Packs
// are read as they are used.
func CopyContents(to io.Writer, files []string, parts int, packs []*Used) error {
	for _, name := range files {
		if i := slices.IndexFunc(packs, func(p *Used) bool { return p.Name == name }); i >= 0 { // as it is used, not as its name says now
			if _, err := to.Write(packs[i].Content()); err != nil {
				return err
			}
			continue
		}
		// A pipe was read by now: its rest, nothing, would stand for records that a resumed run could replace.
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return cmp.Or(err, fmt.Errorf("%s is a pipe or a device; the charge of private data is tied to their content, which must be available for a later comparison: store the data in a file", name))
		}
		f, err := OpenContent(name)
		if err != nil {
			return err
		}
		h, into := sha256.New(), to
		if parts > 1 {
			into = h
		}
		_, err = io.Copy(into, f)
		f.Close()
		if err == nil && parts > 1 {
			_, err = to.Write(h.Sum(nil))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
