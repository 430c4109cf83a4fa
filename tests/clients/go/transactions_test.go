package clients

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestTransaction(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		var incr *redis.IntCmd
		var all *redis.MapStringStringCmd
		replies, err := r.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			incr = pipe.IncrBy(ctx, "n", 5)
			pipe.HSet(ctx, "h", "f", "v")
			all = pipe.HGetAll(ctx, "h")
			pipe.RPush(ctx, "l", "a", "b")
			return nil
		})
		must(t, err)
		same(t, incr, int64(5))
		alike(t, all.Val(), map[string]string{"f": "v"})
		alike(t, len(replies), 4)
	})
}

func TestTransactionWithErrors(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		// An error of a command stops none of the others.
		must(t, r.Set(ctx, "k", "text", 0).Err())
		var after *redis.StatusCmd
		_, err := r.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.LPush(ctx, "k", 1)
			after = pipe.Set(ctx, "other", 1, 0)
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), "WRONGTYPE ") {
			t.Fatalf("LPUSH onto a text gave %v", err)
		}
		same(t, after, "OK")
		// One that cannot be queued stops all of them.
		_, err = r.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "k", "changed", 0)
			pipe.Do(ctx, "nosuch")
			return nil
		})
		if err == nil {
			t.Fatal("an unknown command was executed")
		}
		same(t, r.Get(ctx, "k"), "text")
	})
}

func TestWatch(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		err := r.Watch(ctx, func(tx *redis.Tx) error {
			must(t, r.Set(ctx, "k", "theirs", 0).Err())
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, "k", "mine", 0)
				return nil
			})
			return err
		}, "k")
		if !errors.Is(err, redis.TxFailedErr) {
			t.Fatalf("a transaction over a changed key gave %v", err)
		}
		same(t, r.Get(ctx, "k"), "theirs")
	})
}

// Keys of different shards, moved between in transactions: their sum never changes.
func TestWatchAndRetryLosesNothing(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		must(t, r.MSet(ctx, "account:a", 1_000, "account:b", 0).Err())
		transfer := func(tx *redis.Tx) error {
			a, err := tx.Get(ctx, "account:a").Int()
			if err != nil {
				return err
			}
			b, err := tx.Get(ctx, "account:b").Int()
			if err != nil {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, "account:a", a-1, 0)
				pipe.Set(ctx, "account:b", b+1, 0)
				return nil
			})
			return err
		}
		var group sync.WaitGroup
		for range 8 {
			group.Add(1)
			go func() {
				defer group.Done()
				for done := 0; done < 25; {
					err := r.Watch(ctx, transfer, "account:a", "account:b")
					if err == nil {
						done++
					} else if !errors.Is(err, redis.TxFailedErr) {
						t.Error(err)
						return
					}
					sum := 0
					for _, value := range r.MGet(ctx, "account:a", "account:b").Val() {
						n, _ := strconv.Atoi(value.(string))
						sum += n
					}
					if sum != 1_000 {
						t.Errorf("the sum is %d", sum)
						return
					}
				}
			}()
		}
		group.Wait()
		same(t, r.Get(ctx, "account:b"), "200")
	})
}
