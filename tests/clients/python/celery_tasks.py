"""The tasks of the celery test; the worker imports them by this module's name."""

import os
import time

import redis
from celery import Celery, chain, group

url = f"redis://127.0.0.1:{os.environ['APUS_PORT']}"
app = Celery("celery_tasks", broker=f"{url}/0", backend=f"{url}/1")


@app.task
def add(x, y):
    return x + y


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def always_fails():
    raise ValueError("as it should")


@app.task(bind=True, default_retry_delay=0, max_retries=2)
def third_time_lucky(self):
    if self.request.retries < 2:
        raise self.retry()
    return self.request.retries


@app.task(bind=True, max_retries=3, retry_backoff=False)
def counted_retries(self, key, times):
    """Fails `times` times, counting its runs in a key."""
    runs = client().incr(key)
    if runs <= times:
        raise self.retry(exc=RuntimeError(f"run {runs}"), countdown=0.05)
    return runs


@app.task(autoretry_for=(KeyError,), retry_kwargs={"max_retries": 1, "countdown": 0})
def never_works():
    raise KeyError("as it should")


@app.task
def note(value, key):
    """Appends a value to a list, and passes it on."""
    client().rpush(key, str(value))
    return value


@app.task
def note_failure(request, error, traceback, key):
    client().rpush(key, f"{request.task.rpartition('.')[2]}: {error}")


@app.task
def sleep_until(key):
    """Notes that it runs, and ends when the stop key exists."""
    redis_client = client()
    redis_client.rpush(key, "running")
    while not redis_client.exists(f"{key}:stop"):
        time.sleep(0.02)
    return "stopped"


@app.task(bind=True)
def replaced(self, n):
    raise self.replace(chain(add.s(n, 1), add.s(10)))


@app.task(bind=True)
def spreads(self, numbers):
    raise self.replace(group(add.s(n, 1) for n in numbers) | total.s())


@app.task
def now():
    return time.time()


def client():
    return redis.Redis(port=int(os.environ["APUS_PORT"]), db=2, decode_responses=True)
