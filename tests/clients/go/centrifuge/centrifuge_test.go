// Package centrifuge runs nodes of the messaging library centrifuge on one apus binary, which is
// their broker and keeps their histories and presence, by Lua scripts that publish.
package centrifuge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"apus.test/clients/server"
	"github.com/centrifugal/centrifuge"
	"github.com/prometheus/client_golang/prometheus"
)

const channel = "news"

// variant is a way of using the server that a configuration file may choose.
type variant struct {
	name          string
	resp2         bool
	lists         bool // Histories in lists instead of streams.
	hashFieldTTL  bool // Presence in hashes with HEXPIRE instead of a sorted set beside them.
	countsOfUsers bool
}

func TestCentrifuge(t *testing.T) {
	for _, variant := range []variant{
		{name: "resp3"},
		{name: "resp2", resp2: true},
		{name: "lists", lists: true},
		{name: "hash field TTL", hashFieldTTL: true},
		{name: "counts of users", countsOfUsers: true},
	} {
		t.Run(variant.name, func(t *testing.T) {
			if variant.hashFieldTTL && os.Getenv("APUS_REFERENCE") == "1" {
				t.Skip("HEXPIRE is newer than Redis 7.0")
			}
			twoNodes(t, variant)
		})
	}
}

// twoNodes publishes on one node, for a client of the other one, which recovers after it was
// disconnected.
func twoNodes(t *testing.T, variant variant) {
	address := server.Start(t)
	writer, reader := start(t, address, variant), start(t, address, variant)
	server.Eventually(t, "the nodes know each other", func() bool {
		info, err := writer.node.Info()
		server.Must(t, err)
		return len(info.Nodes) == 2
	})
	publish := func(from, to int) {
		for n := from; n < to; n++ {
			_, err := writer.node.Publish(channel, fmt.Append(nil, n), centrifuge.WithHistory(1000, time.Minute))
			server.Must(t, err)
		}
	}
	present := func(users ...string) {
		t.Helper()
		server.Eventually(t, fmt.Sprint("present: ", users), func() bool {
			presence, err := writer.node.Presence(channel)
			server.Must(t, err)
			stats, err := writer.node.PresenceStats(channel)
			server.Must(t, err)
			clients := 0
			for _, user := range users {
				for _, client := range presence.Presence {
					if client.UserID == user {
						clients++
					}
				}
			}
			return clients == len(users) && len(presence.Presence) == clients &&
				stats.NumClients == clients && stats.NumUsers == len(users)
		})
	}

	publish(0, 10)
	witness := reader.connect(t, "witness", position{})
	client := reader.connect(t, "client", position{})
	at := client.subscribed
	if at.Offset != 10 || at.Recovered {
		t.Fatalf("subscribed at %+v", at)
	}
	witness.joins(t, "client")
	present("witness", "client")

	publish(10, 20)
	last := client.receive(t, 10, 20, at.Offset)

	// The other node gets the request to disconnect a user: nodes speak through the server as well.
	server.Must(t, writer.node.Disconnect("client"))
	client.ends(t)
	witness.leaves(t, "client")
	present("witness")

	publish(20, 120)
	client = reader.connect(t, "client", position{Epoch: at.Epoch, Offset: last, Recover: true})
	if !client.subscribed.Recovered || client.subscribed.Epoch != at.Epoch {
		t.Fatalf("not recovered: %+v", client.subscribed)
	}
	expect(t, client.subscribed.Publications, 20, 120, last)
	present("witness", "client")
	publish(120, 121)
	client.receive(t, 120, 121, last+100)

	// Removed messages cannot be recovered, and the client is notified.
	server.Must(t, writer.node.RemoveHistory(channel))
	gone := reader.connect(t, "late", position{Epoch: at.Epoch, Offset: last, Recover: true})
	if gone.subscribed.Recovered || len(gone.subscribed.Publications) != 0 {
		t.Fatalf("recovered what is gone: %+v", gone.subscribed)
	}

	// Published once although it is sent twice.
	once := []centrifuge.PublishOption{
		centrifuge.WithHistory(1000, time.Minute),
		centrifuge.WithIdempotencyKey("once"),
	}
	for range 2 {
		result, err := writer.node.Publish(channel, []byte("121"), once...)
		server.Must(t, err)
		if result.Offset != last+102 {
			t.Fatalf("published at %+v", result)
		}
	}
	publish(122, 123)
	client.receive(t, 121, 123, last+101)
}

type node struct {
	node *centrifuge.Node
	http *httptest.Server
}

func start(t *testing.T, address string, variant variant) node {
	return startOn(t, centrifuge.Config{
		ClientStaleCloseDelay: server.Patience, ClientChannelPositionCheckDelay: server.Patience,
	}, variant, centrifuge.RedisShardConfig{
		Address: address, ForceRESP2: variant.resp2, ConnectTimeout: server.Patience, IOTimeout: server.Patience,
	})
}

