package audit_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"dyad/algorithms/audit"
	"dyad/internal/must"
)

// testdata/formats/part-1.audit was written by the first version with the format; never change it.
func TestOldPartsAreRead(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/formats/part-1.audit"))(t)
	p, err := audit.ReadPart(bytes.NewReader(text))
	if err != nil || p.Part != 1 || p.Parts != 2 || p.Runs != 24 || len(p.Trials[0]) != 12 {
		t.Errorf("%+v, %v", p, err)
	}
}

// What is no part of this audit is refused, and ends no program.
func FuzzPart(f *testing.F) {
	t := new(testing.T)
	target, o := partTarget(t, "dpgdsc", 1), audit.Options{Runs: 24, Seed: 3, Access: audit.WhiteBox}
	for part := 1; part <= 2; part++ {
		p := must.Get(audit.RunPart(context.Background(), target, o, part, 2))(f)
		var b bytes.Buffer
		must.Do(f, p.Write(&b))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := audit.ReadPart(bytes.NewReader(file))
		if err != nil {
			return
		}
		_, _ = audit.Join(context.Background(), target, o, p, p)
		_, _ = audit.Join(context.Background(), target, o, p)
	})
}
