// SPDX-License-Identifier: Apache-2.0

//! Exit codes are those of the table in `docs/cli.md`, whatever the command: scripts decide by them.

use nyala_e2e::cluster::text;
use nyala_e2e::run::{Outcome, run};
use nyala_e2e::{Cluster, Options, beside_others, binary};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// No service listens there: it is reserved, and this user may not even bind it by chance.
const NOBODY: &str = "127.0.0.1:1";
const LIMIT: Duration = Duration::from_secs(60);

#[track_caller]
fn code(want: i32, outcome: &Outcome) {
    assert_eq!(outcome.code(), Some(want), "{}", outcome.describe());
    let said = !outcome.err.is_empty() || !outcome.out.is_empty();
    assert!(want == 0 || said, "nothing is said: {}", outcome.describe());
}

fn nyala(args: &[&str]) -> Outcome {
    let mut command = Command::new(binary::nyala());
    // A cluster of this host's own must not answer instead.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("NYALA_")) {
        command.env_remove(name);
    }
    run(command.args(args), LIMIT)
}

#[test]
fn e2e_exit_codes() {
    let _one = beside_others();
    // A metadata server that starts again waits so long for a client that is gone.
    let more = ["--session-timeout", "4s"].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 1, more });
    done(&cluster);
    failed(&cluster);
    usage(&cluster);
    configuration(&cluster);
    unreachable(&cluster);
    refused(&cluster);
    found(&cluster);
    mount_helper(&cluster);
    failed_up(&cluster);
}

/// A cluster that does not come up leaves nothing running, and what failed has the say; what ran before goes on.
fn failed_up(cluster: &Cluster) {
    let settings = cluster.dir().join("conf/storage1.toml");
    let good = fs::read(&settings).unwrap();
    let wrong = [b"colour = \"green\"\n".as_slice(), &good].concat();
    cluster.stop_service("storage1");
    fs::write(&settings, &wrong).unwrap();
    let up = cluster.up();
    code(3, &up);
    assert!(up.err.contains("storage1 did not start") && up.err.contains("colour"), "{}", up.describe());
    assert_eq!(cluster.running(), ["meta1", "mgmt", "mount"]);
    cluster.nyala(["down", "--force", "--dir", &text(&cluster.dir())]).must();
    code(3, &cluster.up());
    assert_eq!(cluster.running(), [] as [String; 0]);
    fs::write(&settings, good).unwrap();
    code(0, &cluster.up());
}

fn done(cluster: &Cluster) {
    let dir = text(&cluster.dir());
    let mount = text(&cluster.mount());
    for args in [
        &["status", "--dir", &dir][..],
        &["up", "--dir", &dir],
        &["node", "list", "--dir", &dir],
        &["target", "list", "--state", "--dir", &dir],
        &["mgmt", "list", "--dir", &dir],
        &["pool", "list", "--dir", &dir],
        &["pool", "create", "flash", "--targets", "101", "--dir", &dir],
        &["pool", "modify", "flash", "--alias", "nvme", "--dir", &dir],
        &["pool", "modify", "default", "--targets", "101", "--dir", &dir],
        &["pool", "show", "nvme", "--dir", &dir],
        &["pool", "delete", "nvme", "--yes", "--dir", &dir],
        &["node", "set-alias", "1", "boss", "--dir", &dir],
        &["target", "set-alias", "101", "fast", "--dir", &dir],
        &["mirror", "resync", "stats", "--wait", "--dir", &dir],
        &["mirror", "list", "--dir", &dir],
        &["mirror", "check", "--dir", &dir],
        &["health", "df", "--dir", &dir],
        &["health", "net", "--dir", &dir],
        &["scrub", "--dir", &dir],
        &["entry", "info", &mount],
        &["entry", "set", "--num-targets", "2", &mount],
        &["config", "check", &format!("{dir}/conf/meta1.toml")],
        &["completions", "bash"],
        &["version"],
        &["--help"],
    ] {
        code(0, &nyala(args));
    }
}

