//! Running other programs.

use crate::{Result, paths};
use std::env;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use testing::{PATIENCE, TempDir, free_address};

/// Cargo's arguments for testing all parts that a build of the server may leave out.
pub(crate) const FEATURES: [&str; 2] = ["--features", "apus/full"];

/// The same for all of the workspace: the client has features that the server does not ask for.
pub(crate) const WORKSPACE_FEATURES: [&str; 2] = [
    "--features",
    "apus/full,apus-client/broker,apus-client/serde,apus-client/tls,apus-client/tracing",
];

/// A command of the cargo that runs us, at the root of the workspace.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(paths::root());
    // The variables that cargo has set for this program: build scripts that look at them (ring's does)
    // would run anew, and half of the workspace would be built after them.
    for (name, _) in env::vars_os() {
        if name
            .to_str()
            .is_some_and(|n| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|p| n.starts_with(p)))
        {
            command.env_remove(name);
        }
    }
    command
}

/// How a command is shown to people.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command with our terminal; whether it succeeded.
pub(crate) fn run(command: &mut Command) -> Result<bool> {
    let status = command.status().map_err(|e| format!("{}: {e}", shown(command)))?;
    Ok(status.success())
}

/// Runs a command that must succeed.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    match run(command)? {
        true => Ok(()),
        false => Err(format!("`{}` failed", shown(command))),
    }
}

/// How the reason begins when a registry refuses a package to every client, which no second attempt
/// changes.
pub(crate) const REFUSED: &str = "the registry does not give it: ";

/// Runs a command of Go's that fetches modules and must succeed.
///
/// # Errors
/// [`REFUSED`] and the registry's message, if it says that it does not have a module.
pub(crate) fn must_fetch(command: &mut Command) -> Result<()> {
    let output = command.output().map_err(|e| format!("{}: {e}", shown(command)))?;
    let told = String::from_utf8_lossy(&output.stderr);
    eprint!("{told}");
    if output.status.success() {
        return Ok(());
    }
    let answers = ["403 Forbidden", "404 Not Found", "410 Gone"];
    let refusal = told.lines().find(|line| answers.iter().any(|a| line.contains(a)));
    Err(match refusal {
        Some(line) => format!("{REFUSED}{}", line.split(": reading").next().unwrap_or(line)),
        None => format!("`{}` failed", shown(command)),
    })
}

/// Runs a command, shows its output as it comes, and hands each line of its standard
/// output to `line`; returns whether it succeeded.
pub(crate) fn watch(command: &mut Command, mut line: impl FnMut(&str)) -> Result<bool> {
    command.stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", shown(command)))?;
    if let Some(stdout) = child.stdout.take() {
        for bytes in BufReader::new(stdout).split(b'\n') {
            let bytes = bytes.map_err(|e| format!("reading output: {e}"))?;
            let text = String::from_utf8_lossy(&bytes);
            println!("{text}");
            line(&text);
        }
    }
    Ok(child.wait().map_err(|e| format!("{}: {e}", shown(command)))?.success())
}

/// The output of a command that must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("{}: {e}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("`{}` failed with {}", shown(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{}` is not UTF-8", shown(command)))
}

/// The full path of a program on `PATH`.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Builds the server, and gives the path of its binary; `APUS_BIN` stands in for it. `with_tests`: the tests of
/// the workspace have been built, and with them the server. Built by itself it has other features,
/// for which half of the workspace would be compiled again.
pub(crate) fn apus(with_tests: bool) -> Result<PathBuf> {
    if let Some(path) = env::var_os("APUS_BIN").filter(|path| !path.is_empty()) {
        println!("The server is APUS_BIN = {}", path.to_string_lossy());
        return Ok(path.into());
    }
    let mut command = match with_tests {
        true => cargo(&["test", "--workspace", "--no-run", "--quiet"]),
        false => cargo(&["build", "--package", "apus", "--bin", "apus"]),
    };
    must(command.args(FEATURES))?;
    // Built by the same cargo with the same settings, it lies beside this program.
    let own = env::current_exe().map_err(|e| format!("the path of xtask: {e}"))?;
    let path = own.with_file_name(format!("apus{}", env::consts::EXE_SUFFIX));
    match path.is_file() {
        true => Ok(path),
        false => Err(format!("{} was built but is not there", path.display())),
    }
}

/// Address space of a server under test, in KiB: a command that asks for more is a mistake of the
/// test or of the server, and shall not fill the machine.
const ADDRESS_SPACE_KIB: u64 = 6 * 1024 * 1024;

/// The command with a bound on its memory, and killed by the kernel when the thread that starts it
/// ends. The latter takes Linux's `setpriv`; without it, a server may outlive a killed test.
fn guarded(command: &Command) -> Command {
    if which("sh").is_none() {
        let mut plain = Command::new(command.get_program());
        plain.args(command.get_args());
        return plain;
    }
    let dies_with_us = match which("setpriv").is_some_and(|_| cfg!(target_os = "linux")) {
        true => "setpriv --pdeathsig KILL ",
        false => "",
    };
    let mut guarded = Command::new("sh");
    guarded
        .arg("-c")
        .arg(format!("ulimit -v {ADDRESS_SPACE_KIB}; exec {dies_with_us}\"$@\""))
        .arg("sh")
        .arg(command.get_program())
        .args(command.get_args());
    guarded
}

/// A server with a RESP port on loopback, in a directory of its own; killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    _dir: TempDir,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
}

impl Server {
    /// Starts `command` with Redis's options for port and directory, and waits until it
    /// says that it is ready.
    ///
    /// It ends when we end, however that comes about, and gets no more than
    /// [`ADDRESS_SPACE_KIB`] of memory.
    pub(crate) fn start(command: Command) -> Result<Server> {
        let mut command = guarded(&command);
        let address = free_address().map_err(|e| format!("a free port: {e}"))?;
        let dir = TempDir::new();
        command
            .args(["--port", &address.port().to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--enable-debug-command", "yes"])
            .arg("--dir")
            .arg(&*dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("{}: {e}", shown(&command)))?;
        let stdout = child.stdout.take();
        let server = Server { child, _dir: dir, address: address.to_string() };

        let (ready, is_ready) = mpsc::channel();
        std::thread::spawn(move || {
            // Read to its end, so that the server never blocks on its own log.
            for line in BufReader::new(stdout?).split(b'\n') {
                let line = String::from_utf8_lossy(&line.ok()?).into_owned();
                if line.contains("Ready to accept connections") {
                    _ = ready.send(());
                }
            }
            Some(())
        });
        match is_ready.recv_timeout(PATIENCE) {
            Ok(()) => Ok(server),
            Err(_) => Err(format!("`{}` did not become ready", shown(&command))),
        }
    }
}

impl Server {
    /// Whether it has not ended by itself.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
