// Package asynq runs the task queue asynq on the apus binary.
package asynq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"apus.test/clients/server"
	"github.com/hibiken/asynq"
)

const patience = server.Patience

var must, eventually = server.Must, server.Eventually

// TestAsynq is asynq's quick start, a client and a server with handlers, with everything that it
// keeps in Lua: schedules, retries, unique tasks, groups, archives, pausing. Its inspector, on which
// its web interface rests, shows the outcome of each.
func TestAsynq(t *testing.T) {
	connection := asynq.RedisClientOpt{
		Addr: server.Start(t), DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
	}
	client := asynq.NewClient(connection)
	t.Cleanup(func() { _ = client.Close() })
	inspector := asynq.NewInspector(connection)
	t.Cleanup(func() { _ = inspector.Close() })

	var lock sync.Mutex
	done := make(map[string]int)
	count := func(task string) int {
		lock.Lock()
		defer lock.Unlock()
		return done[task]
	}
	mux := asynq.NewServeMux()
	mux.HandleFunc("work", func(_ context.Context, task *asynq.Task) error {
		lock.Lock()
		defer lock.Unlock()
		name := string(task.Payload())
		done[name]++
		if name == "fails" || name == "third time lucky" && done[name] < 3 {
			return errors.New("as it should")
		}
		_, err := task.ResultWriter().Write([]byte("did " + name))
		return err
	})
	worker := asynq.NewServer(connection, asynq.Config{
		Concurrency:              4,
		Queues:                   map[string]int{"default": 1, "urgent": 3},
		LogLevel:                 asynq.FatalLevel,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return 0 },
		TaskCheckInterval:        10 * time.Millisecond,
		DelayedTaskCheckInterval: 100 * time.Millisecond,
		GroupGracePeriod:         time.Second, // The least that there is.
		GroupMaxSize:             10,
		GroupAggregator: asynq.GroupAggregatorFunc(func(group string, tasks []*asynq.Task) *asynq.Task {
			return asynq.NewTask("work", fmt.Appendf(nil, "%d of %s", len(tasks), group))
		}),
	})
	must(t, worker.Start(mux))
	t.Cleanup(worker.Shutdown)

	enqueue := func(payload string, options ...asynq.Option) *asynq.TaskInfo {
		t.Helper()
		// Kept, so that the inspector still finds it once it has been done.
		options = append(options, asynq.Retention(time.Hour))
		info, err := client.Enqueue(asynq.NewTask("work", []byte(payload)), options...)
		must(t, err)
		return info
	}
	becomes := func(task *asynq.TaskInfo, state asynq.TaskState) *asynq.TaskInfo {
		t.Helper()
		var info *asynq.TaskInfo
		eventually(t, fmt.Sprintf("%s is %v", task.Payload, state), func() bool {
			var err error
			info, err = inspector.GetTaskInfo(task.Queue, task.ID)
			must(t, err)
			return info.State == state
		})
		return info
	}

	for i := range 50 {
		queue := []string{"default", "urgent"}[i%2]
		task := enqueue(fmt.Sprint("job ", i), asynq.Queue(queue))
		if i == 49 {
			if result := string(becomes(task, asynq.TaskStateCompleted).Result); result != "did job 49" {
				t.Fatalf("result %q", result)
			}
		}
	}
	eventually(t, "all jobs are done", func() bool {
		lock.Lock()
		defer lock.Unlock()
		return len(done) == 50
	})

	later := enqueue("later", asynq.ProcessIn(2*time.Second)) // Kept in whole seconds.
	if later.State != asynq.TaskStateScheduled {
		t.Fatalf("scheduled as %v", later.State)
	}
	becomes(later, asynq.TaskStateCompleted)

	lucky := becomes(enqueue("third time lucky", asynq.MaxRetry(5)), asynq.TaskStateCompleted)
	if lucky.Retried != 2 || count("third time lucky") != 3 {
		t.Fatalf("%d retries, %d runs", lucky.Retried, count("third time lucky"))
	}
	failed := enqueue("fails", asynq.MaxRetry(1))
	if info := becomes(failed, asynq.TaskStateArchived); info.LastErr != "as it should" || count("fails") != 2 {
		t.Fatalf("failed with %q after %d runs", info.LastErr, count("fails"))
	}
	must(t, inspector.DeleteTask(failed.Queue, failed.ID))

	// A paused queue keeps its tasks; the same id, or the same content while it is unique,
	// is refused.
	must(t, inspector.PauseQueue("default"))
	unique := enqueue("unique", asynq.Unique(time.Minute))
	_, err := client.Enqueue(asynq.NewTask("work", []byte("unique")), asynq.Unique(time.Minute))
	if !errors.Is(err, asynq.ErrDuplicateTask) {
		t.Fatalf("the same task again: %v", err)
	}
	_, err = client.Enqueue(asynq.NewTask("work", nil), asynq.TaskID(unique.ID))
	if !errors.Is(err, asynq.ErrTaskIDConflict) {
		t.Fatalf("the same id again: %v", err)
	}
	waiting := enqueue("run at once", asynq.ProcessIn(time.Hour))
	must(t, inspector.RunTask(waiting.Queue, waiting.ID))
	pending, err := inspector.ListPendingTasks("default")
	must(t, err)
	if len(pending) != 2 {
		t.Fatalf("%d tasks wait in the paused queue", len(pending))
	}
	must(t, inspector.UnpauseQueue("default"))
	becomes(unique, asynq.TaskStateCompleted)
	becomes(waiting, asynq.TaskStateCompleted)

	for i := range 10 {
		_, err := client.Enqueue(asynq.NewTask("work", fmt.Append(nil, i)), asynq.Group("mail"))
		must(t, err)
	}
	// One, unless we got so little time between two of them that the first ones went without the others.
	eventually(t, "a group has become few tasks", func() bool {
		all := 0
		for n := 2; n <= 10; n++ {
			all += n * count(fmt.Sprint(n, " of mail"))
		}
		return all+count("1 of mail") == 10 && all > 0
	})

	// A handler is through before its task counts as completed. 25 jobs, "later", "third time lucky",
	// "unique", "run at once"; the group's task is not kept.
	eventually(t, "all tasks are completed", func() bool {
		queue, err := inspector.GetQueueInfo("default")
		must(t, err)
		return queue.Completed == 29 && queue.Size == 29 && queue.FailedTotal == 4 && queue.MemoryUsage > 0
	})
}
