"""The jobs that the tests of job queues enqueue: workers import them by this module's name."""

import os


def count_words(text):
    return len(text.split())


def always_fails():
    raise ValueError("as it should")


def huey_app():
    """The application of huey's own quick start, of the server that APUS_PORT names."""
    from huey import RedisHuey

    huey = RedisHuey("my-app", host="127.0.0.1", port=int(os.environ["APUS_PORT"]))

    @huey.task()
    def add_numbers(a, b):
        return a + b

    return huey, add_numbers


if "APUS_PORT" in os.environ:
    huey, add_numbers = huey_app()
