// Package clients runs go-redis, and libraries built on it, against the whole apus binary.
package clients

import (
	"context"
	"fmt"
	"testing"

	"apus.test/clients/server"
	"github.com/redis/go-redis/v9"
)

const patience = server.Patience

var (
	start      = server.Start
	must       = server.Must
	eventually = server.Eventually
)

// bothProtocols runs test over RESP2 and RESP3, each on an empty server.
func bothProtocols(t *testing.T, test func(t *testing.T, ctx context.Context, r *redis.Client)) {
	address := start(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("resp%d", protocol), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			// A command that was sent twice, since the first one seemed lost, would be executed twice.
			r := redis.NewClient(&redis.Options{
				Addr: address, Protocol: protocol, MaxRetries: -1,
				DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience,
			})
			defer r.Close()
			must(t, r.FlushAll(ctx).Err())
			test(t, ctx, r)
		})
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
