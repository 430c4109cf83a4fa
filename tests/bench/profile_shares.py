"""Reads the profiles of `/debug/profile` and prints the share of the time of each kind of work."""

import gzip


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Numbers and values of a protocol buffer's fields, in order."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 2:
            n, at = varint(data, at)
            yield key >> 3, data[at : at + n]
            at += n
        else:
            value, at = varint(data, at)
            yield key >> 3, value


def numbers(value):
    """A repeated number, packed or not."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        n, at = varint(value, at)
        out.append(n)
    return out


def stacks(gzipped):
    """Function names from the innermost outwards, and how many samples, of every stack."""
    samples, locations, functions, texts = [], {}, {}, []
    for number, value in fields(gzip.decompress(gzipped)):
        if number == 2:
            sample = [(n, numbers(v)) for n, v in fields(value) if n in (1, 2)]
            ids = [i for n, v in sample if n == 1 for i in v]
            samples.append((ids, [c for n, v in sample if n == 2 for c in v][0]))
        elif number == 4:
            location = list(fields(value))
            lines = [dict(fields(v)) for n, v in location if n == 4]
            locations[dict(location)[1]] = [line[1] for line in lines]
        elif number == 5:
            function = dict(fields(value))
            functions[function[1]] = function[2]
        elif number == 6:
            texts.append(value.decode())
    for ids, count in samples:
        yield [texts[functions[f]] for i in ids for f in locations[i]], count


# The innermost frame of a stack that begins with one of these decides its kind.
RULES = [
    ("send", ("__libc_send", "__send", "send", "writev", "__writev", "__GI___writev")),
    ("recv", ("__libc_recv", "__recv", "recv")),
    ("wait", ("epoll_wait", "mio::poll")),
    ("clock", ("__GI___clock_gettime", "clock_gettime", "[vdso]", "stdx::clock")),
    ("reply", ("resp::reply",)),
    ("parse", ("resp::parse", "engine::thread::parse", "engine::thread::classify", "engine::table",
               "commands::table")),
    ("prefetch", ("store::shards::prefetch", "engine::thread::prefetch", "store::db::prefetch",
                  "crossbeam_epoch")),
    ("lock", ("store::waits", "parking_lot", "store::shards::lock", "store::shards::unlock")),
    ("execute", ("data::entry::set", "data::entry::write", "data::entry::splice",
                 "data::table::replace_with", "data::table::insert")),
    ("lookup", ("store::db::", "store::shards::", "store::context")),
    ("execute", ("commands::", "data::zset", "data::hash", "data::set", "data::list", "data::stream",
                 "data::big", "data::packed", "store::expiry", "mi_", "_mi_")),
    ("engine", ("engine::", "server::", "store::")),
]
KINDS = list(dict.fromkeys(kind for kind, _ in RULES))


def kind(stack):
    for name in stack:
        for kind, prefixes in RULES:
            if name.startswith(prefixes) or name in prefixes:
                return kind
    return "engine"


def shares(gzipped):
    """Percent of the samples by kind, of the threads that run commands."""
    counts, total = dict.fromkeys(KINDS, 0), 0
    for stack, count in stacks(gzipped):
        if any(name.startswith("server::net::worker::run") for name in stack):
            counts[kind(stack)] += count
            total += count
    return {k: round(100 * n / max(total, 1)) for k, n in counts.items()}
