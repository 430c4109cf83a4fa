package clients

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestHashes(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		type account struct {
			Name   string  `redis:"name"`
			Logins int     `redis:"logins"`
			Score  float64 `redis:"score"`
			Admin  bool    `redis:"admin"`
		}
		ada := account{"Ada", 3, 1.5, true}
		same(t, r.HSet(ctx, "h", ada), int64(4))
		var back account
		must(t, r.HGetAll(ctx, "h").Scan(&back))
		alike(t, back, ada)
		var part account
		must(t, r.HMGet(ctx, "h", "name", "none").Scan(&part))
		alike(t, part, account{Name: "Ada"})

		same(t, r.HSetNX(ctx, "h", "name", "Eve"), false)
		same(t, r.HIncrBy(ctx, "h", "logins", 39), int64(42))
		same(t, r.HIncrByFloat(ctx, "h", "score", 0.25), 1.75)
		same(t, r.HStrLen(ctx, "h", "name"), int64(3))
		same(t, r.HExists(ctx, "h", "none"), false)
		if err := r.HGet(ctx, "h", "none").Err(); !errors.Is(err, redis.Nil) {
			t.Fatalf("a missing field gave %v", err)
		}
		sorted(t, r.HKeys(ctx, "h"), "admin", "logins", "name", "score")
		sorted(t, r.HVals(ctx, "h"), "1", "1.75", "42", "Ada")
		sorted(t, r.HRandField(ctx, "h", 9), "admin", "logins", "name", "score")
		pairs, err := r.HRandFieldWithValues(ctx, "h", 9).Result()
		must(t, err)
		if len(pairs) != 4 || !slices.Contains(pairs, redis.KeyValue{Key: "logins", Value: "42"}) {
			t.Fatalf("HRANDFIELD gave %v", pairs)
		}
		same(t, r.HDel(ctx, "h", "name", "logins", "score", "admin", "none"), int64(4))
		same(t, r.Exists(ctx, "h"), int64(0))
	})
}

func TestFieldsThatExpire(t *testing.T) {
	newerThan7(t)
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		same(t, r.HSet(ctx, "h", "a", 1, "b", 2, "c", 3), int64(3))
		list(t, r.HExpire(ctx, "h", 100*time.Second, "a", "none"), 1, -2)
		gt := redis.HExpireArgs{GT: true}
		list(t, r.HExpireWithArgs(ctx, "h", 50*time.Second, gt, "a"), 0)
		left, err := r.HPTTL(ctx, "h", "a", "b").Result()
		must(t, err)
		if left[0] <= 50_000 || left[0] > 100_000 || left[1] != -1 {
			t.Fatalf("HPTTL gave %v", left)
		}
		list(t, r.HPersist(ctx, "h", "a", "b"), 1, -1)
		list(t, r.HExpireAt(ctx, "h", time.Unix(4_000_000_000, 0), "a"), 1)
		list(t, r.HExpireTime(ctx, "h", "a"), 4_000_000_000)
		list(t, r.HPExpire(ctx, "h", time.Millisecond, "b"), 1)
		eventually(t, "a field of 1 ms expired", func() bool { return r.HLen(ctx, "h").Val() == 2 })
		list(t, r.HGetDel(ctx, "h", "a"), "1")
		list(t, r.HGetEXWithArgs(ctx, "h", &redis.HGetEXOptions{
			ExpirationType: redis.HGetEXExpirationPX, ExpirationVal: 1,
		}, "c"), "3")
		eventually(t, "a hash went with its last field", func() bool {
			keys, err := r.Exists(ctx, "h").Result()
			must(t, err) // A call that gives up says 0 as well.
			return keys == 0
		})
	})
}

