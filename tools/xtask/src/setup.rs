//! Installs the packages that the tests need, outside of the source tree.
//!
//! Each function either leaves its tool ready or says, for a person, why it could not;
//! that text ends up behind "LEFT OUT". A stamp with the pinned versions marks a finished
//! installation, so that the second run installs nothing.

use crate::process::{REFUSED, must, must_fetch, output, which};
use crate::{Result, paths};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// redis-server, redis-cli and redis-benchmark, from Debian where they are missing.
pub(crate) fn redis() -> Result<()> {
    let missing = || {
        let tools = ["redis-server", "redis-cli", "redis-benchmark"];
        tools.into_iter().filter(|tool| which(tool).is_none()).collect::<Vec<_>>().join(", ")
    };
    if missing().is_empty() {
        return Ok(());
    }
    let wanted = missing();
    apt(&["redis-server", "redis-tools"]).map_err(|e| format!("{wanted} not installed: {e}"))?;
    match missing() {
        none if none.is_empty() => Ok(()),
        some => Err(format!("{some} still missing after the installation")),
    }
}

/// A browser for the tests of HTTPS, from Debian where there is none.
pub(crate) fn browser() -> Result<()> {
    let there = || ["chromium", "chromium-browser"].into_iter().any(|name| which(name).is_some());
    if there() {
        return Ok(());
    }
    apt(&["chromium"]).map_err(|e| format!("chromium not installed: {e}"))?;
    if there() { Ok(()) } else { Err("chromium still missing after the installation".into()) }
}

/// A JDK, and the SDK centrifuge-java with what it needs, where its test looks for them.
pub(crate) fn java() -> Result<()> {
    if which("javac").is_none() || which("mvn").is_none() {
        let packages = ["default-jdk-headless", "maven"];
        apt(&packages).map_err(|e| format!("{} not installed: {e}", packages.join(", ")))?;
    }
    let pom = paths::root().join("tests/clients/java/pom.xml");
    let lib = paths::root().join("target/java/lib");
    installed(&lib, &paths::read(&pom)?, || {
        again(|| {
            let mut maven = Command::new("mvn");
            maven.args(["-q", "-B", "dependency:copy-dependencies"]).arg("-f").arg(&pom);
            must(maven.arg(format!("-DoutputDirectory={}", lib.display())))
        })
        .map_err(|_| format!("{REFUSED}centrifuge-java (see above)"))
    })
}

/// Installs Debian packages, as root or through sudo without a password.
fn apt(packages: &[&str]) -> Result<()> {
    if which("apt-get").is_none() {
        return Err("there is no apt-get; install them by hand".into());
    }
    let is_root = output(Command::new("id").arg("-u"))?.trim() == "0";
    if !is_root && which("sudo").is_none() {
        return Err("neither root nor sudo; install them by hand".into());
    }
    let as_root = |script: &str| {
        let mut command = match is_root {
            true => Command::new("sh"),
            false => Command::new("sudo"),
        };
        if !is_root {
            command.args(["-n", "sh"]);
        }
        command.args(["-c", script, "sh"]).args(packages);
        command
    };
    println!("Installing {} with apt-get", packages.join(", "));
    // The package would start an unwanted Redis on port 6379: a policy that exists only
    // meanwhile tells dpkg not to start services. A policy that is already there stays.
    let script = "
        set -e
        export DEBIAN_FRONTEND=noninteractive
        policy=/usr/sbin/policy-rc.d
        if [ ! -e $policy ]; then
            trap 'rm -f '$policy EXIT
            printf '#!/bin/sh\\nexit 101\\n' > $policy
            chmod 755 $policy
        fi
        apt-get update -q
        apt-get install -q -y --no-install-recommends \"$@\"
    ";
    again(|| must(&mut as_root(script))).map_err(|_| "apt-get failed (see above)".into())
}

/// A Python with redis-py; its path.
pub(crate) fn python() -> Result<PathBuf> {
    let pinned = paths::read(&paths::root().join("tests/clients/python/requirements.txt"))?;
    let dir = paths::cache()?.join("python");
    let python = dir.join("bin/python");
    installed(&dir, &pinned, || {
        let system = which("python3").ok_or("there is no python3")?;
        let venv = || Command::new(&system).args(["-m", "venv", "--clear"]).arg(&dir).output();
        let has_venv = |result: std::io::Result<std::process::Output>| {
            result.is_ok_and(|output| output.status.success())
        };
        // Debian keeps the module in a package of its own.
        if !has_venv(venv()) {
            apt(&["python3-venv"]).map_err(|e| format!("python3 lacks its venv module: {e}"))?;
            if !has_venv(venv()) {
                return Err("`python3 -m venv` fails".into());
            }
        }
        let requirements = paths::root().join("tests/clients/python/requirements.txt");
        again(|| {
            must(
                Command::new(&python)
                    .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
                    .arg(&requirements),
            )
        })
    })?;
    Ok(python)
}

