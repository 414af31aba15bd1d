package serve

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
)

var newGolden = flag.Bool("golden", false, "write the golden files of formats that have none; an old one is never changed")

// goldenFile is the content of a file that a version of the program wrote.
func goldenFile(t *testing.T, name string, make func() []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", "formats", name)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) && *newGolden {
		text = make()
		err = os.WriteFile(path, text, 0o644)
	}
	must.Do(t, err)
	return text
}

func goldenPlan(t *testing.T) *local.Plan {
	t.Helper()
	e := must.Get(engine.NewExpression("logistic", "log1p(exp(-u))", engine.ExpressionOptions{}))(t)
	return must.Get(local.Protocol{Method: local.DJW, Loss: e, Dim: 2, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 3, Epochs: 1, Epsilon: 1}.Plan())(t)
}

func goldenSubmission(t *testing.T, p *local.Plan, user string, seed uint64) Submission {
	t.Helper()
	m := must.Get(local.NewClient(p, privacy.NewSeededSource(seed)).Message(&local.State{Epoch: 1, W: p.Start().W}, engine.Record{X: []float64{0.5, -0.2}, Y: 1}))(t)
	return must.Get(NewSubmission(user, 1, m))(t)
}

// Memories, keys and logs of every version are read as they were written (docs/formats.md).
func TestOldFilesAreRead(t *testing.T) {
	plan := goldenPlan(t)
	dir := t.TempDir()

	newest := goldenFile(t, "memory-2.json", func() []byte {
		path := filepath.Join(dir, "new.json")
		m := must.Get(OpenMemory(path))(t)
		defer m.Close()
		must.Get(m.add(Remembered{Protocol: PublicPlan(plan).key(), Epoch: 1, Epsilon: 0.75, Message: goldenSubmission(t, plan, "ann", 1)}))(t)
		return must.Get(os.ReadFile(path))(t)
	})
	for _, name := range []string{"memory-1.json", "memory-2.json"} {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, goldenFile(t, name, nil), 0o600))
		m := must.Get(OpenMemory(path))(t)
		if all := m.Messages(); m.Spent() != 0.75 || len(all) != 1 || all[0].Message.User != "ann" || all[0].Message.Seed == "" {
			t.Errorf("%s: %v, %+v", name, m.Spent(), all)
		}
		m.Close()
		if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, newest) {
			t.Errorf("%s became, %v\n%s", name, err, text)
		}
	}

	path := filepath.Join(dir, "key")
	text := goldenFile(t, "token-key-1", func() []byte { return fmt.Appendf(nil, "%s%x\n", tokenKeyHeader, bytes.Repeat([]byte{7}, 32)) })
	must.Do(t, os.WriteFile(path, text, 0o600))
	key := must.Get(ReadTokenKey(path))(t)
	study := key.Study(PublicPlan(plan))
	if token, err := study.Token("ann"); token != "TeEqITEJ_NTaSwiPqVUavzHEQq4-U070Xy2fno9-ZCE" || !study.Valid("ann", token) || study.old("ann", token) {
		t.Errorf("token %q, %v", token, err)
	}
	// The token of a version whose tokens belonged to no study is known, and not taken.
	if old := "TBCK4CRvFuW0g2iGca-SMNsTkoNCG_KB7-eqDfe1Hyc"; !study.old("ann", old) || study.Valid("ann", old) {
		t.Error("a token of version 1 is taken, or not known")
	}

	for _, c := range []struct {
		file, model string
		plan        *local.Plan
	}{
		{"messages-3.log", "[2.76936487 -4.16300591]", plan},
		{"messages-4.log", "[2.10896195 -2.41044098 0.595075964 1.93292779]", goldenNetwork(t)},
	} {
		t.Run(c.file, func(t *testing.T) { readLog(t, c.file, c.model, c.plan) })
	}
}

// goldenNetwork is a protocol of a network.
func goldenNetwork(t *testing.T) *local.Plan {
	t.Helper()
	p := goldenPlan(t).Protocol
	p.Radius, p.L2, p.Users, p.Epsilon, p.Network = 0, 0, 9, 4, &local.Network{Hidden: 1, Seed: 1}
	return must.Get(p.Plan())(t)
}

// readLog reads a log of two messages, whose state is model.
func readLog(t *testing.T, name, model string, plan *local.Plan) {
	path := filepath.Join(t.TempDir(), "log")
	text := goldenFile(t, name, func() []byte {
		s := must.Get(Open(path, plan, ""))(t)
		for i, user := range []string{"ann", "bob"} {
			must.Get(s.Submit(context.Background(), goldenSubmission(t, plan, user, uint64(i))))(t)
		}
		must.Do(t, s.Close())
		return must.Get(os.ReadFile(filepath.Join(path, "messages.log")))(t)
	})
	must.Do(t, os.MkdirAll(path, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(path, "messages.log"), text, 0o600))
	s := must.Get(Open(path, plan, ""))(t)
	defer s.Close()
	if st := s.State(); st.Visits != 2 || fmt.Sprintf("%.9g", st.Model) != model {
		t.Errorf("log: %+v", st)
	}
}