func TestLists(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		same(t, r.RPush(ctx, "l", "a", "b", "c"), int64(3))
		same(t, r.LPush(ctx, "l", "z"), int64(4))
		same(t, r.LPushX(ctx, "none", "x"), int64(0))
		same(t, r.LInsertBefore(ctx, "l", "b", "ab"), int64(5))
		list(t, r.LRange(ctx, "l", 0, -1), "z", "a", "ab", "b", "c")
		same(t, r.LIndex(ctx, "l", -2), "b")
		same(t, r.LPos(ctx, "l", "c", redis.LPosArgs{}), int64(4))
		list(t, r.LPosCount(ctx, "l", "c", 0, redis.LPosArgs{Rank: -1}), 4)
		same(t, r.LSet(ctx, "l", 0, "y"), "OK")
		same(t, r.LRem(ctx, "l", 0, "ab"), int64(1))
		same(t, r.LMove(ctx, "l", "m", "LEFT", "RIGHT"), "y")
		same(t, r.RPopLPush(ctx, "l", "m"), "c")
		key, values, err := r.LMPop(ctx, "LEFT", 5, "none", "m").Result()
		must(t, err)
		alike(t, append(values, key), []string{"c", "y", "m"})
		list(t, r.LPopCount(ctx, "l", 2), "a", "b")
		if err := r.RPop(ctx, "l").Err(); !errors.Is(err, redis.Nil) {
			t.Fatalf("a missing list gave %v", err)
		}
		if err := r.LSet(ctx, "l", 0, "x").Err(); err == nil || err.Error() != "ERR no such key" {
			t.Fatalf("LSET of a missing list gave %v", err)
		}
		pipe := r.Pipeline()
		for i := range 5_000 {
			pipe.RPush(ctx, "n", i)
		}
		_, err = pipe.Exec(ctx)
		must(t, err)
		same(t, r.LTrim(ctx, "n", 10, -11), "OK")
		list(t, r.LRange(ctx, "n", -2, -1), "4988", "4989")
		list(t, r.Sort(ctx, "n", &redis.Sort{Order: "DESC", Offset: 1, Count: 2}), "4988", "4987")
		same(t, r.SortStore(ctx, "n", "s", &redis.Sort{Alpha: true, Count: 10}), int64(10))
		list(t, r.LRange(ctx, "s", 0, 2), "10", "100", "1000")
	})
}

func TestSets(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		same(t, r.SAdd(ctx, "a", 1, 2, 3, 2), int64(3))
		same(t, r.SAdd(ctx, "b", 3, 4), int64(2))
		members, err := r.SMembersMap(ctx, "a").Result()
		must(t, err)
		alike(t, members, map[string]struct{}{"1": {}, "2": {}, "3": {}})
		sorted(t, r.SInter(ctx, "a", "b"), "3")
		sorted(t, r.SUnion(ctx, "a", "b"), "1", "2", "3", "4")
		sorted(t, r.SDiff(ctx, "a", "b"), "1", "2")
		same(t, r.SInterStore(ctx, "i", "a", "b"), int64(1))
		same(t, r.SInterCard(ctx, 1, "a", "b"), int64(1))
		list(t, r.SMIsMember(ctx, "a", 1, 9), true, false)
		same(t, r.SMove(ctx, "a", "b", 1), true)
		same(t, r.SIsMember(ctx, "b", 1), true)
		same(t, r.SRem(ctx, "b", 1, 9), int64(1))
		sorted(t, r.SRandMemberN(ctx, "b", 10), "3", "4")
		sorted(t, r.SPopN(ctx, "b", 10), "3", "4")
		same(t, r.Exists(ctx, "b"), int64(0))
		same(t, r.SCard(ctx, "a"), int64(2))
	})
}

