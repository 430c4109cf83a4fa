// Publishes to a stream of NATS JetStream as fast as it takes it: many connections, each with many
// messages under way. Prints messages per second.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	// Only so that the server is built from a version that is written down.
	_ "github.com/nats-io/nats-server/v2/server"
)

func main() {
	url := flag.String("url", nats.DefaultURL, "server")
	workers := flag.Int("workers", 16, "connections")
	messages := flag.Int("messages", 1<<20, "messages in all")
	size := flag.Int("size", 1024, "bytes of a message")
	pending := flag.Int("pending", 4000, "messages of a connection that are not acknowledged yet")
	flag.Parse()

	payload := make([]byte, *size)
	rand.New(rand.NewSource(1)).Read(payload)
	contexts := make([]jetstream.JetStream, *workers)
	for i := range contexts {
		nc, err := nats.Connect(*url)
		check(err)
		defer nc.Close()
		contexts[i], err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(*pending),
			jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { check(err) }))
		check(err)
	}
	_, err := contexts[0].CreateStream(ctx(), jetstream.StreamConfig{
		Name: "bench", Subjects: []string{"bench"}, Storage: jetstream.FileStorage,
	})
	check(err)

	var group sync.WaitGroup
	begin := time.Now()
	for _, js := range contexts {
		group.Add(1)
		go func() {
			defer group.Done()
			for range *messages / *workers {
				_, err := js.PublishAsync("bench", payload, jetstream.WithStallWait(time.Minute))
				check(err)
			}
			<-js.PublishAsyncComplete()
		}()
	}
	group.Wait()
	seconds := time.Since(begin).Seconds()
	stream, err := contexts[0].Stream(ctx(), "bench")
	check(err)
	if n := stream.CachedInfo().State.Msgs; n != uint64(*messages / *workers * *workers) {
		log.Fatalf("%d messages are stored", n)
	}
	fmt.Printf("%.0f\n", float64(*messages)/seconds)
}

func ctx() context.Context { return context.Background() }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
