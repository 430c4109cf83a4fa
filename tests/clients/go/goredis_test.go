package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestStrings(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		same(t, r.Set(ctx, "k", "v", 0), "OK")
		same(t, r.Get(ctx, "k"), "v")
		if err := r.Get(ctx, "nope").Err(); !errors.Is(err, redis.Nil) {
			t.Fatalf("a missing key gave %v", err)
		}
		same(t, r.SetNX(ctx, "k", "w", 0), false)
		same(t, r.Append(ctx, "k", "xyz"), int64(4))
		same(t, r.GetRange(ctx, "k", 1, -1), "xyz")
		same(t, r.SetRange(ctx, "k", 6, "!"), int64(7))
		same(t, r.Get(ctx, "k"), "vxyz\x00\x00!")
		same(t, r.GetDel(ctx, "k"), "vxyz\x00\x00!")
		same(t, r.MSet(ctx, "a", 1, "b", 2), "OK")
		same(t, r.MSetNX(ctx, "b", 3, "c", 3), false)
		values, err := r.MGet(ctx, "a", "none", "b").Result()
		must(t, err)
		if !reflect.DeepEqual(values, []any{"1", nil, "2"}) {
			t.Fatalf("MGET gave %v", values)
		}
		same(t, r.Incr(ctx, "a"), int64(2))
		same(t, r.DecrBy(ctx, "a", 5), int64(-3))
		same(t, r.IncrByFloat(ctx, "a", 0.5), -2.5)
		same(t, r.Set(ctx, "text", "x", 0), "OK")
		if err := r.Incr(ctx, "text").Err(); err == nil ||
			err.Error() != "ERR value is not an integer or out of range" {
			t.Fatalf("INCR of a text gave %v", err)
		}
		all := string(everyByte())
		same(t, r.Set(ctx, all, all, 0), "OK")
		same(t, r.Get(ctx, all), all)
	})
}

func TestExpiry(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		same(t, r.Set(ctx, "k", "v", time.Hour), "OK")
		ttl, err := r.TTL(ctx, "k").Result()
		must(t, err)
		if ttl <= 0 || ttl > time.Hour {
			t.Fatalf("TTL is %v", ttl)
		}
		same(t, r.ExpireLT(ctx, "k", 2*time.Hour), false)
		same(t, r.ExpireGT(ctx, "k", 2*time.Hour), true)
		same(t, r.Persist(ctx, "k"), true)
		same(t, r.TTL(ctx, "k"), time.Duration(-1))
		same(t, r.TTL(ctx, "nope"), time.Duration(-2))
		same(t, r.ExpireAt(ctx, "k", time.Unix(4_000_000_000, 0)), true)
		same(t, r.ExpireTime(ctx, "k"), 4_000_000_000*time.Second)
		same(t, r.GetEx(ctx, "k", time.Millisecond), "v")
		eventually(t, "a key of 1 ms expired", func() bool {
			keys, err := r.Exists(ctx, "k").Result()
			must(t, err) // A call that gives up says 0 as well.
			return keys == 0
		})
	})
}

func TestGenericAndBits(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		same(t, r.MSet(ctx, "a", 1, "b", 2), "OK")
		same(t, r.Type(ctx, "a"), "string")
		same(t, r.ObjectEncoding(ctx, "a"), "int")
		same(t, r.Rename(ctx, "a", "z"), "OK")
		same(t, r.RenameNX(ctx, "z", "b"), false)
		same(t, r.Copy(ctx, "z", "y", 0, false), int64(1))
		same(t, r.Touch(ctx, "z", "y", "x"), int64(2))
		same(t, r.Unlink(ctx, "y"), int64(1))
		same(t, r.DBSize(ctx), int64(2))
		same(t, r.Set(ctx, "s", "foobar", 0), "OK")
		same(t, r.BitCount(ctx, "s", nil), int64(26))
		same(t, r.BitPos(ctx, "s", 0), int64(0))
		same(t, r.SetBit(ctx, "s", 0, 1), int64(0))
		same(t, r.BitOpNot(ctx, "d", "s"), int64(6))
		fields, err := r.BitField(ctx, "f", "SET", "u8", 0, 200, "OVERFLOW", "SAT", "INCRBY", "u8", 0, 100).Result()
		must(t, err)
		if !reflect.DeepEqual(fields, []int64{0, 255}) {
			t.Fatalf("BITFIELD gave %v", fields)
		}
	})
}

