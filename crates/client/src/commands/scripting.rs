//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group scripting.
pub trait ScriptingCommands: Target {
    /// Runs a Lua script.
    ///
    /// `EVAL script numkeys [key [key ...]] [arg [arg ...]]`
    fn eval(&self, script: impl Arg, keys: impl Arg) -> Request<'_, options::Eval> {
        Request::of(self.target(), &table::EVAL).with(script).with_counted(keys)
    }

    /// Runs a Lua script of the cache, by its SHA-1.
    ///
    /// `EVALSHA sha1 numkeys [key [key ...]] [arg [arg ...]]`
    fn evalsha(&self, sha1: impl Arg, keys: impl Arg) -> Request<'_, options::Evalsha> {
        Request::of(self.target(), &table::EVALSHA).with(sha1).with_counted(keys)
    }

    /// Runs a Lua script of the cache that may not write, by its SHA-1.
    ///
    /// `EVALSHA_RO sha1 numkeys [key [key ...]] [arg [arg ...]]`
    fn evalsha_ro(&self, sha1: impl Arg, keys: impl Arg) -> Request<'_, options::EvalshaRo> {
        Request::of(self.target(), &table::EVALSHA_RO).with(sha1).with_counted(keys)
    }

    /// Runs a Lua script that may not write.
    ///
    /// `EVAL_RO script numkeys [key [key ...]] [arg [arg ...]]`
    fn eval_ro(&self, script: impl Arg, keys: impl Arg) -> Request<'_, options::EvalRo> {
        Request::of(self.target(), &table::EVAL_RO).with(script).with_counted(keys)
    }

    /// Calls a function of a library.
    ///
    /// `FCALL function numkeys [key [key ...]] [arg [arg ...]]`
    fn fcall(&self, function: impl Arg, keys: impl Arg) -> Request<'_, options::Fcall> {
        Request::of(self.target(), &table::FCALL).with(function).with_counted(keys)
    }

    /// Calls a function of a library that may not write.
    ///
    /// `FCALL_RO function numkeys [key [key ...]] [arg [arg ...]]`
    fn fcall_ro(&self, function: impl Arg, keys: impl Arg) -> Request<'_, options::FcallRo> {
        Request::of(self.target(), &table::FCALL_RO).with(function).with_counted(keys)
    }

    /// Deletes a library and its functions.
    ///
    /// `FUNCTION DELETE library-name`
    fn function_delete(&self, library_name: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::FUNCTION_DELETE).with(library_name)
    }

    /// Answers all libraries as bytes that FUNCTION RESTORE takes.
    ///
    /// `FUNCTION DUMP`
    fn function_dump(&self) -> Request<'_> {
        Request::of(self.target(), &table::FUNCTION_DUMP)
    }

    /// Deletes all libraries.
    ///
    /// `FUNCTION FLUSH [ASYNC | SYNC]`
    fn function_flush(&self) -> Request<'_, options::FunctionFlush> {
        Request::of(self.target(), &table::FUNCTION_FLUSH)
    }

    /// Answers what the subcommands do.
    ///
    /// `FUNCTION HELP`
    fn function_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::FUNCTION_HELP)
    }

    /// Ends a function that runs for too long and has written nothing.
    ///
    /// `FUNCTION KILL`
    fn function_kill(&self) -> Request<'_> {
        Request::of(self.target(), &table::FUNCTION_KILL)
    }

    /// Answers what libraries there are, and their functions.
    ///
    /// `FUNCTION LIST [LIBRARYNAME library-name-pattern] [WITHCODE]`
    fn function_list(&self) -> Request<'_, options::FunctionList> {
        Request::of(self.target(), &table::FUNCTION_LIST)
    }

    /// Loads a library.
    ///
    /// `FUNCTION LOAD [REPLACE] function-code`
    fn function_load(&self, function_code: impl Arg) -> Request<'_, options::FunctionLoad> {
        Request::of(self.target(), &table::FUNCTION_LOAD).with_last(function_code)
    }

    /// Loads the libraries that FUNCTION DUMP has answered.
    ///
    /// `FUNCTION RESTORE serialized-value [FLUSH | APPEND | REPLACE]`
    fn function_restore(&self, serialized_value: impl Arg) -> Request<'_, options::FunctionRestore> {
        Request::of(self.target(), &table::FUNCTION_RESTORE).with(serialized_value)
    }

    /// Answers which function runs for too long, and how many functions there are.
    ///
    /// `FUNCTION STATS`
    fn function_stats(&self) -> Request<'_> {
        Request::of(self.target(), &table::FUNCTION_STATS)
    }

    /// Switches the debugger off; there is none to switch on.
    ///
    /// `SCRIPT DEBUG <YES | SYNC | NO>`
    fn script_debug(&self, yes_no: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SCRIPT_DEBUG).with(yes_no)
    }

    /// Tells of each SHA-1 whether the cache has a script with it.
    ///
    /// `SCRIPT EXISTS sha1 [sha1 ...]`
    fn script_exists(&self, sha1s: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SCRIPT_EXISTS).with(sha1s)
    }

    /// Empties the script cache.
    ///
    /// `SCRIPT FLUSH [ASYNC | SYNC]`
    fn script_flush(&self) -> Request<'_, options::ScriptFlush> {
        Request::of(self.target(), &table::SCRIPT_FLUSH)
    }

    /// Answers what the subcommands do.
    ///
    /// `SCRIPT HELP`
    fn script_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::SCRIPT_HELP)
    }

    /// Ends a script that runs for too long and has written nothing.
    ///
    /// `SCRIPT KILL`
    fn script_kill(&self) -> Request<'_> {
        Request::of(self.target(), &table::SCRIPT_KILL)
    }

    /// Puts a script into the cache and answers its SHA-1.
    ///
    /// `SCRIPT LOAD script`
    fn script_load(&self, script: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SCRIPT_LOAD).with(script)
    }
}

