//! Scripts that are proven to stay within their declared keys, and scripts that are not.

use lua::{Machine, Rule, Vm};

fn rule(name: &[u8]) -> Rule {
    match name.to_ascii_lowercase().as_slice() {
        b"get" | b"set" | b"incr" | b"hset" | b"hmget" | b"xadd" | b"expire" | b"zadd" => {
            Rule::Range { first: 1, last: 1, step: 1 }
        }
        b"del" | b"mget" => Rule::Range { first: 1, last: -1, step: 1 },
        b"mset" => Rule::Range { first: 1, last: -1, step: 2 },
        b"publish" | b"time" => Rule::None,
        _ => Rule::Unknown,
    }
}

fn passes(text: &str) -> bool {
    let mut vm = Vm::new(Machine::Scripts, "7.4.0", 64 << 20, 1);
    let script = vm.compile(text.as_bytes()).expect("valid Lua");
    let answer = vm.uses_declared_keys(&script, &rule);
    vm.release(script);
    answer.is_some_and(|p| p.commands.is_empty())
}

#[test]
fn what_uses_declared_keys_passes() {
    for text in [
        "return 1",
        "return redis.call('GET', KEYS[1])",
        "return redis.call('get', KEYS[1], ARGV[1])",
        "local k = KEYS[1] redis.call('SET', k, ARGV[1]) return redis.call('GET', k)",
        "local key, n = KEYS[1], tonumber(ARGV[1]) \
         if redis.call('INCR', key) == 1 then redis.call('EXPIRE', key, n) end return n",
        "for i, k in ipairs(KEYS) do redis.call('SET', k, i) end",
        "for i = 1, #KEYS do redis.call('SET', KEYS[i], i) end",
        "return redis.call('DEL', KEYS[1], KEYS[2])",
        "return redis.call('MSET', KEYS[1], 1, KEYS[2], 2)",
        "local a = {} for i = 1, 3 do a[i] = i end return redis.call('HSET', KEYS[1], unpack(a))",
        "redis.call('PUBLISH', ARGV[1], 'x')",
        "local call = redis.call return call('GET', KEYS[1])",
        "local r = redis.pcall('GET', KEYS[1]) if r.err then return redis.error_reply(r.err) end",
        "local k = KEYS[1] local function f(n) return redis.call('SET', k, n) end f(1) f(2)",
        "local function f(n) return redis.call('SET', KEYS[1], n) end return f(1)",
        "local t = redis.call('TIME') return t[1]",
        "local n = 0 local function f() n = n + 1 return redis.call('INCR', KEYS[1]) end f() return n",
        "return {KEYS[1], #KEYS, redis.sha1hex(KEYS[1])}",
        "if ARGV[1] ~= '' then redis.call('DEL', KEYS[1]) else redis.call('DEL', KEYS[2]) end",
        "local k = ARGV[1] == '1' and KEYS[1] or KEYS[2] return redis.call('GET', k)",
        // The shape of Centrifugo's publish with history.
        "local epoch if redis.call('hmget', KEYS[2], 'e') then epoch = 1 else epoch = ARGV[3] end \
         local top = redis.call('hset', KEYS[2], 's', 1) \
         redis.call('xadd', KEYS[1], 'MAXLEN', ARGV[2], top, 'd', ARGV[1]) \
         redis.call('expire', KEYS[1], ARGV[3]) return {top, epoch}",
    ] {
        assert!(passes(text), "{text}");
    }
}

