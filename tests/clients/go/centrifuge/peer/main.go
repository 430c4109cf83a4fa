// Command peer is a node of centrifuge with its Redis broker and presence manager, driven by lines of JSON:
// a command a line on its input, an answer or an event a line on its output. The tests of apus-client's broker
// (crates/client/tests/broker.rs) run it, so that both share channels.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"
	"github.com/prometheus/client_golang/prometheus"
)

// command is what is asked for; its answer has the same number.
type command struct {
	ID                      int
	Do, Channel, Data, Key  string
	Client, User            string
	History, Delta, Reverse bool
	Since                   uint64
	Version                 uint64
}

var (
	out     = json.NewEncoder(os.Stdout)
	outLock sync.Mutex
)

func say(line map[string]any) {
	outLock.Lock()
	defer outLock.Unlock()
	must(out.Encode(line))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type events struct{}

func (events) HandlePublication(ch string, pub *centrifuge.Publication, sp centrifuge.StreamPosition, delta bool, prev *centrifuge.Publication) error {
	line := map[string]any{
		"event": "publication", "channel": ch, "data": string(pub.Data), "offset": pub.Offset, "epoch": sp.Epoch,
		"delta": delta, "tags": pub.Tags,
	}
	if pub.Info != nil {
		line["user"] = pub.Info.UserID
	}
	if prev != nil {
		line["previous"] = string(prev.Data)
	}
	say(line)
	return nil
}

func (events) HandleJoin(ch string, info *centrifuge.ClientInfo) error {
	say(map[string]any{"event": "join", "channel": ch, "user": info.UserID, "client": info.ClientID})
	return nil
}

func (events) HandleLeave(ch string, info *centrifuge.ClientInfo) error {
	say(map[string]any{"event": "leave", "channel": ch, "user": info.UserID, "client": info.ClientID})
	return nil
}

// main is called with the addresses or URLs, separated by commas, and words: resp2, lists, users, fields,
// partitions, prefix=TEXT.
func main() {
	is, prefix := map[string]bool{}, ""
	for _, word := range os.Args[2:] {
		is[word] = true
		if text, ok := strings.CutPrefix(word, "prefix="); ok {
			prefix = text
		}
	}
	registry := centrifuge.MetricsConfig{RegistererGatherer: prometheus.NewRegistry()}
	node, err := centrifuge.New(centrifuge.Config{Metrics: registry})
	must(err)
	var shards []*centrifuge.RedisShard
	for _, address := range strings.Split(os.Args[1], ",") {
		shard, err := centrifuge.NewRedisShard(node, centrifuge.RedisShardConfig{Address: address, ForceRESP2: is["resp2"]})
		must(err)
		shards = append(shards, shard)
	}
	partitions := 0
	if is["partitions"] {
		partitions = 8
	}
	broker, err := centrifuge.NewRedisBroker(node, centrifuge.RedisBrokerConfig{
		Shards: shards, Prefix: prefix, UseLists: is["lists"], NumShardedPubSubPartitions: partitions,
	})
	must(err)
	presence, err := centrifuge.NewRedisPresenceManager(node, centrifuge.RedisPresenceManagerConfig{
		Shards: shards, Prefix: prefix, UseHashFieldTTL: is["fields"], EnableUserMapping: func(string) bool { return is["users"] },
	})
	must(err)
	must(broker.RegisterBrokerEventHandler(events{}))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		must(json.Unmarshal(lines.Bytes(), &c))
		answer := map[string]any{"id": c.ID}
		if err := do(c, broker, presence, answer); err != nil {
			answer["error"] = err.Error()
		}
		say(answer)
	}
}

func do(c command, broker *centrifuge.RedisBroker, presence *centrifuge.RedisPresenceManager, answer map[string]any) error {
	info := &centrifuge.ClientInfo{ClientID: c.Client, UserID: c.User, ConnInfo: []byte(`{"a":1}`)}
	switch c.Do {
	case "publish":
		options := centrifuge.PublishOptions{
			IdempotencyKey: c.Key, UseDelta: c.Delta, Version: c.Version, Tags: map[string]string{"by": "go"},
		}
		if c.History {
			options.HistorySize, options.HistoryTTL = 100, time.Minute
		}
		if c.User != "" {
			options.ClientInfo = info
		}
		at, cached, err := broker.Publish(c.Channel, []byte(c.Data), options)
		answer["offset"], answer["epoch"], answer["cached"] = at.Offset, at.Epoch, cached
		return err
	case "subscribe":
		return broker.Subscribe(c.Channel)
	case "join":
		return broker.PublishJoin(c.Channel, info)
	case "leave":
		return broker.PublishLeave(c.Channel, info)
	case "history":
		filter := centrifuge.HistoryFilter{Limit: -1, Reverse: c.Reverse}
		if c.Since > 0 {
			filter.Since = &centrifuge.StreamPosition{Offset: c.Since}
		}
		publications, at, err := broker.History(c.Channel, centrifuge.HistoryOptions{Filter: filter})
		all := []string{}
		for _, p := range publications {
			all = append(all, fmt.Sprintf("%d:%s", p.Offset, p.Data))
		}
		answer["offset"], answer["epoch"], answer["publications"] = at.Offset, at.Epoch, all
		return err
	case "remove history":
		return broker.RemoveHistory(c.Channel)
	case "present":
		return presence.AddPresence(c.Channel, c.Client, info)
	case "absent":
		return presence.RemovePresence(c.Channel, c.Client, c.User)
	case "presence":
		there, err := presence.Presence(c.Channel)
		if err != nil {
			return err
		}
		all := map[string]string{}
		for client, info := range there {
			all[client] = info.UserID
		}
		stats, err := presence.PresenceStats(c.Channel)
		answer["present"], answer["clients"], answer["users"] = all, stats.NumClients, stats.NumUsers
		return err
	}
	return fmt.Errorf("no such command: %q", c.Do)
}
