package command

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyad/algorithms/local/serve"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// certificate writes a self-signed certificate for a host or address to dir.
func certificate(t *testing.T, dir, name, host string) (cert, key string) {
	t.Helper()
	secret := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret))(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(secret))(t)
	write(t, dir, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, dir, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
}

// answerAs runs "dyad local client" for a user with a memory of their own.
func answerAs(t *testing.T, dir, address, user string, more ...string) result {
	t.Helper()
	args := []string{"local", "client", "--server", address, "--data", "patients.csv", "--schema", "patients.yaml",
		"--user", user, "--memory", user + ".json", "--max-epsilon", "2"}
	return ran(t, dir, append(args, more...)...)
}

// nothingSent says that nothing was drawn for a user and nothing is with the server.
func nothingSent(t *testing.T, what, dir, user string, st serve.PublicState, err error) {
	t.Helper()
	if _, missing := os.Stat(filepath.Join(dir, user+".json")); missing == nil || err != nil || st.Visits != 0 {
		t.Errorf("%s: the memory exists or the server has %d messages (%v)", what, st.Visits, err)
	}
}

// A client sends to the host of --server and no other: the certificate must come from
// --ca and name the host.
func TestLocalServerTLS(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 60)
	cert, key := certificate(t, dir, "right", "127.0.0.1")
	other, otherKey := certificate(t, dir, "wrong", "study.example.org")
	serving := []string{"-n", "5", "--schema", "patients.yaml", "--epochs", "2"}
	with := func(more ...string) []string { return append(append([]string(nil), serving...), more...) }
	address, stop := localServer(t, dir, with("--dir", "one", "--cert", cert, "--key", key)...)
	if !strings.HasPrefix(address, "https://") {
		t.Fatalf("address %s with a certificate", address)
	}
	state := func(ca, address string) (serve.PublicState, error) {
		remote := must.Get(caFlag{CA: ca}.remote(address))(t)
		return remote.State(context.Background())
	}
	for what, c := range map[string][]string{"no --ca": nil, "another authority": {"--ca", other}} {
		answerAs(t, dir, address, "u", c...).exits(exitInput).says("--ca")
		st, err := state(cert, address)
		nothingSent(t, what, dir, "u", st, err)
	}
	if r := answerAs(t, dir, strings.Replace(address, "https", "http", 1), "u", "--ca", cert); r.code == exitOK {
		t.Errorf("plain HTTP to a TLS server: %s", r.out)
	}
	answerAs(t, dir, address, "u", "--ca", "patients.csv").exits(exitInput).says("no certificate")
	answerAs(t, dir, address, "u", "--ca", cert).exits(exitOK).says("the server accepted the message")
	must.Equal(t, stop(), exitOK, "exit")
	// The certificate of another host, though its authority is trusted.
	address, stop = localServer(t, dir, with("--dir", "two", "--cert", other, "--key", otherKey)...)
	answerAs(t, dir, address, "v", "--ca", other).exits(exitInput).says("127.0.0.1")
	must.Err(os.Stat(filepath.Join(dir, "v.json")))(t, "a message was drawn for a server of another name")
	stop()
	for _, c := range map[string][]string{
		"--cert without --key": {"--cert", cert}, "key of another certificate": {"--cert", cert, "--key", otherKey},
		"no certificate": {"--cert", "patients.csv", "--key", key},
	} {
		ran(t, dir, append([]string{"local", "server", "--check", "--dir", "three"}, with(c...)...)...).exits(exitInput)
	}
}

// Beyond the rate a message is refused, changes nothing, and is accepted later as it was.
func TestLocalServerRate(t *testing.T) {
	dir := clinic(t, 60)
	serving := []string{"--dir", "study", "-n", "5", "--schema", "patients.yaml", "--epochs", "2"}
	address, stop := localServer(t, dir, append(serving, "--messages-per-second", "0.001")...)
	answerAs(t, dir, address, "a").exits(exitOK)
	log := must.Get(os.ReadFile(filepath.Join(dir, "study", "messages.log")))(t)
	answerAs(t, dir, address, "b").exits(exitResource).says("429")
	if again, err := os.ReadFile(filepath.Join(dir, "study", "messages.log")); err != nil || !bytes.Equal(log, again) {
		t.Errorf("a message beyond the rate is in the log (%v)", err)
	}
	remote := serve.Remote{URL: address}
	if st, err := remote.State(context.Background()); err != nil || st.Visits != 1 {
		t.Errorf("state %+v, %v after one message", st, err)
	}
	must.Equal(t, stop(), exitOK, "exit")
	var kept memoryFile
	text, err := os.ReadFile(filepath.Join(dir, "b.json"))
	if err != nil || json.Unmarshal(text, &kept) != nil || len(kept.Answers) != 1 {
		t.Fatalf("the refused client remembers %s, %v", text, err)
	}
	address, stop = localServer(t, dir, append(serving, "--messages-per-second", "1000")...)
	defer stop()
	answerAs(t, dir, address, "b").exits(exitOK)
	if log, err = os.ReadFile(filepath.Join(dir, "study", "messages.log")); err != nil ||
		!strings.Contains(string(log), kept.Answers[0].Message.Seed) {
		t.Errorf("the server has another message than the one remembered (%v)", err)
	}
}

