// Command node is a server of browsers built on centrifuge, with its memory engine or its Redis engine: what the library
// itself costs, for tests/bench/live.py and live_broker.py. It has Centrifugo's paths and its JSON, for what the measurement needs of them: channels that
// begin with "hist:" have a history and recover, everybody may do everything, and /api/publish publishes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// history is what a channel keeps: as the namespace of the other server.
func history(channel string) (options []centrifuge.PublishOption) {
	if strings.HasPrefix(channel, "hist:") {
		options = append(options, centrifuge.WithHistory(1000, 300*time.Second))
	}
	return
}

func connected(client *centrifuge.Client) {
	client.OnSubscribe(func(e centrifuge.SubscribeEvent, done centrifuge.SubscribeCallback) {
		recovers := strings.HasPrefix(e.Channel, "hist:")
		options := centrifuge.SubscribeOptions{EnableRecovery: recovers, EnablePositioning: recovers}
		done(centrifuge.SubscribeReply{Options: options}, nil)
	})
	client.OnPublish(func(e centrifuge.PublishEvent, done centrifuge.PublishCallback) {
		reply := centrifuge.PublishReply{}
		if options := history(e.Channel); options != nil {
			reply.Options.HistorySize, reply.Options.HistoryTTL = 1000, 300*time.Second
		}
		done(reply, nil)
	})
}

// publish is the method of that name in Centrifugo's HTTP API.
func publish(node *centrifuge.Node, key string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != key {
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		var asked struct {
			Channel string
			Data    json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		published, err := node.Publish(asked.Channel, asked.Data, history(asked.Channel)...)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"result":{"offset":%d,"epoch":%q}}`, published.Offset, published.Epoch)
	}
}

// useRedis has the channels of a node live in the server at an address.
func useRedis(node *centrifuge.Node, address string) {
	shard, err := centrifuge.NewRedisShard(node, centrifuge.RedisShardConfig{Address: address})
	must(err)
	broker, err := centrifuge.NewRedisBroker(node, centrifuge.RedisBrokerConfig{
		Prefix: "node", Shards: []*centrifuge.RedisShard{shard},
	})
	must(err)
	node.SetBroker(broker)
}

// main is called with an address, the key of the API, and for the Redis engine the address of its server.
func main() {
	address, key := os.Args[1], os.Args[2]
	node, err := centrifuge.New(centrifuge.Config{ClientChannelLimit: 1 << 20})
	must(err)
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: ""}}, nil
	})
	node.OnConnect(connected)
	if len(os.Args) > 3 {
		useRedis(node, os.Args[3])
	}
	must(node.Run())
	anybody := func(*http.Request) bool { return true }
	http.Handle("/connection/websocket", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{CheckOrigin: anybody}))
	http.HandleFunc("/api/publish", publish(node, key))
	must(http.ListenAndServe(address, nil))
}
