// rueidis drives a server as clients-bench does: rueidis PORT CALLERS SECONDS [RATE] [DELAY_US].
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/rueidis"
)

func number(i, otherwise int) int {
	if len(os.Args) <= i {
		return otherwise
	}
	n, err := strconv.Atoi(os.Args[i])
	if err != nil {
		panic(err)
	}
	return n
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func main() {
	callers, rate := number(2, 128), number(4, 0)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:      []string{fmt.Sprintf("127.0.0.1:%d", number(1, 6379))},
		DisableCache:     true,
		AlwaysPipelining: true,
		MaxFlushDelay:    time.Duration(number(5, 0)) * time.Microsecond,
	})
	if err != nil {
		panic(err)
	}
	value := strings.Repeat("x", 64)
	var count atomic.Int64
	for caller := range callers {
		go func() {
			keys := make([]string, 16)
			for i := range keys {
				keys[i] = fmt.Sprintf("key:%d:%d", caller, i)
			}
			due := time.Now()
			for i := 0; ; i++ {
				if rate > 0 {
					due = due.Add(time.Second * time.Duration(callers) / time.Duration(rate))
					time.Sleep(time.Until(due))
				}
				command := client.B().Set().Key(keys[i%16]).Value(value).Build()
				if err := client.Do(context.Background(), command).Error(); err != nil {
					panic(err)
				}
				count.Add(1)
			}
		}()
	}
	time.Sleep(time.Second)
	begin, before, used := time.Now(), count.Load(), cpu()
	time.Sleep(time.Duration(number(3, 4)) * time.Second)
	took, done := time.Since(begin), count.Load()-before
	used = cpu() - used
	fmt.Printf("rueidis %.0f %d\n", float64(done)/took.Seconds(), used.Nanoseconds()/done)
}
