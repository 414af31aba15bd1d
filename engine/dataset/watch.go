package dataset

import (
	"fmt"
	"os"
)

// Watch returns what tells, before a release, whether a pack among the files is still what was charged. A pack is mapped: what
// is written to it while a run goes on is trained on, and no certificate holds for it.
func Watch(names []string) (unchanged func() error, err error) {
	before := map[string]os.FileInfo{}
	for _, name := range names {
		if IsRegularPack(name) {
			if before[name], err = os.Stat(name); err != nil {
				return nil, err
			}
		}
	}
	return func() error {
		for name, was := range before {
			is, err := os.Stat(name)
			if err != nil {
				return fmt.Errorf("dataset: the pack %s was removed while it was used: %w", name, err)
			}
			if !os.SameFile(was, is) || is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime()) {
				return fmt.Errorf("dataset: %w: %s is a pack, which is used as long as a run trains; nothing was released. Put it back as it was before --resume", ErrChanged, name)
			}
		}
		return nil
	}, nil
}
