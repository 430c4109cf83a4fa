//! Builds Lua 5.1 from the sources of the crate `lua-src`, with the changes that are listed here.
//!
//! Lua trusts its scripts: it hashes long strings by a few of their bytes, and its hook counts
//! instructions, of which one may be a call of C that takes hours. Each change replaces a text that must be
//! there exactly once, or the build fails: another release of the sources is to be looked at again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// A source file, what stands there, and what takes its place.
type Change = (&'static str, &'static str, &'static str);

const CHANGES: &[Change] = &[
    // Strings: every byte is hashed, with a secret seed.
    ("lstring.c", "#include \"lstring.h\"\n", "#include \"lstring.h\"\n#include \"apus.h\"\n"),
    (
        "lstring.c",
        "  unsigned int h = cast(unsigned int, l);  /* seed */\n  \
         size_t step = (l>>5)+1;  /* if string is too long, don't hash all its chars */\n  \
         size_t l1;\n  \
         for (l1=l; l1>=step; l1-=step)  /* compute hash */\n    \
         h = h ^ ((h<<5)+(h>>2)+cast(unsigned char, str[l1-1]));\n",
        "  unsigned int h = apus_hash(str, l);\n  apus_bytes(L, l);\n",
    ),
    (
        "lstring.c",
        "if (ts->tsv.len == l && (memcmp",
        "if (ts->tsv.hash == h && ts->tsv.len == l && (memcmp",
    ),
    // Tables: numbers are hashed with the seed; the steps of a walk and of a new size are counted.
    ("ltable.c", "#include \"ltable.h\"\n", "#include \"ltable.h\"\n#include \"apus.h\"\n"),
    (
        "ltable.c",
        "  unsigned int a[numints];\n  int i;\n  if (luai_numeq(n, 0))",
        "  uint64_t bits;\n  if (luai_numeq(n, 0))",
    ),
    (
        "ltable.c",
        "  memcpy(a, &n, sizeof(a));\n  \
         for (i = 1; i < numints; i++) a[0] += a[i];\n  \
         return hashmod(t, a[0]);\n",
        "  memcpy(&bits, &n, sizeof(bits));\n  return hashmod(t, apus_hash_number(bits));\n",
    ),
    (
        "ltable.c",
        "for (i++; i < t->sizearray; i++) {  /* try first array part */",
        "for (i++; i < t->sizearray; i++, (i & 63 ? (void)0 : apus_charge(L, 8))) {",
    ),
    (
        "ltable.c",
        "for (i -= t->sizearray; i < sizenode(t); i++) {  /* then hash part */",
        "for (i -= t->sizearray; i < sizenode(t); i++, (i & 63 ? (void)0 : apus_charge(L, 8))) {",
    ),
    (
        "ltable.c",
        "  Node *nold = t->node;  /* save old hash ... */\n",
        "  Node *nold = t->node;  /* save old hash ... */\n  \
         apus_charge(L, (size_t)nasize + (nhsize > 0 ? nhsize : 0));\n",
    ),
    // Comparisons of long strings.
    ("lvm.c", "#include \"lvm.h\"\n", "#include \"lvm.h\"\n#include \"apus.h\"\n"),
    (
        "lvm.c",
        "    return l_strcmp(rawtsvalue(l), rawtsvalue(r)) < 0;",
        "    return (apus_bytes(L, tsvalue(l)->len), l_strcmp(rawtsvalue(l), rawtsvalue(r)) < 0);",
    ),
    (
        "lvm.c",
        "    return l_strcmp(rawtsvalue(l), rawtsvalue(r)) <= 0;",
        "    return (apus_bytes(L, tsvalue(l)->len), l_strcmp(rawtsvalue(l), rawtsvalue(r)) <= 0);",
    ),
    // Patterns, whose time may be exponential, and searches, whose may be quadratic.
    ("lstrlib.c", "#include \"lualib.h\"\n", "#include \"lualib.h\"\n#include \"apus.h\"\n"),
    (
        "lstrlib.c",
        "  init: /* using goto's to optimize tail recursion */\n",
        "  apus_spend(ms->L, 2);\n  init: /* using goto's to optimize tail recursion */\n",
    ),
    (
        "lstrlib.c",
        "      int m = s<ms->src_end && singlematch(uchar(*s), p, ep);\n",
        "      int m = s<ms->src_end && singlematch(uchar(*s), p, ep);\n      \
         if (ep - p > 64) apus_spend(ms->L, (size_t)(ep - p) >> 2);\n",
    ),
    (
        "lstrlib.c",
        "  while ((s+i)<ms->src_end && singlematch(uchar(*(s+i)), p, ep))\n    i++;\n",
        "  while ((s+i)<ms->src_end && singlematch(uchar(*(s+i)), p, ep)) {\n    \
         i++;\n    \
         if (ep - p > 64) apus_spend(ms->L, (size_t)(ep - p) >> 2);\n    \
         else if ((i & 63) == 0) apus_spend(ms->L, 64);\n  }\n",
    ),
    (
        "lstrlib.c",
        "    while (++s < ms->src_end) {\n      if (*s == e) {\n",
        "    while (++s < ms->src_end) {\n      \
         if (((ms->src_end - s) & 63) == 0) apus_spend(ms->L, 32);\n      \
         if (*s == e) {\n",
    ),
    (
        "lstrlib.c",
        "  len = ms->capture[l].len;\n",
        "  len = ms->capture[l].len;\n  if (len > 64) apus_spend(ms->L, len >> 5);\n",
    ),
    (
        "lstrlib.c",
        "static const char *lmemfind (const char *s1, size_t l1,\n",
        "static const char *lmemfind (lua_State *L, const char *s1, size_t l1,\n",
    ),
    (
        "lstrlib.c",
        "      init++;   /* 1st char is already checked */\n",
        "      init++;   /* 1st char is already checked */\n      apus_spend(L, 1 + (l2 >> 5));\n",
    ),
    ("lstrlib.c", "= lmemfind(s+init, l1-init, p, l2);", "= lmemfind(L, s+init, l1-init, p, l2);"),
    // Functions over whole tables.
    ("ltablib.c", "#include \"lualib.h\"\n", "#include \"lualib.h\"\n#include \"apus.h\"\n"),
    (
        "ltablib.c",
        "static int sort_comp (lua_State *L, int a, int b) {\n",
        "static int sort_comp (lua_State *L, int a, int b) {\n  apus_spend(L, 4);\n",
    ),
    (
        "ltablib.c",
        "        lua_rawgeti(L, 1, i-1);\n        lua_rawseti(L, 1, i);  /* t[i] = t[i-1] */\n",
        "        lua_rawgeti(L, 1, i-1);\n        lua_rawseti(L, 1, i);  /* t[i] = t[i-1] */\n        \
         apus_spend(L, 2);\n",
    ),
    (
        "ltablib.c",
        "    lua_rawgeti(L, 1, pos+1);\n    lua_rawseti(L, 1, pos);  /* t[pos] = t[pos+1] */\n",
        "    lua_rawgeti(L, 1, pos+1);\n    lua_rawseti(L, 1, pos);  /* t[pos] = t[pos+1] */\n    \
         apus_spend(L, 2);\n",
    ),
    (
        "ltablib.c",
        "    lua_pop(L, 1);  /* remove value */\n    if (lua_type(L, -1) == LUA_TNUMBER) {\n",
        "    lua_pop(L, 1);  /* remove value */\n    apus_spend(L, 2);\n    \
         if (lua_type(L, -1) == LUA_TNUMBER) {\n",
    ),
    (
        "ltablib.c",
        "    lua_rawgeti(L, 1, i);  /* 2nd argument */\n",
        "    lua_rawgeti(L, 1, i);  /* 2nd argument */\n    apus_spend(L, 2);\n",
    ),
    (
        "ltablib.c",
        "    lua_pushvalue(L, -3);  /* key */\n",
        "    lua_pushvalue(L, -3);  /* key */\n    apus_spend(L, 2);\n",
    ),
    (
        "ltablib.c",
        "    addfield(L, &b, i);\n    luaL_addlstring(&b, sep, lsep);\n",
        "    addfield(L, &b, i);\n    luaL_addlstring(&b, sep, lsep);\n    apus_spend(L, 4);\n",
    ),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=c");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let sources = find_sources().expect("the sources of Lua");
    let lua = out.join("lua");
    let files = copy(&sources, &lua).expect("a copy of the sources of Lua");
    let mut build = cc::Build::new();
    build.include(&lua).include("c").files(files).file("c/apus.c");
    build.warnings(false).flag_if_supported("-fno-common");
    // As the makefile of Lua has it for systems with these interfaces.
    build.define("LUA_USE_LINUX", None);
    if env::var("PROFILE").is_ok_and(|p| p == "debug") {
        build.define("LUA_USE_APICHECK", None);
    }
    if env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        // Tests run scripts that count to millions.
        build.opt_level(1);
    }
    build.compile("lua5.1");
}

