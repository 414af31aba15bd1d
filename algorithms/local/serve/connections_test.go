package serve

import (
	"net"
	"net/http"
	"testing"
)

type from struct {
	net.Conn
	at string
}

func (f from) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", f.at)
	return a
}

// A request in work keeps its place against others of its address, and the address with most gives one up to another.
func TestRequestsInWorkKeepTheirShare(t *testing.T) {
	c := newConnections(3)
	for range 3 {
		conn, _ := net.Pipe()
		f := &from{conn, "10.0.0.1:7"}
		c.watch(f, http.StateNew)
		c.watch(f, http.StateActive)
	}
	if c.gives("10.0.0.1") != nil {
		t.Error("a request in work was given up to its own address")
	}
	if c.gives("10.0.0.2") == nil {
		t.Error("an address with every place gave none up")
	}
}
