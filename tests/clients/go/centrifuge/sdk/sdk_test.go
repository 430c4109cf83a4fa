// Package sdk runs centrifuge-go, the SDK of Go programs, against live channels: every method, over JSON and Protobuf.
package sdk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apus.test/clients/server"
	"github.com/centrifugal/centrifuge-go"
)

const config = `{
  "client": {"token": {"hmac_secret_key": "secret"}},
  "channel": {
    "namespaces": [
      {"name": "chat", "presence": true, "join_leave": true, "force_push_join_leave": true,
       "history_size": 100, "history_ttl": "300s", "force_recovery": true,
       "allow_subscribe_for_client": true, "allow_publish_for_subscriber": true,
       "allow_presence_for_subscriber": true, "allow_history_for_subscriber": true},
      {"name": "closed"}
    ]
  },
  "http_api": {"key": "K"}
}`

var must = server.Must

func token(claims map[string]any) string {
	text, _ := json.Marshal(claims)
	part := base64.RawURLEncoding.EncodeToString
	signed := part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part(text)
	mac := hmac.New(sha256.New, []byte("secret"))
	mac.Write([]byte(signed))
	return signed + "." + part(mac.Sum(nil))
}

// live is a server, the address of its web port, and a way there that can be cut.
type live struct {
	web  string
	link *server.Link
}

func start(t *testing.T) live {
	file := filepath.Join(t.TempDir(), "live.json")
	must(t, os.WriteFile(file, []byte(config), 0o600))
	port := server.FreePort(t)
	server.Start(t, "--web-port", port, "--live-config", file)
	web := "127.0.0.1:" + port
	return live{web, server.NewLink(t, web)}
}

func (l live) api(t *testing.T, method, body string) string {
	t.Helper()
	request, err := http.NewRequest("POST", "http://"+l.web+"/api/"+method, strings.NewReader(body))
	must(t, err)
	request.Header.Set("X-API-Key", "K")
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	return string(text)
}

// client is one that is not connected; events go to channels.
func (l live) client(t *testing.T, form string, options centrifuge.Config) *centrifuge.Client {
	url := "ws://" + l.link.Address + "/connection/websocket"
	make := centrifuge.NewJsonClient
	if form == "protobuf" {
		make = centrifuge.NewProtobufClient
		url += "?format=protobuf"
	}
	c := make(url, options)
	t.Cleanup(c.Close)
	return c
}

func (l live) connected(t *testing.T, form, user string) *centrifuge.Client {
	c := l.client(t, form, centrifuge.Config{Token: token(map[string]any{"sub": user})})
	done := make(chan centrifuge.ConnectedEvent, 9)
	c.OnConnected(func(e centrifuge.ConnectedEvent) { done <- e })
	must(t, c.Connect())
	if e := next(t, done); len(e.ClientID) != 36 {
		t.Fatalf("%+v", e)
	}
	return c
}

func next[T any](t *testing.T, events <-chan T) T {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-server.Wait():
		t.Fatal("no event")
		panic("unreachable")
	}
}

type events struct {
	subscribed   chan centrifuge.SubscribedEvent
	unsubscribed chan centrifuge.UnsubscribedEvent
	publication  chan centrifuge.PublicationEvent
	join         chan centrifuge.JoinEvent
	leave        chan centrifuge.LeaveEvent
}

func subscribe(t *testing.T, c *centrifuge.Client, channel string, options centrifuge.SubscriptionConfig) (*centrifuge.Subscription, events) {
	t.Helper()
	sub, err := c.NewSubscription(channel, options)
	must(t, err)
	e := events{
		make(chan centrifuge.SubscribedEvent, 99), make(chan centrifuge.UnsubscribedEvent, 99), make(chan centrifuge.PublicationEvent, 999),
		make(chan centrifuge.JoinEvent, 99), make(chan centrifuge.LeaveEvent, 99),
	}
	sub.OnSubscribed(func(one centrifuge.SubscribedEvent) { e.subscribed <- one })
	sub.OnUnsubscribed(func(one centrifuge.UnsubscribedEvent) { e.unsubscribed <- one })
	sub.OnPublication(func(one centrifuge.PublicationEvent) { e.publication <- one })
	sub.OnJoin(func(one centrifuge.JoinEvent) { e.join <- one })
	sub.OnLeave(func(one centrifuge.LeaveEvent) { e.leave <- one })
	must(t, sub.Subscribe())
	return sub, e
}

