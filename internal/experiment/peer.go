package experiment

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"
)

// request and answer are the lines between the runner and a peer.
type request struct {
	Train   string         `json:"train"`
	Test    string         `json:"test"`
	Epsilon float64        `json:"epsilon"`
	Delta   float64        `json:"delta"`
	Seed    uint64         `json:"seed"`
	Options map[string]any `json:"options"`
	// Columns holds the number of categories of each column, or 0 for a numeric column. It is set for peers that
	// ask for columns. TrainColumns and TestColumns name the files with the values.
	Columns      []int  `json:"columns,omitempty"`
	TrainColumns string `json:"train_columns,omitempty"`
	TestColumns  string `json:"test_columns,omitempty"`
}

type answer struct {
	Weights []float64 `json:"weights"`
	Scores  []float64 `json:"scores"`
	Seconds float64   `json:"seconds"`
	Passes  float64   `json:"passes"`
	Version string    `json:"version"`
	Error   string    `json:"error"`
}

// maxAnswer bounds the line of an answer.
const maxAnswer = 64 << 20

// peerProcess is a running peer.
type peerProcess struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan []byte // closed at the end of its output
	stderr  *tail
}

// startPeer starts a peer in the folder of the plan, on one thread, because numerical libraries that add in
// several threads change the last digits.
func startPeer(ctx context.Context, p *Peer, dir string, programs map[string]string) (*peerProcess, error) {
	name := p.Command[0]
	if other, ok := programs[name]; ok {
		name = other
	}
	c := exec.CommandContext(ctx, name, p.Command[1:]...)
	c.Dir, c.WaitDelay = dir, time.Second/2
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	process := &peerProcess{cmd: c, answers: make(chan []byte), stderr: &tail{}}
	c.Stderr = process.stderr
	var err error
	if process.in, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started (%w); check that the program %q is installed, or give its path",
			p.Name, err, p.Command[0])
	}
	go func() {
		defer close(process.answers)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, maxAnswer)
		for lines.Scan() {
			select {
			case process.answers <- append([]byte(nil), lines.Bytes()...):
			case <-ctx.Done():
				return
			}
		}
	}()
	return process, nil
}

// ask sends a request and waits for the answer. After any error that is not reported by the peer itself, the
// process cannot be used again, and died is true.
func (p *peerProcess) ask(ctx context.Context, q request, limit time.Duration) (a answer, died bool, err error) {
	line, err := json.Marshal(q)
	if err != nil {
		return a, false, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return a, true, p.death()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return a, true, ctx.Err()
	case <-timer.C:
		return a, true, fmt.Errorf("no answer in %s", limit)
	case text, alive := <-p.answers:
		if !alive {
			return a, true, p.death()
		}
		if err := json.Unmarshal(text, &a); err != nil {
			return a, true, fmt.Errorf("the answer does not have the agreed JSON format: %w", err)
		}
	}
	if a.Error != "" {
		return a, false, errors.New(a.Error)
	}
	return a, false, nil
}

// death waits for the end of the process and returns the reason of its end.
func (p *peerProcess) death() error {
	p.in.Close()
	err := p.cmd.Wait()
	text := p.stderr.last()
	if text == "" && err != nil {
		text = err.Error()
	}
	return fmt.Errorf("it ended without an answer: %s", text)
}

// stop ends the process.
func (p *peerProcess) stop() {
	p.in.Close()
	_ = p.cmd.Process.Kill() // it may be gone
	_ = p.cmd.Wait()
}

// check returns an error unless the answer has the right number of weights or scores. If test < 0, no scores
// are allowed.
func (a answer) check(d, test int) error {
	v, want := a.Weights, d
	if len(v) == 0 && test >= 0 {
		v, want = a.Scores, test
	}
	if len(v) != want {
		return fmt.Errorf("the answer has %d weights and %d scores, but must have %d weights or %d scores", len(a.Weights),
			len(a.Scores), d, max(test, 0))
	}
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.New("the answer has numbers that are not finite")
		}
	}
	return nil
}

// tail keeps the end of the text that is written to it.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if len(t.text) > 4096 {
		t.text = append([]byte(nil), t.text[len(t.text)-4096:]...)
	}
	return len(b), nil
}

// last is the last line.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
