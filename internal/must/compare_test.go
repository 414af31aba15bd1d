package must

import (
	"errors"
	"math"
	"testing"
)

// Each comparison reports values that differ, and no others.
func TestDifferencesAreReported(t *testing.T) {
	nan, failed := math.NaN(), errors.New("the disk is full")
	for name, c := range map[string]struct {
		compare  func(t testing.TB)
		reported bool
	}{
		"equal":       {func(t testing.TB) { Equal(t, 1, 1, "a case") }, false},
		"not equal":   {func(t testing.TB) { Equal(t, "a", "b", "a case") }, true},
		"same":        {func(t testing.TB) { Same(t, []int{1}, []int{1}, "a case") }, false},
		"not same":    {func(t testing.TB) { Same(t, []int{1}, []int{1, 2}, "a case") }, true},
		"within":      {func(t testing.TB) { Within(t, 1, 1, 1, "a case") }, false},
		"below":       {func(t testing.TB) { Within(t, 0.9, 1, 2, "a case") }, true},
		"above":       {func(t testing.TB) { Within(t, 2.1, 1, 2, "a case") }, true},
		"NaN within":  {func(t testing.TB) { Within(t, nan, 1, 2, "a case") }, true},
		"near":        {func(t testing.TB) { Near(t, 1, 1.5, 0.5, "a case") }, false},
		"not near":    {func(t testing.TB) { Near(t, 1, 1.6, 0.5, "a case") }, true},
		"NaN near":    {func(t testing.TB) { Near(t, nan, 1, 0.5, "a case") }, true},
		"at most":     {func(t testing.TB) { AtMost(t, 1, 1, "a case"); AtLeast(t, 1, 1, "a case") }, false},
		"too much":    {func(t testing.TB) { AtMost(t, 1.1, 1, "a case") }, true},
		"too little":  {func(t testing.TB) { AtLeast(t, 0, 1, "a case") }, true},
		"NaN at most": {func(t testing.TB) { AtMost(t, nan, 1, "a case") }, true},
		"NaN least":   {func(t testing.TB) { AtLeast(t, nan, 1, "a case") }, true},
		"ordered":     {func(t testing.TB) { Above(t, 2, 1, "a case"); Below(t, 1, 2, "a case") }, false},
		"not above":   {func(t testing.TB) { Above(t, 1, 1, "a case") }, true},
		"not below":   {func(t testing.TB) { Below(t, 1, 1, "a case") }, true},
		"NaN above":   {func(t testing.TB) { Above(t, nan, 1, "a case") }, true},
		"NaN below":   {func(t testing.TB) { Below(t, nan, 1, "a case") }, true},
		"all":         {func(t testing.TB) { FailDo(t, failed, All{failed, "disk"}) }, false},
		"not all":     {func(t testing.TB) { FailDo(t, failed, All{"disk", "tape"}) }, true},
		"no error":    {func(t testing.TB) { FailDo(t, nil, All{failed}) }, true},
	} {
		e := &ended{TB: t}
		if c.compare(e); len(e.said) > 0 != c.reported {
			t.Errorf("%s: said %v", name, e.said)
		}
	}
}
