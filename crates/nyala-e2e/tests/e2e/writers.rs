// SPDX-License-Identifier: Apache-2.0

//! Several processes that write the same file and rename in the same directories.

use nyala_e2e::run::sh;
use nyala_e2e::{beside_others, long, shared};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Each process appends records to one file and, between, makes files and renames them from directory to directory,
/// onto each other's too. Python, because each of its unbuffered writes is one write(2).
const WORKER: &str = r#"
import os, sys
base, me, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
log = os.open(base + "/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
for n in range(count):
    record = b"%d:%d:" % (me, n) + b"abc"[me:me+1] * ((n * 13 + me) % 700) + b"\n"
    if os.write(log, record) != len(record): raise SystemExit("short write")
    name = "%s/a/%d-%d" % (base, me, n)
    f = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(f, b"%d-%d" % (me, n))
    os.close(f)
    os.rename(name, "%s/b/%d-%d" % (base, me, n))
    os.rename("%s/b/%d-%d" % (base, me, n), "%s/c/%d-%d" % (base, me, n))
    shared = "%s/new%d" % (base, me)
    f = os.open(shared, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(f, b"current %d %d" % (me, n))
    os.close(f)
    os.rename(shared, base + "/b/current")
    with open(base + "/b/current", "rb") as f:
        if not f.read().startswith(b"current "): raise SystemExit("a torn current")
    if n % 50 == 0: os.fsync(log)
"#;

#[test]
fn e2e_three_writers_append_and_rename() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("writers");
    for name in ["a", "b", "c"] {
        fs::create_dir(dir.join(name)).unwrap();
    }
    let count: usize = if long() { 10_000 } else { 700 };
    let start = |me: usize| {
        let mut command = Command::new("python3");
        command.arg("-c").arg(WORKER).arg(&dir).args([me.to_string(), count.to_string()]);
        command.stdin(Stdio::null()).process_group(0).spawn().unwrap()
    };
    let mut children: Vec<_> = (0..3).map(start).collect();
    for (me, child) in children.iter_mut().enumerate() {
        let status = nyala_e2e::run::wait(child, Duration::from_secs(if long() { 1200 } else { 180 }));
        if status.is_none() {
            nyala_e2e::run::kill_group(child);
        }
        assert!(status.is_some_and(|s| s.success()), "process {me}: {status:?}\n{}", cluster.logs(30));
    }
    let log = fs::read(dir.join("log")).unwrap();
    let mut seen: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    let mut last = [None; 3];
    for (line, record) in log.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some((me, n)) = parse(record) else {
            panic!("record {line} is torn: {:?}", String::from_utf8_lossy(record));
        };
        assert!(last[me] < Some(n), "records of process {me} are in order: {n} after {:?}", last[me]);
        last[me] = Some(n);
        *seen.entry((me, n)).or_default() += 1;
    }
    assert_eq!(seen.len(), 3 * count, "every record is there");
    assert!(seen.values().all(|times| *times == 1), "each record once");
    for (me, n) in seen.keys() {
        let content = fs::read_to_string(dir.join(format!("c/{me}-{n}"))).unwrap();
        assert_eq!(content, format!("{me}-{n}"));
    }
    let names = |name: &str| fs::read_dir(dir.join(name)).unwrap().count();
    assert_eq!((names("a"), names("b"), names("c")), (0, 1, 3 * count), "no name is left behind or twice");
    sh(&format!("rm -r '{}'", dir.display()), Duration::from_secs(120)).must();
}

/// Process and number of a record that is exactly what one process wrote at once.
fn parse(record: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(record).ok()?;
    let parts: Vec<&str> = text.strip_suffix('\n')?.split(':').collect();
    let [me, n, fill] = parts.as_slice() else { return None };
    let (me, n): (usize, usize) = (me.parse().ok()?, n.parse().ok()?);
    (*fill == "abc".get(me..=me)?.repeat((n * 13 + me) % 700)).then_some((me, n))
}
