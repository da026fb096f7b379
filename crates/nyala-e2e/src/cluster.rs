// SPDX-License-Identifier: Apache-2.0

//! A whole cluster made by `nyala up`, with its own directory, ports and mount point.
//!
//! Failure model: any command may fail or hang, any process may be dead, stuck or not yet ready. Every command has a time
//! limit; waiting always has an end, with everything that is known in the message; what is left behind is taken away by
//! [`crate::cleanup`], when the value is dropped or, if the test process dies first, by a guard process.

use crate::prepared::Prepared;
use crate::run::{Outcome, run, tail};
use crate::{binary, cleanup, ports};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long `up`, `down`, `start` and the like may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(90);

/// What cluster to make.
#[derive(Clone, Debug)]
pub struct Options {
    /// Metadata services.
    pub meta: u16,
    /// Storage targets.
    pub storage: u16,
    /// Storage services that they are spread over.
    pub storage_services: u16,
    /// Further flags of `nyala up`.
    pub more: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options { meta: 2, storage: 4, storage_services: 2, more: Vec::new() }
    }
}

/// A running cluster; dropping it takes it away.
pub struct Cluster {
    root: PathBuf,
    options: Options,
    port: u16,
    guard: Child,
}

impl Cluster {
    /// Starts a cluster with a mount and waits until it is healthy.
    pub fn start(options: Options) -> Cluster {
        let cluster = Cluster::prepare(options);
        cluster.up().must();
        cluster.wait_healthy();
        cluster
    }

    /// Everything that [`Cluster::start`] does before `nyala up`.
    pub fn prepare(options: Options) -> Cluster {
        let parent = std::env::var_os("NYALA_E2E_DIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        let root = tempfile::Builder::new().prefix("nyala-e2e-").tempdir_in(&parent);
        let root = root.unwrap_or_else(|error| panic!("{}: {error}", parent.display())).keep();
        std::fs::create_dir(root.join("mnt")).expect("a fresh directory takes a directory");
        let guard = Command::new(guard_program()).arg(&root).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let guard = guard.expect("the guard of the clusters runs");
        Cluster { root, options, port: ports::base(), guard }
    }

    /// Runs `nyala up`, with the options that the cluster was made with.
    pub fn up(&self) -> Outcome {
        self.nyala(self.up_args())
    }

    /// The same with another build of the program.
    pub fn up_with(&self, program: &Path) -> Outcome {
        run(Command::new(program).args(self.up_args()).current_dir(&self.root), COMMAND_LIMIT)
    }

    /// The same, where no service may have more than so many descriptors.
    pub fn up_with_descriptors(&self, most: u32) -> Outcome {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={most}:{most}")).arg(binary::nyala()).args(self.up_args());
        run(command.current_dir(&self.root), COMMAND_LIMIT)
    }

    fn up_args(&self) -> Vec<String> {
        let options = &self.options;
        let mut args = vec!["up".to_owned(), "--dir".into(), text(&self.dir()), "--mount".into(), text(&self.mount())];
        for (flag, number) in [
            ("--meta", options.meta),
            ("--storage", options.storage),
            ("--storage-services", options.storage_services),
            ("--base-port", self.port),
        ] {
            args.extend([flag.to_owned(), number.to_string()]);
        }
        args.extend(options.more.iter().cloned());
        args
    }

    /// Runs `nyala down`.
    pub fn down(&self) -> Outcome {
        self.nyala([OsStr::new("down"), OsStr::new("--dir"), self.dir().as_os_str()])
    }

    /// Directory that holds the cluster and the mount point and may hold more of the test's files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The cluster's directory.
    pub fn dir(&self) -> PathBuf {
        self.root.join("cluster")
    }

    /// The mount point.
    pub fn mount(&self) -> PathBuf {
        self.root.join("mnt")
    }

    /// The management service's port (the first of the cluster's).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A new directory in the mount, for one test.
    pub fn test_dir(&self, name: &str) -> PathBuf {
        let dir = self.mount().join(name);
        std::fs::create_dir(&dir).unwrap_or_else(|error| panic!("mkdir {}: {error}", dir.display()));
        dir
    }

    /// Runs `nyala` with these arguments.
    pub fn nyala<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Outcome {
        run(Command::new(binary::nyala()).args(args).current_dir(&self.root), COMMAND_LIMIT)
    }

    /// Runs `nyala` with these arguments, `--dir` of this cluster and `--output json`.
    pub fn json(&self, args: &[&str]) -> Value {
        let dir = text(&self.dir());
        let out = self.nyala(args.iter().copied().chain(["--dir", &dir, "--output", "json"])).must();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?} prints no JSON: {error}\n{out}"))
    }

    /// Names of the running services, the mount included if it runs.
    pub fn running(&self) -> Vec<String> {
        cleanup::pids(&self.dir()).into_iter().map(|(name, _)| name).collect()
    }

    /// Names of the services, without the mount: management, metadata, storage.
    pub fn services(&self) -> Vec<String> {
        let numbered = |kind: &'static str, count| (1..=count).map(move |number| format!("{kind}{number}"));
        let meta = numbered("meta", self.options.meta);
        std::iter::once("mgmt".to_owned())
            .chain(meta)
            .chain(numbered("storage", self.options.storage_services))
            .collect()
    }

