package cases

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Peers holds the times of other programs, by method and size of the data. All times were measured
// on one machine. The zero value is empty.
type Peers struct {
	// CPU is the name of the processor, as CPUModel returns it.
	CPU  string
	best map[work]peer
}

// work holds the method and the sizes. Two lines are compared only if their work is equal.
type work struct {
	method string
	n, d   int
}

type peer struct {
	name      string
	processor float64 // seconds
}

// peerColumns is the first line of a file that is not a comment.
const peerColumns = "peer,method,n,d,wall_s,cpu_s"

// Read adds the times in a file of bench/peers. The file has lines with the columns peerColumns, and a
// comment "# cpu: NAME". The column d may be empty. Read returns an error if the file has other lines or
// lacks this comment, or if earlier times were measured on another processor.
func (p *Peers) Read(r io.Reader) error {
	cpu, started, s := "", false, bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		text := s.Text()
		if strings.HasPrefix(text, "#") {
			if name, ok := strings.CutPrefix(text, "# cpu: "); ok {
				cpu = name
			}
			continue
		}
		if !started && text == peerColumns {
			started = true
			continue
		}
		k, t, ok := parsePeer(text)
		if !started || !ok {
			return fmt.Errorf("cases: line %d of the peers' times: want comments, then %s", line, peerColumns)
		}
		if p.best == nil {
			p.best = map[work]peer{}
		}
		if old, ok := p.best[k]; !ok || t.processor < old.processor {
			p.best[k] = t
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("cases: the peers' times: %w", err)
	}
	if cpu == "" {
		return errors.New(`machine: the file with the times of other programs names no CPU; add the comment "# ` +
			`cpu: NAME"`)
	}
	if p.CPU != "" && p.CPU != cpu {
		return fmt.Errorf("cases: peers' times of %q and of %q", p.CPU, cpu)
	}
	p.CPU = cpu
	return nil
}

func parsePeer(text string) (work, peer, bool) {
	f := strings.Split(text, ",")
	if len(f) != 6 {
		return work{}, peer{}, false
	}
	n, err := strconv.Atoi(f[2])
	d := 0
	if err == nil && f[3] != "" {
		d, err = strconv.Atoi(f[3])
	}
	seconds, err2 := strconv.ParseFloat(f[5], 64)
	if err != nil || err2 != nil || !(seconds > 0) {
		return work{}, peer{}, false
	}
	return work{f[1], n, d}, peer{f[0], seconds}, true
}

// fastest returns the fastest peer of a line, and its processor time divided by the line's. It returns zeros if
// there is no peer.
func (p Peers) fastest(l Line) (string, float64) {
	best, ok := p.best[work{l.Method, l.N, l.D}]
	if !ok {
		return "", 0
	}
	return best.name, best.processor / max(l.Processor, clockStep)
}
