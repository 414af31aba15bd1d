package serve_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/internal/must"
)

// draws is the message of the first epoch that a client with a memory draws, as JSON. A
// record is one user's, so it is the same for all.
func draws(t *testing.T, memory string) (message string, err error) {
	t.Helper()
	return drawsFor(t, memory, "u")
}

func drawsFor(t *testing.T, memory, user string) (message string, err error) {
	t.Helper()
	m, err := serve.OpenMemory(memory)
	if err != nil {
		return "", err
	}
	defer m.Close()
	q := planOf(t, protocol(60))
	c := serve.Client{User: user, Memory: m, Limits: serve.Limits{Epsilon: 100}}
	a, err := c.Draw(t.Context(), serve.PublicPlan(q), engine.Record{X: make([]float64, q.Dim), Y: 1})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(a.Message)
	if err != nil || a.Outcome != serve.Printed {
		t.Fatal(a, err)
	}
	return string(text), nil
}

// memories is a folder for memories, with two others in it. It is the working directory.
func memories(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, f := range []string{"a", "b"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, f), 0o700))
	}
	return dir
}

// refusedMemory checks that nothing is drawn with a memory, and why.
func refusedMemory(t *testing.T, memory string, is error, says string) {
	t.Helper()
	message, err := draws(t, memory)
	if right := errors.Is(err, serve.ErrInput); is != nil && !errors.Is(err, is) || is == nil && !right || err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("memory %s: %s, %v, want %q", memory, message, err, says)
	}
}

func link(t *testing.T, dir, to, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("no symbolic links for this account")
		}
		t.Fatal(err)
	}
}

// One file is one memory, by whatever name it is reached: no epoch is answered twice.
func TestLocalMemoryThroughLinks(t *testing.T) {
	dir := memories(t)
	link(t, dir, "real.json", "link.json")
	link(t, dir, "link.json", "chain.json")
	link(t, dir, filepath.Join("..", filepath.Base(dir), "a"), "up")
	link(t, dir, "up/../real.json", "above.json") // up is a link: this is real.json, not up's neighbour
	link(t, filepath.Join(dir, "a"), filepath.Join("..", "b"), "aside")
	link(t, dir, "a/aside/../real.json", "round.json")
	link(t, dir, ".", "here")
	link(t, dir, filepath.Join(dir, "here", "real.json"), "far.json")
	first, err := draws(t, "link.json") // the file is not there yet: the link dangles
	if err != nil || !strings.Contains(first, `"seed"`) {
		t.Fatal(first, err)
	}
	for _, name := range []string{"real.json", "link.json", "chain.json", "here/real.json", "here/link.json", "far.json", "above.json", "round.json", "up/../real.json", "a/aside/../real.json", filepath.Join(dir, "real.json")} {
		must.Equal(t, must.Get(draws(t, name))(t, name), first, "memory %s: another message of the same epoch", name)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.json")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced by a file (%v, %v)", info.Mode(), err)
	}
	// The lock belongs to the file.
	m := must.Get(serve.OpenMemory(filepath.Join(dir, "here", "chain.json")))(t)
	refusedMemory(t, "real.json", serve.ErrAway, "another client")
	m.Close()
}

// Whoever mistyped the id corrects it: the message stays, so nothing is drawn or spent again. An id that no server
// takes is refused, and changes nothing.
func TestMistypedUserIsCorrected(t *testing.T) {
	memories(t)
	first := must.Get(drawsFor(t, "m.json", "mistyped"))(t)
	must.Fail(drawsFor(t, "m.json", ""))(t, "1 to 128 bytes", "no user")
	second := must.Get(drawsFor(t, "m.json", "right"))(t)
	must.Equal(t, second, strings.Replace(first, "mistyped", "right", 1), "the message under the right id")
	m := must.Get(serve.OpenMemory("m.json"))(t)
	defer m.Close()
	if kept := m.Messages(); len(kept) != 1 || kept[0].Message.User != "right" {
		t.Errorf("the memory has %+v", kept)
	}
}