/// The modules that some packages of the Go tests need, in Go's own cache.
pub(crate) fn go(packages: &[&str]) -> Result<()> {
    which("go").ok_or("there is no go")?;
    again(|| {
        must_fetch(
            Command::new("go")
                .args(["list", "-deps", "-test"])
                .args(packages)
                .env("GOFLAGS", "-mod=readonly")
                .current_dir(paths::root().join("tests/clients/go")),
        )
    })
}

/// An S3 server, which is built; its binary.
pub(crate) fn minio() -> Result<PathBuf> {
    const VERSION: &str = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c";
    which("go").ok_or("there is no go to build MinIO with")?;
    let dir = paths::cache()?.join("minio");
    installed(&dir, VERSION, || {
        println!("Building MinIO, once");
        again(|| {
            must_fetch(
                Command::new("go").args(["install", VERSION]).env("GOBIN", &dir).env("GOFLAGS", ""),
            )
        })
    })?;
    Ok(dir.join("minio"))
}

/// An Azure server; its binary.
pub(crate) fn azurite() -> Result<PathBuf> {
    Ok(npm("tests/servers/azurite", "azurite")?.join(".bin/azurite-blob"))
}

/// Names a checkout of Seb, for machines whose module proxy does not have it.
pub(crate) const SEB_SOURCE: &str = "SEB_SOURCE";

/// The modules of the tests with Seb's client: the options that `go test` needs for them.
pub(crate) fn seb() -> Result<Vec<String>> {
    which("go").ok_or("there is no go")?;
    let dir = paths::root().join("tests/clients/seb");
    let mut options = vec!["-mod=readonly".to_owned()];
    if let Some(source) = std::env::var_os(SEB_SOURCE) {
        let source = fs::canonicalize(&source).map_err(|e| format!("{SEB_SOURCE}: {e}"))?;
        let (module, sums) = (paths::read(&dir.join("go.mod"))?, paths::read(&dir.join("go.sum"))?);
        let replaced = paths::cache()?.join("seb.mod");
        let seb = "github.com/micvbang/simple-event-broker";
        let module = format!("{module}\nreplace {seb} => {}\n", source.display());
        paths::write(&replaced, &module)?;
        paths::write(&replaced.with_extension("sum"), &sums)?;
        options.push(format!("-modfile={}", replaced.display()));
    }
    let mut download = Command::new("go");
    download.args(["mod", "download"]).env("GOFLAGS", options.join(" ")).current_dir(dir);
    must_fetch(&mut download)
        .map_err(|e| format!("{e} ({SEB_SOURCE} may name a checkout of Seb)"))?;
    Ok(options)
}

/// The packages of the Node tests; the directory to put into `NODE_PATH`.
pub(crate) fn node() -> Result<PathBuf> {
    npm("tests/clients/node", "node")
}

/// The packages that a folder of the source tree names and pins, in a directory of the cache; where
/// they are.
fn npm(source: &str, name: &str) -> Result<PathBuf> {
    which("node").ok_or("there is no node")?;
    which("npm").ok_or("there is no npm")?;
    let source = paths::root().join(source);
    let manifest = paths::read(&source.join("package.json"))?;
    let lock = paths::read(&source.join("package-lock.json"))?;
    let dir = paths::cache()?.join(name);
    installed(&dir, &format!("{manifest}{lock}"), || {
        paths::write(&dir.join("package.json"), &manifest)?;
        paths::write(&dir.join("package-lock.json"), &lock)?;
        let args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        again(|| must(Command::new("npm").args(args).current_dir(&dir)))
    })?;
    Ok(dir.join("node_modules"))
}

/// A command that uses the network gets more than one attempt: a remote server may fail for a moment.
fn again(mut ask: impl FnMut() -> Result<()>) -> Result<()> {
    const PAUSES_S: [u64; 3] = [2, 10, 30];
    for pause in PAUSES_S {
        match ask() {
            Ok(()) => return Ok(()),
            Err(why) if why.starts_with(REFUSED) => return Err(why),
            Err(why) => println!("{why}; once more in {pause} s"),
        }
        std::thread::sleep(std::time::Duration::from_secs(pause));
    }
    ask()
}

/// Runs `install` unless its result for exactly these `versions` is in `dir` already.
fn installed(dir: &Path, versions: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let stamp = dir.join("installed-by-xtask");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == versions) {
        return Ok(());
    }
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    install()?;
    paths::write(&stamp, versions)
}

#[cfg(test)]
mod tests {
    use super::installed;

    #[test]
    fn installs_once_per_version_and_again_after_a_failure() {
        let outer = testing::TempDir::new();
        let dir = outer.join("tool");
        let mut runs = 0;
        let mut go = |versions: &str, works: bool| {
            let result = installed(&dir, versions, || {
                runs += 1;
                if works { Ok(()) } else { Err("no network".into()) }
            });
            (result.is_ok(), runs)
        };
        assert_eq!(go("1", false), (false, 1));
        assert_eq!(go("1", true), (true, 2));
        assert_eq!(go("1", true), (true, 2));
        assert_eq!(go("2", true), (true, 3));
    }
}
