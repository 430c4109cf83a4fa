// Package server runs the apus binary, named by APUS_BIN, for tests.
package server

import (
	"net"
	"testing"
	"time"
)

// Patience ends tests that would otherwise hang; nothing is measured by it.
const Patience = 180 * time.Second

// FreePort returns a port that the system gives to no other process for a minute: a connection to it,
// closed by its own side, waits in TIME_WAIT. A server that sets SO_REUSEADDR may listen there.
func FreePort(t *testing.T) string {
	t.Helper()
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	client, err := net.Dial("tcp", probe.Addr().String())
	Must(t, err)
	accepted, err := probe.Accept()
	Must(t, err)
	Must(t, accepted.Close())
	Must(t, client.Close())
	Must(t, probe.Close())
	_, port, err := net.SplitHostPort(probe.Addr().String())
	Must(t, err)
	return port
}

// Start runs a server of its own for t and returns its address.
func Start(t *testing.T, options ...string) string {
	t.Helper()
	return Run(t, options...).Address
}

// Wait is over when Patience is.
func Wait() <-chan time.Time {
	return time.After(Patience)
}

// Must fails t when there is an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually polls until the condition holds; the condition is asserted, not its speed.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not so: %s", what)
		}
	}
}