/// The sources, which cargo has put somewhere: by default into its home, and elsewhere where a configuration says so,
/// which only cargo can tell. It tells nothing without network before the packages of all platforms are there.
fn find_sources() -> io::Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    if let Some(dir) = home.and_then(|home| in_registries(&home.join("registry/src"))) {
        return Ok(dir.join("lua-5.1.5"));
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["metadata", "--format-version", "1", "--offline"];
    let said = Command::new(cargo).args(words).output()?;
    let text = String::from_utf8_lossy(&said.stdout);
    let manifest = text
        .split("\"manifest_path\":\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|path| Path::new(path).parent().is_some_and(is_lua_src));
    let Some(manifest) = manifest else {
        let complaint = String::from_utf8_lossy(&said.stderr);
        return Err(io::Error::other(format!("cargo does not say where lua-src is: {complaint}")));
    };
    Ok(Path::new(manifest).with_file_name("lua-5.1.5"))
}

/// The directory of `lua-src` among those that cargo has unpacked, in the version that is locked.
fn in_registries(registries: &Path) -> Option<PathBuf> {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).ok()?;
    let locked = lock.split_once("name = \"lua-src\"\nversion = \"")?.1;
    let name = format!("lua-src-{}", locked.split('"').next()?);
    let dirs = fs::read_dir(registries).ok()?.flatten().map(|registry| registry.path().join(&name));
    dirs.into_iter().find(|dir| is_lua_src(dir))
}

/// Whether a crate's directory is that of `lua-src`, which may bear its version.
fn is_lua_src(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("lua-src") && dir.join("lua-5.1.5/lstring.c").exists()
}

/// Copies the sources with all changes made. Returns those to compile.
fn copy(from: &Path, to: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(to)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !name.ends_with(".c") && !name.ends_with(".h") {
            continue;
        }
        let mut text = fs::read_to_string(&path)?.replace("\r\n", "\n");
        for (file, there, instead) in CHANGES.iter().filter(|(file, ..)| *file == name) {
            let count = text.matches(there).count();
            assert!(count == 1, "{file} has this {count} times, and not once:\n{there}");
            text = text.replace(there, instead);
        }
        let copy = to.join(name);
        fs::write(&copy, text)?;
        if name.ends_with(".c") {
            files.push(copy);
        }
    }
    for (file, ..) in CHANGES {
        assert!(to.join(file).exists(), "{file} is not there");
    }
    files.sort();
    Ok(files)
}
