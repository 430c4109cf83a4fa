// Package clients runs go-redis against the whole apus binary, named by APUS_BIN.
package clients

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience ends tests that would otherwise hang; nothing is measured by it.
const patience = 20 * time.Second

// start runs a server of its own for t and returns its address.
func start(t *testing.T, options ...string) string {
	t.Helper()
	binary := os.Getenv("APUS_BIN")
	if binary == "" {
		t.Fatal("APUS_BIN must name the apus binary")
	}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := probe.Addr().String()
	must(t, probe.Close())
	_, port, err := net.SplitHostPort(address)
	must(t, err)

	args := append([]string{"serve", "--port", port, "--dir", t.TempDir(), "--save", ""}, options...)
	command := exec.Command(binary, args...)
	stdout, err := command.StdoutPipe()
	must(t, err)
	command.Stderr = os.Stderr
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})

	ready := make(chan error, 1)
	go func() {
		var log strings.Builder
		lines := bufio.NewScanner(stdout)
		told := false
		for lines.Scan() { // To the end, so that the server never blocks on its log.
			if told {
				continue
			}
			fmt.Fprintln(&log, lines.Text())
			if strings.Contains(lines.Text(), "Ready to accept connections") {
				ready <- nil
				told = true
			}
		}
		if !told {
			ready <- fmt.Errorf("the server ended before it was ready:\n%s", log.String())
		}
	}()
	select {
	case err := <-ready:
		must(t, err)
	case <-time.After(patience):
		t.Fatal("the server did not become ready")
	}
	return address
}

// bothProtocols runs test over RESP2 and RESP3, each on an empty server.
func bothProtocols(t *testing.T, test func(t *testing.T, ctx context.Context, r *redis.Client)) {
	address := start(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("resp%d", protocol), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			r := redis.NewClient(&redis.Options{Addr: address, Protocol: protocol})
			defer r.Close()
			must(t, r.FlushAll(ctx).Err())
			test(t, ctx, r)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same fails t when a reply is not the expected value, or is an error.
func same[T comparable](t *testing.T, reply interface{ Result() (T, error) }, expected T) {
	t.Helper()
	actual, err := reply.Result()
	if err != nil {
		t.Fatalf("%v: %v", reply, err)
	}
	if actual != expected {
		t.Fatalf("%v instead of %v", reply, expected)
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not so: %s", what)
		}
	}
}