// A file with two names is refused under both: writing it by a rename would leave the
// other name with an older memory.
func TestLocalMemoryHardLink(t *testing.T) {
	dir := memories(t)
	first := must.Get(draws(t, "real.json"))(t)
	must.Do(t, os.Link(filepath.Join(dir, "real.json"), filepath.Join(dir, "hard.json")))
	link(t, dir, "hard.json", "soft.json")
	for _, name := range []string{"hard.json", "real.json", "soft.json"} {
		refusedMemory(t, name, nil, "2 names")
	}
	must.Do(t, os.Remove(filepath.Join(dir, "real.json")))
	must.Equal(t, must.Get(draws(t, "soft.json"))(t), first, "with one name again")
	// A name that appears while a client works is seen before the next message is drawn.
	m := must.Get(serve.OpenMemory(filepath.Join(dir, "hard.json")))(t)
	defer m.Close()
	must.Do(t, os.Link(filepath.Join(dir, "hard.json"), filepath.Join(dir, "late.json")))
	must.ErrDo(t, m.Add(serve.Remembered{Protocol: "x", Epoch: 1, Epsilon: 1, Message: serve.Submission{User: "u", Epoch: 1}}), "a memory with a second name was written")
}

// A link that points elsewhere at the next run is the memory of elsewhere; what it pointed
// to keeps what it has, and the link stays a link. Links to nowhere are refused.
func TestLocalMemoryLinkMoves(t *testing.T) {
	dir := memories(t)
	link(t, dir, filepath.Join("a", "m.json"), "link.json")
	first, _ := draws(t, "link.json")
	if again, _ := draws(t, "a/m.json"); first == "" || again != first {
		t.Fatalf("a/m.json has not the message of its link:\n%s%s", first, again)
	}
	// During a run the memory is the file that the link named at its start.
	m := must.Get(serve.OpenMemory(filepath.Join(dir, "link.json")))(t)
	must.Do(t, os.Remove(filepath.Join(dir, "link.json")))
	link(t, dir, filepath.Join("b", "m.json"), "link.json")
	must.Do(t, m.Add(serve.Remembered{Protocol: "x", Epoch: 1, Epsilon: 0.5}))
	m.Close()
	must.Err(os.Stat(filepath.Join(dir, "b", "m.json")))(t, "a running client wrote to where the link points now")
	m = must.Get(serve.OpenMemory(filepath.Join(dir, "a", "m.json")))(t)
	must.Equal(t, len(m.Messages()), 2, "answers of a/m.json")
	m.Close()
	if other, err := draws(t, "link.json"); other == first || !strings.Contains(other, `"seed"`) {
		t.Errorf("the link to b/m.json gave %s, %v", other, err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.json")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced (%v)", err)
	}
	link(t, dir, "loop.json", "loop.json")
	link(t, dir, filepath.Join("nowhere", "m.json"), "lost.json")
	for _, name := range []string{"loop.json", "lost.json", "nowhere/m.json", "a", "a/", "a/.."} {
		refusedMemory(t, name, nil, "")
	}
}

// A memory that anything changed is refused, whatever byte it was, and nothing is drawn: a digit of the protocol's hash
// would hide the message that was sent, and a second one of the epoch would be drawn.
func TestLocalMemoryChanged(t *testing.T) {
	memories(t)
	first := must.Get(draws(t, "m.json"))(t)
	text := must.Get(os.ReadFile("m.json"))(t)
	changed := func(at int, to byte) {
		t.Helper()
		other := bytes.Clone(text)
		other[at] = to
		must.Do(t, os.WriteFile("m.json", other, 0o600))
		refusedMemory(t, "m.json", nil, "is damaged")
		must.Same(t, must.Get(os.ReadFile("m.json"))(t), other, "a memory that was refused was changed")
	}
	digit := bytes.Index(text, []byte(`"protocol": "`)) + len(`"protocol": "`)
	changed(digit, map[bool]byte{true: '1', false: '0'}[text[digit] == '0'])
	for at, is := range text {
		changed(at, is^1)
	}
	must.Do(t, os.WriteFile("m.json", text, 0o600))
	must.Equal(t, must.Get(draws(t, "m.json"))(t), first, "as it was written")
}