// startOn starts a node whose channels are spread over servers.
func startOn(t *testing.T, config centrifuge.Config, variant variant, servers ...centrifuge.RedisShardConfig) node {
	// A registry of its own: metrics have the process's one otherwise.
	config.Metrics = centrifuge.MetricsConfig{RegistererGatherer: prometheus.NewRegistry()}
	n, err := centrifuge.New(config)
	server.Must(t, err)
	var shards []*centrifuge.RedisShard
	for _, one := range servers {
		shard, err := centrifuge.NewRedisShard(n, one)
		server.Must(t, err)
		shards = append(shards, shard)
	}
	broker, err := centrifuge.NewRedisBroker(n, centrifuge.RedisBrokerConfig{Shards: shards, UseLists: variant.lists})
	server.Must(t, err)
	n.SetBroker(broker)
	presence, err := centrifuge.NewRedisPresenceManager(n, centrifuge.RedisPresenceManagerConfig{
		Shards:            shards,
		UseHashFieldTTL:   variant.hashFieldTTL,
		EnableUserMapping: func(string) bool { return variant.countsOfUsers },
	})
	server.Must(t, err)
	n.SetPresenceManager(presence)

	n.OnConnecting(func(_ context.Context, event centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: event.Name}}, nil
	})
	n.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(_ centrifuge.SubscribeEvent, callback centrifuge.SubscribeCallback) {
			options := centrifuge.SubscribeOptions{
				EnableRecovery: true, EmitPresence: true, EmitJoinLeave: true, PushJoinLeave: true,
			}
			callback(centrifuge.SubscribeReply{Options: options}, nil)
		})
	})
	server.Must(t, n.Run())
	handler := httptest.NewServer(centrifuge.NewHTTPStreamHandler(n, centrifuge.HTTPStreamConfig{
		// Our clients answer no pings.
		PingPongConfig: centrifuge.PingPongConfig{PingInterval: -1},
	}))
	t.Cleanup(func() {
		server.Must(t, n.Shutdown(context.Background()))
		handler.Close()
		for _, shard := range shards {
			shard.Close()
		}
	})
	return node{n, handler}
}

// position is where a client that was connected before goes on.
type position struct {
	Epoch   string `json:"epoch,omitempty"`
	Offset  uint64 `json:"offset,omitempty"`
	Recover bool   `json:"recover,omitempty"`
}

type publication struct {
	Offset uint64
	Data   json.RawMessage
}

type subscribed struct {
	Epoch        string
	Offset       uint64
	Recovered    bool
	Publications []publication
}

// reply is a line that a node sends: an answer by its id, or a push.
type reply struct {
	Error     *struct{ Message string }
	Subscribe *subscribed
	Push      *struct {
		Pub         *publication
		Join, Leave *struct{ Info struct{ User string } }
		Unsubscribe *struct{ Code int }
	}
}

// stream is a client of a node: its commands go with the request, replies and pushes come as lines.
type stream struct {
	subscribed subscribed
	replies    chan reply
	close      func()
}

func (n node) connect(t *testing.T, user string, from position) *stream {
	t.Helper()
	s := n.connectTo(t, channel, user, from)
	s.subscribed = *await(t, s, "subscribed", func(r reply) *subscribed { return r.Subscribe })
	return s
}

// connectTo subscribes to a channel; the stream's first lines say what came of it.
func (n node) connectTo(t *testing.T, channel, user string, from position) *stream {
	t.Helper()
	subscribe, err := json.Marshal(struct {
		Channel string `json:"channel"`
		position
	}{channel, from})
	server.Must(t, err)
	commands := fmt.Sprintf("{\"id\":1,\"connect\":{\"name\":%q}}\n{\"id\":2,\"subscribe\":%s}", user, subscribe)
	response, err := http.Post(n.http.URL, "application/json", strings.NewReader(commands))
	server.Must(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })

	s := &stream{replies: make(chan reply), close: func() { _ = response.Body.Close() }}
	go func() {
		defer close(s.replies)
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var reply reply
			if json.Unmarshal(lines.Bytes(), &reply) == nil {
				select {
				case s.replies <- reply:
				case <-t.Context().Done():
					return
				}
			}
		}
	}()
	s.close = func() { _ = response.Body.Close() }
	return s
}

// await is the next of the stream's lines that `is` something.
func await[T any](t *testing.T, s *stream, what string, is func(reply) *T) *T {
	t.Helper()
	timeout := time.After(server.Patience)
	for {
		select {
		case reply, open := <-s.replies:
			if !open {
				t.Fatalf("the node ended the stream instead of: %s", what)
			}
			if reply.Error != nil {
				t.Fatal(reply.Error.Message)
			}
			if found := is(reply); found != nil {
				return found
			}
		case <-timeout:
			t.Fatalf("still not so: %s", what)
		}
	}
}

// receive expects the numbers of a range, at the offsets after `last`; the last offset.
func (s *stream) receive(t *testing.T, from, to int, last uint64) uint64 {
	t.Helper()
	var received []publication
	for range to - from {
		received = append(received, *await(t, s, "a publication", func(r reply) *publication {
			if r.Push == nil {
				return nil
			}
			return r.Push.Pub
		}))
	}
	expect(t, received, from, to, last)
	return last + uint64(len(received))
}

func expect(t *testing.T, publications []publication, from, to int, last uint64) {
	t.Helper()
	if len(publications) != to-from {
		t.Fatalf("%d publications instead of %d", len(publications), to-from)
	}
	for i, p := range publications {
		if string(p.Data) != fmt.Sprint(from+i) || p.Offset != last+1+uint64(i) {
			t.Fatalf("%s at %d instead of %d at %d", p.Data, p.Offset, from+i, last+1+uint64(i))
		}
	}
}

func (s *stream) joins(t *testing.T, user string) {
	t.Helper()
	await(t, s, user+" joins", func(r reply) *string {
		if r.Push == nil || r.Push.Join == nil || r.Push.Join.Info.User != user {
			return nil
		}
		return &user
	})
}

func (s *stream) leaves(t *testing.T, user string) {
	t.Helper()
	await(t, s, user+" leaves", func(r reply) *string {
		if r.Push == nil || r.Push.Leave == nil || r.Push.Leave.Info.User != user {
			return nil
		}
		return &user
	})
}

// ends expects that the node closes the stream.
func (s *stream) ends(t *testing.T) {
	t.Helper()
	timeout := time.After(server.Patience)
	for {
		select {
		case _, open := <-s.replies:
			if !open {
				return
			}
		case <-timeout:
			t.Fatal("the stream still runs")
		}
	}
}
