// SPDX-License-Identifier: Apache-2.0

//! What services and a mount export is what was done, counted by who did it.

use nyala_e2e::{Cluster, Options, alone, ports};
use nyala_metrics::catalog::Source;
use nyala_metrics::parse::{Families, Sample, parse};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const FILES: u64 = 50;
const WRITES: u64 = 16;
const WRITE_BYTES: u64 = 1 << 20;
/// Older than what a page may be served again for.
const NEW_PAGE: Duration = Duration::from_millis(300);
const USER: u32 = 12_345;
/// Two users and how much each of them changes, in [`two_users`].
const MAKER: (u32, u64) = (23_456, 20);
const LINKER: (u32, u64) = (34_567, 12);

fn page(address: SocketAddr) -> Families {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    parse(body).unwrap_or_else(|error| panic!("{address}: {error}\n{body}"))
}

/// The pages of all services by their names.
fn pages(addresses: &BTreeMap<String, SocketAddr>) -> BTreeMap<String, Families> {
    // sleeps: a page may be served again for so long
    std::thread::sleep(NEW_PAGE);
    addresses.iter().map(|(name, address)| (name.clone(), page(*address))).collect()
}

/// Sum of the samples of a metric that have these labels; of a histogram, of its events.
fn sum(families: &Families, name: &str, labels: &[(&str, &str)]) -> u64 {
    let family = families.get(name).unwrap_or_else(|| panic!("there is no {name}"));
    let has =
        |sample: &&Sample| labels.iter().all(|(label, value)| sample.labels.get(*label).is_some_and(|is| is == value));
    let counts =
        family.samples.iter().filter(|sample| !matches!(sample.suffix.as_str(), "_bucket" | "_sum")).filter(has);
    counts.map(|sample| sample.value as u64).sum()
}

