//go:build unix

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dyad/algorithms/local/serve"
	"dyad/internal/crash"
	"dyad/internal/must"
)

// The program as server is killed again and again, and clients of the program lose
// their connections and are killed after each of their stages. In the end every user
// has exactly one message in each epoch, nobody remembers two, and another server on
// the same directory has the same state.
func TestLocalCrash(t *testing.T) {
	const users, kills = 3, 2 // more of them in algorithms/local/serve
	f := &fixture{dir: clinic(t, 40)}
	must.Do(t, os.Mkdir(f.in("tmp"), 0o700))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	serving := []string{"local", "server", "--dir", f.in("study"), "-n", fmt.Sprint(users), "--schema", f.in("patients.yaml"), "--epochs", "2", "--listen", address}
	start := func() *crash.Child { return f.start(t, crash.Spec{Args: serving, Stage: "start"}) }
	server := start()
	var wait sync.WaitGroup
	for u := range users {
		wait.Go(func() {
			args := []string{"local", "client", "--server", "http://" + address, "--data", f.in("patients.csv"), "--schema", f.in("patients.yaml"),
				"--row", fmt.Sprint(u + 1), "--user", fmt.Sprint("u", u), "--memory", f.in(fmt.Sprintf("u%d.json", u)), "--max-epsilon", "2", "--follow", "--poll", "20ms"}
			// Some die after they have drawn a message, some after they have sent it.
			if stage := []string{"", "message remembered", "message sent"}[u%3]; stage != "" {
				for range 2 {
					if e := f.start(t, crash.Spec{Args: args, Stage: stage, Fault: "kill"}).End(); e.Code != killed {
						t.Errorf("user %d: a client to be killed at %q ended with %d: %s", u, stage, e.Code, e.Stderr)
					}
				}
			}
			e := f.start(t, crash.Spec{Args: args, Stage: "start"}).End()
			e.Want(t, fmt.Sprint("user ", u), exitOK, "all epochs are over")
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	for range kills {
		select {
		case <-done:
		case <-time.After(150 * time.Millisecond):
		}
		_ = server.Process.Kill()
		server.End()
		server = start()
	}
	<-done
	var before serve.PublicState
	for range 100 {
		if before, err = (serve.Remote{URL: "http://" + address}).State(context.Background()); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil || !before.Done || before.Visits != int64(2*users) {
		t.Errorf("final state %+v, %v, want %d visits", before, err, 2*users)
	}
	must.Do(t, server.Process.Signal(syscall.SIGTERM))
	server.End().Want(t, "server after SIGTERM", exitOK, "stopping")
	log := slices.DeleteFunc(strings.Split(strings.TrimSpace(f.get(t, "study/messages.log")), "\n")[1:], func(line string) bool {
		return strings.HasSuffix(line, " batch")
	})
	for u := range users {
		m := must.Get(serve.OpenMemory(f.in(fmt.Sprintf("u%d.json", u))))(t)
		m.Close()
		if len(m.Messages()) != 2 || m.Spent() != 2 {
			t.Errorf("user %d remembers %d messages of epsilon %v", u, len(m.Messages()), m.Spent())
		}
		for _, a := range m.Messages() { // the one on the server is the one drawn
			if n := len(slices.DeleteFunc(slices.Clone(log), func(line string) bool { return !strings.Contains(line, a.Message.Seed) })); n != 1 {
				t.Errorf("user %d, epoch %d: the server has the message %d times", u, a.Epoch, n)
			}
		}
	}
	if len(log) != 2*users {
		t.Errorf("the server has %d messages, want %d", len(log), 2*users)
	}
	check := f.start(t, crash.Spec{Args: append([]string{"--json"}, append(serving, "--check")...), Stage: "start"}).End()
	check.Want(t, "check", exitOK, "")
	for _, w := range before.Model {
		text, err := json.Marshal(w) // writes 7e-6 where Sprint writes 7e-06
		if err != nil || !strings.Contains(check.Stdout, string(text)) {
			t.Errorf("weight %v is not in the state of the next server", w)
		}
	}
	if files, _ := filepath.Glob(f.in("study/*")); len(files) != 2 {
		t.Errorf("the directory has %v, want log and lock", files)
	}
}
