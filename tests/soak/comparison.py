"""All data of two servers, compared: values, deadlines, consumer groups, functions."""

import time

from common import ServerError, encode


def pairs(flat):
    return list(zip(flat[::2], flat[1::2]))


def stream(reply, strict=True):
    """XINFO STREAM FULL without what is each server's own: its nodes, and when consumers were seen. Not `strict`: also
    without what Redis does not tell its replicas: how many entries a group has read, deliveries of entries that a consumer
    reads again, some consumers that have no entries."""
    fields = dict(pairs(reply))
    keep = (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added", b"entries",
            b"recorded-first-entry-id")
    groups = []
    for group in fields[b"groups"]:
        g = dict(pairs(group))
        consumers = sorted(
            (c[b"name"], c[b"pending"]) for c in (dict(pairs(one)) for one in g[b"consumers"])
        )
        pending = g[b"pending"]
        if not strict:
            consumers = sorted((name, [p[:1] for p in theirs]) for name, theirs in consumers if theirs)
            pending = [p[:2] for p in pending]
        read = g[b"entries-read"] if strict else None
        groups.append((g[b"name"], g[b"last-delivered-id"], read, pending, consumers))
    return [(k, fields.get(k)) for k in keep], sorted(groups, key=str)


def scores(reply):
    return [(m, float(s)) for m, s in pairs(reply)]


def bits(reply):
    return reply


# Type to the command that reads a key, and what is compared of its reply.
READERS = {
    b"string": (("GET",), bits),
    b"list": (("LRANGE", 0, -1), bits),
    b"set": (("SMEMBERS",), sorted),
    b"zset": (("ZRANGE", 0, -1, "WITHSCORES"), scores),
    b"hash": (("HGETALL",), lambda r: sorted(pairs(r))),
    b"stream": (("XINFO", "STREAM", "FULL", "COUNT", 0), stream),
}


def reading(kind, key):
    words = READERS[kind][0]
    if kind == b"stream":
        return encode("XINFO", "STREAM", key, *words[2:])
    return encode(words[0], key, *words[1:])


def is_capable(c):
    """Whether the server has deadlines of hash fields."""
    return not isinstance(c.pipeline([encode("HPEXPIRETIME", "none", "FIELDS", 1, "f")])[0], ServerError)


def everything(c, has_field_deadlines, strict):
    """(database, key) to (type, value, deadline or -1)."""
    data = {}
    for db in range(16):
        c.do("SELECT", db)
        keys = c.do("KEYS", "*")
        if not keys:
            continue
        kinds = c.pipeline(encode("TYPE", k) for k in keys)
        known = [(k, t) for k, t in zip(keys, kinds) if t in READERS]
        values = c.pipeline(reading(t, k) for k, t in known)
        ends = c.pipeline(encode("PEXPIRETIME", k) for k, _ in known)
        for (key, kind), value, end in zip(known, values, ends):
            if isinstance(value, ServerError):
                # It has expired since, or has been seen as another type.
                data[db, key] = (kind, str(value), end)
                continue
            shown = stream(value, strict) if kind == b"stream" else READERS[kind][1](value)
            if kind == b"hash" and has_field_deadlines and shown:
                names = [f for f, _ in shown]
                shown = (shown, c.do("HPEXPIRETIME", key, "FIELDS", len(names), *names))
            data[db, key] = (kind, shown, end)
    return data


def functions(c):
    """Names and sources of libraries."""
    found = []
    for library in c.do("FUNCTION", "LIST", "WITHCODE"):
        fields = dict(pairs(library))
        found.append((fields[b"library_name"], fields[b"library_code"]))
    return sorted(found)


def both(x, y):
    """Two texts from a little before where they differ."""
    at = next((i for i, (a, b) in enumerate(zip(x, y)) if a != b), min(len(x), len(y)))
    at = max(0, at - 150)
    return f"{x[:40]} ... {x[at:at + 500]}  AND  ... {y[at:at + 500]}"


def differences(ours, theirs, has_field_deadlines, strict):
    """What differs between two servers, as text. Keys that expire while they are read are left out."""
    a, b = (everything(c, has_field_deadlines, strict) for c in (ours, theirs))
    now = int(time.time() * 1000) + 50
    found = []
    for where in sorted(a.keys() | b.keys()):
        x, y = a.get(where), b.get(where)
        is_over = any(v is not None and isinstance(v[2], int) and 0 <= v[2] <= now for v in (x, y))
        if x != y and not is_over:
            found.append(f"{where}: {both(str(x), str(y))}")
    if functions(ours) != functions(theirs):
        found.append(f"functions: {functions(ours)} and {functions(theirs)}")
    return found
