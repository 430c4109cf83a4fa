"""What clients have seen, and whether it can have been: registers, lists, transfers.

A register has one writer, which writes 1, 2, 3 ... and leaves it after the first write of which it does not know the
outcome: the next one has another key. So the register is linearizable if and only if each read returns at least what was
acknowledged, or returned by a read, before it began, and at most what was being written before it ended.
"""

import bisect
import threading


class History:
    """Calls of all clients on registers and lists, with the times at which they began and ended."""

    def __init__(self):
        self._lock = threading.Lock()
        # key -> [(start, end or None, value, acknowledged)]
        self.writes = {}
        # key -> [(start, end, value)]
        self.reads = {}
        # key -> [(start, end or None, element)]
        self.pushes = {}
        self.transfers = {}
        self.sums = []
        self.counts = {"acknowledged": 0, "uncertain": 0, "refused": 0, "reads": 0}

    def count(self, what):
        with self._lock:
            self.counts[what] += 1

    def _add(self, table, key, entry):
        with self._lock:
            table.setdefault(key, []).append(entry)

    def wrote(self, key, start, end, value):
        self._add(self.writes, key, (start, end, value))
        self.count("acknowledged" if end else "uncertain")

    def read(self, key, start, end, value):
        self._add(self.reads, key, (start, end, value))
        self.count("reads")

    def pushed(self, key, start, end, element):
        self._add(self.pushes, key, (start, end, element))
        self.count("acknowledged" if end else "uncertain")

    def transferred(self, number, acknowledged):
        with self._lock:
            self.transfers[number] = acknowledged
        self.count("acknowledged" if acknowledged else "uncertain")

    def check(self, final, total):
        """What cannot have been, as text. `final` has `get(key)`, `range(key)`, `members(key)`."""
        found = {"lost writes": [], "stale reads": [], "reads of nothing": [], "lost elements": [],
                 "order of elements": [], "lost transfers": [], "sums": []}
        for key in sorted(self.writes.keys() | self.reads.keys()):
            self._check_register(key, final, found)
        for key, pushes in self.pushes.items():
            there = final.range(key)
            at = {e: i for i, e in enumerate(there)}
            acked = [p for p in pushes if p[1]]
            found["lost elements"] += [f"{key} {e}" for _, _, e in acked if e not in at]
            if len(at) != len(there):
                found["order of elements"].append(f"{key}: some are there twice")
            by_end = sorted((p for p in acked if p[2] in at), key=lambda p: p[1])
            ends, most, highest = [], [], -1
            for _, end, e in by_end:
                highest = max(highest, at[e])
                ends.append(end)
                most.append(highest)
            for start, _, e in by_end:
                n = bisect.bisect_left(ends, start)
                if n and most[n - 1] > at[e]:
                    found["order of elements"].append(f"{key} {e}")
        members = final.members("transfers")
        found["lost transfers"] = [str(n) for n, ok in self.transfers.items() if ok and n not in members]
        found["sums"] = [str(s) for s in self.sums if s != total]
        return {what: which for what, which in found.items() if which}

    def _check_register(self, key, final, found):
        writes, reads = self.writes.get(key, []), self.reads.get(key, [])
        acked = [w for w in writes if w[1]]
        least = max((w[2] for w in acked), default=0)
        value = final.get(key)
        if value < least:
            found["lost writes"].append(f"{key}: {value}, and {least} was acknowledged")
        # What is known to have been by a time: acknowledged writes and reads that had ended.
        known = sorted([(end, v) for _, end, v in acked] + [(end, v) for _, end, v in reads])
        ends, most, highest = [], [], 0
        for end, v in known:
            highest = max(highest, v)
            ends.append(end)
            most.append(highest)
        begun = sorted((start, v) for start, _, v in writes)
        starts = [b[0] for b in begun]
        for start, end, v in reads:
            n = bisect.bisect_left(ends, start)
            if n and most[n - 1] > v:
                found["stale reads"].append(f"{key}: {v} after {most[n - 1]}, {end - start:.3f} s")
            m = bisect.bisect_right(starts, end)
            if v > (begun[m - 1][1] if m else 0):
                found["reads of nothing"].append(f"{key}: {v}")


class Fixed:
    """A final state for the tests of this file."""

    def __init__(self, registers=(), lists=(), members=()):
        self.registers, self.lists, self.sets = dict(registers), dict(lists), set(members)

    def get(self, key):
        return self.registers.get(key, 0)

    def range(self, key):
        return self.lists.get(key, [])

    def members(self, _key):
        return self.sets


def self_test():
    """The checker finds what it is there for."""
    h = History()
    h.wrote("r", 0, 1, 1)
    h.wrote("r", 2, None, 2)
    h.read("r", 1.5, 1.6, 1)
    assert not h.check(Fixed({"r": 2}), 0) and not h.check(Fixed({"r": 1}), 0)
    assert "lost writes" in h.check(Fixed(), 0)
    h.read("r", 3, 4, 2)
    h.read("r", 3.5, 3.9, 1)
    assert not h.check(Fixed({"r": 2}), 0), "two reads at one time"
    h.read("r", 5, 6, 1)
    assert "stale reads" in h.check(Fixed({"r": 2}), 0)
    h = History()
    h.read("r", 5, 6, 1)
    assert "reads of nothing" in h.check(Fixed(), 0)
    h = History()
    h.pushed("l", 0, 1, "a")
    h.pushed("l", 2, 3, "b")
    h.pushed("l", 2, None, "c")
    assert not h.check(Fixed(lists={"l": ["a", "b"]}), 0)
    assert "lost elements" in h.check(Fixed(lists={"l": ["a"]}), 0)
    assert "order of elements" in h.check(Fixed(lists={"l": ["b", "a"]}), 0)
    h.transferred("7", True)
    h.sums = [10, 11]
    found = h.check(Fixed(lists={"l": ["a", "b"]}), 10)
    assert found == {"lost transfers": ["7"], "sums": ["11"]}, found


if __name__ == "__main__":
    self_test()
    print("the checker finds what it looks for")
