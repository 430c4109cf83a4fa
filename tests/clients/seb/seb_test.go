// Seb's own Go client, unchanged, against Apus, over all routes of Seb's API.
package seb_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	seb "github.com/micvbang/simple-event-broker"
	"github.com/micvbang/simple-event-broker/seberr"

	"apus.test/clients/server"
)

const key = "a key"

func start(t *testing.T, options ...string) string {
	t.Helper()
	port := server.FreePort(t)
	server.Start(t, append([]string{"--topic-http-port", port, "--topic-http-api-key", key}, options...)...)
	return "http://127.0.0.1:" + port
}

func client(t *testing.T, url, key string) *seb.RecordClient {
	t.Helper()
	c, err := seb.NewRecordClient(url, key)
	server.Must(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func add(t *testing.T, c *seb.RecordClient, topic string, records ...string) {
	t.Helper()
	var sizes []uint32
	var data []byte
	for _, r := range records {
		sizes = append(sizes, uint32(len(r)))
		data = append(data, r...)
	}
	server.Must(t, c.AddRecords(topic, sizes, data))
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v and not %v", err, want)
	}
}

func TestRecordsGoInAndComeBack(t *testing.T) {
	c := client(t, start(t), key)
	add(t, c, "fruit", "apple", "", "cherry\r\n--boundary--\r\n")
	add(t, c, "fruit", "date")
	record, err := c.GetRecord("fruit", 2)
	server.Must(t, err)
	if string(record) != "cherry\r\n--boundary--\r\n" {
		t.Fatalf("%q", record)
	}
	records, err := c.GetRecords("fruit", 0, seb.GetRecordsInput{})
	server.Must(t, err)
	if len(records) != 4 || string(records[0]) != "apple" || len(records[1]) != 0 || string(records[3]) != "date" {
		t.Fatalf("%q", records)
	}
	records, err = c.GetRecords("fruit", 1, seb.GetRecordsInput{MaxRecords: 2})
	server.Must(t, err)
	if len(records) != 2 || string(records[1]) != string(record) {
		t.Fatalf("%q", records)
	}
	topic, err := c.GetTopic("fruit")
	server.Must(t, err)
	if topic.NextOffset != 4 || time.Since(topic.LastInsertTime) > time.Hour {
		t.Fatalf("%+v", topic)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	url := start(t, "--topic-auto-create", "no")
	c := client(t, url, key)
	_, err := c.GetRecord("none", 0)
	is(t, err, seberr.ErrNotFound)
	_, err = c.GetRecords("none", 0, seb.GetRecordsInput{Timeout: time.Millisecond})
	is(t, err, seberr.ErrNotFound)
	_, err = c.GetTopic("none")
	is(t, err, seberr.ErrNotFound)
	_, err = client(t, url, "another key").GetTopic("none")
	is(t, err, seberr.ErrNotAuthorized)
}

func TestOffsetsThatAreNotThere(t *testing.T) {
	c := client(t, start(t), key)
	add(t, c, "one", "record")
	_, err := c.GetRecord("one", 1)
	is(t, err, seberr.ErrNotFound)
	// A client that waits in vain gets nothing, and no error.
	records, err := c.GetRecords("one", 1, seb.GetRecordsInput{Timeout: 20 * time.Millisecond})
	server.Must(t, err)
	if len(records) != 0 {
		t.Fatalf("%q", records)
	}
}

func TestTooLarge(t *testing.T) {
	c := client(t, start(t), key)
	is(t, c.AddRecords("t", make([]uint32, 40_000), nil), seberr.ErrPayloadTooLarge)
	size := 31 << 20
	is(t, c.AddRecords("t", []uint32{uint32(size)}, make([]byte, size)), seberr.ErrPayloadTooLarge)
}

func TestReadersWait(t *testing.T) {
	c := client(t, start(t), key)
	add(t, c, "t", "old")
	got := make(chan [][]byte)
	go func() {
		records, err := c.GetRecords("t", 1, seb.GetRecordsInput{Timeout: server.Patience})
		if err != nil {
			t.Error(err)
		}
		got <- records
	}()
	time.Sleep(50 * time.Millisecond) // It probably waits at this point; the assertion holds if not.
	add(t, c, "t", "new")
	if records := <-got; len(records) != 1 || string(records[0]) != "new" {
		t.Fatalf("%q", records)
	}
}

func TestManyProducersSideBySide(t *testing.T) {
	c := client(t, start(t), key)
	const workers, batches, each = 8, 20, 50
	var group sync.WaitGroup
	for w := range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for b := range batches {
				var sizes []uint32
				var data []byte
				for i := range each {
					record := fmt.Sprintf("%d/%d/%d", w, b, i)
					sizes = append(sizes, uint32(len(record)))
					data = append(data, record...)
				}
				if err := c.AddRecords("t", sizes, data); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	var all [][]byte
	for len(all) < workers*batches*each {
		// The client owns the buffer from here on.
		input := seb.GetRecordsInput{MaxRecords: 1024, Buffer: make([]byte, 0, 64<<10)}
		records, err := c.GetRecords("t", uint64(len(all)), input)
		server.Must(t, err)
		if len(records) == 0 {
			t.Fatalf("nothing at offset %d", len(all))
		}
		all = append(all, records...)
	}
	// Dense, each batch in one piece, and the batches of a worker in order.
	next := make([]int, workers)
	for i := 0; i < len(all); i += each {
		var w, b, n int
		_, err := fmt.Sscanf(string(all[i]), "%d/%d/%d", &w, &b, &n)
		server.Must(t, err)
		if b != next[w] || n != 0 {
			t.Fatalf("%s at offset %d, batch %d was next", all[i], i, next[w])
		}
		next[w]++
		for k := range each {
			if want := fmt.Appendf(nil, "%d/%d/%d", w, b, k); !bytes.Equal(all[i+k], want) {
				t.Fatalf("%s and not %s", all[i+k], want)
			}
		}
	}
}

func TestReadOnly(t *testing.T) {
	c := client(t, start(t, "--topic-read-only", "yes"), key)
	// Seb's client does not show the other replies; nothing has been stored.
	server.Must(t, c.AddRecords("t", []uint32{1}, []byte("x")))
	_, err := c.GetTopic("t")
	is(t, err, seberr.ErrNotFound)
}
