package serve

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections keeps a server's connections to a number, whatever its clients do. When a
// new one comes to a full table, the one that has been without a whole request for longest
// is closed: idle ones and those that send headers slowly make room for clients that have something
// to say. If all have a request in work, which time-outs bound, the new one waits.
type connections struct {
	most int

	mu    sync.Mutex
	freed *sync.Cond // a place, or a quiet connection
	open  map[net.Conn]*list.Element
	quiet list.List // of net.Conn without a request in work, the longest first
}

func newConnections(most int) *connections {
	c := &connections{most: most, open: map[net.Conn]*list.Element{}}
	c.freed = sync.NewCond(&c.mu)
	return c
}

// watch is the ConnState of an http.Server, which calls it for a new connection before it
// accepts the next one.
func (c *connections) watch(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, known := c.open[conn]
	if place != nil {
		c.quiet.Remove(place)
	}
	switch state {
	case http.StateNew:
		for len(c.open) >= c.most {
			if oldest := c.quiet.Front(); oldest != nil {
				c.forget(c.quiet.Remove(oldest).(net.Conn))
				continue
			}
			c.freed.Wait()
		}
		c.open[conn] = c.quiet.PushBack(conn)
	case http.StateActive:
		if known {
			c.open[conn] = nil
		}
	case http.StateIdle:
		if known {
			c.open[conn] = c.quiet.PushBack(conn)
			c.freed.Signal()
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
		c.freed.Signal()
	}
}

// forget closes a connection. Below TLS, whose goodbye could wait for the client.
func (c *connections) forget(conn net.Conn) {
	delete(c.open, conn)
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	_ = conn.Close()
}
