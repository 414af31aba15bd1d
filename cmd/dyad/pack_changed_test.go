//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// A pack that is overwritten or cut short after the charge ends the run, which can be resumed.
func TestChangedPackIsNotReleased(t *testing.T) {
	for what, change := range map[string]func(name string) error{
		"overwritten": func(name string) error {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt(bytes.Repeat([]byte{0x40}, 4096), 4096)
			return err
		},
		"cut": func(name string) error { return os.Truncate(name, 0) },
	} {
		f := newFixture(t)
		pack := f.in("in/p.dyadpack")
		f.dyad("data", "pack", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "-o", pack).Want(t, "pack", exitOK, "")
		args := []string{"train", "--data", pack, "--schema", f.in("in/patients.yaml"), "--algorithm", "dpgdsc", "--out", f.in("out/packed.json"), "--ledger", f.in("ledger/packed.jsonl")}
		var out, errs bytes.Buffer
		code := runHooked(context.Background(), args, strings.NewReader(""), &out, &errs, hooks{stage: func(stage string) {
			if stage == "bound" {
				if err := change(pack); err != nil {
					t.Error(err)
				}
			}
		}})
		if code != exitFailure || !strings.Contains(errs.String(), "--resume ") || exists(f.in("out/packed.json")) {
			t.Errorf("%s: exit %d: %s%s", what, code, out.String(), errs.String())
		}
	}
}
