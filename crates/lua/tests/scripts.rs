//! The inputs and results of scripts, and the limits of what they can do.

mod common;

use common::{Mock, machine, run, run_in};
use resp::Proto;

#[test]
fn values_become_replies() {
    assert_eq!(run("return 'hello'"), "$5\r\nhello\r\n");
    assert_eq!(run("return 3.99"), ":3\r\n");
    assert_eq!(run("return -3.99"), ":-3\r\n");
    assert_eq!(run("return true"), ":1\r\n");
    assert_eq!(run("return false"), "$-1\r\n");
    assert_eq!(run("return"), "$-1\r\n");
    assert_eq!(run("return {1,2,nil}"), "*2\r\n:1\r\n:2\r\n");
    assert_eq!(run("return {1,nil,3}"), "*1\r\n:1\r\n");
    assert_eq!(run("return {ok='fine'}"), "+fine\r\n");
    assert_eq!(run("return {err='MY err'}"), "-MY err\r\n");
    assert_eq!(run("return redis.error_reply('FAIL it')"), "-FAIL it\r\n");
    assert_eq!(run("return redis.error_reply('FAIL')"), "-ERR FAIL\r\n");
    assert_eq!(
        run("return {KEYS[1], ARGV[1], ARGV[2], #ARGV}"),
        "*4\r\n$3\r\nkey\r\n$4\r\narg1\r\n$4\r\narg2\r\n:2\r\n"
    );
    assert_eq!(run("return {double=3.5}"), "$3\r\n3.5\r\n");
    assert_eq!(run("return _G"), "*0\r\n");
}

#[test]
fn replies_become_values() {
    assert_eq!(run("return redis.call('RAW', '$-1\\r\\n') == false"), ":1\r\n");
    assert_eq!(run("return redis.call('RAW', '*2\\r\\n:1\\r\\n*-1\\r\\n')[2] == false"), ":1\r\n");
    assert_eq!(run("return redis.call('SET')['ok']"), "$2\r\nOK\r\n");
    assert_eq!(run("return redis.call('MAP')"), "*2\r\n$1\r\nk\r\n$1\r\nv\r\n");
    assert_eq!(run("redis.setresp(3); return redis.call('MAP')['map']['k']"), "$1\r\nv\r\n");
    assert_eq!(
        run("return redis.pcall('RAW', '-WRONG thing\\r\\n')['err']"),
        "$11\r\nWRONG thing\r\n"
    );
    assert_eq!(
        run("return redis.call('RAW', '-WRONG thing\\r\\n')"),
        "error: WRONG thing script: sha, on @user_script:1."
    );
    assert_eq!(run("return redis.pcall('NO')"), "-ERR no such thing\r\n");
    assert_eq!(
        run("redis.setresp(3); return redis.call('RAW', ',1.5\\r\\n').double * 2"),
        ":3\r\n"
    );
    let r = run_in(
        &mut machine(),
        &mut Mock::default(),
        "redis.setresp(3); return redis.call('RAW', '=7\\r\\ntxt:abc\\r\\n')",
        &[],
        Proto::V3,
    );
    assert_eq!(r, "=7\r\ntxt:abc\r\n");
}