    /// Process id of a service that runs.
    pub fn pid(&self, name: &str) -> i32 {
        let pid = cleanup::pid_in(&self.dir().join("run").join(format!("{name}.pid")));
        let pid = pid.unwrap_or_else(|| panic!("{name} has no pid file"));
        assert!(cleanup::alive(pid, &self.dir()), "{name} (pid {pid}) does not run\n{}", self.logs(30));
        pid
    }

    /// Kills a service with SIGKILL and waits until it is gone.
    pub fn kill(&self, name: &str) {
        self.kill_all(&[name.to_owned()]);
    }

    /// Kills services with SIGKILL, all at once, and waits until they are gone.
    pub fn kill_all(&self, names: &[String]) {
        let pids: Vec<i32> = names.iter().map(|name| self.pid(name)).collect();
        for pid in &pids {
            cleanup::signal(*pid, libc::SIGKILL);
        }
        let began = Instant::now();
        while pids.iter().any(|pid| cleanup::alive(*pid, &self.dir())) {
            assert!(began.elapsed() < Duration::from_secs(20), "{names:?} (pids {pids:?}) do not die");
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Runs `nyala start NAME` for a service that does not run.
    pub fn start_service(&self, name: &str) {
        let dir = text(&self.dir());
        self.nyala(["start", name, "--dir", &dir]).must();
    }

    /// Gets ready to run `nyala start NAME` while threads of this process have files of a mount open.
    pub fn prepare_start(&self, name: &str) -> Prepared {
        let dir = text(&self.dir());
        Prepared::new(Command::new(binary::nyala()).args(["start", name, "--dir", &dir]), COMMAND_LIMIT)
    }

    /// Runs `nyala stop NAME`.
    pub fn stop_service(&self, name: &str) {
        let dir = text(&self.dir());
        self.nyala(["stop", name, "--dir", &dir]).must();
    }

    /// Waits until every service runs, every target is online and good, and the mount answers.
    pub fn wait_healthy(&self) {
        let began = Instant::now();
        while let Some(why) = self.ill() {
            let waited = began.elapsed();
            assert!(waited < Duration::from_secs(30), "not healthy after {waited:?}: {why}\n{}", self.logs(30));
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What is not healthy now.
    fn ill(&self) -> Option<String> {
        let running = self.running();
        if let Some(missing) = self.services().into_iter().find(|name| !running.contains(name)) {
            return Some(format!("{missing} does not run"));
        }
        let dir = text(&self.dir());
        let listed = self.nyala(["target", "list", "--state", "--dir", &dir, "--output", "json"]);
        if !listed.ok() {
            return Some(listed.describe());
        }
        let more = &self.options.more;
        let spares = more.iter().position(|flag| flag == "--meta-spares").and_then(|at| more.get(at + 1)?.parse().ok());
        let mirrored = if more.iter().any(|flag| flag == "--mirror") { self.options.meta } else { 0 };
        let want = self.options.meta + self.options.storage + spares.unwrap_or(mirrored);
        let targets: Value = serde_json::from_str(&listed.out).unwrap_or_default();
        let good = targets.as_array().map_or(0, |all| all.iter().filter(|target| is_good(target)).count());
        (good != usize::from(want)).then(|| format!("{good} of {want} targets are online and good: {}", listed.out))
    }

    /// The last lines of every log.
    pub fn logs(&self, lines: usize) -> String {
        let mut all = String::new();
        let mut paths: Vec<_> = std::fs::read_dir(self.dir().join("log")).into_iter().flatten().flatten().collect();
        paths.sort_by_key(std::fs::DirEntry::file_name);
        for path in paths.iter().map(std::fs::DirEntry::path) {
            let log = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
            all.push_str(&format!("--- {}\n{}\n", path.display(), tail(&log, lines)));
        }
        all
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs(50));
            if std::env::var_os("NYALA_E2E_KEEP").is_some() {
                let kept = self.root.with_extension("kept");
                let copied = crate::run::sh(&format!("cp -a {} {}", text(&self.dir()), text(&kept)), COMMAND_LIMIT);
                eprintln!("kept in {}: {}", kept.display(), copied.describe());
            }
        }
        for problem in cleanup::remove(&self.root) {
            eprintln!("{problem}");
        }
        drop(self.guard.stdin.take());
        if crate::run::wait(&mut self.guard, Duration::from_secs(20)).is_none() {
            eprintln!("the guard of {} does not end", self.root.display());
        }
    }
}

/// Whether a row of `target list --state --output json` shows a target that serves.
fn is_good(target: &Value) -> bool {
    let has = |key: &str, want: &str| target[key].as_str().is_some_and(|have| have.eq_ignore_ascii_case(want));
    has("reachability", "online") && has("consistency", "good")
}

/// A path as text; the harness makes only such paths.
pub fn text(path: &Path) -> String {
    path.to_str().expect("the harness's paths are UTF-8").to_owned()
}

/// Programs of this crate lie beside each other: tests in `deps`, binaries one above.
fn guard_program() -> PathBuf {
    sibling("nyala-e2e-guard")
}

/// A program of this crate.
pub fn sibling(name: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("a process can find its own program");
    let found = exe.ancestors().skip(1).take(2).map(|dir| dir.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not built: cargo test -p nyala-e2e builds it"))
}