func code(t *testing.T, err error, expected uint32) {
	t.Helper()
	var failed *centrifuge.Error
	if !errors.As(err, &failed) || failed.Code != expected {
		t.Fatalf("%v, not the error %d", err, expected)
	}
}

func both(t *testing.T, test func(t *testing.T, l live, form string)) {
	for _, form := range []string{"json", "protobuf"} {
		t.Run(form, func(t *testing.T) { test(t, start(t), form) })
	}
}

func TestMethods(t *testing.T) {
	both(t, func(t *testing.T, l live, form string) {
		ctx := context.Background()
		ann := l.connected(t, form, "ann")
		sub, e := subscribe(t, ann, "chat:1", centrifuge.SubscriptionConfig{JoinLeave: true})
		if s := next(t, e.subscribed); !s.Recoverable || !s.Positioned || s.StreamPosition.Offset != 0 {
			t.Fatalf("%+v", s)
		}
		if j := next(t, e.join); j.User != "ann" {
			t.Fatalf("%+v", j)
		}
		bob := l.connected(t, form, "bob")
		other, o := subscribe(t, bob, "chat:1", centrifuge.SubscriptionConfig{})
		next(t, o.subscribed)
		if j := next(t, e.join); j.User != "bob" {
			t.Fatalf("%+v", j)
		}
		_, err := other.Publish(ctx, []byte(`{"text":"hi"}`))
		must(t, err)
		for _, seen := range []events{e, o} {
			p := next(t, seen.publication)
			if string(p.Data) != `{"text":"hi"}` || p.Offset != 1 || p.Info.User != "bob" {
				t.Fatalf("%+v", p)
			}
		}
		present, err := sub.Presence(ctx)
		must(t, err)
		stats, err := sub.PresenceStats(ctx)
		must(t, err)
		if len(present.Clients) != 2 || stats.NumClients != 2 || stats.NumUsers != 2 {
			t.Fatalf("%+v %+v", present, stats)
		}
		for range 4 {
			_, err := sub.Publish(ctx, []byte("7"))
			must(t, err)
		}
		history, err := sub.History(ctx, centrifuge.WithHistoryLimit(2), centrifuge.WithHistoryReverse(true))
		must(t, err)
		if len(history.Publications) != 2 || history.Publications[0].Offset != 5 || history.Offset != 5 {
			t.Fatalf("%+v", history)
		}
		since := &centrifuge.StreamPosition{Offset: 1, Epoch: history.Epoch}
		history, err = sub.History(ctx, centrifuge.WithHistoryLimit(2), centrifuge.WithHistorySince(since))
		must(t, err)
		if len(history.Publications) != 2 || history.Publications[0].Offset != 2 {
			t.Fatalf("%+v", history)
		}
		since.Epoch = "other"
		_, err = sub.History(ctx, centrifuge.WithHistoryLimit(2), centrifuge.WithHistorySince(since))
		code(t, err, 112)
		_, err = ann.RPC(ctx, "nothing", []byte("{}"))
		code(t, err, 104)
		_, err = ann.Publish(ctx, "closed:1", []byte("1"))
		code(t, err, 103)
		_, err = ann.Presence(ctx, "none:1")
		code(t, err, 102)
		must(t, other.Unsubscribe())
		if gone := next(t, e.leave); gone.User != "bob" {
			t.Fatalf("%+v", gone)
		}
	})
}

