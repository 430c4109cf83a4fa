// Package server runs the apus binary, named by APUS_BIN, for tests.
package server

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
	"time"
)

// Patience ends tests that would otherwise hang; nothing is measured by it.
const Patience = 180 * time.Second

// FreePort returns a port that nobody listens on. It lies below those that the system gives to outgoing connections:
// none of them can take it, and none that waits for a server to listen can meet itself there.
func FreePort(t *testing.T) string {
	t.Helper()
	for {
		port := strconv.Itoa(10_240 + rand.IntN(32_768-10_240))
		probe, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			Must(t, probe.Close())
			return port
		}
	}
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
