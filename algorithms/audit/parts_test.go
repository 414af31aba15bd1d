package audit_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// partTarget attacks an algorithm with its defaults; a smaller epsilon makes another plan.
func partTarget(t *testing.T, name string, epsilon float64) audit.Target {
	t.Helper()
	a := must.Get(algorithms.ByName(name))(t)
	spec := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 16, D: 2, Bounds: engine.UnitBounds(), Loss: audit.Linear{}, Radius: 1}, 0.001, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, algorithms.Certified))(t)
	p := must.Get(a.Plan(spec))(t)
	return must.Get(audit.Worst(context.Background(), a, p, 1))(t)
}

// The report of parts, in any order and read back from files, is the report of one audit, number for
// number; and what is missing, there twice or foreign is refused.
func TestPartsOfAnAuditMakeOneAudit(t *testing.T) {
	ctx := context.Background()
	for name, access := range map[string]audit.Access{"dpgdsc": audit.WhiteBox, "gradient-perturbation": audit.BlackBox} {
		target, o := partTarget(t, name, 1), audit.Options{Runs: 101, Seed: 3, Access: access}
		want := must.Get(audit.Run(ctx, target, o))(t)
		var parts []*audit.Part
		for _, i := range []int{3, 1, 2} { // in any order, on machines with other processors
			o.Workers = i
			p := must.Get(audit.RunPart(ctx, target, o, i, 3))(t)
			var file bytes.Buffer
			must.Do(t, p.Write(&file))
			p = must.Get(audit.ReadPart(&file))(t)
			parts = append(parts, p)
		}
		got := must.Get(audit.Join(ctx, target, o, parts...))(t)
		got.Seconds = want.Seconds
		if !reflect.DeepEqual(got, want) || got.Runs != 101 || got.Values == 0 || len(got.Bounds) == 0 {
			t.Errorf("%s: parts give\n%+v, want\n%+v", name, got, want)
		}
		other := func(target audit.Target, o audit.Options, part, of int) *audit.Part {
			return must.Get(audit.RunPart(ctx, target, o, part, of))(t)
		}
		seed, short := o, *parts[2]
		seed.Seed++
		short.Trials[0] = short.Trials[0][:3]
		mislabelled := *parts[1]
		mislabelled.Part = 2
		for what, list := range map[string][]*audit.Part{
			"none":            {},
			"one missing":     parts[:2],
			"one twice":       {parts[0], parts[1], parts[2], parts[1]},
			"another seed":    {parts[0], parts[1], other(target, seed, 2, 3)},
			"another epsilon": {parts[0], parts[1], other(partTarget(t, name, 1.0000001), o, 2, 3)},
			"another number":  {parts[0], parts[1], other(target, o, 2, 4)},
			"cut off":         {parts[0], parts[1], &short},
			"another's label": {parts[0], parts[1], &mislabelled, parts[2]},
		} {
			if _, err := audit.Join(ctx, target, o, list...); !errors.Is(err, audit.ErrParts) {
				t.Errorf("%s, %s: %v, want ErrParts", name, what, err)
			}
		}
	}
	for _, text := range []string{"", "dyad-audit-part/2\n", audit.PartFormat + "\n", audit.PartFormat + "\nnonsense"} {
		must.Fail(audit.ReadPart(bytes.NewReader([]byte(text))))(t, audit.ErrParts, text)
	}
	if _, err := audit.RunPart(ctx, partTarget(t, "dpgdsc", 1), audit.Options{Time: 1}, 1, 2); err == nil {
		t.Error("a part with a time limit")
	}
}