/// What the cluster or this host does not do, or what is not there.
fn failed(cluster: &Cluster) {
    let source = format!("127.0.0.1:{}:/", cluster.port());
    let dir = text(&cluster.dir());
    let mount = text(&cluster.mount());
    for args in [
        &["target", "set-state", "999", "bad", "--dir", &dir][..],
        &["target", "set-state", "999", "bad", "--yes", "--dir", &dir],
        &["target", "remove", "999", "--dir", &dir],
        &["target", "add", "/nonexistent"],
        &["node", "remove", "nobody", "--dir", &dir],
        &["mgmt", "remove", "9", "--dir", &dir],
        &["mgmt", "recover", "--dir", &format!("{dir}/mgmt"), "--secret", &format!("{dir}/secret")],
        &["mgmt", "recover", "--dir", "/nonexistent"],
        &["node", "set-alias", "nobody", "rack7", "--dir", &dir],
        &["node", "set-alias", "2", "boss", "--dir", &dir],
        &["target", "set-alias", "999", "rack7", "--dir", &dir],
        &["pool", "show", "9", "--dir", &dir],
        &["pool", "create", "default", "--dir", &dir],
        &["pool", "modify", "default", "--targets", "999", "--dir", &dir],
        &["pool", "delete", "9", "--dir", &dir],
        &["pool", "delete", "default", "--yes", "--dir", &dir],
        &["mirror", "create", "--primary", "998", "--secondary", "999", "--dir", &dir],
        &["mirror", "delete", "9", "--dir", &dir],
        &["mirror", "add", "9", "101", "--dir", &dir],
        &["mirror", "remove-member", "9", "101", "--dir", &dir],
        &["mirror", "switch", "9", "101", "--dir", &dir],
        &["mirror", "check", "9", "--dir", &dir],
        &["mirror", "resync", "start", "9", "--dir", &dir],
        &["mirror", "resync", "stats", "9", "--dir", &dir],
        &["scrub", "999", "--dir", &dir],
        &["start", "nobody", "--dir", &dir],
        &["stop", "nobody", "--dir", &dir],
        &["status", "--dir", "/nonexistent"],
        &["down", "--dir", "/nonexistent"],
        &["node", "list", "--dir", "/nonexistent"],
        &["entry", "info", &format!("{mount}/none")],
        &["entry", "set", "--num-targets", "100", &mount],
        &["umount", &dir],
        &["mount", &source, "/nonexistent", "-o", &format!("secret={dir}/secret")],
        &["secret", &format!("{dir}/secret")],
    ] {
        code(1, &nyala(args));
    }
}

fn usage(cluster: &Cluster) {
    let dir = text(&cluster.dir());
    for args in [
        &["frobnicate"][..],
        &["version", "--frobnicate"],
        &["--log-level", "loud", "version"],
        &["up", "--dir", &dir, "--storage", "9"],
        &["up", "--dir", &format!("{dir}-none"), "--meta", "0"],
        &["node", "list", "--mgmt", "a:b:c"],
        &["entry", "info", "/etc/passwd"],
        &["entry", "set", &dir],
        &["target", "set-state", "101", "bad", "--dir", &dir],
        &["target", "set-state", "101", "worse", "--dir", &dir],
        &["target", "remove", "101", "--dir", &dir],
        &["node", "remove", "2", "--dir", &dir],
        &["mgmt", "remove", "1", "--dir", &dir],
        &["pool", "delete", "default", "--dir", &dir],
        &["pool", "modify", "default", "--dir", &dir],
        &["mount", "127.0.0.1:/", "/mnt", "-o", "readonly"],
        &["config", "check", "/nonexistent"],
    ] {
        code(2, &nyala(args));
    }
    let mut command = Command::new(binary::nyala());
    code(2, &run(command.args(["meta"]).env("NYALA_META_SYNC_INTERVAL", "soon"), LIMIT));
}

fn configuration(cluster: &Cluster) {
    let mgmt = format!("127.0.0.1:{}", cluster.port());
    let wrong = cluster.root().join("meta.toml");
    fs::write(&wrong, "colour = \"green\"\n").unwrap();
    let open = cluster.root().join("open");
    fs::copy(cluster.dir().join("secret"), &open).unwrap();
    fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let (wrong, open, secret) = (text(&wrong), text(&open), text(&cluster.dir().join("secret")));
    for args in [
        &["config", "check", &wrong][..],
        &["meta", "--config", &wrong],
        &["storage", "--config", "/nonexistent"],
        &["mgmtd", "--config", "/nonexistent"],
        &["node", "list", "--config", "/nonexistent"],
        &["node", "list", "--mgmt", &mgmt, "--secret", "/nonexistent"],
        &["node", "list", "--mgmt", &mgmt, "--secret", &open],
        &["node", "list", "--mgmt", &mgmt, "--secret", &secret, "--encrypt"],
    ] {
        code(3, &nyala(args));
    }
}