// made is a message for a plan, as JSON.
func made(t *testing.T, dir, user string, plan ...string) string {
	t.Helper()
	mustRun(t, dir, append([]string{"local", "plan", "--out", "p.json", "--force"}, plan...)...)
	r := decoded[localAnswer](t, dir, "--json", "local", "client", "--protocol", "p.json", "--data", "patients.csv",
		"--schema", "patients.yaml",
		"--user", user, "--memory", user+"-made.json", "--max-epsilon", "9")
	text := must.Get(json.Marshal(r.Message))(t)
	return string(text)
}

func post(t *testing.T, address, body string, headers ...string) int {
	t.Helper()
	request := must.Get(http.NewRequest(http.MethodPost, address+"/v1/messages", strings.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	r := must.Get(http.DefaultClient.Do(request))(t)
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}

// A body and a header have a largest size; what is larger is not read and changes
// nothing, what is just as large counts.
func TestLocalServerBounds(t *testing.T) {
	dir := clinic(t, 60)
	plan := []string{"-n", "5", "--schema", "patients.yaml", "--epochs", "2"}
	message := made(t, dir, "a", plan...)
	address, stop := localServer(t, dir, append(plan, "--dir", "study")...)
	defer stop()
	visits := func() int64 {
		st := must.Get(serve.Remote{URL: address}.State(context.Background()))(t)
		return st.Visits
	}
	const most = 4096
	padded := func(n int) string { return strings.Repeat(" ", n-len(message)) + message }
	for _, n := range []int{most + 1, 10 * most, 1 << 22} {
		must.Equal(t, post(t, address, padded(n)), http.StatusRequestEntityTooLarge, "a body of %d bytes: status", n)
	}
	must.Equal(t, post(t, address, message, "X-Long", strings.Repeat("x", 64<<10)), http.StatusRequestHeaderFieldsTooLarge,
		"a header of 64 KiB: status")
	must.Equal(t, visits(), 0, "oversized messages were counted")
	if code := post(t, address, padded(most)); code != http.StatusOK || visits() != 1 {
		t.Errorf("a body of %d bytes: status %d, %d messages", most, code, visits())
	}
}

// A message that is on its way when the server is interrupted is taken, acknowledged and
// there after a restart; later ones find no server.
func TestLocalServerFinishesItsWork(t *testing.T) {
	dir := clinic(t, 60)
	plan := []string{"-n", "5", "--schema", "patients.yaml", "--epochs", "2"}
	message := made(t, dir, "a", plan...)
	address, stop := localServer(t, dir, append(plan, "--dir", "study")...)
	connection := must.Get(net.Dial("tcp", strings.TrimPrefix(address, "http://")))(t)
	defer connection.Close()
	// The server asks for the body when the request is in work.
	fmt.Fprintf(connection, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(message))
	answer := bufio.NewReader(connection)
	if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v, want 100 Continue", line, err)
	}
	must.Get(answer.ReadString('\n'))(t)
	must.Get(io.WriteString(connection, message[:20]))(t)
	ended := make(chan int, 1)
	go func() { ended <- stop() }()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		late, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
		if err != nil {
			break // it listens no more
		}
		late.Close()
		if time.Since(began) > 8*time.Second {
			t.Fatal("an interrupted server still listens")
		}
	}
	select {
	case code := <-ended:
		t.Fatalf("the server ended with %d while a message was on its way", code)
	default:
	}
	answerAs(t, dir, address, "late").exits(exitResource)
	must.Get(io.WriteString(connection, message[20:]))(t)
	r, err := http.ReadResponse(answer, nil)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("the message on its way: %v, %v", r, err)
	}
	r.Body.Close()
	must.Equal(t, <-ended, exitOK, "exit")
	check := decoded[localServerState](t, dir, append([]string{"--json", "local", "server", "--check", "--dir", "study"},
		plan...)...)
	must.Equal(t, check.State.Visits, 1, "%+v", check)
}

