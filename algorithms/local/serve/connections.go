package serve

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// connections limits the number of a server's connections, whatever its clients do. If a new connection comes
// to a full table, a connection without a whole request is closed. It is the oldest of these connections that
// belongs to the address with the most open connections. So idle connections, and connections that send
// headers or a body slowly, make room for clients with a request. Time-outs limit how long a request can be in
// work. If all connections have a request in work, the address with the most connections loses a connection to
// the new address, provided that the new address has at least two connections fewer. So each address has its
// share. Otherwise the new connection waits.
type connections struct {
	most int

	mu    sync.Mutex
	freed *sync.Cond // signals a free place, or a quiet connection
	open  map[net.Conn]*list.Element
	quiet list.List      // of net.Conn without a whole request, the longest waiting first
	busy  list.List      // of all other net.Conn
	of    map[string]int // the number of open connections of an address
}

// address returns the address that connections are counted by. It is an IPv4 address or a 64-bit IPv6 network,
// which is what one customer gets.
func address(conn net.Conn) string {
	text := conn.RemoteAddr().String()
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return text
	}
	if ip := at.Addr().Unmap(); ip.Is6() {
		if p, err := ip.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	} else {
		return ip.String()
	}
	return text
}

func newConnections(most int) *connections {
	c := &connections{most: most, open: map[net.Conn]*list.Element{}, of: map[string]int{}}
	c.freed = sync.NewCond(&c.mu)
	return c
}

// watch is the ConnState of an http.Server. The server calls it for a new connection before it accepts the next
// connection.
func (c *connections) watch(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		for len(c.open) >= c.most {
			if gives := c.gives(address(conn)); gives != nil {
				c.forget(gives)
				continue
			}
			c.freed.Wait()
		}
		c.open[conn] = c.quiet.PushBack(conn)
		c.of[address(conn)]++
	case http.StateActive:
		c.move(conn, &c.busy)
	case http.StateIdle:
		c.move(conn, &c.quiet)
	case http.StateClosed, http.StateHijacked:
		c.remove(conn)
		c.freed.Signal()
	}
}

// gives returns the connection that makes room for a connection of an address, or nil if there is no such connection.
func (c *connections) gives(to string) net.Conn {
	first := func(l *list.List, above int) (conn net.Conn) { // of the address with the most connections
		for e := l.Front(); e != nil; e = e.Next() {
			if n := c.of[address(e.Value.(net.Conn))]; n > above {
				conn, above = e.Value.(net.Conn), n
			}
		}
		return conn
	}
	if conn := first(&c.quiet, 0); conn != nil {
		return conn
	}
	return first(&c.busy, c.of[to]+1)
}

// move puts a connection into one of the lists.
func (c *connections) move(conn net.Conn, to *list.List) {
	place := c.open[conn]
	if place == nil { // the connection was closed by forget
		return
	}
	c.quiet.Remove(place) // only one of the lists has it
	c.busy.Remove(place)
	c.open[conn] = to.PushBack(conn)
	if to == &c.quiet {
		c.freed.Signal()
	}
}

func (c *connections) remove(conn net.Conn) {
	place := c.open[conn]
	if place == nil {
		return
	}
	c.quiet.Remove(place)
	c.busy.Remove(place)
	delete(c.open, conn)
	if at := address(conn); c.of[at] > 1 {
		c.of[at]--
	} else {
		delete(c.of, at)
	}
}

// forget closes a connection. It closes the connection below TLS, because the goodbye of TLS could wait for the client.
func (c *connections) forget(conn net.Conn) {
	c.remove(conn)
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	_ = conn.Close()
}

// place is a connection in its table. The handler of its requests uses it.
type place struct {
	table *connections
	conn  net.Conn
}

type placeKey struct{}

// context is the ConnContext of an http.Server.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, placeKey{}, place{c, conn})
}

// awaits sets whether the body of a request is still awaited. While it is awaited, the connection makes room
// for others.
func awaits(ctx context.Context, body bool) {
	p, ok := ctx.Value(placeKey{}).(place)
	if !ok {
		return
	}
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	to := &p.table.busy
	if body {
		to = &p.table.quiet
	}
	p.table.move(p.conn, to)
}
