package centrifuge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"apus.test/clients/server"
	"github.com/centrifugal/centrifuge"
)

// client is a client of some place: everything that it is told, as it comes.
type client struct {
	lines         chan map[string]any
	node, session string
}

// connectOnly connects as a user, without a subscription.
func connectOnly(t *testing.T, at place, user string) client {
	t.Helper()
	connect := fmt.Sprintf("{\"id\":1,\"connect\":{\"name\":%q,\"token\":%q}}", user, token(user))
	response, err := http.Post(at.url, "application/json", strings.NewReader(connect))
	server.Must(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	c := client{lines: make(chan map[string]any, 1000)}
	go func() {
		defer close(c.lines)
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			var line map[string]any
			if json.Unmarshal(lines.Bytes(), &line) == nil {
				c.lines <- line
			}
		}
	}()
	connected := c.await(t, "connected at "+at.name, "connect")
	c.session, _ = connected["session"].(string)
	c.node, _ = connected["node"].(string)
	return c
}

// await waits for a line that has a value at a path, and returns it.
func (c client) await(t *testing.T, what string, path ...string) map[string]any {
	t.Helper()
	patience := server.Wait()
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				t.Fatalf("%s: the stream has ended", what)
			}
			for _, name := range path {
				line, _ = line[name].(map[string]any)
			}
			if line != nil {
				return line
			}
		case <-patience:
			t.Fatalf("still not so: %s", what)
		}
	}
}

// ends waits for the end of the connection, and returns its code.
func (c client) ends(t *testing.T) any {
	t.Helper()
	return c.await(t, "an end", "push", "disconnect")["code"]
}

// oneSubscriber is how Centrifugo answers the survey for channels: {"news": {"num_clients": 1}}.
var oneSubscriber = []byte("\x0a\x0a\x0a\x04news\x12\x02\x08\x01")

type infos struct {
	Result struct {
		Nodes []struct {
			UID        string
			NumClients int `json:"num_clients"`
			NumUsers   int `json:"num_users"`
		}
	}
}

// TestControl has two nodes and the server's own web port reach each other's connections.
func TestControl(t *testing.T) {
	eachWebPort(t, control)
}

func control(t *testing.T, address, web string) {
	first, second := mixedNode(t, address), mixedNode(t, address)
	for _, n := range []node{first, second} {
		n.node.OnSurvey(func(event centrifuge.SurveyEvent, reply centrifuge.SurveyCallback) {
			reply(centrifuge.SurveyReply{Data: oneSubscriber})
		})
	}
	apus := place{"apus", "http://127.0.0.1:" + web + "/connection/http_stream"}
	atFirst := place{"first", first.http.URL}

	server.Eventually(t, "all know all", func() bool {
		var info infos
		call(t, web, "info", `{}`, &info)
		known, err := first.node.Info()
		server.Must(t, err)
		return len(info.Result.Nodes) == 3 && len(known.Nodes) == 3
	})
	a, f := connectOnly(t, apus, "a"), connectOnly(t, atFirst, "f")
	server.Eventually(t, "the nodes tell of their clients", func() bool {
		known, err := second.node.Info()
		server.Must(t, err)
		for _, n := range known.Nodes {
			if n.UID == a.node {
				return n.NumClients == 1 && n.NumUsers == 1
			}
		}
		return false
	})

	connections(t, web, first.node, a, f)
	surveys(t, web, first, second)
	emulation(t, web, first, a, f)

	var none struct{}
	server.Must(t, second.node.Disconnect("a", centrifuge.WithCustomDisconnect(centrifuge.Disconnect{Code: 4501, Reason: "x"})))
	if code := a.ends(t); code != 4501.0 {
		t.Fatalf("ended with %v", code)
	}
	call(t, web, "disconnect", `{"user":"f","disconnect":{"code":4502,"reason":"y"}}`, &none)
	if code := f.ends(t); code != 4502.0 {
		t.Fatalf("ended with %v", code)
	}

	// A node that leaves says so.
	server.Must(t, second.node.Shutdown(context.Background()))
	server.Eventually(t, "it has left", func() bool {
		var info infos
		call(t, web, "info", `{}`, &info)
		left := true
		for _, n := range info.Result.Nodes {
			left = left && n.UID != second.node.ID()
		}
		return left && len(info.Result.Nodes) == 2
	})
}

