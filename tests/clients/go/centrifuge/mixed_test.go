package centrifuge

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apus.test/clients/server"
	"github.com/centrifugal/centrifuge"
	"github.com/prometheus/client_golang/prometheus"
)

// What centrifuge nodes allow their clients, for those of the server itself.
const liveConfig = `{
  "client": {"token": {"hmac_secret_key": "secret"}, "ping_interval": "3600s", "pong_timeout": "10s"},
  "channel": {"without_namespace": {
    "presence": true, "join_leave": true, "force_push_join_leave": true, "force_recovery": true,
    "history_size": 1000, "history_ttl": "60s", "allow_subscribe_for_client": true
  }},
  "http_stream": {"enabled": true},
  "http_api": {"key": "K"}
}`

// place is a server that clients connect to: a node, or the web port of apus.
type place struct {
	name, url string
}

// TestNodesAndWebPort has two nodes and the server's own web port serve one channel: whatever is published at
// one of them reaches the clients of all, with the same offsets, and a client may go on at another one.
func TestNodesAndWebPort(t *testing.T) {
	eachWebPort(t, nodesAndWebPort)
}

// eachWebPort runs a test with the web port of the server that is the nodes' Redis, and with that of another one
// whose live-broker it is.
func eachWebPort(t *testing.T, test func(t *testing.T, address, web string)) {
	if os.Getenv("APUS_REFERENCE") == "1" {
		t.Skip("Redis has no web port")
	}
	config := filepath.Join(t.TempDir(), "live.json")
	server.Must(t, os.WriteFile(config, []byte(liveConfig), 0o600))
	t.Run("own", func(t *testing.T) {
		web := server.FreePort(t)
		address := server.Start(t, "--web-port", web, "--live-config", config, "--threads", "2")
		test(t, address, web)
	})
	t.Run("broker", func(t *testing.T) {
		web := server.FreePort(t)
		address := server.Start(t, "--threads", "2")
		options := []string{"--web-port", web, "--live-config", config, "--live-broker", "redis://" + address}
		server.Start(t, append(options, "--threads", "2")...)
		server.Eventually(t, "the broker is reached", func() bool {
			var answer struct{ Error *struct{} }
			call(t, web, "presence", `{"channel":"reached"}`, &answer)
			return answer.Error == nil
		})
		test(t, address, web)
	})
}

func nodesAndWebPort(t *testing.T, address, web string) {
	first, second := mixedNode(t, address), mixedNode(t, address)
	places := []place{
		{"first", first.http.URL},
		{"second", second.http.URL},
		{"apus", "http://127.0.0.1:" + web + "/connection/http_stream"},
	}

	clients := map[string]*stream{}
	for i, at := range places {
		clients[at.name] = connectAt(t, at, at.name, position{})
		for _, before := range places[:i] {
			clients[before.name].joins(t, at.name)
		}
	}
	var presence struct {
		Result struct {
			Presence map[string]struct{ User string }
		}
	}
	call(t, web, "presence", `{"channel":"news"}`, &presence)
	known, err := first.node.Presence(channel)
	server.Must(t, err)
	for _, at := range places {
		found := 0
		for id, info := range presence.Result.Presence {
			if info.User == at.name && known.Presence[id] != nil && known.Presence[id].UserID == at.name {
				found++
			}
		}
		if found != 1 || len(presence.Result.Presence) != len(places) || len(known.Presence) != len(places) {
			t.Fatalf("present: %+v and %+v", presence, known)
		}
	}

	publish := []func(n int) uint64{
		func(n int) uint64 { return publishAt(t, first.node, n) },
		func(n int) uint64 { return publishAt(t, second.node, n) },
		func(n int) uint64 {
			var published struct{ Result struct{ Offset uint64 } }
			call(t, web, "publish", fmt.Sprintf(`{"channel":"news","data":%d}`, n), &published)
			return published.Result.Offset
		},
	}
	for n := range 60 {
		if offset := publish[n%3](n); offset != uint64(n)+1 {
			t.Fatalf("%d was published at %d", n, offset)
		}
	}
	epoch := clients["apus"].subscribed.Epoch
	for name, client := range clients {
		if client.subscribed.Epoch != epoch {
			t.Fatalf("epochs %s and %s", client.subscribed.Epoch, epoch)
		}
		client.receive(t, 0, 60, 0)
		t.Log(name, "has received all")
	}

	// A client goes on at each of the places, wherever it was before.
	for n := 60; n < 90; n++ {
		publish[n%3](n)
	}
	for _, at := range places {
		late := connectAt(t, at, "late", position{Epoch: epoch, Offset: 60, Recover: true})
		if !late.subscribed.Recovered {
			t.Fatalf("not recovered at %s: %+v", at.name, late.subscribed)
		}
		expect(t, late.subscribed.Publications, 60, 90, 60)
		gone := connectAt(t, at, "gone", position{Epoch: "other", Offset: 60, Recover: true})
		if gone.subscribed.Recovered || gone.subscribed.Offset != 90 {
			t.Fatalf("recovered at %s: %+v", at.name, gone.subscribed)
		}
	}

	// The end of a client is seen everywhere.
	clients["apus"].close()
	for _, name := range []string{"first", "second"} {
		clients[name].leaves(t, "apus")
	}
}