// With --tokens nobody can send in the place of another, or see how often they did.
func TestLocalServerTokens(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 60)
	serving := []string{"-n", "5", "--schema", "patients.yaml", "--epochs", "2"}
	for name, args := range map[string][]string{"study.json": serving, "later.json": append(serving, "--epsilon", "0.5")} {
		mustRun(t, dir, append([]string{"local", "plan", "--out", name}, args...)...)
	}
	token := func(key, user string) string {
		out := mustRun(t, dir, "local", "token", "--protocol", "study.json", "--key", key, user)
		write(t, dir, user+"-"+key, out)
		return user + "-" + key
	}
	alice, bob := token("tokens.key", "alice"), token("tokens.key", "bob")
	stranger := token("other.key", "alice")
	write(t, dir, "later.token", mustRun(t, dir, "local", "token", "--protocol", "later.json", "--key", "tokens.key", "alice"))
	serving = append(serving, "--dir", "study")
	address, stop := localServer(t, dir, append(serving, "--tokens", "tokens.key", "--messages-per-second", "0.001")...)
	visits := func(user, file string) (int, error) {
		words := must.Get(serve.ReadToken(filepath.Join(dir, file)))(t)
		request := must.Get(http.NewRequest(http.MethodGet, address+"/v1/users/"+user, nil))(t)
		request.Header.Set("Authorization", "Bearer "+words)
		r := must.Get(http.DefaultClient.Do(request))(t)
		defer r.Body.Close()
		var seen struct {
			Visits int `json:"user_visits"`
		}
		if r.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("status %d", r.StatusCode)
		}
		return seen.Visits, json.NewDecoder(r.Body).Decode(&seen)
	}
	log := func() string {
		text := must.Get(os.ReadFile(filepath.Join(dir, "study", "messages.log")))(t)
		return string(text)
	}
	empty := log()
	// Mallory has a token, but not that of alice.
	for _, more := range map[string][]string{"no token": nil, "the token of bob": {"--token", bob},
		"a token of another key": {"--token", stranger}, "a token of another study": {"--token", "later.token"}} {
		answerAs(t, dir, address, "alice", append(more, "--memory", "mallory.json")...).exits(exitFailure).says("403")
	}
	for _, header := range []string{"", "Bearer", "Bearer ", "Basic YTpi", "Bearer ====", "Bearer " +
		strings.Repeat("A", 43)} {
		must.Equal(t, post(t, address, `{"user":"alice","epoch":1,"takes":true}`, "Dyad-User", "alice", "Authorization",
			header), http.StatusForbidden, "authorization %q: status", header)
	}
	must.Equal(t, log(), empty, "a message without its token is in the log")
	if n, err := visits("alice", alice); n != 0 || err != nil {
		t.Errorf("alice was charged %d visits (%v) for the messages of others", n, err)
	}
	must.Err(visits("alice", bob))(t, "bob can see the visits of alice")
	// What was refused did not use up the rate of one message.
	answerAs(t, dir, address, "alice", "--token", alice).exits(exitOK)
	if n, err := visits("alice", alice); n != 1 || err != nil {
		t.Errorf("alice: %d visits, %v, want 1", n, err)
	}
	answerAs(t, dir, address, "bob", "--token", bob).exits(exitResource).says("429")
	stop()
	// Control: a server without --tokens takes the message of anybody.
	address, stop = localServer(t, dir, serving...)
	defer stop()
	answerAs(t, dir, address, "carol").exits(exitOK)
	answerAs(t, dir, "http://learn.invalid", "carol", "--token", alice).exits(exitInput).says("unencrypted")
	write(t, dir, "empty.json", "{}")
	for _, args := range map[string][]string{
		"a key that is none": {"local", "server", "--check", "--tokens", "patients.csv", "--dir", "x", "-n",
			"5", "-d", "2"},
		"no key": {"local", "server", "--check", "--tokens", "none.key", "--dir", "x", "-n", "5", "-d", "2"},
		"an id of 129 bytes": {"local", "token", "--protocol", "study.json", "--key", "tokens.key",
			strings.Repeat("u", 129)},
		"a damaged key": {"local", "token", "--protocol", "study.json", "--key", "patients.csv", "u"},
		"a token that is none": {"local", "client", "--server", address, "--token", "patients.csv", "--data", "patients.csv",
			"--schema", "patients.yaml", "--user", "x", "--memory", "x.json", "--max-epsilon", "9"},
		"an id of 0 bytes":      {"local", "token", "--protocol", "study.json", "--key", "tokens.key", ""},
		"a key in no directory": {"local", "token", "--protocol", "study.json", "--key", "none/tokens.key", "u"},
		"no protocol":           {"local", "token", "--key", "tokens.key", "u"},
		"protocol that is none": {"local", "token", "--protocol", "patients.csv", "--key", "tokens.key", "u"},
		"an empty protocol":     {"local", "token", "--protocol", "empty.json", "--key", "tokens.key", "u"},
		"a key on a device":     {"local", "server", "--check", "--tokens", os.DevNull, "--dir", "x", "-n", "5", "-d", "2"},
	} {
		ran(t, dir, args...).exits(exitInput)
	}
	if info, err := os.Stat(filepath.Join(dir, "tokens.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file has mode %v (%v)", info.Mode(), err)
	}
}
