// A server of Seb's API over a directory, without object storage: what Seb's own benchmark starts within
// its process, here as a process of its own, so that its CPU can be told from the client's. It is built
// inside Seb's source tree (tests/bench/topics.py lays it over that), since it needs Seb's internals.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/micvbang/go-helpy/sizey"
	"github.com/micvbang/go-helpy/syncy"
	"github.com/micvbang/simple-event-broker/internal/httphandlers"
	"github.com/micvbang/simple-event-broker/internal/infrastructure/logger"
	"github.com/micvbang/simple-event-broker/internal/sebbroker"
	"github.com/micvbang/simple-event-broker/internal/sebcache"
	"github.com/micvbang/simple-event-broker/internal/sebrecords"
	"github.com/micvbang/simple-event-broker/internal/sebtopic"
)

func main() {
	address, dir := os.Args[1], os.Args[2]
	quiet := logger.NewWithLevel(context.Background(), logger.LevelWarn)
	cache, err := sebcache.NewDiskCache(quiet, filepath.Join(dir, "cache"))
	if err != nil {
		log.Fatal(err)
	}
	storage := sebtopic.NewDiskStorage(quiet, filepath.Join(dir, "storage"))
	batchers := sebbroker.NewBlockingBatcherFactory(5*time.Millisecond, 10*sizey.MB)
	broker := sebbroker.New(quiet, sebbroker.NewTopicFactory(storage, cache), sebbroker.WithBatcherFactory(batchers))
	pool := syncy.NewPool(func() *sebrecords.Batch {
		batch := sebrecords.NewBatch(make([]uint32, 0, 32*1024), make([]byte, 0, 30*sizey.MB))
		return &batch
	})
	mux := http.NewServeMux()
	httphandlers.RegisterRoutes(quiet, mux, pool, broker, "api-key", false)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	log.Fatal(http.Serve(listener, mux))
}
