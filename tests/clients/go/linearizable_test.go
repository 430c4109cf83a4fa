package clients

import (
	"bufio"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Many connections run random commands and transactions over few keys on a server with four
// threads. Whatever the interleaving, there must be an order of them, one after the other, that
// explains every reply and in which nothing comes before something that had ended when it began:
// the history is linearizable. Porcupine looks for that order; the model is in
// linearizable_model_test.go.
//
// It has been seen to fail, in its first six rounds, on servers with one mistake each: EXEC without
// its lock set; WATCH checked before the shards are locked and not while they are; a command over
// several shards that unlocks each before it locks the next.
const (
	linearizeFor = 25 * time.Second
	roundsMin    = 10
	// A round is one history, from an empty server. Longer ones find no more, and take longer to check.
	clientsPerRound = 10
	actionsOfClient = 60
	checkPatience   = 20 * time.Second
)

func TestLinearizable(t *testing.T) {
	seed := time.Now().UnixNano()
	if text := os.Getenv("APUS_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseInt(text, 10, 64)
		must(t, err)
	}
	t.Logf("seed %d (APUS_SEED; the order of threads is not part of it)", seed)
	address := start(t, "--threads", "4")
	var connections []*connection
	for range clientsPerRound {
		connections = append(connections, dial(t, address))
	}
	var total, transactions, gaveUp, undecided int
	rounds := 0
	for begin := time.Now(); rounds < roundsMin || time.Since(begin) < linearizeFor; rounds++ {
		history := round(t, connections, seed+int64(rounds)*clientsPerRound)
		for _, done := range history {
			if len(done.Input.(action).commands) > 1 {
				transactions++
			}
			if slices.Equal(done.Output.([]string), []string{aborted}) {
				gaveUp++
			}
		}
		total += len(history)
		result, info := porcupine.CheckOperationsVerbose(model, history, checkPatience)
		switch result {
		case porcupine.Unknown:
			undecided++
		case porcupine.Illegal:
			path := filepath.Join(os.TempDir(), "apus-not-linearizable.html")
			must(t, porcupine.VisualizePath(model, info, path))
			t.Fatalf("round %d of seed %d is not linearizable; see %s\n%s", rounds, seed, path, culprits(info, history))
		}
	}
	t.Logf("%d rounds, %d actions, %d of them transactions, %d aborted by WATCH, %d rounds undecided",
		rounds, total, transactions, gaveUp, undecided)
	// Where there is little time, the checker gives up on some; a run that decides none proves nothing.
	if undecided == rounds || transactions == 0 || gaveUp == 0 {
		t.Errorf("too little was checked")
	}
}

// culprits shows the first actions that no order can explain behind the longest part that one can.
func culprits(info porcupine.LinearizationInfo, history []porcupine.Operation) string {
	explained := map[int]bool{}
	for _, partial := range info.PartialLinearizations() {
		for _, order := range partial {
			if len(order) > len(explained) {
				clear(explained)
				for _, id := range order {
					explained[id] = true
				}
			}
		}
	}
	var left []porcupine.Operation
	for id, done := range history {
		if !explained[id] {
			left = append(left, done)
		}
	}
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d actions can be explained; then come\n", len(explained), len(history))
	for _, done := range left[:min(len(left), 8)] {
		fmt.Fprintf(&text, "  client %d, %d to %d: %s\n", done.ClientId, done.Call, done.Return,
			model.DescribeOperation(done.Input, done.Output))
	}
	return text.String()
}

// round lets all connections work at once, and returns their actions.
func round(t *testing.T, connections []*connection, seed int64) []porcupine.Operation {
	must(t, connections[0].send([]string{"FLUSHALL"}))
	if _, err := connections[0].reply(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	all := make([][]porcupine.Operation, len(connections))
	errs := make([]error, len(connections))
	var working sync.WaitGroup
	for id, c := range connections {
		working.Go(func() {
			w := worker{id: id, begin: begin, c: c, random: rand.New(rand.NewSource(seed + int64(id)))}
			for range actionsOfClient {
				if errs[id] = w.act(); errs[id] != nil {
					return
				}
			}
			all[id] = w.done
		})
	}
	working.Wait()
	for id, err := range errs {
		if err != nil {
			t.Fatalf("client %d: %v", id, err)
		}
	}
	return slices.Concat(all...)
}

// worker is one client in a round.
type worker struct {
	id     int
	begin  time.Time
	c      *connection
	random *rand.Rand
	done   []porcupine.Operation
	values int
}

// act does one thing, and notes it.
func (w *worker) act() error {
	switch n := w.random.Intn(10); {
	case n < 4:
		return w.plain(w.command())
	case n < 5: // These wait.
		lists := w.pair("l", "m")
		if w.random.Intn(2) == 0 {
			return w.plain([]string{"BLPOP", lists[0], lists[1], "0.005"})
		}
		return w.plain([]string{"BLMOVE", lists[0], lists[1], w.end(), w.end(), "0.005"})
	}
	var a action
	if w.random.Intn(4) == 0 {
		a.watched = w.one("a", "b", "c")
		if err := w.c.send([]string{"WATCH", a.watched}); err != nil {
			return err
		}
		if _, err := w.c.reply(); err != nil {
			return err
		}
		if err := w.plain([]string{"GET", a.watched}); err != nil {
			return err
		}
		a.seen = w.done[len(w.done)-1].Output.([]string)[0]
	}
	for range 2 + w.random.Intn(5) {
		a.commands = append(a.commands, w.command())
	}
	return w.transaction(a)
}

func (w *worker) plain(command []string) error {
	from := time.Since(w.begin)
	if err := w.c.send(command); err != nil {
		return err
	}
	reply, err := w.c.reply()
	w.note(action{commands: [][]string{command}}, []string{shown(command, reply)}, from)
	return err
}

func (w *worker) transaction(a action) error {
	from := time.Since(w.begin)
	all := slices.Concat([][]string{{"MULTI"}}, a.commands, [][]string{{"EXEC"}})
	if err := w.c.send(all...); err != nil {
		return err
	}
	for range len(a.commands) + 1 {
		if reply, err := w.c.reply(); err != nil || strings.HasPrefix(reply, "ERR") {
			return fmt.Errorf("queueing %v: %s, %v", a.commands, reply, err)
		}
	}
	replies, err := w.c.exec()
	for i := range replies {
		if len(replies) == len(a.commands) {
			replies[i] = shown(a.commands[i], replies[i])
		}
	}
	w.note(a, replies, from)
	return err
}

func (w *worker) note(a action, replies []string, from time.Duration) {
	w.done = append(w.done, porcupine.Operation{
		ClientId: w.id, Input: a, Call: int64(from), Output: replies, Return: int64(time.Since(w.begin)),
	})
}

// shown brings members of a set in order.
func shown(command []string, reply string) string {
	if command[0] != "SUNION" {
		return reply
	}
	members := strings.Fields(strings.Trim(reply, "[]"))
	slices.Sort(members)
	return array(members)
}

func (w *worker) one(of ...string) string { return of[w.random.Intn(len(of))] }
func (w *worker) end() string             { return w.one("LEFT", "RIGHT") }

// pair returns two different ones.
func (w *worker) pair(of ...string) []string {
	w.random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return of[:2]
}

// value is one that no other worker writes, so that a read shows which write it has seen.
func (w *worker) value() string {
	w.values++
	return strconv.Itoa((w.id+1)*1_000_000 + w.values*1_000)
}

// command draws one that does not wait.
func (w *worker) command() []string {
	texts, lists, sets := w.pair("a", "b", "c"), w.pair("l", "m"), w.pair("s", "t")
	member := w.one("w", "x", "y", "z")
	switch w.random.Intn(18) {
	case 0:
		return []string{"SET", texts[0], w.value()}
	case 1, 2:
		return []string{"INCR", texts[0]}
	case 3, 4:
		return []string{"MGET", "a", "b", "c"}
	case 5, 6:
		return []string{"MSET", texts[0], w.value(), texts[1], w.value()}
	case 7:
		return []string{"MSETNX", texts[0], w.value(), texts[1], w.value()}
	case 8:
		return []string{"DEL", texts[0], texts[1]}
	case 9, 10:
		return []string{"RENAME", texts[0], texts[1]}
	case 11:
		return []string{"RPUSH", lists[0], w.value()}
	case 12:
		return []string{"LPOP", lists[0]}
	case 13:
		return []string{"LMOVE", lists[0], lists[1], w.end(), w.end()}
	case 14:
		return []string{"LRANGE", lists[0], "0", "-1"}
	case 15:
		return []string{w.one("SADD", "SADD", "SREM"), sets[0], member}
	case 16:
		return []string{"SMOVE", sets[0], sets[1], member}
	default:
		return []string{"SUNION", "s", "t"}
	}
}

// connection is a client that does nothing that takes time.
type connection struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, address string) *connection {
	c, err := net.Dial("tcp", address)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &connection{c, bufio.NewReader(c)}
}

// send writes commands in one piece.
func (c *connection) send(commands ...[]string) error {
	var text strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&text, "*%d\r\n", len(command))
		for _, arg := range command {
			fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(arg), arg)
		}
	}
	must := c.SetDeadline(time.Now().Add(patience))
	if must != nil {
		return must
	}
	_, err := io.WriteString(c, text.String())
	return err
}

// exec reads the reply to EXEC: one for each command, or one that says that it was aborted.
func (c *connection) exec() ([]string, error) {
	kind, n, err := c.head()
	if err != nil || kind != '*' {
		return nil, fmt.Errorf("EXEC said %q %s: %v", kind, n, err)
	}
	size, err := strconv.Atoi(n)
	if size < 0 {
		return []string{aborted}, err
	}
	replies := make([]string, size)
	for i := range replies {
		if replies[i], err = c.reply(); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (c *connection) head() (byte, string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil || len(line) < 3 {
		return 0, "", fmt.Errorf("reading a reply: %w", err)
	}
	return line[0], line[1 : len(line)-2], nil
}

// reply reads a reply as a text: arrays in brackets, and `nil`.
func (c *connection) reply() (string, error) {
	kind, text, err := c.head()
	if err != nil || kind == '+' || kind == '-' || kind == ':' {
		return text, err
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 {
		return "nil", err
	}
	if kind == '$' {
		bytes := make([]byte, size+2)
		_, err := io.ReadFull(c.in, bytes)
		return string(bytes[:size]), err
	}
	items := make([]string, size)
	for i := range items {
		if items[i], err = c.reply(); err != nil {
			return "", err
		}
	}
	return array(items), nil
}
