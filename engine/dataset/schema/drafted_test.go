package schema

import (
	"testing"

	"dyad/internal/must"
)

// TestSameValues: lists of categories are compared as a file is matched with them, without their order.
func TestSameValues(t *testing.T) {
	for _, c := range []struct {
		a, b []string
		same bool
	}{
		{[]string{"f", "m"}, []string{"m", "f"}, true}, {[]string{"1.0", "2"}, []string{"1", "2"}, true},
		{[]string{"f", "m", "d"}, []string{"f", "m"}, false}, {[]string{"f", "M"}, []string{"f", "m"}, false}, {[]string{"1", "3"}, []string{"1", "2"}, false},
	} {
		must.Equal(t, sameValues(c.a, c.b), c.same, "%q and %q", c.a, c.b)
	}
}

// TestDraftedFilesOfEveryVersion: files that earlier versions wrote are read.
func TestDraftedFilesOfEveryVersion(t *testing.T) {
	m, err := readMemory("../testdata/drafted-1.drafted")
	if err != nil || m == nil || len(m.Columns) != 10 {
		t.Errorf("%+v, %v", m, err)
	}
}
