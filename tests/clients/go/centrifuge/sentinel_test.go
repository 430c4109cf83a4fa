package centrifuge

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"apus.test/clients/server"
	"github.com/centrifugal/centrifuge"
)

// TestCentrifugeSentinel kills the primary while nodes that ask three Sentinels for it publish and read. Replies wait
// for the replicas (min-replicas-ack), so every publication that was acknowledged is in its channel's history once,
// and each client gets all of them in order: subscriptions go on, or recover.
func TestCentrifugeSentinel(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server")
	}
	if os.Getenv("APUS_REFERENCE") == "1" {
		t.Skip("min-replicas-ack is Apus's")
	}
	for _, variant := range []variant{{name: "resp3"}, {name: "resp2", resp2: true}} {
		t.Run(variant.name, func(t *testing.T) { failoverInTheMiddle(t, variant) })
	}
}

func failoverInTheMiddle(t *testing.T, variant variant) {
	options := []string{"--min-replicas-ack", "1", "--min-replicas-ack-window", "10000", "--repl-diskless-sync-delay", "0"}
	old := server.Run(t, options...)
	_, port, err := net.SplitHostPort(old.Address)
	server.Must(t, err)
	for range 2 {
		server.Run(t, append(options, "--replicaof", "127.0.0.1 "+port)...)
	}
	var sentinels []string
	for range 3 {
		sentinels = append(sentinels, server.StartSentinel(t, old.Address))
	}
	for _, sentinel := range sentinels {
		server.Eventually(t, "the Sentinels know both replicas and each other", func() bool {
			replicas := askSentinel(sentinel, "REPLICAS")
			return strings.Count(replicas, "master-link-status\r\n$2\r\nok") == 2 &&
				strings.Count(replicas, "slave-priority\r\n$3\r\n100") == 2 &&
				strings.Count(askSentinel(sentinel, "SENTINELS"), "runid\r\n$40") == 2
		})
	}
	config := centrifuge.Config{
		ClientStaleCloseDelay:        server.Patience,
		ClientPresenceUpdateInterval: time.Second, ClientChannelPositionCheckDelay: time.Second,
	}
	shard := centrifuge.RedisShardConfig{
		SentinelAddresses: sentinels, SentinelMasterName: "mymaster", ForceRESP2: variant.resp2,
		ConnectTimeout: 5 * time.Second, IOTimeout: 5 * time.Second,
	}
	writer, reader := startOn(t, config, variant, shard), startOn(t, config, variant, shard)

	names := make([]string, channelCount)
	for i := range names {
		names[i] = fmt.Sprint("channel:", i)
	}
	progress := make(chan struct{}, channelCount*perChannel)
	published, read := make(chan error, channelCount), make(chan error, channelCount)
	for _, name := range names {
		first := make(chan struct{})
		go func() { read <- readAll(t, reader, name, first) }()
		go func() {
			<-first
			published <- publishAll(t, writer, name, progress)
		}()
	}
	for range channelCount * perChannel / 2 {
		receiveOf(t, progress, "publications go on")
	}
	old.Kill()
	for range names {
		server.Must(t, receiveOf(t, published, "all is published"))
	}
	for range names {
		server.Must(t, receiveOf(t, read, "all is read"))
	}
	if named := askSentinel(sentinels[0], "GET-MASTER-ADDR-BY-NAME"); strings.Contains(named, port) {
		t.Fatal("there was no failover")
	}
	checkHistories(t, writer, names)
}

// askSentinel returns what a Sentinel answers about mymaster, as bytes of the protocol; nothing when it does not answer.
func askSentinel(address, what string) string {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := fmt.Fprintf(conn, "SENTINEL %s mymaster\r\n", what); err != nil {
		return ""
	}
	var all strings.Builder
	// It ends with the time: the reply is small, and the Sentinel is on this machine.
	piece := make([]byte, 4096)
	for {
		n, err := conn.Read(piece)
		all.Write(piece[:n])
		if err != nil {
			return all.String()
		}
	}
}