func publishAt(t *testing.T, node *centrifuge.Node, n int) uint64 {
	t.Helper()
	result, err := node.Publish(channel, fmt.Append(nil, n), centrifuge.WithHistory(1000, time.Minute))
	server.Must(t, err)
	return result.Offset
}

// call asks the server API.
func call(t *testing.T, web, method, body string, into any) {
	t.Helper()
	request, err := http.NewRequest("POST", "http://127.0.0.1:"+web+"/api/"+method, strings.NewReader(body))
	server.Must(t, err)
	request.Header.Set("X-API-Key", "K")
	response, err := http.DefaultClient.Do(request)
	server.Must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	server.Must(t, err)
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %s", err, text)
	}
}

// token says who a client of the web port is.
func token(user string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	text := part(`{"alg":"HS256"}`) + "." + part(fmt.Sprintf(`{"sub":%q}`, user))
	sum := hmac.New(sha256.New, []byte("secret"))
	sum.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// connectAt connects and subscribes. Nodes take the user from the name, the web port from the token.
func connectAt(t *testing.T, at place, user string, from position) *stream {
	t.Helper()
	subscribe, err := json.Marshal(struct {
		Channel string `json:"channel"`
		position
	}{channel, from})
	server.Must(t, err)
	connect := fmt.Sprintf("{\"id\":1,\"connect\":{\"name\":%q,\"token\":%q}}", user, token(user))
	commands := fmt.Sprintf("%s\n{\"id\":2,\"subscribe\":%s}", connect, subscribe)
	response, err := http.Post(at.url, "application/json", strings.NewReader(commands))
	server.Must(t, err)
	s := &stream{replies: make(chan reply, 1000), close: func() { _ = response.Body.Close() }}
	t.Cleanup(s.close)
	go func() {
		defer close(s.replies)
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var reply reply
			if json.Unmarshal(lines.Bytes(), &reply) == nil {
				s.replies <- reply
			}
		}
	}()
	s.subscribed = *await(t, s, "subscribed at "+at.name, func(r reply) *subscribed { return r.Subscribe })
	return s
}

// mixedNode is a node with the prefix of Centrifugo, whose channels are those of the web port.
func mixedNode(t *testing.T, address string) node {
	metrics := centrifuge.MetricsConfig{RegistererGatherer: prometheus.NewRegistry()}
	n, err := centrifuge.New(centrifuge.Config{Metrics: metrics, ClientStaleCloseDelay: server.Patience})
	server.Must(t, err)
	shard, err := centrifuge.NewRedisShard(n, centrifuge.RedisShardConfig{
		Address: address, ConnectTimeout: server.Patience, IOTimeout: server.Patience,
	})
	server.Must(t, err)
	shards := []*centrifuge.RedisShard{shard}
	broker, err := centrifuge.NewRedisBroker(n, centrifuge.RedisBrokerConfig{Shards: shards, Prefix: "centrifugo"})
	server.Must(t, err)
	n.SetBroker(broker)
	presence, err := centrifuge.NewRedisPresenceManager(n, centrifuge.RedisPresenceManagerConfig{Shards: shards, Prefix: "centrifugo"})
	server.Must(t, err)
	n.SetPresenceManager(presence)
	n.OnConnecting(func(_ context.Context, event centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: event.Name}}, nil
	})
	n.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(_ centrifuge.SubscribeEvent, callback centrifuge.SubscribeCallback) {
			callback(centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{
				EnableRecovery: true, EmitPresence: true, EmitJoinLeave: true, PushJoinLeave: true,
			}}, nil)
		})
	})
	server.Must(t, n.Run())
	handler := httptest.NewServer(centrifuge.NewHTTPStreamHandler(n, centrifuge.HTTPStreamConfig{
		PingPongConfig: centrifuge.PingPongConfig{PingInterval: -1},
	}))
	t.Cleanup(func() {
		server.Must(t, n.Shutdown(context.Background()))
		handler.Close()
		shard.Close()
	})
	return node{n, handler}
}
