"""All data of two servers, compared: values, deadlines, consumer groups, functions."""

import time

from common import ServerError, encode


def pairs(flat):
    return list(zip(flat[::2], flat[1::2]))


def stream(reply):
    """XINFO STREAM FULL without what is each server's own: its nodes, and when consumers were seen."""
    fields = dict(pairs(reply))
    keep = (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added", b"entries",
            b"recorded-first-entry-id")
    groups = []
    for group in fields[b"groups"]:
        g = dict(pairs(group))
        consumers = sorted(
            (c[b"name"], c[b"pending"]) for c in (dict(pairs(one)) for one in g[b"consumers"])
        )
        groups.append((g[b"name"], g[b"last-delivered-id"], g[b"entries-read"], g[b"pending"], consumers))
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


def everything(c, has_field_deadlines):
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
            shown = READERS[kind][1](value)
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


def differences(ours, theirs, has_field_deadlines):
    """What differs between two servers, as text. Keys that expire while they are read are left out."""
    a, b = everything(ours, has_field_deadlines), everything(theirs, has_field_deadlines)
    now = int(time.time() * 1000) + 50
    found = []
    for where in sorted(a.keys() | b.keys()):
        x, y = a.get(where), b.get(where)
        is_over = any(v is not None and isinstance(v[2], int) and 0 <= v[2] <= now for v in (x, y))
        if x != y and not is_over:
            found.append(f"{where}: {x} and {y}")
    if functions(ours) != functions(theirs):
        found.append(f"functions: {functions(ours)} and {functions(theirs)}")
    return found
