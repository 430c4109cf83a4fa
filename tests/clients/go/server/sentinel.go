package server

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// StartSentinel runs a real redis-sentinel that watches one primary as mymaster, and returns its address.
func StartSentinel(t *testing.T, primary string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(primary)
	Must(t, err)
	own := FreePort(t)
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	conf := fmt.Sprintf("port %s\nsentinel monitor mymaster %s %s 2\n"+
		"sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n", own, host, port)
	Must(t, os.WriteFile(file, []byte(conf), 0o600))
	command := exec.Command("redis-server", file, "--sentinel")
	Must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return net.JoinHostPort("127.0.0.1", own)
}
