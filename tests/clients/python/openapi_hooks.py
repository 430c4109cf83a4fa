"""Hooks of Schemathesis: rules that OpenAPI 3.0 cannot express, and bounds on waits for absent records."""

import re
import struct

import schemathesis

DURATION = re.compile(r"(\d+|(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+)$")
STARTS = ("offset", "timestamp", "group")
BATCH = "application/vnd.apus.batch"
LINES = "application/x-ndjson"


@schemathesis.serializer(BATCH)
def as_batch(context, value):
    return batch(as_bytes(value)) if is_positive(context.case) else as_bytes(value)


@schemathesis.serializer(LINES)
def as_lines(context, value):
    # One that is not empty is needed.
    return (b"x\n" if is_positive(context.case) else b"") + as_bytes(value)


def is_positive(case):
    """Whether the request ought to be accepted."""
    return case.meta is not None and case.meta.generation.mode.is_positive


def as_bytes(value):
    if isinstance(value, bytes):
        return value
    # Generated binary is an object of the tool's own.
    return getattr(value, "data", None) or str(value).encode()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def batch(record):
    """A batch of one record, as docs/topics-format.md describes it."""
    body = struct.pack("<I", len(record)) + record
    before = struct.pack("<4sBBxxQIIIII", b"ApLB", 1, 0, 0, 1, 0, len(body), len(body), crc32c(body))
    behind = struct.pack("<QQQQQ", 0, 0, 0, 0, 0)
    return before + struct.pack("<I", crc32c(before + behind)) + behind + body


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Shortens waits that would be granted; of parameters that exclude each other, leaves one; where two
    go together, gives both."""
    query = dict(case.query) if isinstance(case.query, dict) else {}
    path, method = case.path, case.method.upper()
    if method == "GET":
        waits = {"/records": "timeout"}.get(path)
        if path.endswith(("/tail", "/batches", "/{topic}/records")):
            waits = "wait"
            for name in [name for name in STARTS if name in query][1:]:
                del query[name]
        # Seb takes a timeout that is none for one that is not given.
        if waits and (waits not in query or path == "/records" or DURATION.match(str(query[waits]))):
            query[waits] = "1ms"
    elif path.endswith("/{topic}/records") and len({"producer", "sequence"} & set(query)) == 1:
        query = {"producer": 1, "sequence": 1, **query}
    if query != case.query:
        case.query = query