/// Numbers of the keys that a script uses when it is called with these; empty when it is not proven.
fn used(text: &str, keys: &[&str], args: &[&str]) -> Vec<usize> {
    let mut vm = Vm::new(Machine::Scripts, "7.4.0", 64 << 20, 1);
    let script = vm.compile(text.as_bytes()).expect("valid Lua");
    let proof = vm.uses_declared_keys(&script, &rule);
    vm.release(script);
    let Some(proof) = proof else { return Vec::new() };
    let nth = |all: &[&'static str], n: usize| all.get(n - 1).map(|t| t.as_bytes());
    let (keys, args) = (leak(keys), leak(args));
    let uses = proof.uses(|n| nth(&keys, n), |n| nth(&args, n));
    (1..=keys.len()).filter(|n| uses.has(*n)).collect()
}

fn leak(texts: &[&str]) -> Vec<&'static str> {
    texts.iter().map(|t| &*t.to_string().leak()).collect()
}

#[test]
fn arguments_and_keys_tell_which_keys_are_used() {
    let guarded =
        "if ARGV[1] ~= '' then redis.call('SET', KEYS[2], 1) end redis.call('GET', KEYS[1])";
    assert_eq!(used(guarded, &["a", ""], &[""]), [1]);
    assert_eq!(used(guarded, &["a", ""], &["x"]), [1, 2]);
    // A missing argument is not empty.
    assert_eq!(used(guarded, &["a", ""], &[]), [1, 2]);
    let local = "local result, expire = KEYS[2], ARGV[2] redis.call('GET', KEYS[1]) \
                 if expire ~= '' then redis.call('SET', result, 1) end \
                 if '' ~= expire then redis.call('EXPIRE', result, expire) end";
    assert_eq!(used(local, &["a", "b"], &["x", ""]), [1]);
    assert_eq!(used(local, &["a", "b"], &["", "5"]), [1, 2]);
    let by_key = "if KEYS[2] == '' then return redis.call('GET', KEYS[1]) end \
                  return redis.call('GET', KEYS[2])";
    assert_eq!(used(by_key, &["a", ""], &[]), [1]);
    assert_eq!(used(by_key, &["a", "b"], &[]), [2]);
    assert_eq!(used(by_key, &["a"], &[]), Vec::<usize>::new());
    let two = "if ARGV[1] == '0' then redis.call('SET', KEYS[1], 1) \
               else redis.call('SET', KEYS[2], 1) end \
               if ARGV[2] == '0' then redis.call('SET', KEYS[3], 1) end";
    assert_eq!(used(two, &["a", "b", "c"], &["0", "1"]), [1]);
    assert_eq!(used(two, &["a", "b", "c"], &["1", "0"]), [2, 3]);
    let inner = "local function f() redis.call('SET', KEYS[2], 1) end \
                 if ARGV[1] == 'x' then f() end return redis.call('GET', KEYS[1])";
    assert_eq!(used(inner, &["a", "b"], &["y"]), [1, 2], "a function may be called anywhere");
    let both = "local k = KEYS[1] if ARGV[1] == 'x' then k = KEYS[2] end redis.call('SET', k, 1)";
    assert_eq!(used(both, &["a", "b", "c"], &["y"]), [1]);
    assert_eq!(used(both, &["a", "b", "c"], &["x"]), [2]);
    assert_eq!(used(both, &["a", "b", "c"], &[]), [1]);
}

#[test]
fn what_is_compared_may_have_been_changed() {
    for text in [
        "ARGV[1] = 'x' if ARGV[1] ~= '' then redis.call('SET', KEYS[2], 1) end",
        "table.insert(ARGV, 1, 'x') if ARGV[1] ~= '' then redis.call('SET', KEYS[2], 1) end",
        "local a = ARGV[1] a = a .. 'x' if a ~= '' then redis.call('SET', KEYS[2], 1) end",
        "local a = ARGV[1] for i = 1, 2 do if a ~= '' then redis.call('SET', KEYS[2], 1) end \
         a = 'x' end",
        "local a = ARGV[1] local function f() a = 'x' end f() \
         if a ~= '' then redis.call('SET', KEYS[2], 1) end",
    ] {
        let uses = used(text, &["a", "b"], &[""]);
        assert!(uses.is_empty() || uses.contains(&2), "{text}: {uses:?}");
    }
}

