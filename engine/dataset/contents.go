package dataset

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
)

// CopyContents writes the bytes from which the fingerprint of a list of files is computed. If at most one file has
// rows (parts), it writes the contents of all files. If several files have rows, it writes the SHA-256 of each file.
// For an open pack, it writes the content at the time it was opened.
func CopyContents(to io.Writer, files []string, parts int, packs []*Used) error {
	for _, name := range files {
		// the name may refer to another file by now
		if i := slices.IndexFunc(packs, func(p *Used) bool { return p.Name == name }); i >= 0 {
			if _, err := to.Write(packs[i].content); err != nil {
				return err
			}
			continue
		}
		// A pipe has already been consumed. Its remaining content is empty and would stand for records that a
		// resumed run could replace.
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return cmp.Or(err, fmt.Errorf("%s is a pipe or a device, which a resumed run cannot compare; store the "+
				"data in a file", name))
		}
		f, err := openContent(name)
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