/// Gives every service and the mount a port for its metrics.
pub fn turn_on(cluster: &Cluster) -> BTreeMap<String, SocketAddr> {
    cluster.down().must();
    let files = fs::read_dir(cluster.dir().join("conf")).unwrap().map(|entry| entry.unwrap().path());
    let names = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let addresses: BTreeMap<String, SocketAddr> = names.map(|name| (name, ports::address())).collect();
    for (name, address) in &addresses {
        let path = cluster.dir().join("conf").join(format!("{name}.toml"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        fs::write(&path, format!("metrics = \"{address}\"\n{text}")).unwrap();
    }
    cluster.up().must();
    cluster.wait_healthy();
    addresses
}

fn small_files(dir: &Path) {
    for number in 0..FILES {
        let path = dir.join(format!("f{number}"));
        drop(OpenOptions::new().write(true).create_new(true).open(&path).unwrap());
        std::os::unix::fs::symlink("f0", dir.join(format!("s{number}"))).unwrap();
    }
    for number in 0..FILES / 2 {
        fs::remove_file(dir.join(format!("f{number}"))).unwrap();
    }
    File::open(dir).unwrap().sync_all().unwrap();
}

/// Memory that begins at a page, as direct I/O wants it.
#[repr(align(4096))]
struct Aligned([u8; WRITE_BYTES as usize]);

fn large_file(path: &Path) {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).custom_flags(libc::O_DIRECT);
    let (file, mut buffer) = (options.open(path).unwrap(), Box::new(Aligned([7; WRITE_BYTES as usize])));
    for number in 0..WRITES {
        file.write_all_at(&buffer.0, number * WRITE_BYTES).unwrap();
    }
    file.sync_all().unwrap();
    for number in 0..WRITES {
        file.read_exact_at(&mut buffer.0, number * WRITE_BYTES).unwrap();
    }
}

/// One makes directories, the other links, of which it removes some: each is one change of the name space.
fn two_users(dir: &Path) {
    let run = |uid: u32, script: &str| {
        let status =
            Command::new("sh").args(["-ec", script]).current_dir("/").env("DIR", dir).uid(uid).gid(uid).status();
        assert!(status.unwrap().success(), "{script}");
    };
    let (made, links) = (MAKER.1, LINKER.1 * 2 / 3);
    run(MAKER.0, &format!("for n in $(seq {made}); do mkdir $DIR/made$n; done"));
    run(LINKER.0, &format!("for n in $(seq {links}); do ln -s nowhere $DIR/link$n; done"));
    run(LINKER.0, &format!("for n in $(seq {}); do rm $DIR/link$n; done", LINKER.1 - links));
}

#[test]
fn e2e_metrics_say_what_was_done() {
    let _one = alone();
    let options = Options { meta: 1, storage: 2, storage_services: 1, ..Options::default() };
    let cluster = Cluster::start(options);
    let addresses = turn_on(&cluster);
    let dir = cluster.test_dir("metrics");
    let before = pages(&addresses);
    small_files(&dir);
    large_file(&dir.join("large"));
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    let others = Command::new("touch").arg(dir.join("theirs")).uid(USER).gid(USER).status().unwrap();
    assert!(others.success());
    two_users(&dir);
    let after = pages(&addresses);
    for (name, source) in
        [("mgmt", Source::Mgmtd), ("meta1", Source::Meta), ("storage1", Source::Storage), ("mount", Source::Mount)]
    {
        let mut expected: Vec<&str> = source.metrics().iter().map(|metric| metric.name).collect();
        expected.sort_unstable();
        assert_eq!(after[name].keys().map(String::as_str).collect::<Vec<_>>(), expected, "{name}");
    }
    let grew =
        |of: &str, name: &str, labels: &[(&str, &str)]| sum(&after[of], name, labels) - sum(&before[of], name, labels);
    let requests = |of: &str, metric: &str, op: &str| grew(of, metric, &[("op", op)]);
    let links = LINKER.1 * 2 / 3;
    for (op, count) in [("symlink", FILES + links), ("unlink", FILES / 2 + LINKER.1 - links)] {
        assert_eq!(requests("mount", "nyala_fuse_request_duration_seconds", op), count, "{op} of the kernel");
        assert_eq!(requests("meta1", "nyala_meta_request_duration_seconds", op), count, "{op} of the client");
    }
    // The small ones, the large one, and that of the other user.
    assert_eq!(requests("mount", "nyala_fuse_request_duration_seconds", "create"), FILES + 2);
    assert_eq!(requests("meta1", "nyala_meta_request_duration_seconds", "create"), FILES + 2);
    let bytes = WRITES * WRITE_BYTES;
    assert_eq!(grew("mount", "nyala_client_written_bytes", &[]), bytes);
    assert_eq!(grew("mount", "nyala_client_read_bytes", &[]), bytes);
    for metric in ["nyala_storage_target_written_bytes", "nyala_storage_client_written_bytes"] {
        assert_eq!(grew("storage1", metric, &[]), bytes, "{metric}");
    }
    assert_eq!(
        grew("storage1", "nyala_storage_client_read_bytes", &[]),
        grew("storage1", "nyala_storage_target_read_bytes", &[])
    );
    let (writes, reads) =
        (grew("mount", "nyala_client_storage_writes", &[]), grew("mount", "nyala_client_storage_reads", &[]));
    assert_eq!(requests("storage1", "nyala_storage_request_duration_seconds", "write"), writes);
    assert_eq!(requests("storage1", "nyala_storage_request_duration_seconds", "read"), reads);
    assert_eq!(sum(&after["mount"], "nyala_client_retries", &[]), sum(&before["mount"], "nyala_client_retries", &[]));
    assert!(grew("mount", "nyala_fuse_user_requests", &[("uid", &USER.to_string())]) >= 2);
    assert!(grew("storage1", "nyala_storage_disk_sync_duration_seconds", &[]) > 0);
    assert!(grew("meta1", "nyala_store_sync_duration_seconds", &[]) > 0);
    assert!(grew("meta1", "nyala_meta_client_requests", &[("client", "127.0.0.1")]) >= 2 * FILES);
    for (name, of) in
        [("nyala_meta_sessions", "meta1"), ("nyala_mgmt_raft_leader", "mgmt"), ("nyala_lease_valid", "meta1")]
    {
        assert_eq!(sum(&after[of], name, &[]), 1, "{name}");
    }
    stats(&cluster);
    users(&cluster, &after["meta1"]);
    let online = [("kind", "storage"), ("reachability", "online"), ("consistency", "good")];
    assert_eq!(sum(&after["mgmt"], "nyala_mgmt_targets", &online), 2);
}

/// The command says the same, from what services answer themselves.
fn stats(cluster: &Cluster) {
    let servers = cluster.json(&["stats", "server"]);
    assert!(servers["meta1"]["ops"]["symlink"].as_u64() >= Some(FILES), "{servers}");
    assert_eq!(servers["storage1"]["written_bytes"].as_u64(), Some(WRITES * WRITE_BYTES), "{servers}");
    let clients = cluster.json(&["stats", "client"]);
    assert_eq!(clients["127.0.0.1"]["written_bytes"].as_u64(), Some(WRITES * WRITE_BYTES), "{clients}");
    let rates = cluster.json(&["stats", "server", "--watch", "100ms", "--count", "1"]);
    assert!(rates["mgmt1"]["requests"].as_u64().is_some(), "{rates}");
}

/// Users are told apart, in the metric and by the command; what the client does by itself is nobody's.
fn users(cluster: &Cluster, meta: &Families) {
    let said = cluster.json(&["stats", "user", "--numeric"]);
    for (uid, changes) in [MAKER, LINKER] {
        let uid = uid.to_string();
        assert_eq!(sum(meta, "nyala_meta_user_changes", &[("uid", &uid)]), changes, "of user {uid}");
        assert!(sum(meta, "nyala_meta_user_requests", &[("uid", &uid)]) >= changes, "of user {uid}");
        assert_eq!(said[&uid]["changes"].as_u64(), Some(changes), "{said}");
        assert!(said[&uid]["requests"].as_u64() >= Some(changes), "{said}");
    }
    assert!(said["-"]["requests"].as_u64() > Some(0), "{said}");
    assert!(said["0"]["changes"].as_u64() >= Some(2 * FILES) && said["0"]["name"].is_null(), "{said}");
    let top = cluster.json(&["stats", "user", "--top", "1"]);
    let rest = top["others"]["requests"].as_u64();
    assert!(top.as_object().is_some_and(|users| users.len() == 2) && rest >= Some(LINKER.1 + MAKER.1), "{top}");
    let named = cluster.json(&["stats", "user"]);
    assert_eq!(named["0"]["name"], "root", "{named}");
    let rates = cluster.json(&["stats", "user", "--watch", "100ms", "--count", "1"]);
    assert!(rates[MAKER.0.to_string()].is_null(), "nothing was asked for in its name since: {rates}");
}
