"""The tasks of the celery test; the worker imports them by this module's name."""

import os

from celery import Celery

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