/// Nobody listens, or who listens does not answer.
fn unreachable(cluster: &Cluster) {
    let secret = text(&cluster.dir().join("secret"));
    let point = cluster.root().join("point");
    fs::create_dir(&point).unwrap();
    let commands: [&[&str]; 10] = [
        &["node", "list"],
        &["target", "list"],
        &["target", "set-state", "101", "bad"],
        &["mgmt", "list"],
        &["mirror", "list"],
        &["mirror", "check"],
        &["scrub"],
        &["health", "check"],
        &["health", "df"],
        &["entry", "info", "/nonexistent"],
    ];
    // At once, as each of them is patient.
    std::thread::scope(|scope| {
        for command in commands {
            let line = [command, &["--mgmt", NOBODY, "--secret", &secret][..]].concat();
            scope.spawn(move || code(4, &nyala(&line)));
        }
        let (source, option) = (format!("{NOBODY}:/"), format!("secret={secret}"));
        let mount = [&source, &text(&point), "-o", &option].map(str::to_owned);
        let by_helper = mount.clone();
        scope.spawn(move || code(4, &run(Command::new(binary::nyala()).arg("mount").args(mount), LIMIT)));
        // `mount(8)` has codes of its own.
        scope.spawn(move || code(32, &run(Command::new(helper(cluster)).args(by_helper), LIMIT)));
    });
    let pid = cluster.pid("mgmt");
    nyala_e2e::cleanup::signal(pid, libc::SIGSTOP);
    let silent = nyala(&["node", "list", "--dir", &text(&cluster.dir())]);
    nyala_e2e::cleanup::signal(pid, libc::SIGCONT);
    code(4, &silent);
    cluster.wait_healthy();
}

fn refused(cluster: &Cluster) {
    let other = text(&cluster.root().join("other-secret"));
    code(0, &nyala(&["secret", &other]));
    let mgmt = format!("127.0.0.1:{}", cluster.port());
    let point = text(&cluster.root().join("point"));
    let meta = text(&cluster.root().join("other-meta"));
    code(5, &nyala(&["node", "list", "--mgmt", &mgmt, "--secret", &other]));
    code(5, &nyala(&["health", "check", "--mgmt", &mgmt, "--secret", &other]));
    code(5, &nyala(&["mount", &format!("{mgmt}:/"), &point, "-o", &format!("secret={other}")]));
    let listen = ["--listen", "127.0.0.1:0"];
    code(5, &nyala(&[&["meta", "--mgmt", &mgmt, "--secret", &other, "--dir", &meta], &listen[..]].concat()));
}

/// A service that does not run is no failure of the commands that look.
fn found(cluster: &Cluster) {
    let dir = text(&cluster.dir());
    cluster.stop_service("storage1");
    code(6, &nyala(&["status", "--dir", &dir]));
    code(6, &nyala(&["health", "check", "--dir", &dir]));
    // It could not be read, so nothing is known of its content.
    code(1, &nyala(&["scrub", "--dir", &dir]));
    cluster.start_service("storage1");
    cluster.wait_healthy();
    code(0, &nyala(&["status", "--dir", &dir]));
}

/// The program under the name that `mount(8)` calls it by.
fn helper(cluster: &Cluster) -> PathBuf {
    let helper = cluster.root().join("mount.fuse.nyala");
    if !helper.exists() {
        std::os::unix::fs::symlink(binary::nyala(), &helper).unwrap();
    }
    helper
}

/// `mount(8)` has codes of its own.
fn mount_helper(cluster: &Cluster) {
    let helper = helper(cluster);
    let point = text(&cluster.root().join("point"));
    let secret = format!("secret={}", text(&cluster.dir().join("secret")));
    let source = format!("127.0.0.1:{}:/", cluster.port());
    let mount = |source: &str, option: &str| run(Command::new(&helper).args([source, &point, "-o", option]), LIMIT);
    code(1, &run(&mut Command::new(&helper), LIMIT));
    code(1, &mount(&source, "readonly"));
    code(0, &mount(&source, &secret));
    code(0, &nyala(&["umount", &point]));
}
