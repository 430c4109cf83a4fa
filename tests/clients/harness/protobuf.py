"""Protobuf and Fossil deltas for clients of live channels.

Messages of Protobuf are dicts from field numbers to lists of numbers or bytes, which `fields` reads one level at a time.
"""

import json


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def read_varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return n, at


def delimited(data):
    """Messages with their lengths before them."""
    at = 0
    while at < len(data):
        size, at = read_varint(data, at)
        yield data[at : at + size]
        at += size


def message(**values):
    """A Protobuf message: `message(_1=7, _4=b"...")`; a list repeats its field."""
    out = b""
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            number = int(name[1:])
            if isinstance(one, int):
                out += varint(number << 3) + varint(one)
            else:
                one = one.encode() if isinstance(one, str) else one
                out += varint(number << 3 | 2) + varint(len(one)) + one
    return out


def fields(data):
    """The fields of a Protobuf message."""
    out, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at)
            value = data[at : at + size]
            at += size
        out.setdefault(tag >> 3, []).append(value)
    return out


DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"


def apply_delta(source, delta):
    """The target of a Fossil delta, by the description of the format."""
    at, out = 0, b""

    def number():
        nonlocal at
        n = 0
        while (digit := DIGITS.find(chr(delta[at]))) >= 0:
            n, at = n * 64 + digit, at + 1
        at += 1
        return n, delta[at - 1 : at]

    size, _ = number()
    while True:
        n, kind = number()
        if kind == b";":
            words = [int.from_bytes(out[i : i + 4].ljust(4, b"\0"), "big") for i in range(0, len(out), 4)]
            assert len(out) == size and sum(words) & 0xFFFFFFFF == n, (source, delta)
            return out
        if kind == b"@":
            start, _ = number()
            out += source[start : start + n]
        else:
            out += delta[at : at + n]
            at += n


def whole(publications, previous=b""):
    """The data of publications for a subscriber that takes deltas, as JSON, and which of them were deltas."""
    data, deltas = [], []
    for publication in publications:
        text = publication["data"].encode()
        deltas.append(publication.get("delta", False))
        previous = apply_delta(previous, text) if deltas[-1] else text
        data.append(json.loads(previous))
    return data, deltas
