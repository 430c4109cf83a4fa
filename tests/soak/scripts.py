#!/usr/bin/env python3
"""Random Lua scripts on Apus and on a real Redis: are the replies the same?

Commands with arguments of every type and number, errors in nested pcall, results of every form in
RESP2 and RESP3, the libraries (cjson, cmsgpack, struct, bit, string, table, math) with random values,
and the commands that load and manage scripts, functions and users, with wrong arguments as people type
them. Every byte of every reply is compared; `DIFFERS` lists the known differences, with reasons.

    tests/soak/scripts.py [--seconds 30] [--seed N] [--show 20]
"""

import argparse
import random
import re
import sys
import time

import common

BATCH = 100
# Values put where another kind belongs; as names of users, too.
WORDS = ["", "x", "0", "1", "-1", "a", "f" * 40, "return 1", "ON", "SYNC", "k1"]
# Patterns: the request, what Redis 7.0 says, what Apus says; and why.
DIFFERS = [
    (rb"set_repl", rb"requires two arguments", rb"requires one argument", "Redis 7.4 says so"),
    (rb"log", rb"Invalid debug level", rb"Invalid log level", "Redis 7.4 says so"),
    (rb"ACL", rb"nopass|flags\r\n", rb"sanitize-payload", "ACL GETUSER and LIST of Redis 7.2 show it"),
    (rb"(?i)z[a-z]+", rb"\d\.\d{12,}|e[+-]\d", rb"", "Redis 7.2 prints scores in the shortest form"),
    (rb"double=", rb"\d\.\d{14,}|e[+-]\d|-nan", rb"", "Redis 7.2 prints doubles in the shortest form"),
    (rb"(?i)zrev?rank|zrank", rb"Wrong number of args", rb"syntax error|:|\$|_", "WITHSCORE of Redis 7.2"),
    (rb"(?i)bitcount", rb":0", rb"syntax error", "Redis 7.4 looks at the arguments before the key"),
    (rb"DRYRUN", rb"This user has no permissions", rb"User .* has no permissions", "Redis 7.2 names the user"),
    (rb"ACL", rb"age-seconds", rb"entry-id", "ACL LOG of Redis 7.2 tells more"),
    (rb"(?i)encoding", rb"hashtable", rb"listpack", "small sets are listpacks since Redis 7.2"),
    (rb"(?i)sort", rb"can't be converted into double", rb"", "which member is met first is chance in Redis"),
    (rb"(?i)\"load\"", rb"Unknown Redis command", rb"Wrong number of args", "LOAD is a command of Apus"),
    (rb"FUNCTION", rb"\xf5\xc3", rb"\xf5", "DUMP of libraries is not compressed"),
    (rb"(?i)xread", rb"Unbalanced XREAD list", rb"Unbalanced 'xread' list", "Redis 7.4 says so"),
]