func TestWhatIsMissedIsRecovered(t *testing.T) {
	both(t, func(t *testing.T, l live, form string) {
		ann := l.connected(t, form, "ann")
		_, e := subscribe(t, ann, "chat:r", centrifuge.SubscriptionConfig{})
		next(t, e.subscribed)
		for round := range 5 {
			for n := range 10 {
				if n == 3 {
					l.link.Cut()
				}
				l.api(t, "publish", fmt.Sprintf(`{"channel":"chat:r","data":%d}`, round*10+n))
			}
			for n := range 10 {
				p := next(t, e.publication)
				if p.Offset != uint64(round*10+n+1) || string(p.Data) != fmt.Sprint(round*10+n) {
					t.Fatalf("%+v instead of %d of round %d", p, n, round)
				}
			}
			if s := next(t, e.subscribed); !s.WasRecovering || !s.Recovered {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func TestTokens(t *testing.T) {
	both(t, func(t *testing.T, l live, form string) {
		soon := func() int64 { return time.Now().Unix() + 2 }
		asked := make(chan bool, 99)
		c := l.client(t, form, centrifuge.Config{
			Token: token(map[string]any{"sub": "ann", "exp": soon()}),
			GetToken: func(centrifuge.ConnectionTokenEvent) (string, error) {
				asked <- true
				return token(map[string]any{"sub": "ann", "exp": soon() + 600}), nil
			},
		})
		ended := make(chan centrifuge.DisconnectedEvent, 9)
		c.OnDisconnected(func(e centrifuge.DisconnectedEvent) { ended <- e })
		must(t, c.Connect())
		subAsked := make(chan bool, 99)
		grant := func(exp int64) string {
			return token(map[string]any{"sub": "ann", "channel": "closed:t", "exp": exp})
		}
		_, e := subscribe(t, c, "closed:t", centrifuge.SubscriptionConfig{
			Token: grant(soon()),
			GetToken: func(centrifuge.SubscriptionTokenEvent) (string, error) {
				subAsked <- true
				return grant(soon() + 600), nil
			},
		})
		next(t, e.subscribed)
		next(t, asked)
		next(t, subAsked)
		_, refused := subscribe(t, c, "closed:u", centrifuge.SubscriptionConfig{})
		if u := next(t, refused.unsubscribed); u.Code != 103 {
			t.Fatalf("%+v", u)
		}
		l.api(t, "publish", `{"channel":"closed:t","data":1}`)
		next(t, e.publication)
		l.api(t, "unsubscribe", `{"channel":"closed:t","user":"ann"}`)
		if u := next(t, e.unsubscribed); u.Code != 2000 {
			t.Fatalf("%+v", u)
		}
		l.api(t, "disconnect", `{"user":"ann","disconnect":{"code":4501,"reason":"bye"}}`)
		if d := next(t, ended); d.Code != 4501 || d.Reason != "bye" {
			t.Fatalf("%+v", d)
		}
		bad := l.client(t, form, centrifuge.Config{Token: "bad"})
		bad.OnDisconnected(func(e centrifuge.DisconnectedEvent) { ended <- e })
		must(t, bad.Connect())
		if d := next(t, ended); d.Code != 3500 {
			t.Fatalf("%+v", d)
		}
	})
}

func TestSubscriptionsOfTheServer(t *testing.T) {
	both(t, func(t *testing.T, l live, form string) {
		ann := l.connected(t, form, "ann")
		subscribed := make(chan centrifuge.ServerSubscribedEvent, 9)
		published := make(chan centrifuge.ServerPublicationEvent, 9)
		unsubscribed := make(chan centrifuge.ServerUnsubscribedEvent, 9)
		ann.OnSubscribed(func(e centrifuge.ServerSubscribedEvent) { subscribed <- e })
		ann.OnPublication(func(e centrifuge.ServerPublicationEvent) { published <- e })
		ann.OnUnsubscribed(func(e centrifuge.ServerUnsubscribedEvent) { unsubscribed <- e })
		l.api(t, "subscribe", `{"channel":"chat:s","user":"ann"}`)
		if s := next(t, subscribed); s.Channel != "chat:s" || !s.Recoverable {
			t.Fatalf("%+v", s)
		}
		l.api(t, "publish", `{"channel":"chat:s","data":"x","tags":{"k":"v"}}`)
		if p := next(t, published); string(p.Data) != `"x"` || p.Tags["k"] != "v" {
			t.Fatalf("%+v", p)
		}
		l.api(t, "unsubscribe", `{"channel":"chat:s","user":"ann"}`)
		if u := next(t, unsubscribed); u.Channel != "chat:s" {
			t.Fatalf("%+v", u)
		}
	})
}
