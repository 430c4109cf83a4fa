package server

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Link passes on what clients and a server say, until it is cut.
type Link struct {
	Address string
	lock    sync.Mutex
	open    map[net.Conn]bool
}

// NewLink is a way to the server at an address.
func NewLink(t *testing.T, to string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	l := &Link{Address: listener.Addr().String(), open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = listener.Close()
		l.Cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil { // It is down.
				_ = client.Close()
				continue
			}
			l.lock.Lock()
			l.open[client], l.open[server] = true, true
			l.lock.Unlock()
			go l.pass(client, server)
			go l.pass(server, client)
		}
	}()
	return l
}

func (l *Link) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = to.Close(), from.Close()
	l.lock.Lock()
	defer l.lock.Unlock()
	delete(l.open, to)
	delete(l.open, from)
}

// Cut breaks all connections; new ones work.
func (l *Link) Cut() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for connection := range l.open {
		_ = connection.Close()
	}
}