#[test]
fn what_might_use_others_does_not() {
    for text in [
        "return redis.call('GET', 'other')",
        "return redis.call('GET', ARGV[1])",
        "return redis.call('GET', KEYS[1] .. ':x')",
        "return redis.call(ARGV[1], KEYS[1])",
        "return redis.call('EVALSHA', KEYS[1])",
        "return redis.call('DEL', KEYS[1], 'other')",
        "return redis.call('DEL', unpack(KEYS))",
        "return redis.call('DEL', KEYS[1], unpack(ARGV))",
        "return redis.call(unpack(ARGV))",
        "local k = KEYS[1] if ARGV[1] then k = ARGV[1] end return redis.call('GET', k)",
        "local k = KEYS[1] local function f() return redis.call('GET', k) end k = 'other' return f()",
        "local k = KEYS[1] local function f() return redis.call('GET', k) end \
         local function g() k = 'other' end g() return f()",
        "local k for i = 1, 2 do k = KEYS[1] local f = function() return redis.call('GET', k) end \
         k = 'other' f() end",
        "local function f(k) return redis.call('GET', k) end return f(KEYS[1])",
        "local t = {call = redis.call} return t.call('GET', 'other')",
        "local call local function f() return call('GET', 'other') end call = redis.call f()",
        "return pcall(redis.call, 'GET', 'other')",
        "local r = redis return (function(x) return x.call('GET', 'other') end)(r)",
        "return redis['ca' .. 'll']('GET', 'other')",
        "for k, v in pairs(redis) do if k == 'call' then v('GET', 'other') end end",
        "KEYS[1] = 'other' return redis.call('GET', KEYS[1])",
        "local t = KEYS t[1] = 'other' return redis.call('GET', t[1])",
        "table.insert(KEYS, 1, 'other') return redis.call('GET', KEYS[1])",
        "rawset(KEYS, 1, 'other') return redis.call('GET', KEYS[1])",
        "_G.redis.call('GET', 'other')",
        "getfenv().redis.call('GET', 'other')",
        "return loadstring(\"return redis.call('GET', 'other')\")()",
        "setfenv(1, {redis = {call = redis.call}, KEYS = {'other'}}) return redis.call('GET', KEYS[1])",
        "return (redis or {}).call('GET', 'other')",
        "local f = ARGV[1] and redis.call or tostring return f('GET', 'other')",
        "return coroutine.wrap(redis.call)('GET', 'other')",
        "return setmetatable({}, {__index = redis}).call('GET', 'other')",
        "local a, b, c, d = 'x', 'y', 'z', 'KEYS' local function f() local a, b, c, e = 1, 2, 3, 'GET' \
         return redis.call(d, KEYS[1]) end return f()",
        "local t = KEYS[1] and select(1, KEYS) t[1] = 'x' return redis.call('GET', KEYS[1])",
        "local s = 'GET' if ARGV[1] then s = 'KEYS' end return redis.call(s, KEYS[1])",
        // Variables that a closure assigns to.
        "local k local function set() k = 'other' end k = KEYS[1] set() return redis.call('GET', k)",
        "local k local function set() k = 'other' end set() if ARGV[9] then k = KEYS[1] end \
         return redis.call('GET', k)",
        "local k local function set() k = 'other' end set() local j = k \
         if ARGV[9] then j = KEYS[1] end return redis.call('GET', j)",
        "local k local function f() local j = k if ARGV[9] then j = KEYS[1] end \
         return redis.call('GET', j) end k = 'other' return f()",
        "local k local function f() local function g() k = 'other' end g() end k = KEYS[1] f() \
         return redis.call('GET', k)",
        "local s = 'GET' local function f() s = 'MSET' end f() return redis.call(s, KEYS[1], 1, 'other')",
        "local x = 1 local ip local function f() ip = function(t) t[1] = 'other' end end ip = ipairs f() \
         ip(KEYS) return redis.call('GET', KEYS[1])",
        "local ip = ipairs local function f() ip(KEYS) end ip = function(t) t[1] = 'other' end f() \
         return redis.call('GET', KEYS[1])",
        // The hidden variable `arg`.
        "local function f(...) if ARGV[9] then arg = KEYS end return redis.call('GET', arg[1]) end \
         return f('other')",
        // The values that ipairs returns.
        "local t = select(2, ipairs(KEYS)) t[1] = 'other' return redis.call('GET', KEYS[1])",
        "local function f() return ipairs(KEYS) end local _, t = f() t[1] = 'other' \
         return redis.call('GET', KEYS[1])",
        "for _, t in ipairs, KEYS, 0 do t[1] = 'other' break end return redis.call('GET', KEYS[1])",
        "for x in function(_, t) t[1] = 'other' end, nil, KEYS do end \
         return redis.call('GET', KEYS[1])",
        // Operators that call functions.
        "local m = setmetatable({}, {__add = function(t) t[1] = 'other' end}) local x = KEYS + m \
         return redis.call('GET', KEYS[1])",
        "local m = setmetatable({}, {__concat = function(_, t) t[1] = 'other' end}) \
         local x = m .. KEYS return redis.call('GET', KEYS[1])",
        "local m = setmetatable({}, {__mul = function(t) t.call('GET', 'other') end}) \
         local x = redis * m",
    ] {
        assert!(!passes(text), "{text}");
    }
}