impl<T: Target + ?Sized> ScriptingCommands for T {}

/// Options of EVAL.
impl Request<'_, options::Eval> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of EVALSHA.
impl Request<'_, options::Evalsha> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of EVALSHA_RO.
impl Request<'_, options::EvalshaRo> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of EVAL_RO.
impl Request<'_, options::EvalRo> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of FCALL.
impl Request<'_, options::Fcall> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of FCALL_RO.
impl Request<'_, options::FcallRo> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of FUNCTION FLUSH.
impl Request<'_, options::FunctionFlush> {
    /// `ASYNC`.
    pub fn async_(self) -> Self {
        self.with("ASYNC")
    }

    /// `SYNC`.
    pub fn sync(self) -> Self {
        self.with("SYNC")
    }
}

/// Options of FUNCTION LIST.
impl Request<'_, options::FunctionList> {
    /// `LIBRARYNAME`.
    pub fn libraryname(self, library_name_pattern: impl Arg) -> Self {
        self.with("LIBRARYNAME").with(library_name_pattern)
    }

    /// `WITHCODE`.
    pub fn withcode(self) -> Self {
        self.with("WITHCODE")
    }
}

/// Options of FUNCTION LOAD.
impl Request<'_, options::FunctionLoad> {
    /// `REPLACE`.
    pub fn replace(self) -> Self {
        self.with("REPLACE")
    }
}

/// Options of FUNCTION RESTORE.
impl Request<'_, options::FunctionRestore> {
    /// `FLUSH`.
    pub fn flush(self) -> Self {
        self.with("FLUSH")
    }

    /// `APPEND`.
    pub fn append(self) -> Self {
        self.with("APPEND")
    }

    /// `REPLACE`.
    pub fn replace(self) -> Self {
        self.with("REPLACE")
    }
}

/// Options of SCRIPT FLUSH.
impl Request<'_, options::ScriptFlush> {
    /// `ASYNC`.
    pub fn async_(self) -> Self {
        self.with("ASYNC")
    }

    /// `SYNC`.
    pub fn sync(self) -> Self {
        self.with("SYNC")
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of EVAL.
    #[derive(Debug)]
    pub enum Eval {}
    /// Of EVALSHA.
    #[derive(Debug)]
    pub enum Evalsha {}
    /// Of EVALSHA_RO.
    #[derive(Debug)]
    pub enum EvalshaRo {}
    /// Of EVAL_RO.
    #[derive(Debug)]
    pub enum EvalRo {}
    /// Of FCALL.
    #[derive(Debug)]
    pub enum Fcall {}
    /// Of FCALL_RO.
    #[derive(Debug)]
    pub enum FcallRo {}
    /// Of FUNCTION FLUSH.
    #[derive(Debug)]
    pub enum FunctionFlush {}
    /// Of FUNCTION LIST.
    #[derive(Debug)]
    pub enum FunctionList {}
    /// Of FUNCTION LOAD.
    #[derive(Debug)]
    pub enum FunctionLoad {}
    /// Of FUNCTION RESTORE.
    #[derive(Debug)]
    pub enum FunctionRestore {}
    /// Of SCRIPT FLUSH.
    #[derive(Debug)]
    pub enum ScriptFlush {}
}
