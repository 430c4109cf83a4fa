package clients

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// world is the data of a server: a few texts, lists and sets. It is a value that == compares, so
// that the checker can recognize a state in which it has been before.
type world struct {
	texts [3]string // Keys a, b and c; "" is none.
	lists [2]string // Keys l and m; elements, each followed by a blank.
	sets  [2]string // Keys s and t; members in order, each followed by a blank.
}

func (w *world) text(key string) *string { return &w.texts[key[0]-'a'] }
func (w *world) list(key string) *string { return &w.lists[key[0]-'l'] }
func (w *world) set(key string) *string  { return &w.sets[key[0]-'s'] }

// action is one thing that a client did at a time: a command, or a transaction.
type action struct {
	commands [][]string
	// With WATCH: the key, and its value after it was watched.
	watched, seen string
}

// aborted is the reply of a transaction that did not run.
const aborted = "aborted"

// model says which replies a server may give that does one action after the other.
var model = porcupine.Model{
	Init: func() any { return world{} },
	Step: func(state, input, output any) (bool, any) {
		w, did, replies := state.(world), input.(action), output.([]string)
		if did.watched != "" {
			// It may always abort: a watched key may change and change back.
			if len(replies) == 1 && replies[0] == aborted {
				return true, state
			}
			if textOr(*w.text(did.watched)) != did.seen {
				return false, nil
			}
		}
		if len(replies) != len(did.commands) {
			return false, nil
		}
		for i, command := range did.commands {
			if w.run(command, replies[i]) != replies[i] {
				return false, nil
			}
		}
		return true, w
	},
	DescribeOperation: func(input, output any) string {
		did := input.(action)
		var text strings.Builder
		if did.watched != "" {
			fmt.Fprintf(&text, "WATCH %s = %s; ", did.watched, did.seen)
		}
		for _, command := range did.commands {
			fmt.Fprintf(&text, "%s; ", strings.Join(command, " "))
		}
		return fmt.Sprintf("%s→ %s", text.String(), strings.Join(output.([]string), ", "))
	},
}

func textOr(text string) string {
	if text == "" {
		return "nil"
	}
	return text
}

// run changes the world as a command does, and returns the reply as connection.reply shows it. What
// was seen matters where the server has a choice.
func (w *world) run(command []string, seen string) string {
	args := command[1:]
	switch command[0] {
	case "GET":
		return textOr(*w.text(args[0]))
	case "SET":
		*w.text(args[0]) = args[1]
		return "OK"
	case "INCR":
		n, _ := strconv.Atoi(*w.text(args[0]))
		*w.text(args[0]) = strconv.Itoa(n + 1)
		return *w.text(args[0])
	case "MGET":
		var all []string
		for _, key := range args {
			all = append(all, textOr(*w.text(key)))
		}
		return array(all)
	case "MSET":
		w.setAll(args)
		return "OK"
	case "MSETNX":
		for i := 0; i < len(args); i += 2 {
			if *w.text(args[i]) != "" {
				return "0"
			}
		}
		w.setAll(args)
		return "1"
	case "DEL":
		n := 0
		for _, key := range args {
			if *w.text(key) != "" {
				*w.text(key) = ""
				n++
			}
		}
		return strconv.Itoa(n)
	case "RENAME":
		if *w.text(args[0]) == "" {
			return "ERR no such key"
		}
		text := *w.text(args[0])
		*w.text(args[0]) = ""
		*w.text(args[1]) = text
		return "OK"
	case "RPUSH":
		*w.list(args[0]) += args[1] + " "
		return strconv.Itoa(strings.Count(*w.list(args[0]), " "))
	case "LPOP":
		return textOr(take(w.list(args[0]), true))
	case "BLPOP":
		keys := slices.Clone(args[:len(args)-1])
		// One that waits is served with the key that is ready first, which may be its second: a
		// transaction may fill both, in the other order.
		slices.SortStableFunc(keys, func(a, b string) int {
			return strings.Index(seen, "["+b+" ") - strings.Index(seen, "["+a+" ")
		})
		for _, key := range keys {
			if element := take(w.list(key), true); element != "" {
				return array([]string{key, element})
			}
		}
		return "nil"
	case "LMOVE", "BLMOVE":
		element := take(w.list(args[0]), args[2] == "LEFT")
		if element != "" && args[3] == "LEFT" {
			*w.list(args[1]) = element + " " + *w.list(args[1])
		} else if element != "" {
			*w.list(args[1]) += element + " "
		}
		return textOr(element)
	case "LRANGE":
		return array(strings.Fields(*w.list(args[0])))
	case "SADD":
		return count(insert(w.set(args[0]), args[1]))
	case "SREM":
		return count(remove(w.set(args[0]), args[1]))
	case "SMOVE":
		if !remove(w.set(args[0]), args[2]) {
			return "0"
		}
		insert(w.set(args[1]), args[2])
		return "1"
	case "SUNION":
		all := strings.Fields(w.sets[0] + w.sets[1])
		slices.Sort(all)
		return array(slices.Compact(all))
	}
	panic("the model does not know " + command[0])
}

