package clients

import (
	"context"
	"net"
	"os/exec"
	"testing"
	"time"

	"apus.test/clients/server"
	"github.com/redis/go-redis/v9"
)

// until tries again until condition holds.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	end := time.Now().Add(server.Patience)
	for !condition() {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// The client asks the Sentinels for the primary, and follows a failover that one of them is told to make.
func TestSentinel(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server")
	}
	ctx := context.Background()
	old := server.Start(t, "--repl-diskless-sync-delay", "0")
	_, port, err := net.SplitHostPort(old)
	server.Must(t, err)
	next := server.Start(t, "--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1 "+port)
	var addresses []string
	var first *redis.SentinelClient
	for range 3 {
		address := server.StartSentinel(t, old)
		addresses = append(addresses, address)
		first = redis.NewSentinelClient(&redis.Options{Addr: address})
		t.Cleanup(func() { _ = first.Close() })
	}
	until(t, "the Sentinels know all", func() bool {
		replicas, err := first.Replicas(ctx, "mymaster").Result()
		others, err2 := first.Sentinels(ctx, "mymaster").Result()
		return err == nil && err2 == nil && len(replicas) == 1 && len(others) == 2
	})
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: addresses})
	t.Cleanup(func() { _ = client.Close() })
	for i := range 100 {
		server.Must(t, client.RPush(ctx, "list", i).Err())
	}
	server.Must(t, client.Wait(ctx, 1, server.Patience).Err())
	until(t, "the replica is the primary", func() bool {
		_ = first.Failover(ctx, "mymaster").Err() // An error while one goes on.
		time.Sleep(time.Second)
		named, err := first.GetMasterAddrByName(ctx, "mymaster").Result()
		return err == nil && len(named) == 2 && net.JoinHostPort("127.0.0.1", named[1]) == next
	})
	until(t, "the client writes to the new primary", func() bool {
		direct := redis.NewClient(&redis.Options{Addr: next})
		defer func() { _ = direct.Close() }()
		return client.Set(ctx, "k", "after", 0).Err() == nil && direct.Get(ctx, "k").Val() == "after"
	})
	if n := client.LLen(ctx, "list").Val(); n != 100 {
		t.Fatalf("%d elements", n)
	}
}