func TestSortedSets(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		same(t, r.ZAdd(ctx, "z", z("a", 1), z("b", 2), z("c", 3)), int64(3))
		same(t, r.ZAddArgs(ctx, "z", redis.ZAddArgs{
			XX: true, Ch: true, Members: []redis.Z{z("a", 5), z("d", 4)},
		}), int64(1))
		same(t, r.ZAddArgsIncr(ctx, "z", redis.ZAddArgs{GT: true, Members: []redis.Z{z("b", 0.5)}}), 2.5)
		list(t, r.ZRangeWithScores(ctx, "z", 0, -1), z("b", 2.5), z("c", 3), z("a", 5))
		list(t, r.ZRangeArgs(ctx, redis.ZRangeArgs{
			Key: "z", Start: "+inf", Stop: "(2.5", ByScore: true, Rev: true, Count: 1,
		}), "a")
		list(t, r.ZRevRangeByScore(ctx, "z", &redis.ZRangeBy{Min: "-inf", Max: "(5"}), "c", "b")
		same(t, r.ZRank(ctx, "z", "a"), int64(2))
		same(t, r.ZRevRank(ctx, "z", "a"), int64(0))
		if err := r.ZRank(ctx, "z", "none").Err(); !errors.Is(err, redis.Nil) {
			t.Fatalf("the rank of a missing member is %v", err)
		}
		same(t, r.ZScore(ctx, "z", "b"), 2.5)
		list(t, r.ZMScore(ctx, "z", "a", "c"), 5.0, 3.0)
		same(t, r.ZCount(ctx, "z", "3", "5"), int64(2))
		same(t, r.ZIncrBy(ctx, "z", math.Inf(1), "c"), math.Inf(1))
		same(t, r.ZAdd(ctx, "y", z("a", 1), z("e", 2)), int64(2))
		list(t, r.ZUnionWithScores(ctx, redis.ZStore{
			Keys: []string{"z", "y"}, Weights: []float64{1, 10}, Aggregate: "MIN",
		}), z("b", 2.5), z("a", 5), z("e", 20), z("c", math.Inf(1)))
		same(t, r.ZInterStore(ctx, "i", &redis.ZStore{Keys: []string{"z", "y"}}), int64(1))
		same(t, r.ZInterCard(ctx, 0, "z", "y"), int64(1))
		list(t, r.ZDiff(ctx, "z", "y"), "b", "c")
		list(t, r.ZPopMin(ctx, "z"), z("b", 2.5))
		list(t, r.ZPopMax(ctx, "z", 9), z("c", math.Inf(1)), z("a", 5))
		key, popped, err := r.ZMPop(ctx, "MAX", 1, "none", "y").Result()
		must(t, err)
		if key != "y" || !slices.Equal(popped, []redis.Z{z("e", 2)}) {
			t.Fatalf("ZMPOP gave %v of %s", popped, key)
		}
		for _, c := range "abcdef" {
			must(t, r.ZAdd(ctx, "lex", z(string(c), 0)).Err())
		}
		list(t, r.ZRangeByLex(ctx, "lex", &redis.ZRangeBy{Min: "[b", Max: "(e"}), "b", "c", "d")
		same(t, r.ZLexCount(ctx, "lex", "-", "+"), int64(6))
		same(t, r.ZRemRangeByLex(ctx, "lex", "-", "(c"), int64(2))
		same(t, r.ZRemRangeByRank(ctx, "lex", -1, -1), int64(1))
		list(t, r.ZRange(ctx, "lex", 0, -1), "c", "d", "e")
	})
}