fn conditions(text: &str) -> Option<Vec<usize>> {
    let mut vm = Vm::new(Machine::Scripts, "7.4.0", 64 << 20, 1);
    let script = vm.compile(text.as_bytes()).expect("valid Lua");
    vm.uses_declared_keys(&script, &rule).map(|p| p.commands)
}

#[test]
fn commands_named_by_arguments_are_conditions() {
    let centrifugo = "local key, channel, publish_command = KEYS[1], ARGV[4], ARGV[7] \
                      redis.call('set', key, 1) \
                      if channel ~= '' then redis.call(publish_command, channel, ARGV[1]) end \
                      return unpack(ARGV)";
    assert_eq!(conditions(centrifugo), Some(vec![7]));
    for text in [
        "ARGV[1] = 'SET' return redis.call(ARGV[1], 'other', 1)",
        "local t = ARGV t[1] = 'SET' return redis.call(ARGV[1], 'other', 1)",
        "table.insert(ARGV, 1, 'SET') return redis.call(ARGV[1], 'other', 1)",
        "local t = KEYS[1] and ARGV or {} t[1] = 'SET' return redis.call(ARGV[1], 'other', 1)",
        "local t = {ARGV} t[1][1] = 'SET' return redis.call(ARGV[1], 'other', 1)",
        "local c = ARGV[1] local function f() return redis.call(c, 'other', 1) end c = 'SET' f()",
        "return redis.call(ARGV[tonumber(KEYS[1])], 'other', 1)",
        "local t = select(1, ARGV) t[1] = 'SET' return redis.call(ARGV[1], 'other', 1)",
        "return (function(...) return redis.call(..., 'other', 1) end)('SET')",
        "local c local function f() c = 'SET' end c = ARGV[1] f() return redis.call(c, 'other', 1)",
        "local g = tostring local function f() g = function(t) t[1] = 'SET' end end f() g(ARGV) \
         return redis.call(ARGV[1], 'other', 1)",
        "local g = tostring local function f() g(ARGV) end g = function(t) t[1] = 'SET' end f() \
         return redis.call(ARGV[1], 'other', 1)",
        "local m = setmetatable({}, {__unm = 1, __sub = function(t) t[1] = 'SET' end}) local x = ARGV - m \
         return redis.call(ARGV[1], 'other', 1)",
    ] {
        assert_eq!(conditions(text), None, "{text}");
    }
}
