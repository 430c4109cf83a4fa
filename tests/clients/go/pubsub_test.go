package clients

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// receive waits for the next message that is not the confirmation of a subscription.
func receive(t *testing.T, ctx context.Context, p *redis.PubSub) string {
	t.Helper()
	message, err := p.ReceiveMessage(ctx)
	must(t, err)
	return fmt.Sprintf("%s|%s|%s", message.Channel, message.Pattern, message.Payload)
}

// subscribed waits until the server has confirmed count subscriptions.
func subscribed(t *testing.T, ctx context.Context, p *redis.PubSub, count int) {
	t.Helper()
	for range count {
		message, err := p.Receive(ctx)
		must(t, err)
		if _, ok := message.(*redis.Subscription); !ok {
			t.Fatalf("%v instead of a confirmation", message)
		}
	}
}

func TestChannelsAndPatterns(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		p := r.Subscribe(ctx, "news", "other")
		defer p.Close()
		must(t, p.PSubscribe(ctx, "n*"))
		subscribed(t, ctx, p, 3)
		same(t, r.Publish(ctx, "news", "hello"), int64(2))
		alike(t, receive(t, ctx, p), "news||hello")
		alike(t, receive(t, ctx, p), "news|n*|hello")
		alike(t, done(r.PubSubNumSub(ctx, "news", "x")), map[string]int64{"news": 1, "x": 0})
		sorted(t, r.PubSubChannels(ctx, "*"), "news", "other")
		same(t, r.PubSubNumPat(ctx), int64(1))
		must(t, p.Ping(ctx, "are you there"))
		pong, err := p.Receive(ctx)
		must(t, err)
		alike(t, pong.(*redis.Pong).Payload, "are you there")
		must(t, p.Unsubscribe(ctx))
		subscribed(t, ctx, p, 2)
		same(t, r.Publish(ctx, "other", "nobody"), int64(0))
	})
}

func TestShardedChannels(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		p := r.SSubscribe(ctx, "orders")
		defer p.Close()
		subscribed(t, ctx, p, 1)
		same(t, r.Publish(ctx, "orders", "not for shards"), int64(0))
		same(t, r.SPublish(ctx, "orders", "one"), int64(1))
		alike(t, receive(t, ctx, p), "orders||one")
		list(t, r.PubSubShardChannels(ctx, "*"), "orders")
	})
}

// Through the Go channel that go-redis offers, from several publishers to several subscribers.
func TestMessagesArriveCompleteAndInOrder(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		const publishers, count = 4, 200
		var channels []<-chan *redis.Message
		for range 10 {
			p := r.Subscribe(ctx, "c")
			defer p.Close()
			subscribed(t, ctx, p, 1)
			channels = append(channels, p.Channel(redis.WithChannelSize(publishers*count)))
		}
		for name := range publishers {
			go func() {
				for i := range count {
					if err := r.Publish(ctx, "c", fmt.Sprint(name, " ", i)).Err(); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		for _, channel := range channels {
			next := make([]int, publishers)
			for range publishers * count {
				select {
				case message := <-channel:
					var name, i int
					_, err := fmt.Sscan(message.Payload, &name, &i)
					must(t, err)
					alike(t, i, next[name])
					next[name]++
				case <-ctx.Done():
					t.Fatalf("messages are missing after %v", next)
				}
			}
		}
	})
}

func TestKeyspaceEvents(t *testing.T) {
	bothProtocols(t, func(t *testing.T, ctx context.Context, r *redis.Client) {
		must(t, r.ConfigSet(ctx, "notify-keyspace-events", "KEA").Err())
		defer r.ConfigSet(ctx, "notify-keyspace-events", "")
		p := r.PSubscribe(ctx, "__keyevent@0__:*")
		defer p.Close()
		subscribed(t, ctx, p, 1)
		_, err := r.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.RPush(ctx, "l", 1)
			pipe.LMove(ctx, "l", "m", "LEFT", "RIGHT")
			pipe.Set(ctx, "k", "v", 0)
			pipe.PExpire(ctx, "k", 1)
			return nil
		})
		must(t, err)
		for _, expected := range []string{"rpush|l", "rpush|m", "lpop|l", "del|l", "set|k", "expire|k", "expired|k"} {
			message, err := p.ReceiveMessage(ctx)
			must(t, err)
			actual := message.Channel[len("__keyevent@0__:"):] + "|" + message.Payload
			alike(t, actual, expected)
		}
	})
}
