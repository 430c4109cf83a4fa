package clients

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// blocked waits until count clients of the server block.
func blocked(t *testing.T, ctx context.Context, r *redis.Client, count int) {
	t.Helper()
	eventually(t, fmt.Sprint(count, " clients block"), func() bool {
		return done(r.InfoMap(ctx, "clients"))["Clients"]["blocked_clients"] == fmt.Sprint(count)
	})
}

func TestBlockingCommandsAreServed(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		const wait = patience
		for _, test := range []struct {
			call, serve func() (any, error)
			expected    any
		}{
			{
				func() (any, error) { return r.BLPop(ctx, wait, "l", "m").Result() },
				func() (any, error) { return r.RPush(ctx, "m", 1).Result() },
				[]string{"m", "1"},
			},
			{
				func() (any, error) { return r.BRPop(ctx, wait, "l").Result() },
				func() (any, error) { return r.RPush(ctx, "l", 1, 2).Result() },
				[]string{"l", "2"},
			},
			{
				func() (any, error) { return r.BLMove(ctx, "s", "d", "LEFT", "RIGHT", wait).Result() },
				func() (any, error) { return r.LPush(ctx, "s", 1).Result() },
				"1",
			},
			{
				func() (any, error) { return r.BRPopLPush(ctx, "t", "d", wait).Result() },
				func() (any, error) { return r.LPush(ctx, "t", 1).Result() },
				"1",
			},
			{
				func() (any, error) {
					key, values, err := r.BLMPop(ctx, wait, "RIGHT", 2, "p", "q").Result()
					return append(values, key), err
				},
				func() (any, error) { return r.RPush(ctx, "q", 1, 2, 3).Result() },
				[]string{"3", "2", "q"},
			},
			{
				func() (any, error) { return r.BZPopMin(ctx, wait, "z").Result() },
				func() (any, error) { return r.ZAdd(ctx, "z", z("a", 1), z("b", 2)).Result() },
				&redis.ZWithKey{Key: "z", Z: z("a", 1)},
			},
			{
				func() (any, error) { return r.BZPopMax(ctx, wait, "y").Result() },
				func() (any, error) { return r.ZAdd(ctx, "y", z("a", 1), z("b", 2)).Result() },
				&redis.ZWithKey{Key: "y", Z: z("b", 2)},
			},
			{
				func() (any, error) {
					_, members, err := r.BZMPop(ctx, wait, "MAX", 2, "x").Result()
					return members, err
				},
				func() (any, error) { return r.ZAdd(ctx, "x", z("a", 1), z("b", 2)).Result() },
				[]redis.Z{z("b", 2), z("a", 1)},
			},
		} {
			result := make(chan any, 1)
			go func() {
				value, err := test.call()
				if err != nil {
					value = err
				}
				result <- value
			}()
			blocked(t, ctx, r, 1)
			_, err := test.serve()
			must(t, err)
			alike(t, <-result, test.expected)
			blocked(t, ctx, r, 0)
		}
	})
}

func TestBlockingReadersOfAStream(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		must(t, r.XGroupCreateMkStream(ctx, "s", "g", "$").Err())
		results := make(chan []redis.XStream, 2)
		keep := func(streams []redis.XStream, err error) {
			if err != nil {
				t.Error(err)
			}
			results <- streams
		}
		go func() {
			keep(r.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "$"}, Block: patience}).Result())
		}()
		go func() {
			keep(r.XReadGroup(ctx, &redis.XReadGroupArgs{
				Group: "g", Consumer: "me", Streams: []string{"s", ">"}, Block: patience,
			}).Result())
		}()
		blocked(t, ctx, r, 2)
		id := done(r.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: map[string]any{"n": 1}}))
		for range 2 {
			alike(t, <-results, []redis.XStream{{
				Stream: "s", Messages: []redis.XMessage{{ID: id, Values: map[string]any{"n": "1"}}},
			}})
		}
		alike(t, done(r.XPending(ctx, "s", "g")).Count, int64(1))
	})
}

func TestTimeouts(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		// go-redis sends whole seconds, rounded up, to some of these.
		started := time.Now()
		if err := r.BLPop(ctx, time.Second, "l").Err(); !errors.Is(err, redis.Nil) {
			t.Fatalf("BLPOP gave %v", err)
		}
		if waited := time.Since(started); waited < time.Second {
			t.Fatalf("BLPOP gave up after %v", waited)
		}
		if err := r.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "$"}, Block: time.Millisecond}).Err(); !errors.Is(err, redis.Nil) {
			t.Fatalf("XREAD gave %v", err)
		}
	})
}

// A worker pool as it is written in Go: every job is done by exactly one of the workers.
func TestWorkersShareAQueue(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		const workers, jobs = 8, 400
		results := make(chan string, jobs)
		for range workers {
			go func() {
				for {
					job, err := r.BLMove(ctx, "queue", "doing", "RIGHT", "LEFT", 0).Result()
					if err != nil || job == "stop" {
						results <- "stopped"
						return
					}
					if n := r.LRem(ctx, "doing", 1, job).Val(); n != 1 {
						t.Errorf("%s was in the list %d times", job, n)
					}
					results <- job
				}
			}()
		}
		for i := range jobs {
			must(t, r.LPush(ctx, "queue", fmt.Sprint("job", i)).Err())
		}
		for range workers {
			must(t, r.LPush(ctx, "queue", "stop").Err())
		}
		seen, stopped := map[string]int{}, 0
		for stopped < workers {
			switch result := <-results; result {
			case "stopped":
				stopped++
			default:
				seen[result]++
			}
		}
		for i := range jobs {
			alike(t, seen[fmt.Sprint("job", i)], 1)
		}
	})
}

func TestClientUnblock(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		conn := r.Conn()
		defer conn.Close()
		id := done(conn.ClientID(ctx))
		for _, withError := range []bool{false, true} {
			result := make(chan error, 1)
			go func() { result <- conn.BLPop(ctx, 0, "l").Err() }()
			blocked(t, ctx, r, 1)
			if withError {
				same(t, r.ClientUnblockWithError(ctx, id), int64(1))
				if err := <-result; err == nil || err.Error() != "UNBLOCKED client unblocked via CLIENT UNBLOCK" {
					t.Fatalf("the blocked call gave %v", err)
				}
			} else {
				same(t, r.ClientUnblock(ctx, id), int64(1))
				if err := <-result; !errors.Is(err, redis.Nil) {
					t.Fatalf("the blocked call gave %v", err)
				}
			}
			same(t, r.ClientUnblock(ctx, id), int64(0))
		}
	})
}