func TestScanFindsEveryKey(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		const count = 10_000
		pipe := r.Pipeline()
		for i := range count {
			pipe.Set(ctx, fmt.Sprintf("key:%d", i), i, 0)
		}
		_, err := pipe.Exec(ctx)
		must(t, err)
		found := map[string]bool{}
		keys := r.Scan(ctx, 0, "key:*", 100).Iterator()
		for keys.Next(ctx) {
			found[keys.Val()] = true
		}
		must(t, keys.Err())
		if len(found) != count {
			t.Fatalf("SCAN found %d keys of %d", len(found), count)
		}
	})
}

func TestPipelineWithAnErrorInIt(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		pipe := r.Pipeline()
		set := pipe.Set(ctx, "k", "text", 0)
		incr := pipe.Incr(ctx, "k")
		get := pipe.Get(ctx, "k")
		if _, err := pipe.Exec(ctx); err == nil {
			t.Fatal("the error in the pipeline got lost")
		}
		must(t, set.Err())
		if incr.Err() == nil {
			t.Fatal("INCR of a text worked")
		}
		same(t, get, "text")
	})
}

func TestDeepPipeline(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		pipe := r.Pipeline()
		var replies []*redis.IntCmd
		for range 20_000 {
			replies = append(replies, pipe.Incr(ctx, "n"))
		}
		_, err := pipe.Exec(ctx)
		must(t, err)
		for i, reply := range replies {
			same(t, reply, int64(i+1))
		}
	})
}

func TestManyGoroutines(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		var group sync.WaitGroup
		for worker := range 50 {
			group.Add(1)
			go func() {
				defer group.Done()
				key := fmt.Sprint("own:", worker)
				for i := range 100 {
					if err := r.Incr(ctx, "shared").Err(); err != nil {
						t.Error(err)
						return
					}
					if n, err := r.Incr(ctx, key).Result(); err != nil || n != int64(i+1) {
						t.Errorf("%s is %d (%v) instead of %d", key, n, err, i+1)
						return
					}
				}
			}()
		}
		group.Wait()
		same(t, r.Get(ctx, "shared"), "5000")
	})
}

func TestValueOf20MB(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		value := make([]byte, 20_000_000)
		rand.New(rand.NewSource(1)).Read(value)
		must(t, r.Set(ctx, "big", value, 0).Err())
		same(t, r.StrLen(ctx, "big"), int64(len(value)))
		back, err := r.Get(ctx, "big").Bytes()
		must(t, err)
		if !bytes.Equal(back, value) {
			t.Fatal("20 MB came back changed")
		}
	})
}

// HELLO 3 is how go-redis opens a connection by default, with AUTH and a name in it.
func TestHello(t *testing.T) {
	address := start(t, "--requirepass", "secret")
	ctx := context.Background()
	r := redis.NewClient(&redis.Options{Addr: address, Password: "secret", ClientName: "tester", DB: 3})
	defer r.Close()
	same(t, r.ClientGetName(ctx), "tester")
	hello, err := r.Do(ctx, "HELLO").Result()
	must(t, err)
	if fields, ok := hello.(map[any]any); !ok || fields["proto"] != int64(3) {
		t.Fatalf("HELLO gave %v", hello)
	}
	info, err := r.ClientInfo(ctx).Result()
	must(t, err)
	if info.Name != "tester" || info.DB != 3 {
		t.Fatalf("CLIENT INFO gave %+v", info)
	}
	wrong := redis.NewClient(&redis.Options{Addr: address, Password: "wrong"})
	defer wrong.Close()
	if err := wrong.Ping(ctx).Err(); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS ") {
		t.Fatalf("a wrong password gave %v", err)
	}
	none := redis.NewClient(&redis.Options{Addr: address})
	defer none.Close()
	if err := none.Ping(ctx).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH ") {
		t.Fatalf("no password gave %v", err)
	}
}

func TestServerCommands(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		same(t, r.ConfigSet(ctx, "maxmemory-policy", "allkeys-lfu"), "OK")
		config, err := r.ConfigGet(ctx, "maxmemory-pol*").Result()
		must(t, err)
		if config["maxmemory-policy"] != "allkeys-lfu" {
			t.Fatalf("CONFIG GET gave %v", config)
		}
		info, err := r.InfoMap(ctx, "server").Result()
		must(t, err)
		if info["Server"]["redis_version"] == "" {
			t.Fatalf("INFO gave %v", info)
		}
		commands, err := r.Command(ctx).Result()
		must(t, err)
		if get := commands["get"]; get == nil || get.Arity != 2 || !get.ReadOnly {
			t.Fatalf("COMMAND says of GET: %+v", get)
		}
		list, err := r.ClientList(ctx).Result()
		must(t, err)
		if !strings.Contains(list, "cmd=client|list") {
			t.Fatalf("CLIENT LIST gave %q", list)
		}
		_, err = r.SlowLogGet(ctx, 10).Result()
		must(t, err)
		must(t, r.Time(ctx).Err())
	})
}

func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}