func TestStreams(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		var ids []string
		for i := range 10 {
			id, err := r.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []any{"n", i}}).Result()
			must(t, err)
			ids = append(ids, id)
		}
		entry := func(i int) redis.XMessage {
			return redis.XMessage{ID: ids[i], Values: map[string]any{"n": fmt.Sprint(i)}}
		}
		same(t, r.XLen(ctx, "s"), int64(10))
		alike(t, done(r.XRange(ctx, "s", ids[1], "+"))[0], entry(1))
		alike(t, done(r.XRevRangeN(ctx, "s", "+", "-", 1)), []redis.XMessage{entry(9)})
		read := done(r.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", ids[7]}, Block: -1}))
		alike(t, read, []redis.XStream{{Stream: "s", Messages: []redis.XMessage{entry(8), entry(9)}}})

		same(t, r.XGroupCreate(ctx, "s", "g", "0"), "OK")
		err := r.XGroupCreate(ctx, "s", "g", "0").Err()
		if err == nil || err.Error() != "BUSYGROUP Consumer Group name already exists" {
			t.Fatalf("a second group of the same name: %v", err)
		}
		take := func(consumer, from string, count int64) []redis.XMessage {
			t.Helper()
			return done(r.XReadGroup(ctx, &redis.XReadGroupArgs{
				Group: "g", Consumer: consumer, Streams: []string{"s", from}, Count: count, Block: -1,
			}))[0].Messages
		}
		alike(t, len(take("alice", ">", 6)), 6)
		alike(t, len(take("bob", ">", 100)), 4)
		same(t, r.XAck(ctx, "s", "g", ids[0], ids[1]), int64(2))
		alike(t, done(r.XPending(ctx, "s", "g")), &redis.XPending{
			Count: 8, Lower: ids[2], Higher: ids[9], Consumers: map[string]int64{"alice": 4, "bob": 4},
		})
		pending := done(r.XPendingExt(ctx, &redis.XPendingExtArgs{
			Stream: "s", Group: "g", Start: "-", End: "+", Count: 10, Consumer: "alice",
		}))
		if len(pending) != 4 || pending[0].ID != ids[2] || pending[0].RetryCount != 1 {
			t.Fatalf("XPENDING gave %v", pending)
		}
		claim := &redis.XClaimArgs{Stream: "s", Group: "g", Consumer: "bob", Messages: ids[2:3]}
		alike(t, done(r.XClaim(ctx, claim)), []redis.XMessage{entry(2)})
		claimed, next, err := r.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: "s", Group: "g", Consumer: "carol", Start: "0", Count: 2,
		}).Result()
		must(t, err)
		alike(t, claimed, []redis.XMessage{entry(2), entry(3)})
		alike(t, next, ids[4])
		alike(t, take("carol", "0", 10), claimed)

		groups := done(r.XInfoGroups(ctx, "s"))
		if len(groups) != 1 || groups[0].Consumers != 3 || groups[0].Pending != 8 {
			t.Fatalf("XINFO GROUPS gave %+v", groups)
		}
		alike(t, len(done(r.XInfoConsumers(ctx, "s", "g"))), 3)
		full := done(r.XInfoStreamFull(ctx, "s", 2))
		if full.Length != 10 || len(full.Entries) != 2 || full.Groups[0].PelCount != 8 {
			t.Fatalf("XINFO STREAM FULL gave %+v", full)
		}
		same(t, r.XDel(ctx, "s", ids[9]), int64(1))
		same(t, r.XTrimMaxLen(ctx, "s", 5), int64(4))
		same(t, r.XTrimMinID(ctx, "s", ids[6]), int64(2))
		same(t, r.XGroupDelConsumer(ctx, "s", "g", "bob"), int64(4))
		same(t, r.XGroupDestroy(ctx, "s", "g"), int64(1))
	})
}

func TestHyperLogLogs(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		for i := range 1_000 {
			must(t, r.PFAdd(ctx, "a", i).Err())
			must(t, r.PFAdd(ctx, "b", i+500).Err())
		}
		same(t, r.PFAdd(ctx, "a", 1), int64(0))
		// The result of Redis's estimator for these members.
		same(t, r.PFCount(ctx, "a"), int64(1001))
		same(t, r.PFMerge(ctx, "c", "a", "b"), "OK")
		same(t, r.PFCount(ctx, "c"), r.PFCount(ctx, "a", "b").Val())
	})
}

func TestGeo(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		palermo := &redis.GeoLocation{Name: "Palermo", Longitude: 13.361389, Latitude: 38.115556}
		catania := &redis.GeoLocation{Name: "Catania", Longitude: 15.087269, Latitude: 37.502669}
		same(t, r.GeoAdd(ctx, "g", palermo, catania), int64(2))
		same(t, r.GeoDist(ctx, "g", "Palermo", "Catania", "km"), 166.2742)
		list(t, r.GeoHash(ctx, "g", "Palermo"), "sqc8b49rny0")
		position := done(r.GeoPos(ctx, "g", "Catania", "none"))
		if position[1] != nil || math.Abs(position[0].Longitude-15.087269) > 1e-4 {
			t.Fatalf("GEOPOS gave %v", position)
		}
		list(t, r.GeoSearch(ctx, "g", &redis.GeoSearchQuery{
			Longitude: 15, Latitude: 37, Radius: 200, RadiusUnit: "km", Sort: "ASC",
		}), "Catania", "Palermo")
		near := done(r.GeoSearchLocation(ctx, "g", &redis.GeoSearchLocationQuery{
			GeoSearchQuery: redis.GeoSearchQuery{Member: "Palermo", BoxWidth: 400, BoxHeight: 400, BoxUnit: "km", Sort: "DESC"},
			WithCoord:      true, WithDist: true, WithHash: true,
		}))
		if len(near) != 2 || near[0].Dist != 166.2742 || near[0].GeoHash != 3479447370796909 {
			t.Fatalf("GEOSEARCH gave %+v", near)
		}
		same(t, r.GeoSearchStore(ctx, "g", "d", &redis.GeoSearchStoreQuery{
			GeoSearchQuery: redis.GeoSearchQuery{Member: "Palermo", Radius: 1, RadiusUnit: "km"},
			StoreDist:      true,
		}), int64(1))
		same(t, r.ZScore(ctx, "d", "Palermo"), 0.0)
	})
}

