// Command load does one thing that nodes of the messaging library centrifuge do with a server, through
// the library and its client rueidis, with many callers at once. It prints how many operations there
// were, and how much processor time the server says it has used for them, in microseconds each.
//
//	go run ./centrifuge/load ADDRESS CASE SECONDS
//
// Sizes are those of the library's own benchmarks: messages of 15 bytes in 1,024 channels, histories of
// 100 of them, recovery of 10 messages of 800 bytes, presence of 1,000 clients. "many" are cases with
// more data than fits a processor's caches: messages of 200 bytes, 50 clients in each channel, ever
// new subscriptions.
//
// tests/bench/centrifuge.py runs it against Apus and a real Redis.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/centrifugal/centrifuge"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

const (
	callers  = 128
	channels = 1024
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: load ADDRESS CASE SECONDS")
	}
	address, name := os.Args[1], os.Args[2]
	seconds, err := strconv.ParseFloat(os.Args[3], 64)
	must(err)
	operation, ok := cases[name]
	if !ok {
		log.Fatal("no such case: ", name)
	}
	run := operation(engine(address, strings.Contains(name, "list")))

	admin := redis.NewClient(&redis.Options{Addr: address})
	defer admin.Close()
	load(run, seconds/4)
	before, own := used(admin), cpu()
	operations := load(run, seconds)
	cost, ours := used(admin)-before, (cpu() - own).Seconds()
	fmt.Printf("%d operations, %.0f/s, %.3f us, %.3f us of its own\n", operations,
		float64(operations)/seconds, cost*1e6/float64(operations), ours*1e6/float64(operations))
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// load lets all callers do `run` for some seconds and counts.
func load(run func(n int), seconds float64) int64 {
	var next atomic.Int64
	var wait sync.WaitGroup
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for range callers {
		wait.Go(func() {
			for time.Now().Before(until) {
				run(int(next.Add(1)))
			}
		})
	}
	wait.Wait()
	return next.Load()
}

// used is the processor time that the server has used, in seconds.
func used(client *redis.Client) float64 {
	info, err := client.Info(context.Background(), "cpu").Result()
	must(err)
	sum := 0.0
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if key == "used_cpu_user" || key == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			must(err)
			sum += seconds
		}
	}
	return sum
}

type redisEngine struct {
	broker   *centrifuge.RedisBroker
	presence *centrifuge.RedisPresenceManager
}

func engine(address string, lists bool) redisEngine {
	node, err := centrifuge.New(centrifuge.Config{
		Metrics: centrifuge.MetricsConfig{RegistererGatherer: prometheus.NewRegistry()},
	})
	must(err)
	shard, err := centrifuge.NewRedisShard(node, centrifuge.RedisShardConfig{
		Address: address, IOTimeout: 10 * time.Second, ConnectTimeout: 10 * time.Second,
	})
	must(err)
	shards := []*centrifuge.RedisShard{shard}
	// A prefix of its own, so that runs do not see each other's channels.
	prefix := strconv.FormatInt(time.Now().UnixNano(), 36)
	broker, err := centrifuge.NewRedisBroker(node, centrifuge.RedisBrokerConfig{
		Prefix: prefix, Shards: shards, UseLists: lists,
	})
	must(err)
	node.SetBroker(broker)
	presence, err := centrifuge.NewRedisPresenceManager(node, centrifuge.RedisPresenceManagerConfig{
		Prefix: prefix, Shards: shards,
	})
	must(err)
	node.SetPresenceManager(presence)
	must(node.Run())
	return redisEngine{broker, presence}
}

var cases = map[string]func(redisEngine) func(n int){
	"publish":             func(e redisEngine) func(int) { return e.publish(15, centrifuge.PublishOptions{}) },
	"history-stream":      func(e redisEngine) func(int) { return e.publish(15, kept) },
	"history-list":        func(e redisEngine) func(int) { return e.publish(15, kept) },
	"publish-many":        func(e redisEngine) func(int) { return e.publish(200, centrifuge.PublishOptions{}) },
	"history-stream-many": func(e redisEngine) func(int) { return e.publish(200, kept) },
	"history-list-many":   func(e redisEngine) func(int) { return e.publish(200, kept) },
	"subscribe": func(e redisEngine) func(int) {
		return func(n int) { must(e.broker.Subscribe(channel(n))) }
	},
	"subscribe-many": func(e redisEngine) func(int) {
		return func(n int) { must(e.broker.Subscribe("s" + strconv.Itoa(n))) }
	},
	"recover": func(e redisEngine) func(int) {
		for n := range 10 * channels {
			_, _, err := e.broker.Publish(channel(n), payload(800), kept)
			must(err)
		}
		return func(n int) {
			publications, _, err := e.broker.History(channel(n), centrifuge.HistoryOptions{
				Filter: centrifuge.HistoryFilter{Limit: -1, Since: &centrifuge.StreamPosition{}},
			})
			must(err)
			if len(publications) != 10 {
				log.Fatal("recovered ", len(publications))
			}
		}
	},
	"add-presence": func(e redisEngine) func(int) {
		return func(n int) { must(e.presence.AddPresence(channel(n), "client", &centrifuge.ClientInfo{})) }
	},
	"add-presence-many": func(e redisEngine) func(int) {
		return func(n int) { e.enter(channel(n), n%50) }
	},
	"presence": func(e redisEngine) func(int) {
		for n := range 1000 {
			e.enter("many", n)
		}
		return func(int) {
			present, err := e.presence.Presence("many")
			must(err)
			if len(present) != 1000 {
				log.Fatal("present: ", len(present))
			}
		}
	},
}

var kept = centrifuge.PublishOptions{HistorySize: 100, HistoryTTL: 100 * time.Second}

func (e redisEngine) publish(size int, options centrifuge.PublishOptions) func(int) {
	data := payload(size)
	return func(n int) {
		_, _, err := e.broker.Publish(channel(n), data, options)
		must(err)
	}
}

func (e redisEngine) enter(channel string, n int) {
	client := "client-" + strconv.Itoa(n)
	must(e.presence.AddPresence(channel, client, &centrifuge.ClientInfo{
		ClientID: client, UserID: "user-" + strconv.Itoa(n), ConnInfo: payload(60),
	}))
}

func channel(n int) string {
	return "channel" + strconv.Itoa(n%channels)
}

func payload(size int) []byte {
	return []byte(`{"text":"` + strings.Repeat("x", size-11) + `"}`)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