/// A reply that a script returns at once is not converted to values. No client may see a difference.
#[test]
fn a_reply_that_is_returned_at_once_is_as_if_it_had_been_a_value() {
    let replies = [
        "$5\\r\\nhello\\r\\n",
        "$0\\r\\n\\r\\n",
        "$-1\\r\\n",
        "*-1\\r\\n",
        "*0\\r\\n",
        "+PONG\\r\\n",
        ":42\\r\\n",
        ":-9007199254740993\\r\\n",
        ":9223372036854775807\\r\\n",
        "*3\\r\\n$1\\r\\na\\r\\n$-1\\r\\n$12\\r\\n:1\\r\\n*-1\\r\\n_\\r\\n\\r\\n",
        "*2\\r\\n*2\\r\\n:9007199254740993\\r\\n*-1\\r\\n*1\\r\\n+OK\\r\\n",
        // Replies that RESP2 does not have, which are converted.
        "*2\\r\\n#t\\r\\n:1\\r\\n",
        ",1.5\\r\\n",
        "-WRONG thing\\r\\n",
    ];
    let forms = [
        "return redis.call('RAW', '{}')",
        "local r = redis.call('RAW', '{}') return r",
        "return redis.pcall('RAW', '{}')",
        "return (redis.pcall('RAW', '{}'))",
        "local function f() return redis.pcall('RAW', '{}') end return f()",
        "local function f() return redis.pcall('RAW', '{}') end local r = f() return r",
        "return coroutine.wrap(function() return redis.pcall('RAW', '{}') end)()",
        "if ARGV[1] then return redis.pcall('RAW', '{}') end return 7",
    ];
    let long = "local r = redis.pcall('RAW', '{}') local s = {r} return s[1]";
    let mut vm = machine();
    for proto in [Proto::V2, Proto::V3] {
        for reply in replies {
            let mut run = |form: &str| {
                let words = ["key", "arg1"];
                let text = form.replace("{}", reply);
                run_in(&mut vm, &mut Mock::default(), &text, &words, proto)
            };
            let wanted = run(long);
            for form in forms {
                let got = run(form);
                let raised = form.contains("call") && got.starts_with("error: WRONG thing");
                assert!(got == wanted || raised, "{form} {reply}: {got:?}, not {wanted:?}");
            }
        }
    }
}

