package server

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Process is a server that a test may kill, and start again on its port and with its files.
type Process struct {
	Address string
	args    []string
	command *exec.Cmd
}

// Run starts a server of its own for t.
func Run(t *testing.T, options ...string) *Process {
	t.Helper()
	port := FreePort(t)
	args := append([]string{"serve", "--port", port, "--dir", t.TempDir(), "--save", ""}, options...)
	p := &Process{Address: net.JoinHostPort("127.0.0.1", port), args: args}
	t.Cleanup(p.Kill)
	p.Start(t)
	return p
}

// Kill ends the server as a crash would.
func (p *Process) Kill() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
	p.command = nil
}

// Start starts the server after it was killed, and waits until it accepts connections.
func (p *Process) Start(t *testing.T) {
	t.Helper()
	binary := os.Getenv("APUS_BIN")
	if binary == "" {
		t.Fatal("APUS_BIN must name the apus binary")
	}
	command := exec.Command(binary, p.args...)
	stdout, err := command.StdoutPipe()
	Must(t, err)
	command.Stderr = os.Stderr
	Must(t, command.Start())
	p.command = command
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
		Must(t, err)
	case <-Wait():
		t.Fatal("the server did not become ready")
	}
}