class Generator:
    """Random scripts and calls, by a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.depth = 0

    def pick(self, *options):
        """One of several functions, called; or a value."""
        chosen = self.random.choice(options)
        return chosen() if callable(chosen) else chosen

    def many(self, f, least, most):
        """Several values."""
        return [f() for _ in range(self.random.randint(least, most))]

    # ---- values -------------------------------------------------------------------------------

    def text(self):
        """Bytes, as Lua writes them between quotes."""
        r = self.random
        return r.choice([
            "", "a", "b", "key", "10", "-1", "3.7", "0x10", " 5 ", "1e3", "nan", "inf", "(5", "[a", "-",
            "+", "foo bar", "a\\r\\nb", "\\0", "x\\0y", "é", "\\255\\254", "%d", "%s", "[1,2]",
            "{\\\"a\\\":1}", "null", "true", "EX", "NX", "GET", "WITHSCORES", "LIMIT", "0", "COUNT",
            "MATCH", "*", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
            "long " * r.randint(1, 30), "".join(r.choice("abAB01 _-.,:") for _ in range(r.randint(0, 9))),
        ])

    def quoted(self):
        return '"' + self.text().replace('"', '\\"').replace('\\\\"', '\\"') + '"'

    def number(self):
        r = self.random
        return r.choice([
            "0", "1", "2", "3", "-1", "10", "255", "256", "65535", "65536", "2147483647",
            "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "2^31", "2^53",
            "2^53+1", "2^63", "-2^63", "1e15", "1e16", "1e100", "1e308*10",
            "-1e308*10", "0/0", "0.1", "0.5", "1.5", "-1.5", "2.9999999999999999", "3.14159265358979",
            "1/3", "1e-7", "100000000000000", "99999999999999.9", "0.1+0.2", "5e-324", "1.7976931348623157e308",
            str(r.randint(-1000, 1000)), repr(r.uniform(-1e6, 1e6)), repr(r.uniform(-1, 1)),
        ])

    def literal(self):
        return self.pick(self.quoted, self.number, self.number, self.quoted, "nil", "true", "false", "KEYS[1]",
                         "KEYS[2]", "ARGV[1]", "ARGV[2]", "ARGV[3]", "#ARGV", "cjson.null")

    def table(self):
        r = self.random
        if self.depth > 3:
            return "{}"
        kind = r.random()
        if kind < 0.5:
            return "{" + ",".join(self.many(self.value, 0, 4)) + "}"
        if kind < 0.6:
            return "{%s=%s,%s}" % (self.field(), self.quoted(), self.value())
        if kind < 0.7:
            return "{[%s]=%s,%s}" % (self.pick("1", "2", "3", "-1", "0", "1.5", "100", self.quoted),
                                     self.value(), self.value())
        name = r.choice(["ok", "err", "double", "map", "set", "big_number", "verbatim_string"])
        if name in ("map", "set"):
            # One element: the order of more is Lua's.
            return "{%s={[%s]=%s}}" % (name, self.pick(self.quoted, "1", "2", "7.5", "true"), self.value())
        if name == "verbatim_string" and r.random() < 0.7:
            return "{verbatim_string={string=%s,format=%s}}" % (self.quoted(), self.quoted())
        if name == "err":
            # Redis 7.0 does not survive an error whose text is none.
            return "{err=%s}" % self.pick(self.quoted, self.number)
        return "{%s=%s}" % (name, self.value())

    def field(self):
        return self.random.choice(["ok", "err", "a", "b", "double", "map", "n", "ignore_error_stats_update"])

    def value(self):
        """Any expression."""
        self.depth += 1
        try:
            if self.depth > 5:
                return self.literal()
            return self.pick(self.literal, self.literal, self.literal, self.table, self.call, self.library,
                             self.library, self.operator, self.redis)
        finally:
            self.depth -= 1

    def operator(self):
        r = self.random
        kind = r.random()
        if kind < 0.3:
            return "(%s)%s(%s)" % (self.value(), r.choice(["==", "~=", "..", "+", "-", "*", "/", "%", "^", "<"]),
                                   self.value())
        if kind < 0.5:
            return "%s(%s)" % (r.choice(["tostring", "type", "tonumber", "not ", "-", "#"]), self.value())
        if kind < 0.8:
            return "select(%s, pcall(function() return %s end))" % (r.choice(["1", "2", "2", "3", "-1"]),
                                                                   self.value())
        if kind < 0.9:
            return "(%s)[%s]" % (self.value(), self.value())
        return "select(2, pcall(error, %s))" % self.value()

    # ---- the library redis --------------------------------------------------------------------

    def call(self):
        return "redis.%s(%s)" % (self.random.choice(["call", "pcall", "pcall", "pcall"]),
                                 ",".join(self.command()))

    def key(self):
        return self.pick("KEYS[1]", "KEYS[2]", '"k1"', '"k2"', '"k3"', '"h"', '"z"', '"l"', '"s"', '"x"', self.value)

    def command(self):
        r = self.random
        name, shape = r.choice(COMMANDS)
        args = []
        for kind in shape:
            if kind == "k":
                args.append(self.key())
            elif kind == "v":
                args.append(self.pick(self.quoted, self.quoted, self.number, self.literal, self.value))
            elif kind == "n":
                args.append(self.pick(self.number, self.number, '"7"', self.quoted, "1", "2", "3", "-1"))
            elif kind == "t":
                # Far off, or over: a time that is over soon may be over on one server alone.
                args.append(r.choice(['"100000"', "100000", "0", "-1", '"x"', "1.5e6", "nil"]))
            elif kind == "f":
                args.append(r.choice(['"f1"', '"f2"', '"f3"', '"a"', '"b"', "1", "2.5"]))
            else:
                args.append('"%s"' % kind)
        if r.random() < 0.05 and args:
            args.pop()
        if r.random() < 0.05:
            args.append(self.value())
        if r.random() < 0.01:
            return args
        if r.random() < 0.5:
            name = name.lower()
        return ['"%s"' % name] + args

    def redis(self):
        r = self.random
        v = self.value
        return r.choice([
            lambda: "redis.error_reply(%s)" % self.pick(self.quoted, '"My Err"', '"-MY err"', v),
            lambda: "redis.status_reply(%s)" % self.pick(self.quoted, v),
            lambda: "redis.sha1hex(%s)" % self.pick(self.quoted, self.literal),
            lambda: "redis.acl_check_cmd(%s)" % ",".join(self.command()),
            lambda: "redis.set_repl(%s)" % self.pick("redis.REPL_ALL", "redis.REPL_NONE", "7", v),
            lambda: "redis.setresp(%s)" % self.pick("2", "3", "3", v),
            lambda: "redis.%s" % r.choice(["REPL_ALL", "LOG_NOTICE", "NOSUCH", "call", "REPL_AOF"]),
            lambda: "redis.replicate_commands()",
            lambda: "redis.breakpoint()",
            lambda: "redis.%s(%s)" % (r.choice(["call", "pcall", "sha1hex", "log", "setresp", "error_reply",
                                              "status_reply", "set_repl", "nosuch"]),
                                     ",".join(self.many(v, 0, 3))),
        ])()

    # ---- other libraries ----------------------------------------------------------------------

    def library(self):
        r = self.random
        return r.choice([self.cjson, self.cjson, self.cmsgpack, self.cmsgpack, self.struct, self.struct, self.bit,
                         self.bit, self.string, self.string, self.format, self.tables, self.math, self.base])()

    def cjson(self):
        r = self.random
        v = self.value
        return r.choice([
            lambda: "cjson.encode(%s)" % v(),
            lambda: "cjson.decode(%s)" % self.json_text(),
            lambda: "cjson.encode(cjson.decode(%s))" % self.json_text(),
            lambda: "cjson.decode(cjson.encode(%s))" % v(),
            lambda: "cjson.%s(%s)" % (r.choice(["encode", "decode", "nosuch"]), ",".join(self.many(v, 0, 2))),
        ])()

    def json_text(self):
        return "'" + self.json(0).replace("\\", "\\\\").replace("'", "") + "'"

    def json(self, depth):
        r = self.random
        kind = r.random()
        if depth > 4 or kind < 0.5:
            return r.choice(["1", "-1", "0", "1.5", "1e5", "1E+2", "-0", "01", "0x1F", "1.", ".5", "1e", "true", "false",
                             "null", "\"a\"", "\"\"", "\"\\u00e9\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\n\\t\\/\"",
                             "\"\\x\"", "nul", "", "nan", "inf", "-inf", "NaN", "Infinity", "[", "{", "\"",
                             "123456789012345678901234567890", "1e400", "\"\\u0000\"", "tru", "9007199254740993"])
        if kind < 0.75:
            return "[" + r.choice([",", ", ", ",\\n"]).join(
                self.json(depth + 1) for _ in range(r.randint(0, 4))) + r.choice(["]"] * 9 + ["", ",]", "]]"])
        # One field: Lua's order of several is undefined.
        return "{" + "\"%s\"%s%s" % (r.choice(["a", "1", "", "b c"]), r.choice([":", " : ", "", ":"]),
                                   self.json(depth + 1)) + r.choice(["}"] * 9 + ["", ",}"])

    def cmsgpack(self):
        r = self.random
        v = self.value
        return r.choice([
            lambda: "cmsgpack.pack(%s)" % ",".join(self.many(v, 0, 3)),
            lambda: "cmsgpack.unpack(cmsgpack.pack(%s))" % ",".join(self.many(v, 1, 3)),
            lambda: "{cmsgpack.unpack(cmsgpack.pack(%s))}" % ",".join(self.many(v, 1, 3)),
            lambda: "cmsgpack.unpack(%s)" % self.binary(),
            lambda: "{cmsgpack.unpack_one(%s,%s)}" % (self.binary(), self.number()),
            lambda: "{cmsgpack.unpack_limit(%s,%s,%s)}" % (self.binary(), self.number(), self.number()),
            lambda: "{cmsgpack.unpack_one(cmsgpack.pack(%s))}" % ",".join(self.many(v, 1, 3)),
            lambda: "{cmsgpack.unpack_limit(cmsgpack.pack(%s),%s)}" % (
                ",".join(self.many(v, 1, 3)), r.choice(["0", "1", "2", "-1"])),
        ])()

    def binary(self):
        r = self.random
        head = r.choice([r.randrange(256), 0xc0, 0xc1, 0xc2, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3,
                         0xd9, 0xda, 0xdb, 0xdc, 0xde, 0x80, 0x81, 0x90, 0x91, 0xa1, 0xe0, 0xc4, 0xc7, 0xd4])
        rest = [r.choice([0, 0, 1, 2, 255, r.randrange(256)]) for _ in range(r.randint(0, 12))]
        # No table may come out with more than one field: their order is Lua's.
        return '"' + "".join("\\%03d" % b for b in [head, *rest]) + '"'

    def struct_format(self):
        r = self.random
        return '"' + "".join(r.choice(["b", "B", "h", "H", "l", "L", "i", "I", "i1", "i2", "I3", "i4", "I8", "i16", "i33",
                                      "f", "d", "s", "c0", "c1", "c3", "c10", "x", "<", ">", "!", "!2", "!4", "!3", " ", "=",
                                      "z", "T", "i0", "c", "I99999999999"])
                             for _ in range(r.randint(1, 4))) + '"'

    def struct(self):
        r = self.random
        v = lambda: self.pick(self.number, self.number, self.quoted, self.value)
        return r.choice([
            lambda: "struct.pack(%s)" % ",".join([self.struct_format(), *self.many(v, 0, 4)]),
            lambda: "{struct.unpack(%s,%s)}" % (self.struct_format(), self.binary()),
            lambda: "{struct.unpack(%s,%s,%s)}" % (self.struct_format(), self.binary(), v()),
            lambda: "struct.size(%s)" % self.struct_format(),
            lambda: "(function() local f = %s return {struct.unpack(f, struct.pack(%s))} end)()" % (
                self.struct_format(), ",".join(["f", *self.many(v, 0, 4)])),
            lambda: "struct.%s(%s)" % (r.choice(["pack", "unpack", "size"]), ",".join(self.many(self.value, 0, 3))),
        ])()

    def bit(self):
        r = self.random
        name = r.choice(["tobit", "bnot", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "bswap",
                         "tohex"])
        return "bit.%s(%s)" % (name, ",".join(self.many(lambda: self.pick(self.number, self.number, self.number,
                                                                         self.value), 1, 3)))

    def pattern(self):
        r = self.random
        return '"' + "".join(r.choice(["a", "b", ".", "%a", "%d", "%s", "%w", "(", ")", "()", "[a-z]", "[^b]", "*", "+", "-",
                                      "?", "^", "$", "%b()", "%f[%w]", "%1", "[", "]", "%", "k", "e"])
                             for _ in range(r.randint(1, 5))) + '"'

    def string(self):
        r = self.random
        s, n = self.quoted, self.number
        v = self.value
        small = lambda: r.choice(["0", "1", "2", "3", "-1", "-2", "10", "1.5"])
        return r.choice([
            lambda: "string.sub(%s,%s,%s)" % (s(), self.pick(small, n), self.pick(small, n)),
            lambda: "{string.find(%s,%s,%s)}" % (s(), self.pattern(), small()),
            lambda: "{string.find(%s,%s,%s,true)}" % (s(), self.pattern(), n()),
            lambda: "{string.match(%s,%s)}" % (s(), self.pattern()),
            lambda: "{string.gsub(%s,%s,%s)}" % (s(), self.pattern(), self.pick(s, '"%0%1"', '"%"', '"%9"', v)),
            lambda: "{string.byte(%s,%s,%s)}" % (s(), small(), small()),
            lambda: "string.char(%s)" % ",".join(self.many(self.pick(lambda: small, lambda: n), 0, 3)),
            lambda: "string.rep(%s,%s)" % (s(), r.choice(["0", "1", "3", "-5", "2.7", "nil", "'x'"])),
            lambda: "string.%s(%s)" % (r.choice(["upper", "lower", "reverse", "len"]), self.pick(s, v)),
            lambda: "(%s):%s()" % (s(), r.choice(["upper", "lower", "reverse", "len", "nosuch"])),
            lambda: "string.%s(%s)" % (r.choice(["sub", "find", "match", "byte", "char", "upper", "len",
                                                "reverse", "nosuch", "gmatch"]), ",".join(self.many(v, 0, 3))),
        ])()

    def format(self):
        r = self.random
        parts = r.choice(["%d", "%5d", "%-5d|", "%05d", "%+d", "%i", "%u", "%c", "%x", "%X", "%#x", "%o", "%e", "%E", "%f",
                          "%.3f", "%10.2f", "%g", "%.17g", "%.14g", "%G", "%q", "%s", "%10s", "%-10s|", "%.2s", "%%",
                          "%", "%y", "%123d", "%.123f", "% d", "%p", "%a"])
        more = r.choice(["", "", " %s", " %d", "x"])
        return 'string.format("%s%s",%s)' % (parts, more, ",".join(self.many(
            lambda: self.pick(self.number, self.number, self.quoted, self.value), 1, 3)))

    def tables(self):
        r = self.random
        v = self.value
        t = lambda: self.pick(lambda: "{" + ",".join(self.many(self.literal, 0, 5)) + "}", lambda: "{3,1,2}",
                              lambda: '{"b","a"}', self.table)
        return r.choice([
            lambda: "table.concat(%s,%s)" % (t(), self.quoted()),
            lambda: "table.concat(%s,%s,%s,%s)" % (t(), self.quoted(), self.number(), r.choice(["1", "2", "5", "-1"])),
            lambda: "(function() local t = %s table.sort(t) return t end)()" % t(),
            lambda: "(function() local t = %s table.insert(t,%s) return t end)()" % (t(), ",".join(self.many(v, 0, 2))),
            lambda: "(function() local t = %s return {table.remove(t,%s), t} end)()" % (
                t(), r.choice(["1", "2", "5", "0", "-1", "nil", "'x'"])),
            lambda: "table.getn(%s)" % t(),
            lambda: "table.maxn(%s)" % t(),
            lambda: "{unpack(%s)}" % t(),
            lambda: "{unpack(%s,%s,%s)}" % (t(), self.number(), r.choice(["1", "2", "5", "8000", "1e9", "-1"])),
            lambda: "{next(%s)}" % self.pick("{}", "{1}", "{a=1}", v),
            lambda: "(function() local n=0 for k,v in ipairs(%s) do n=n+k end return n end)()" % self.pick(t, v),
            lambda: "table.%s(%s)" % (r.choice(["concat", "insert", "remove", "sort", "getn", "maxn", "foreachi",
                                               "setn", "nosuch"]), ",".join(self.many(v, 0, 3))),
        ])()

    def math(self):
        r = self.random
        n = self.number
        name = r.choice(["abs", "ceil", "floor", "sqrt", "fmod", "max", "min", "pow", "log", "log10", "exp", "modf",
                         "ldexp", "frexp", "sin", "deg", "rad", "huge", "pi", "tanh", "atan2", "mod", "random"])
        if name in ("huge", "pi"):
            return "math." + name
        if name == "random":
            return "(function() math.randomseed(%s) return math.random(%s) end)()" % (
                r.choice(["0", "1", "42", n()]), r.choice(["", "10", "5,7", "0", "3,1", "2^31"]))
        return "{math.%s(%s)}" % (name, ",".join(self.many(lambda: self.pick(n, n, n, self.value), 1, 2)))

    def base(self):
        r = self.random
        v = self.value
        return r.choice([
            lambda: "tonumber(%s)" % self.pick(self.quoted, self.number),
            lambda: "tonumber(%s,%s)" % (self.quoted(), r.choice(["2", "8", "10", "16", "36", "1", "37"])),
            lambda: "tostring(%s)" % self.pick(self.number, self.literal),
            lambda: "{pcall(%s)}" % ",".join(self.many(v, 0, 2)),
            lambda: "{pcall(redis.call,%s)}" % ",".join(self.command()),
            lambda: "{pcall(redis.pcall,%s)}" % ",".join(self.command()),
            lambda: "select('#',%s)" % v(),
            lambda: "assert(%s)" % ",".join(self.many(v, 1, 2)),
            lambda: "error(%s)" % ",".join(self.many(v, 0, 2)),
            lambda: "rawget(%s,%s)" % (self.table(), self.literal()),
            lambda: "rawequal(%s,%s)" % (v(), v()),
            lambda: "(loadstring(%s) or type)(1)" % self.pick(self.quoted, "'return 5'", "'return ...'"),
            lambda: "(xpcall(function() return %s end, function(e) return e end))" % v(),
            lambda: "{xpcall(function() return %s end, function(e) return e end)}" % v(),
            lambda: "coroutine.wrap(function() coroutine.yield(%s) end)()" % v(),
            lambda: "{coroutine.resume(coroutine.create(function(a) return %s end), 1)}" % v(),
            lambda: r.choice(["_G.x", "KEYS", "ARGV", "nosuch", "#KEYS", "redis.x", "print", "dofile",
                              "_VERSION", "getmetatable('').__index.len('abc')", "type(_G)", "gcinfo", "newproxy",
                              "type(getmetatable(_G))", "setmetatable({}, {__index=function() return 7 end}).x",
                              "setmetatable({},{__metatable=1})", "getmetatable(setmetatable({},{__metatable=%s}))" % v(),
                              "setmetatable(_G, {})", "rawset(_G,'x',1)", "rawset({},1,2)",
                              "collectgarbage()", "type(collectgarbage('count'))", "collectgarbage('nosuch')", "load",
                              "require", "module", "io", "debug", "package"]),
        ])()

    # ---- whole scripts and calls ----------------------------------------------------------------

    def statement(self):
        r = self.random
        v = self.value
        return r.choice([
            lambda: "local a = %s" % v(),
            lambda: "local t = {} t[%s] = %s" % (v(), v()),
            lambda: "for i = %s, %s do %s end" % (r.choice(["1", "0", "'x'"]), r.choice(["2", "3", "0", "nil"]), self.call()),
            lambda: "if %s then return %s end" % (v(), v()),
            lambda: "%s" % self.call(),
            lambda: "redis.setresp(3)",
            lambda: "local function f(...) return {...} end f(%s)" % v(),
            lambda: r.choice(["x = 1", "string = nil", "redis.call = nil", "KEYS[1] = 'k1'", "ARGV[1] = %s" % v(),
                              "_G.y = 5", "KEYS = {}", "table.insert(KEYS, 'k2')", "string.len = 5",
                              "getmetatable('').__index = nil", "error({err='MY own'})", "error({err=%s})" % self.quoted(),
                              "error(%s)" % v(), "error('x', %s)" % self.number(), "error()"]),
        ])()

    def script(self):
        r = self.random
        lines = self.many(self.statement, 0, 2)
        if r.random() < 0.9:
            lines.append("return " + self.value())
        text = r.choice(["\n", " "]).join(lines)
        if r.random() < 0.03:
            cut = r.randint(0, len(text))
            text = text[:cut] + r.choice(["", ")", "end", "'", "--", "="]) + text[cut:]
        if r.random() < 0.05:
            text = "#!" + r.choice(["lua", "lua flags=no-writes", "lua flags=allow-oom,allow-stale", "lua flags=", "lua name=x",
                                    "js", "lua flags=nosuch", "", "lua flags=no-cluster flags=no-writes",
                                    "lua  flags=no-writes ", "LUA"]) + r.choice(["\n", "\n", "\n", " ", ""]) + text
        return text

    def calls(self):
        """A few requests that belong together."""
        r = self.random
        kind = r.random()
        if kind < 0.90:
            keys = r.choice([["k1", "k2"], ["h", "z"], ["l", "s"], ["x", "k1"], ["k1"], [], ["", "k2"]])
            args = [r.choice(["a", "b", "10", "3.5", "", "foo", "-1"]) for _ in range(r.randint(0, 4))]
            count = len(keys) if r.random() < 0.98 else r.choice([-1, 5, "x", 100, ""])
            name = "EVAL_RO" if r.random() < 0.05 else r.choice(["EVAL", "eval"])
            yield [name, self.script(), count, *keys, *args]
        elif kind < 0.93:
            yield from self.library_calls()
        elif kind < 0.96:
            yield self.wrong()
        else:
            yield r.choice(SETUP)

    def library_calls(self):
        r = self.random
        name = r.choice(["lib", "lib2", "l-x", "", "LIB"])
        function = r.choice(["f", "g", "F", "f x", ""])
        flags = r.choice(["", ", flags={'no-writes'}", ", flags={'nosuch'}", ", flags={1}", ", flags='x'",
                          ", description='d'", ", description=1", ", nosuch=1"])
        body = "function(keys, args) %s end" % self.script().split("\n", 1)[-1]
        code = r.choice([
            "redis.register_function('%s', %s)" % (function, body),
            "redis.register_function{function_name='%s', callback=%s%s}" % (function, body, flags),
            "redis.register_function(%s)" % ",".join(self.many(self.value, 0, 3)),
            "local x = %s redis.register_function('%s', function() return x end)" % (self.value(), function),
            "return %s" % self.value(),
        ])
        head = r.choice(["#!lua name=%s" % name] * 8 + ["#!lua", "#!lua name=", "#!js name=x", "", "#!lua nam=x",
                                                      "#!lua name=a name=b", "#!", "#!lua name=lib engine=x"])
        load = ["FUNCTION", "LOAD", head + r.choice(["\n", "\n", "\n", " "]) + code]
        if r.random() < 0.7:
            load.insert(2, r.choice(["REPLACE", "replace", "REPLACE", "NOSUCH"]))
        yield load
        call = r.choice(["FCALL", "FCALL", "FCALL_RO", "fcall"])
        yield [call, r.choice([function, "f", "g", "nosuch"]), r.choice([0, 1, 2, "x", -1]), "k1", "h", "a"]
        yield r.choice([
            ["FUNCTION", "LIST"], ["FUNCTION", "LIST", "LIBRARYNAME", "l*"], ["FUNCTION", "LIST", "WITHCODE"],
            ["FUNCTION", "LIST", "LIBRARYNAME"], ["FUNCTION", "LIST", "nosuch"], ["FUNCTION", "DELETE", name],
            ["FUNCTION", "FLUSH"], ["FUNCTION", "FLUSH", "ASYNC"], ["FUNCTION", "FLUSH", "x"], ["FUNCTION", "STATS"],
            ["FUNCTION", "KILL"], ["FUNCTION", "nosuch"], ["FUNCTION", "RESTORE", "x"], ["FUNCTION", "RESTORE", "x", "y"],
            ["FUNCTION", "DUMP", "x"], ["FUNCTION", "DELETE"], ["FUNCTION", "FLUSH", "SYNC", "x"], ["FUNCTION"],
        ])

    def wrong(self):
        """Typing mistakes."""
        r = self.random
        head = r.choice([
            ["EVAL"], ["EVALSHA"], ["EVAL_RO"], ["EVALSHA_RO"], ["FCALL"], ["FCALL_RO"], ["SCRIPT"], ["SCRIPT", "LOAD"],
            ["SCRIPT", "EXISTS"], ["SCRIPT", "FLUSH"], ["SCRIPT", "KILL"], ["SCRIPT", "nosuch"],
            ["FUNCTION", "LOAD"], ["FUNCTION", "LOAD", "REPLACE"], ["FUNCTION", "DUMP"], ["FUNCTION", "RESTORE"],
            ["ACL"], ["ACL", "SETUSER"], ["ACL", "GETUSER"], ["ACL", "DELUSER"], ["ACL", "CAT"], ["ACL", "LOG"],
            ["ACL", "DRYRUN"], ["ACL", "DRYRUN", "default"], ["ACL", "DRYRUN", "u"], ["ACL", "WHOAMI"], ["ACL", "GENPASS", "x"], ["ACL", "nosuch"],
            ["ACL", "LOAD"], ["ACL", "SAVE"], ["ACL", "LIST"], ["ACL", "USERS"], ["AUTH"], ["HELLO", "9"], ["HELLO", "x"],
            ["AUTH", "u"], ["AUTH", "u", "p"], ["AUTH", "a", "b", "c"],
        ])
        if head[:2] == ["ACL", "SETUSER"] and r.random() < 0.9:
            rules = ["on", "off", "nopass", "resetpass", ">pw", "<pw", "<nosuch", "#" + "a" * 64, "#abc", "!" + "a" * 64,
                     "!abc", "~*", "~a*", "%R~b*", "%W~c*", "%RW~d", "%~x", "%R", "%X~a", "allkeys", "resetkeys", "&*", "&ch",
                     "allchannels", "resetchannels", "+@all", "-@all", "+get", "-set", "+@read", "-@dangerous", "+@nosuch",
                     "+nosuch", "-nosuch", "+config|get", "-config|set", "+config|nosuch", "+get|x", "+set|y|z", "allcommands", "nocommands",
                     "reset", "(+get ~x)", "(+set %W~y &z)", "(", ")", "(+nosuch)", "(~* ", "clearselectors", "sanitize-payload",
                     "skip-sanitize-payload", "nosuch", "", "+", "-", "~", "&", "@read", "-config|get", "+client|id", "+select|0", "+select|1", "-select|0"]
            return [*head, r.choice(["u", "v", "u", "a b", ""]), *self.many(lambda: r.choice(rules), 1, 4)]
        if head[:2] == ["ACL", "DRYRUN"] and r.random() < 0.8:
            return [*head[:2], r.choice(["default", "u", "v", "nosuch"]),
                    *r.choice([["GET", "x"], ["SET", "y", "1"], ["GET"], ["nosuch"], ["CONFIG", "GET", "x"], ["CONFIG"],
                               ["PUBLISH", "ch", "m"], ["EVAL", "return 1", "1", "y"], ["COPY", "b1", "c1"], ["SORT", "a", "STORE", "b"],
                               ["XREAD", "STREAMS", "a", "0"], ["SUBSCRIBE", "ch"], ["PSUBSCRIBE", "c*"], ["MSET", "a", "1", "b", "2"]])]
        if head[:2] == ["ACL", "GETUSER"] and r.random() < 0.8:
            return [*head, r.choice(["u", "v", "default"])]
        if head == ["SCRIPT", "FLUSH"] and r.random() < 0.5:
            return [*head, r.choice(["x", "ASYNC", "0", "-1", "99999", "a b"]), *self.many(lambda: r.choice(WORDS), 0, 1)]
        return [*head, *self.many(lambda: r.choice(WORDS), 0, 3)]


COMMANDS = [(name, shape.split()) for name, shape in (line.split(None, 1) if " " in line else (line, "")
            for line in """\