/// The tables of keys and arguments are used again: no script may see the changes that another has made
/// to them, nor its arguments.
#[test]
fn keys_and_arguments_are_those_of_the_call_whatever_was_done_to_those_before() {
    let mut vm = machine();
    let mut run =
        |text: &str, words: &[&str]| run_in(&mut vm, &mut Mock::default(), text, words, Proto::V2);
    let look = "local extra = {} for k, v in pairs(ARGV) do if k ~= 1 and k ~= 2 then \
                extra[#extra + 1] = v end end \
                return {#KEYS, KEYS[1] or 'none', #ARGV, ARGV[1] or 'none', ARGV[2] or 'none', \
                type(KEYS[2]), #extra, tostring(ARGV.x)}";
    for before in [
        "return 1",
        "KEYS[1] = 'other' ARGV[1] = 7 ARGV[2] = {1} return 1",
        "KEYS[1] = nil ARGV[1] = nil ARGV[2] = nil return 1",
        "ARGV[3] = 'more' ARGV[9] = 'more' KEYS[2] = 'more' return 1",
        "ARGV.x = 'more' KEYS.x = 'more' return 1",
        "table.insert(ARGV, 1, 'more') table.insert(KEYS, 'more') return 1",
        "table.remove(ARGV) table.remove(ARGV) table.remove(KEYS) return 1",
        "table.sort(ARGV, function(a, b) return a > b end) return 1",
        "setmetatable(KEYS, {__index = function() return 'x' end}) return 1",
        "setmetatable(ARGV, {__newindex = function() end, __index = KEYS}) ARGV[1] = nil return 1",
        "local a = ARGV local function f() a[1] = 'late' end f() error(a)",
        "KEYS = {'global'}",
        "for i = 1, 100 do ARGV[i] = i end return 1",
        "string.gsub(ARGV[1], '.', function(c) ARGV[2] = c end) return 1",
        "coroutine.wrap(function() ARGV[1] = 'c' coroutine.yield(ARGV) end)() return 1",
    ] {
        run(before, &["key", "arg1", "arg2"]);
        let plain = "*8\r\n:1\r\n$3\r\nkey\r\n:2\r\n$4\r\narg1\r\n$4\r\narg2\r\n$3\r\nnil\r\n:0\r\n$3\r\nnil\r\n";
        assert_eq!(run(look, &["key", "arg1", "arg2"]), plain, "after {before}");
        run(before, &["key", "a", "b"]);
        let got = run(look, &["other", "c", "arg2"]);
        let wanted = plain.replace("$3\r\nkey", "$5\r\nother").replace("$4\r\narg1", "$1\r\nc");
        assert_eq!(got, wanted, "after {before}");
    }
    // The length of a table with holes depends on how it was made.
    let holes = "ARGV[6] = 'x' return {#ARGV, table.maxn(ARGV)}";
    assert_eq!(run(holes, &["key", "a", "b"]), run(holes, &["key", "a", "b"]));
    run("return 1", &["key", "1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(run(holes, &["key", "a", "b"]), "*2\r\n:2\r\n:6\r\n");
}

/// Libraries without their fronts are for scripts that do nothing but take functions out of them.
#[test]
fn libraries_cannot_be_changed_by_any_way_to_them() {
    let mut vm = machine();
    let mut run =
        |text: &str| run_in(&mut vm, &mut Mock::default(), text, &["key", "arg"], Proto::V2);
    for text in [
        "redis.call = nil",
        "redis.x = 1",
        "local r = redis r.x = 1",
        "rawset(redis, 'x', 1)",
        "rawset(string, 'len', nil)",
        "string.len = nil",
        "local t = {redis} t[1].x = 1",
        "setmetatable(redis, {})",
        "table.insert(redis, 1)",
        "local function f(t) t.x = 1 end f(cjson)",
        "for _, t in ipairs({redis, string, math}) do t.x = 1 end",
        "local s = string if ARGV[1] then s = redis end s.x = 1",
        "math.pi = 3",
        "local k = 'call' redis[k] = nil",
        "(redis or string).x = 1",
    ] {
        let reply = run(text);
        assert!(reply.contains("Attempt to modify a readonly table"), "{text}: {reply}");
        let after =
            "return {tostring(redis.x), string.len('abc'), type(redis.call), type(math.pi)}";
        assert_eq!(
            run(after),
            "*4\r\n$3\r\nnil\r\n:3\r\n$8\r\nfunction\r\n$6\r\nnumber\r\n",
            "after {text}"
        );
    }
}

/// Calls that look like the last one, and are not.
#[test]
fn a_reply_that_is_not_all_that_is_returned_is_a_value() {
    let call = |n: i32| format!("redis.call('RAW', ':{n}\\r\\n')");
    let (a, b) = (call(1), call(2));
    assert_eq!(run(&format!("return 5, {a}")), ":5\r\n");
    assert_eq!(run(&format!("return {a}, {b}")), ":1\r\n");
    assert_eq!(run(&format!("return {{{a}, {b}}}")), "*2\r\n:1\r\n:2\r\n");
    assert_eq!(run(&format!("return ({a}) + 1")), ":2\r\n");
    assert_eq!(run(&format!("local x, y = {a}, {b} return x")), ":1\r\n");
    assert_eq!(run(&format!("local x = 9 {a} return x")), ":9\r\n");
    assert_eq!(run(&format!("local x = {a} return {b} == 2 and x")), ":1\r\n");
    assert_eq!(run(&format!("local f = function() return {a} end f() return {b}")), ":2\r\n");
    assert_eq!(run("local ok, v = pcall(redis.call, 'RAW', ':3\\r\\n') return v"), ":3\r\n");
    assert_eq!(run("return pcall(redis.call, 'RAW', ':3\\r\\n')"), ":1\r\n");
    let index =
        "local t = setmetatable({}, {__index = function(_, k) return redis.call('ECHO', k) end})";
    assert_eq!(run(&format!("{index} return t.abc")), "$3\r\nabc\r\n");
    // Once more after one that was returned at once.
    let mut vm = machine();
    let mut once = |text: &str| run_in(&mut vm, &mut Mock::default(), text, &["k"], Proto::V2);
    assert_eq!(once(&format!("return {a}")), ":1\r\n");
    assert_eq!(once("return KEYS[1]"), "$1\r\nk\r\n");
    assert_eq!(once("return"), "$-1\r\n");
}

/// Scripts that cannot change globals read them without the front.
#[test]
fn globals_cannot_be_reached_past_their_front() {
    for text in [
        "x = 1",
        "KEYS = {}",
        "if false then x = 1 end return getfenv(1) == _G",
        "local g = getfenv(1) g.x = 1",
        "local f = function() y = 1 end f()",
        "setfenv(1, {}) return 1",
        "return loadstring('x = 1')()",
        "getfenv(0).x = 1",
        "for k in pairs(getfenv()) do rawset(getfenv(), k, 1) end",
        "redis.call = nil",
        "redis['call'] = nil",
        "rawset(redis, 'call', nil)",
        "string.rep = nil",
    ] {
        let mut vm = machine();
        let mut once = |text: &str| run_in(&mut vm, &mut Mock::default(), text, &["k"], Proto::V2);
        once(text);
        assert_eq!(once("return KEYS[1] .. type(redis.call)"), "$9\r\nkfunction\r\n", "{text}");
        assert!(once("return x").contains("nonexistent global variable 'x'"), "{text}");
        assert!(once("return y").contains("nonexistent global variable 'y'"), "{text}");
        assert_eq!(once("return string.rep('a', 2)"), "$2\r\naa\r\n", "{text}");
    }
}

/// Blocks change hands between the lists of free ones and the global allocator: nothing is lost and
/// nothing is counted twice.
#[test]
fn memory_comes_back() {
    let mut vm = machine();
    let once =
        |vm: &mut lua::Vm, text: &str| run_in(vm, &mut Mock::default(), text, &["k"], Proto::V2);
    let fill = "local t = {} for i = 1, 20000 do t[i] = {tostring(i), string.rep('x', i % 700)} end
                for i = 1, 20000 do assert(#t[i][2] == i % 700 and t[i][1] == tostring(i)) end
                return #t";
    for _ in 0..3 {
        assert_eq!(once(&mut vm, fill), ":20000\r\n");
    }
    once(&mut vm, "collectgarbage('collect')");
    let after = vm.memory();
    assert!(after < 4 << 20, "{after}");
    for _ in 0..20_000 {
        assert_eq!(once(&mut vm, "return {KEYS[1], {}, {a = 1}}"), "*3\r\n$1\r\nk\r\n*0\r\n*0\r\n");
    }
    assert!(vm.memory() < 4 << 20, "{}", vm.memory());
}

#[test]
fn numbers_as_arguments() {
    assert_eq!(run("return redis.call('ECHO', 0.1)"), "$19\r\n0.10000000000000001\r\n");
    assert_eq!(run("return redis.call('ECHO', 9007199254740991)"), "$16\r\n9007199254740991\r\n");
    assert_eq!(run("return redis.call('ECHO', 1e9)"), "$10\r\n1000000000\r\n");
    assert_eq!(run("return '' .. 0.1"), "$3\r\n0.1\r\n");
    assert_eq!(run("return '' .. 1e15"), "$5\r\n1e+15\r\n");
    assert!(run("return redis.call('ECHO', {})").contains("must be strings or integers"));
    assert!(run("return redis.call()").contains("Please specify at least one argument"));
}

#[test]
fn what_outlives_a_script_cannot_be_changed() {
    let readonly = "Attempt to modify a readonly table";
    for text in [
        "a = 10",
        "redis = 1",
        "_G = {}",
        "_G.x = 1",
        "setmetatable(_G, {})",
        "getmetatable(_G).__index = {}",
        "redis.call = 1",
        "cjson.encode = 1",
        "string.rep = 1",
        "math.random = 1",
        "rawset(_G, 'x', 1)",
        "rawset(redis, 'x', 1)",
        "rawset(string, 'x', 1)",
        "table.insert(redis, 1)",
        "table.insert(_G, 1)",
        "table.sort(_G)",
        "setfenv(0, {})",
        "getmetatable('').__index = 1",
        "getmetatable('').__index.rep = 1",
        "local _, t = pairs(redis); t.x = 1",
        "for k, v in pairs(_G) do if k == 'redis' then v.call = 1 end end",
        "for k, v in next, _G do if k == 'string' then v.rep = 1 end end",
        "getfenv(string.rep).x = 1",
        "getfenv(0).x = 1",
        "coroutine.wrap(function() getfenv(0).x = 1 end)()",
        "KEYS = {}",
    ] {
        let r = run(text);
        assert!(r.starts_with("error: ERR") && r.contains(readonly), "{text}: {r}");
    }
    assert_eq!(
        run("a = 10"),
        "error: ERR user_script:1: Attempt to modify a readonly table script: sha, on @user_script:1."
    );
    assert_eq!(run("return getmetatable(redis)"), "$-1\r\n");
    assert_eq!(run("return rawget(redis, 'LOG_NOTICE')"), ":2\r\n");
    assert_eq!(run("return ('x'):rep(3)"), "$3\r\nxxx\r\n");
    assert_eq!(run("local n = 0 for k in pairs(os) do n = n + 1 end return n"), ":1\r\n");
    assert_eq!(run("return next(os)"), "$5\r\nclock\r\n");
}

#[test]
fn what_is_not_there() {
    for name in
        ["print", "dofile", "loadfile", "require", "io", "debug", "newproxy", "module", "package"]
    {
        let r = run(&format!("return {name}"));
        let text = format!("Script attempted to access nonexistent global variable '{name}'");
        assert!(r.contains(&text), "{name}: {r}");
    }
    assert!(run("return os.execute('x')").contains("attempt to call field 'execute'"));
}

#[test]
fn precompiled_code_is_refused() {
    let r = run("return loadstring(string.dump(function() return 1 end))()");
    assert!(r.contains("attempt to call a nil value"), "{r}");
    let r = run(
        "local d = string.dump(function() return 1 end); local done; return load(function() if not done then done = 1; return d end end)()",
    );
    assert!(r.contains("attempt to call a nil value"), "{r}");
    assert!(run("\x1bLua").starts_with("compile: "));
    assert_eq!(run("return loadstring('return 7')()"), ":7\r\n");
    assert_eq!(
        run("local i = 0; return load(function() i = i + 1; return ({'return', ' 8'})[i] end)()"),
        ":8\r\n"
    );
}

#[test]
fn memory_is_limited() {
    for text in [
        "return string.rep('x', 1e9)",
        "return ('x'):rep(2147483647)",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local t = {} while true do t[#t + 1] = string.rep('x', 1000) .. #t end",
        "return string.rep(string.rep('x', 65536), 65536)",
        "local s = string.rep('\"', 20e6); return cjson.encode({s, s, s, s, s})",
        "local t = {1} for i = 1, 40 do t = {t, t} end return #cjson.encode(t)",
        "local s = string.rep('x', 1e6); local t = {} for i = 1, 500 do t[i] = s end \
         return #cjson.encode(t)",
        "local t = {1} for i = 1, 60 do t = {t, t} end return t",
        "local t = {1} for i = 1, 60 do t = {map = {a = t, b = t}} end return t",
        "local s = string.rep('x', 1e6); local t = {} for i = 1, 500 do t[i] = s end return t",
        "local s = string.rep('x', 1e6); local t = {} for i = 1, 500 do t[i] = s end \
         return redis.pcall('DEL', unpack(t))",
        "cjson.encode_sparse_array(false, 0) return #cjson.encode({[2e7] = 1})",
        "local t = {1} for i = 1, 15 do t = {t,t,t,t,t,t,t,t,t,t} end return #cmsgpack.pack(t)",
        "return struct.pack('!1048576 i i' .. string.rep('xi', 100), unpack({1,2,3}))",
        "return table.concat({string.rep('x', 3e7), string.rep('y', 3e7)})",
        "return #string.format('%s%s', string.rep('x', 4e7), string.rep('x', 4e7))",
        "return loadstring('return \"' .. string.rep('x', 3e7) .. '\"')()",
    ] {
        let mut vm = common::small();
        let r = run_in(&mut vm, &mut Mock::default(), text, &[], Proto::V2);
        assert!(
            r.contains("error:") || r.contains("too large") || r.starts_with(['*', '$']),
            "{text}: {:.200}",
            r
        );
        assert!(vm.memory() < 32 << 20, "{text}: {}", vm.memory());
        // It works on.
        assert_eq!(run_in(&mut vm, &mut Mock::default(), "return 1", &[], Proto::V2), ":1\r\n");
    }
    assert!(run("return string.rep('x', 1e9)").contains("not enough memory"));
    let r = run("local ok = pcall(string.rep, 'x', 1e9) return {tostring(ok), 5}");
    assert_eq!(r, "*2\r\n$5\r\nfalse\r\n:5\r\n");
}

#[test]
fn the_c_stack_is_limited() {
    for text in [
        "local function f() return f() + 1 end return f()",
        "local function f() return pcall(f) end return f()",
        "local function f() coroutine.wrap(f)() end f()",
        "local function f() local c = coroutine.create(f); return coroutine.resume(c) end return f()",
        "local function f() return (string.gsub('x', 'x', f)) end return f()",
        "local function f() coroutine.wrap(function() string.gsub('x', 'x', f) end)() end f()",
        "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) return t[1]",
        "return string.find(string.rep('a', 300000), string.rep('a?', 300000) .. 'b')",
        "return string.find('x', string.rep('(', 300000))",
        "return loadstring(string.rep('(', 100000))",
        "return loadstring('return ' .. string.rep('{', 100000))",
        "return loadstring(string.rep('do ', 100000))",
        "local t = {} t[1] = t return t",
        "local t = {} for i = 1, 100000 do t = {t} end return t",
        "local t = {} for i = 1, 100000 do t = {t} end return cjson.encode(t)",
        "cjson.encode_max_depth(1000000) local t = {} for i = 1, 100000 do t = {t} end return cjson.encode(t)",
        "return cjson.decode(string.rep('[', 100000))",
        "cjson.decode_max_depth(1000000) return cjson.decode(string.rep('[', 100000))",
        "return cmsgpack.unpack(string.rep(string.char(0x91), 100000))",
        "local t = {} for i = 1, 100000 do t = {t} end return #cmsgpack.pack(t)",
        "return #{unpack({}, 1, 1e6)}",
        "return unpack({}, -2147483648, 2147483647)",
        "return select('#', unpack({}, 0, 2147483647))",
        "return setmetatable({}, {__index = function() error('x') end, __call = 1})()",
        "error(setmetatable({}, {__tostring = function() error('y') end}))",
        "error()",
        "error({})",
        "error(redis)",
    ] {
        let mut vm = common::small();
        run_in(&mut vm, &mut Mock::default(), text, &[], Proto::V2);
        assert_eq!(
            run_in(&mut vm, &mut Mock::default(), "return 1", &[], Proto::V2),
            ":1\r\n",
            "{text}"
        );
    }
    assert!(run("local function f() coroutine.wrap(f)() end f()").contains("C stack overflow"));
}

#[test]
fn numbers_beyond_what_the_libraries_take() {
    for text in [
        "return bit.tohex(65535, -2147483648)",
        "return bit.lshift(1, 1e300)",
        "return bit.band(0/0, 1)",
        "return {pcall(struct.pack, 'I99999999999', 1)}",
        "return {pcall(struct.pack, 'i33', 1)}",
        "return {pcall(struct.unpack, 'c2147483647', 'x')}",
        "return {pcall(struct.unpack, 'I32', 'x', 1)}",
        "return {pcall(struct.unpack, '!2147483648i', 'xxxx')}",
        "return {pcall(struct.unpack, 's', 'x', 2147483647)}",
        "return {pcall(struct.unpack, 'Bc0Bc0', string.char(255) .. 'x')}",
        "return {pcall(struct.unpack, 'dc0', struct.pack('d', 1e300) .. 'x')}",
        "return {pcall(struct.unpack, 'i4', 'abcd', -1)}",
        "return {pcall(struct.size, 'c2147483647c2147483647c2147483647')}",
        "return {pcall(cmsgpack.unpack, string.char(0xdd, 255, 255, 255, 255))}",
        "return {pcall(cmsgpack.unpack, string.char(0xdf, 255, 255, 255, 255))}",
        "return {pcall(cmsgpack.unpack, string.char(0xdb, 255, 255, 255, 255))}",
        "return {pcall(cmsgpack.unpack, string.char(0x81, 0xc0, 1))}",
        "return {pcall(cmsgpack.unpack, string.char(0x81, 0xcb, 0x7f, 0xf8, 0,0,0,0,0,0, 1))}",
        "return {pcall(cmsgpack.unpack_limit, 'x', -1, 0)}",
        "return {pcall(cmsgpack.unpack_one, 'x', 2147483648)}",
        "return {pcall(string.format, '%99999d', 1)}",
        "return {pcall(string.format, '%.99f', 1e308)}",
        "return {pcall(cjson.encode, {[1] = 1, [2^40] = 2})}",
        "return {pcall(cjson.encode, {[1e308] = 1})}",
        "cjson.encode_sparse_array(true, 0, 0) return {pcall(cjson.encode, {[2^20] = 1})}",
        "return {pcall(cjson.decode, '\"\\\\ud800\"')}",
        "return {pcall(cjson.decode, '\"\\\\u12')}",
        "return {pcall(cjson.decode, '1e999999999')}",
        "return {pcall(string.rep, 'x', -1)}",
        "return {pcall(math.random, 0)}",
        "return {pcall(math.random, 5, 1)}",
        "math.random(-2147483648, 2147483647)",
    ] {
        let r = run(text);
        assert!(!r.is_empty() && !r.starts_with("compile"), "{text}: {r}");
    }
    assert_eq!(run("return bit.tohex(65535, -4)"), "$4\r\nFFFF\r\n");
}

#[test]
fn killing_cannot_be_caught() {
    for text in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local f = function() while 1 do redis.call('ping') end end while 1 do pcall(f) end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do local c = coroutine.create(function() while true do end end) coroutine.resume(c) end",
    ] {
        let mut vm = machine();
        let mut host = Mock { kill: true, ..Mock::default() };
        let r = run_in(&mut vm, &mut host, text, &[], Proto::V2);
        assert!(r.contains("Script killed by user with SCRIPT KILL"), "{text}: {r}");
        assert_eq!(run_in(&mut vm, &mut Mock::default(), "return 1", &[], Proto::V2), ":1\r\n");
    }
}

#[test]
fn aborting_cannot_be_caught() {
    for text in [
        "redis.call('ABORT')",
        "redis.pcall('ABORT') return 1",
        "while true do pcall(redis.call, 'ABORT') end",
        "coroutine.wrap(function() redis.call('ABORT') end)()",
    ] {
        let mut host = Mock::default();
        assert_eq!(run_in(&mut machine(), &mut host, text, &[], Proto::V2), "aborted", "{text}");
        assert_eq!(host.calls.len(), 1, "{text}");
    }
}

#[test]
fn json() {
    assert_eq!(run("return cjson.encode({1, 2, 3})"), "$7\r\n[1,2,3]\r\n");
    assert_eq!(run("return cjson.encode({a = 1.5})"), "$9\r\n{\"a\":1.5}\r\n");
    assert_eq!(run("return cjson.encode({})"), "$2\r\n{}\r\n");
    assert_eq!(
        run("return cjson.encode({cjson.null, true, 'a/\"\\n'})"),
        "$21\r\n[null,true,\"a\\/\\\"\\n\"]\r\n"
    );
    assert_eq!(run("return cjson.decode('[1,[2,{\"x\":\"\\\\u00e9\"}]]')[2][2].x"), "$2\r\né\r\n");
    assert_eq!(run("return cjson.decode('null') == cjson.null"), ":1\r\n");
    assert_eq!(run("return cjson.decode('0.0000003') * 1e7"), ":3\r\n");
    assert!(run("cjson.encode({[1]=1,[100]=2})").contains("excessively sparse array"));
    assert!(run("cjson.encode(1/0)").contains("must not be NaN or Inf"));
    assert!(
        run("cjson.decode('{')")
            .contains("Expected object key string but found T_END at character 2")
    );
    assert!(
        run("cjson.decode('[1,2')")
            .contains("Expected comma or array end but found T_END at character 5")
    );
    assert_eq!(run("return cjson.encode(2^53)"), "$18\r\n9.007199254741e+15\r\n");
}

#[test]
fn messagepack_and_structs() {
    assert_eq!(
        run("return cmsgpack.unpack(cmsgpack.pack({1, 'a', true, -5, 1.5}))"),
        "*5\r\n:1\r\n$1\r\na\r\n:1\r\n:-5\r\n:1\r\n"
    );
    assert_eq!(
        run("return {struct.unpack('>I2hBc3', struct.pack('>I2hBc3', 65535, -2, 7, 'abc'))}"),
        "*5\r\n:65535\r\n:-2\r\n:7\r\n$3\r\nabc\r\n:9\r\n"
    );
    assert_eq!(run("return {cmsgpack.unpack_one(cmsgpack.pack(1, 2))}"), "*2\r\n:1\r\n:1\r\n");
}

#[test]
fn logs() {
    let mut host = Mock::default();
    run_in(&mut machine(), &mut host, "redis.log(redis.LOG_WARNING, 'a', 1, 'b')", &[], Proto::V2);
    assert_eq!(host.logs, ["3 a 1 b"]);
}

/// Each of these is few instructions, of which one or some take long: the host is asked all the same.
#[test]
fn what_takes_long_within_c_can_be_ended() {
    let numbers = "local t = cjson.decode('[' .. string.rep('1,', 5000) .. '1]') ";
    let big = "local s = string.rep('x', 2 ^ 20) ";
    let long = [
        // Time that is exponential in the pattern, or quadratic in the text.
        "string.find(string.rep('a', 200), '.-.-.-.-b')",
        "string.match(string.rep('a', 3000), '(a*)(a*)b')",
        "string.gsub(string.rep('x', 20000), '%bxy', '')",
        "string.find(string.rep('a', 20000), '(.*)%1b')",
        "for _ in string.gmatch(string.rep('a', 3000), 'a-a-b') do end",
        "string.find(string.rep('a', 200000), string.rep('a', 100000) .. 'b', 1, true)",
        "string.find(string.rep('a', 20000), '[' .. string.rep('b', 20000) .. ']')",
        // Whole tables.
        &format!("{numbers} table.sort(t)"),
        &format!("{numbers} table.insert(t, -100000, 1)"),
        &format!("{numbers} for _ = 1, 20 do table.remove(t, 1) end"),
        &format!("{numbers} for _ = 1, 20 do table.maxn(t) end"),
        &format!("{numbers} for _ = 1, 20 do table.concat(t) end"),
        // Long strings.
        &format!("{big} for i = 1, 100 do local t = s .. i end"),
        &format!("{big} for i = 1, 100 do local t = string.upper(s) end"),
        &format!("{big} local t = s .. 'y' s = s .. 'x' for i = 1, 100 do local b = s < t end"),
        &format!("{big} for i = 1, 10 do redis.sha1hex(s) end"),
        &format!("{big} for i = 1, 100 do collectgarbage() end"),
        // Values out of and into bytes.
        "local r = redis.call('RAW', '*50000\\r\\n' .. string.rep(':1\\r\\n', 50000))",
        "cjson.decode('[' .. string.rep('1,', 50000) .. '1]')",
        "local t = {1} for _ = 1, 15 do t = {t, t} end cjson.encode(t)",
        "local t = {} for i = 1, 9 do t = {t, t, t, t} end cmsgpack.pack(t)",
    ];
    for script in long {
        let mut host = Mock { kill: true, ..Mock::default() };
        let script = format!("{script} return 'to its end'");
        let r = run_in(&mut machine(), &mut host, &script, &[], Proto::V2);
        assert!(r.contains("Script killed by user"), "{script}: {r}");
    }
    // Short input is not checked.
    let mut host = Mock::default();
    let short = "string.find(string.rep('a', 1000), 'a-b') table.sort({3, 1, 2}) return 'fine'";
    assert_eq!(run_in(&mut machine(), &mut host, short, &[], Proto::V2), "$4\r\nfine\r\n");
}