// The iterators of go-redis over every collection, while others change it.
func TestIterators(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		const count = 2_000
		pipe := r.Pipeline()
		for i := range count {
			name := fmt.Sprintf("m%d", i)
			pipe.HSet(ctx, "h", name, i)
			pipe.SAdd(ctx, "s", name)
			pipe.ZAdd(ctx, "z", z(name, float64(i)))
		}
		_, err := pipe.Exec(ctx)
		must(t, err)
		for key, scan := range map[string]struct {
			cmd    *redis.ScanCmd
			values bool
		}{
			"h": {r.HScan(ctx, "h", 0, "m*", 50), true},
			"s": {r.SScan(ctx, "s", 0, "m*", 50), false},
			"z": {r.ZScan(ctx, "z", 0, "m*", 50), true},
		} {
			found := map[string]string{}
			members := scan.cmd.Iterator()
			for i := 0; members.Next(ctx); i++ {
				name, value := members.Val(), ""
				if scan.values && members.Next(ctx) {
					value = members.Val()
				}
				found[name] = value
				// Elements that come and go meanwhile must not hide those that stay.
				switch extra := fmt.Sprintf("x%d", i); key {
				case "h":
					must(t, r.HSet(ctx, key, extra, 1).Err())
				case "s":
					must(t, r.SAdd(ctx, key, extra).Err())
				default:
					must(t, r.ZAdd(ctx, key, z(extra, 1)).Err())
				}
			}
			must(t, members.Err())
			if len(found) != count || scan.values && found["m1234"] != "1234" {
				t.Fatalf("%s: found %d of %d, m1234 is %q", key, len(found), count, found["m1234"])
			}
		}
		keys := r.ScanType(ctx, 0, "*", 10, "zset").Iterator()
		var zsets []string
		for keys.Next(ctx) {
			zsets = append(zsets, keys.Val())
		}
		must(t, keys.Err())
		alike(t, zsets, []string{"z"})
	})
}

func z(member string, score float64) redis.Z {
	return redis.Z{Member: member, Score: score}
}

// newerThan7 leaves t out when the reference server, Redis 7.0, stands in for Apus.
func newerThan7(t *testing.T) {
	t.Helper()
	if os.Getenv("APUS_REFERENCE") != "" {
		t.Skip("newer than Redis 7.0")
	}
}

// done is the value of a reply that must not be an error.
func done[T any](reply interface{ Result() (T, error) }) T {
	value, err := reply.Result()
	if err != nil {
		panic(fmt.Sprintf("%v: %v", reply, err))
	}
	return value
}

func alike(t *testing.T, actual, expected any) {
	t.Helper()
	if !reflect.DeepEqual(actual, expected) {
		t.Fatalf("%+v instead of %+v", actual, expected)
	}
}

// list fails t when a reply does not have exactly these elements.
func list[T comparable](t *testing.T, reply interface{ Result() ([]T, error) }, expected ...T) {
	t.Helper()
	if actual := done(reply); !slices.Equal(actual, expected) {
		t.Fatalf("%v instead of %v", reply, expected)
	}
}

// sorted is list for a reply whose order is not defined.
func sorted(t *testing.T, reply interface{ Result() ([]string, error) }, expected ...string) {
	t.Helper()
	if actual := slices.Sorted(slices.Values(done(reply))); !slices.Equal(actual, expected) {
		t.Fatalf("%v instead of %v", reply, expected)
	}
}
