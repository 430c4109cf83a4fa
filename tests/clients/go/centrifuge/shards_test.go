package centrifuge

import (
	"fmt"
	"testing"
	"time"

	"apus.test/clients/server"
	"github.com/centrifugal/centrifuge"
)

const (
	shardCount    = 3
	channelCount  = 9
	perChannel    = 300
	cuts          = 6
	historyLength = 1000
)

// TestCentrifugeShards spreads channels over several servers. While they are published in, all links are cut
// again and again, and one server is killed and started again with its files. Every publication that was
// acknowledged is in its channel's history once, and each client gets all of them in order, by recovery
// where it was cut off.
func TestCentrifugeShards(t *testing.T) {
	for _, variant := range []variant{{name: "resp3"}, {name: "resp2", resp2: true}} {
		t.Run(variant.name, func(t *testing.T) { shardsWithFaults(t, variant) })
	}
}

func shardsWithFaults(t *testing.T, variant variant) {
	var processes []*server.Process
	var links []*server.Link
	var configs []centrifuge.RedisShardConfig
	for range shardCount {
		process := server.Run(t, "--appendonly", "yes", "--appendfsync", "always")
		link := server.NewLink(t, process.Address)
		processes, links = append(processes, process), append(links, link)
		configs = append(configs, centrifuge.RedisShardConfig{
			Address: link.Address, ForceRESP2: variant.resp2, ConnectTimeout: 5 * time.Second, IOTimeout: 5 * time.Second,
		})
	}
	config := centrifuge.Config{
		ClientStaleCloseDelay: server.Patience,
		// A client that has missed something while its node was cut off is told soon.
		ClientPresenceUpdateInterval: time.Second, ClientChannelPositionCheckDelay: time.Second,
	}
	writer, reader := startOn(t, config, variant, configs...), startOn(t, config, variant, configs...)

	names := make([]string, channelCount)
	for i := range names {
		names[i] = fmt.Sprint("channel:", i)
	}
	progress := make(chan struct{}, channelCount*perChannel)
	published := make(chan error, channelCount)
	read := make(chan error, channelCount)
	for _, name := range names {
		first := make(chan struct{})
		go func() { read <- readAll(t, reader, name, first) }()
		go func() {
			<-first
			published <- publishAll(t, writer, name, progress)
		}()
	}
	for i := range cuts {
		for range channelCount * perChannel / (cuts + 2) {
			receiveOf(t, progress, "publications go on")
		}
		for _, link := range links {
			link.Cut()
		}
		if i == cuts/2 {
			processes[1].Kill()
			links[1].Cut()
			processes[1].Start(t)
		}
	}
	for range names {
		server.Must(t, receiveOf(t, published, "all is published"))
	}
	for range names {
		server.Must(t, receiveOf(t, read, "all is read"))
	}
	checkHistories(t, writer, names)
}

// checkHistories checks that each channel has all publications once, and its reader is present.
func checkHistories(t *testing.T, writer node, names []string) {
	t.Helper()
	for _, name := range names {
		var result centrifuge.HistoryResult
		server.Eventually(t, "there is a history of "+name, func() bool {
			var err error
			result, err = writer.node.History(name, centrifuge.WithHistoryFilter(centrifuge.HistoryFilter{Limit: -1}))
			return err == nil
		})
		if len(result.Publications) != perChannel {
			t.Fatalf("%s has %d publications", name, len(result.Publications))
		}
		for i, p := range result.Publications {
			if string(p.Data) != fmt.Sprint(i) || p.Offset != uint64(i+1) {
				t.Fatalf("%s has %s at %d", name, p.Data, p.Offset)
			}
		}
		server.Eventually(t, "the reader is present in "+name, func() bool {
			presence, err := writer.node.Presence(name)
			if err != nil {
				return false
			}
			for _, client := range presence.Presence {
				if client.UserID == name {
					return true
				}
			}
			return false
		})
	}
}

func receiveOf[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-server.Wait():
		t.Fatal("still not so: ", what)
		panic("unreachable")
	}
}

// publishAll publishes the numbers in turn, each until it is acknowledged; its key keeps it from being there twice.
func publishAll(t *testing.T, n node, name string, progress chan<- struct{}) error {
	for i := range perChannel {
		options := []centrifuge.PublishOption{
			centrifuge.WithHistory(historyLength, time.Hour),
			centrifuge.WithIdempotencyKey(fmt.Sprint(i)),
		}
		for {
			result, err := n.node.Publish(name, fmt.Append(nil, i), options...)
			if err == nil && result.Offset != uint64(i+1) {
				return fmt.Errorf("%s: %d was published at %d", name, i, result.Offset)
			}
			if err == nil {
				break
			}
			if t.Context().Err() != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
		progress <- struct{}{}
	}
	return nil
}

// readAll reads a channel to the end. Where the node says that something is missing, it subscribes again and
// recovers.
func readAll(t *testing.T, n node, name string, first chan<- struct{}) error {
	var at position
	next := 0
	take := func(p publication) error {
		if string(p.Data) != fmt.Sprint(next) || p.Offset != at.Offset+1 {
			return fmt.Errorf("%s: %s at %d instead of %d at %d", name, p.Data, p.Offset, next, at.Offset+1)
		}
		at.Offset, next = p.Offset, next+1
		return nil
	}
	for next < perChannel {
		if t.Context().Err() != nil {
			return t.Context().Err()
		}
		s := n.connectTo(t, name, name, at)
		for next < perChannel {
			reply, open := <-s.replies
			if !open || reply.Error != nil || (reply.Push != nil && reply.Push.Unsubscribe != nil) {
				break
			}
			if subscribed := reply.Subscribe; subscribed != nil {
				// The reader may have the last publication from a primary that no replica had it from: the failover
				// takes it back, and the writer publishes it again.
				if at.Recover && subscribed.Epoch == at.Epoch && subscribed.Offset+1 == at.Offset {
					at.Offset, next = subscribed.Offset, next-1
				} else if at.Recover && (!subscribed.Recovered || subscribed.Epoch != at.Epoch) {
					return fmt.Errorf("%s: not recovered from %+v: %+v", name, at, *subscribed)
				}
				for _, p := range subscribed.Publications {
					if err := take(p); err != nil {
						return err
					}
				}
				if !at.Recover {
					at.Epoch, at.Recover = subscribed.Epoch, true
					close(first)
				}
			}
			if reply.Push != nil && reply.Push.Pub != nil {
				if err := take(*reply.Push.Pub); err != nil {
					return err
				}
			}
		}
		if next < perChannel {
			s.close()
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}