// connections: subscribe, refresh and unsubscribe, from either side for the other.
func connections(t *testing.T, web string, first *centrifuge.Node, a, f client) {
	t.Helper()
	var none struct{}
	server.Must(t, first.Subscribe("a", channel, centrifuge.WithRecovery(true), centrifuge.WithEmitPresence(true)))
	subscribed := a.await(t, "a is subscribed by a node", "push", "subscribe")
	if subscribed["recoverable"] != true {
		t.Fatalf("not as the node wants it: %v", subscribed)
	}
	call(t, web, "subscribe", `{"user":"f","channel":"news"}`, &none)
	f.await(t, "f is subscribed by the API", "push", "subscribe")
	present, err := first.Presence(channel)
	server.Must(t, err)
	if len(present.Presence) != 2 {
		t.Fatalf("present: %+v", present)
	}

	server.Must(t, first.Refresh("a", centrifuge.WithRefreshExpireAt(1<<31)))
	if push := a.await(t, "a is refreshed", "push", "refresh"); push["expires"] != true {
		t.Fatalf("refreshed: %v", push)
	}
	call(t, web, "refresh", `{"user":"f","expire_at":2147483648}`, &none)
	f.await(t, "f is refreshed", "push", "refresh")
}

// surveys: the channels of all, asked at a node and at the API.
func surveys(t *testing.T, web string, first, second node) {
	t.Helper()
	results, err := first.node.Survey(context.Background(), "channels", nil, "")
	server.Must(t, err)
	if len(results) != 3 {
		t.Fatalf("answers: %+v", results)
	}
	for id, result := range results {
		if result.Code != 0 || !bytes.Equal(result.Data, oneSubscriber) {
			t.Fatalf("the answer of %s: %+v", id, result)
		}
	}
	results, err = first.node.Survey(context.Background(), "channels", []byte("\x0a\x02x*"), "")
	server.Must(t, err)
	for id, result := range results {
		if id != first.node.ID() && id != second.node.ID() && len(result.Data) != 0 {
			t.Fatalf("nothing matches: %+v", result)
		}
	}
	results, err = first.node.Survey(context.Background(), "other", nil, "")
	server.Must(t, err)
	for id, result := range results {
		if id != first.node.ID() && id != second.node.ID() && result.Code != 3 {
			t.Fatalf("nobody knows this: %+v", result)
		}
	}
	var all struct {
		Result struct {
			Channels map[string]struct {
				NumClients int `json:"num_clients"`
			}
		}
	}
	call(t, web, "channels", `{"pattern":"n*"}`, &all)
	if len(all.Result.Channels) != 1 || all.Result.Channels["news"].NumClients != 3 {
		t.Fatalf("channels: %+v", all)
	}
}

// emulation: commands for a stream come to another server than the stream.
func emulation(t *testing.T, web string, first node, a, f client) {
	t.Helper()
	handler := httptest.NewServer(centrifuge.NewEmulationHandler(first.node, centrifuge.EmulationConfig{}))
	t.Cleanup(handler.Close)
	send := func(url string, to client) int {
		body, err := json.Marshal(map[string]string{
			"node": to.node, "session": to.session, "data": `{"id":3,"unsubscribe":{"channel":"news"}}`,
		})
		server.Must(t, err)
		response, err := http.Post(url, "application/json", bytes.NewReader(body))
		server.Must(t, err)
		server.Must(t, response.Body.Close())
		return response.StatusCode
	}
	if status := send(handler.URL, a); status != http.StatusNoContent {
		t.Fatalf("a's command: %d", status)
	}
	a.await(t, "a is unsubscribed", "unsubscribe")
	if status := send("http://127.0.0.1:"+web+"/emulation", f); status != http.StatusNoContent {
		t.Fatalf("f's command: %d", status)
	}
	f.await(t, "f is unsubscribed", "unsubscribe")
}