func (w *world) setAll(pairs []string) {
	for i := 0; i < len(pairs); i += 2 {
		*w.text(pairs[i]) = pairs[i+1]
	}
}

func array(items []string) string { return "[" + strings.Join(items, " ") + "]" }

func count(done bool) string {
	if done {
		return "1"
	}
	return "0"
}

// take removes an element from the front or the back; "" when there is none.
func take(list *string, front bool) string {
	all := strings.Fields(*list)
	if len(all) == 0 {
		return ""
	}
	at := 0
	if !front {
		at = len(all) - 1
	}
	element := all[at]
	*list = joined(slices.Delete(all, at, at+1))
	return element
}

func insert(set *string, member string) bool {
	all := strings.Fields(*set)
	at, found := slices.BinarySearch(all, member)
	if !found {
		*set = joined(slices.Insert(all, at, member))
	}
	return !found
}

func remove(set *string, member string) bool {
	all := strings.Fields(*set)
	at, found := slices.BinarySearch(all, member)
	if found {
		*set = joined(slices.Delete(all, at, at+1))
	}
	return found
}

func joined(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return strings.Join(items, " ") + " "
}

// TestTheCheckerIsNoYesMan checks the checker: histories with one mistake each.
func TestTheCheckerIsNoYesMan(t *testing.T) {
	// An action from one moment to another.
	did := func(from, to int64, did action, replies ...string) porcupine.Operation {
		return porcupine.Operation{Input: did, Call: from, Output: replies, Return: to}
	}
	plain := func(from, to int64, command string, reply string) porcupine.Operation {
		return did(from, to, action{commands: [][]string{strings.Fields(command)}}, reply)
	}
	multi := func(commands ...string) action {
		var a action
		for _, command := range commands {
			a.commands = append(a.commands, strings.Fields(command))
		}
		return a
	}
	watching := multi("SET b 7")
	watching.watched, watching.seen = "a", "nil"
	type history = []porcupine.Operation
	set, mset := plain(1, 2, "SET a 1", "OK"), plain(1, 9, "MSET a 1 b 2", "OK")
	for _, c := range []struct {
		name    string
		history history
		right   bool
	}{
		{"a write is read", history{set, plain(3, 4, "GET a", "1")}, true},
		{"a lost write", history{set, plain(3, 4, "GET a", "nil")}, false},
		{"not yet visible", history{mset, plain(2, 3, "MGET a b", "[nil nil]")}, true},
		{"half visible", history{mset, plain(2, 3, "MGET a b", "[1 nil]")}, false},
		{"gone again", history{mset, plain(2, 3, "MGET a b", "[1 2]"), plain(4, 5, "GET b", "nil")}, false},
		{"in between", history{
			did(1, 9, multi("INCR a", "INCR a"), "1", "2"), plain(2, 3, "GET a", "1"),
		}, false},
		{"two at once", history{
			did(1, 9, multi("GET a", "INCR a"), "nil", "1"), did(2, 8, multi("GET a", "INCR a"), "nil", "2"),
		}, false},
		{"popped twice", history{
			plain(1, 2, "RPUSH l x", "1"), plain(3, 9, "LPOP l", "x"), plain(3, 9, "BLPOP m l 0", "[l x]"),
		}, false},
		{"in no list", history{
			plain(1, 2, "RPUSH l x", "1"), plain(3, 9, "LMOVE l m LEFT RIGHT", "x"),
			did(4, 5, multi("LRANGE l 0 -1", "LRANGE m 0 -1"), "[]", "[]"),
		}, false},
		{"in both sets", history{
			plain(1, 2, "SADD s x", "1"), plain(3, 4, "SMOVE s t x", "1"), plain(5, 6, "SREM s x", "1"),
		}, false},
		{"a watched key that changed", history{plain(3, 4, "SET a 1", "OK"), did(5, 6, watching, "OK")}, false},
		{"aborted", history{plain(3, 4, "SET a 1", "OK"), did(5, 6, watching, aborted)}, true},
	} {
		if got := porcupine.CheckOperationsTimeout(model, c.history, time.Minute); (got == porcupine.Ok) != c.right {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