GET k
SET k v
SET k v EX t
SET k v PX t
SET k v XX GET
SETEX k t v
GETSET k v
GETDEL k
APPEND k v
INCR k
INCRBY k n
INCRBYFLOAT k n
DECRBY k n
STRLEN k
GETRANGE k n n
SETRANGE k n v
MGET k k
MSET k v k v
EXISTS k
DEL k
UNLINK k k
TYPE k
TTL k
PTTL k
EXPIRE k t
PEXPIRE k t NX
PERSIST k
RENAME k k
COPY k k
OBJECT ENCODING k
HSET k f v
HSET k f v f v
HGET k f
HMGET k f f
HDEL k f
HGETALL h
HLEN k
HEXISTS k f
HINCRBY k f n
HINCRBYFLOAT k f n
HSTRLEN k f
HKEYS h
LPUSH k v
RPUSH k v v
LPOP k
LPOP k n
RPOP k
LRANGE k n n
LINDEX k n
LSET k n v
LINSERT k BEFORE v v
LREM k n v
LTRIM k n n
LLEN k
LPOS k v
LMOVE k k LEFT RIGHT
SADD k v
SADD k v v
SREM k v
SCARD k
SISMEMBER k v
SMISMEMBER k v v
SMOVE k k v
ZADD k n f
ZADD k NX n f n f
ZADD k INCR n f
ZADD k GT CH n f
ZSCORE k f
ZMSCORE k f f
ZINCRBY k n f
ZREM k f
ZCARD k
ZRANGE k n n
ZRANGE k n n WITHSCORES
ZRANGE k n n REV
ZRANGEBYSCORE k -inf +inf
ZRANGEBYSCORE k n n WITHSCORES
ZRANGEBYSCORE k (1 +inf LIMIT 0 n
ZREVRANGE k n n
ZRANK k f
ZCOUNT k n n
ZPOPMIN k
ZPOPMIN k n
ZREMRANGEBYSCORE k n n
ZREMRANGEBYRANK k n n
XADD k 1-1 f v
XADD k n f v
XADD k MAXLEN n n f v
XADD k MAXLEN ~ n n f v
XLEN k
XRANGE k - +
XRANGE k n n COUNT n
XREVRANGE k + - COUNT 1
XREAD COUNT n STREAMS k n
XTRIM k MAXLEN n
XDEL k n
XGROUP CREATE k g $ MKSTREAM
XINFO STREAM nosuch
SETBIT k n 1
GETBIT k n
BITCOUNT k
BITFIELD k SET u8 0 n
PFADD k v
PFCOUNT k
GEOADD k n n f
GEOPOS k f
PING
PING v
ECHO v
TIME2
SELECT n
DBSIZE
PUBLISH v v
SPUBLISH v v
MULTI
EXEC
WATCH k
SUBSCRIBE v
EVAL v 0
SCRIPT LOAD v
FUNCTION LOAD v
CLIENT NOSUCH
CONFIG GET maxmemory
DEBUG SLEEP 0
RANDOMKEY2
DUMP nosuch
RESTORE k n v
SORT l
SORT l ALPHA DESC
SCAN 0 COUNT2
HSCAN nosuch 0
ZSCAN nosuch 0
KEYS nosuch*
FLUSHALL2
SINTER k k
SUNIONSTORE k k k
ZUNIONSTORE k 2 k k
HELLO 3
AUTH v
RESET
QUIT
ACL WHOAMI
HRANDFIELD nosuch
""".splitlines())]

SETUP = [
    ["SET", "k1", "10"], ["SET", "k2", "text"], ["DEL", "k1", "k2", "k3"], ["DEL", "h", "z", "l", "s", "x"],
    ["HSET", "h", "f1", "1"], ["HSET", "h", "f2", "two"], ["ZADD", "z", "1", "f1", "2.5", "f2"], ["ZADD", "z", "-inf", "a"],
    ["RPUSH", "l", "1", "2", "3"], ["SADD", "s", "1", "2"], ["XADD", "x", "1-1", "f1", "v"], ["FLUSHALL"], ["FLUSHALL"],
    ["SCRIPT", "FLUSH"], ["ACL", "DELUSER", "u", "v"], ["SET", "k3", "1", "EX", "1000"], ["PING"],
    ["CONFIG", "RESETSTAT"], ["INFO", "nosuch"],
]

# Errors of the parser name the text nearby in the script; numbers of addresses differ between processes.
ADDRESS = re.compile(rb"(\$\d+\r\n)?(\"?)(table|function|userdata|thread): 0x[0-9a-f]+")


def normal(reply):
    """A reply without the parts that differ between two processes."""
    return ADDRESS.sub(rb"\2\3: ADDRESS", reply)


def known(request, redis, ours):
    """Whether a difference is a known one."""
    text = "\n".join(request).encode()
    return any(re.search(asked, text, re.S) and re.search(a, redis, re.S) and re.search(b, ours, re.S)
               for asked, a, b, _ in DIFFERS)


def raw(file):
    """The bytes of the next reply."""
    line = file.readline()
    kind, rest = line[:1], line[1:-2]
    if not line.endswith(b"\r\n") or kind not in b"+-:$*_#,(=%~>":
        raise ConnectionError(f"no reply: {line!r}")
    if kind in b"$=":
        return line if rest == b"-1" else line + file.read(int(rest) + 2)
    parts = {b"*": 1, b"~": 1, b">": 1, b"%": 2}.get(kind, 0)
    return line + b"".join(raw(file) for _ in range(parts * max(int(rest), 0) if parts else 0))


def ask(server, batch):
    """Sends requests, and returns the replies."""
    if not server.alive():
        return [f"it is dead: {server.log_text()[-1500:]}".encode()]
    with server.client() as client:
        client.send(b"".join(common.encode(*request) for request in batch))
        replies = []
        try:
            replies.extend(raw(client.file) for _ in batch)
        except (OSError, ConnectionError, ValueError) as e:
            time.sleep(0.2)
            replies.append(f"{e!r}; alive: {server.alive()}; {server.log_text()[-1500:]}".encode())
        return replies


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--show", type=int, default=20, help="differences after which it ends")
    options = parser.parse_args()
    print("seed", options.seed)
    calls = differences = deaths = 0
    until = time.monotonic() + options.seconds
    seed = options.seed
    with common.Server() as ours:
        redis = common.Server("--crash-memcheck-enabled", "no", reference=True)
        try:
            while time.monotonic() < until and differences < options.show:
                seed += 1
                batch, skip = requests(seed)
                replies = [ask(server, batch) for server in (redis, ours)]
                calls += len(batch) - skip
                if not ours.alive():
                    print("DEAD, seed", seed, batch)
                    sys.exit(2)
                if not redis.alive():
                    # Some of these scripts are too much for it.
                    deaths += 1
                    redis.stop()
                    redis = common.Server("--crash-memcheck-enabled", "no", reference=True)
                    continue
                for request, a, b in list(zip(batch, *replies))[skip:]:
                    a, b = normal(a), normal(b)
                    if a != b and not known(request, a, b):
                        differences += 1
                        print("DIFFERENT, seed", seed, request, "\n  Redis:", a[:600], "\n  Apus: ", b[:600],
                              flush=True)
                    if a != b:
                        # The later replies may differ because of this.
                        break
        finally:
            redis.stop()
    print(f"calls={calls} differences={differences} crashes of Redis={deaths}")
    sys.exit(differences > 0)


def requests(seed):
    """The requests that a seed stands for, and how many of them only clean up."""
    generator = Generator(seed)
    batch = [["HELLO", generator.random.choice([2, 3])]]
    batch += [["FLUSHALL"], ["FUNCTION", "FLUSH"], ["ACL", "DELUSER", "u", "v", "a b", *WORDS], ["ACL", "LOG", "RESET"]]
    skip = len(batch)
    while len(batch) < BATCH:
        batch += [[str(a) for a in call] for call in generator.calls()]
    return batch, skip


if __name__ == "__main__":
    main()
