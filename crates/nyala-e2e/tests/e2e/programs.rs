// SPDX-License-Identifier: Apache-2.0

//! Real programs in the mount: git, a compiler, tar, rsync, SQLite.

use nyala_e2e::binary::repository;
use nyala_e2e::run::sh;
use nyala_e2e::{Cluster, beside_others, long, shared};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// For each program: none needs a tenth of it on a healthy machine.
const LIMIT: Duration = Duration::from_secs(240);

fn script(cluster: &Cluster, dir: &Path, text: &str) -> String {
    let outcome = sh(&format!("cd '{}'\n{text}", dir.display()), if long() { LIMIT * 6 } else { LIMIT });
    println!("{:.1} s: {}", outcome.took.as_secs_f64(), text.trim().lines().next().unwrap_or_default());
    assert!(outcome.ok(), "{}\n{}", outcome.describe(), cluster.logs(30));
    outcome.out
}

#[test]
fn e2e_git_clone_and_cargo_build() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("git");
    // `--no-local`: through git's own transport and pack files, not by hard links or copies.
    script(&cluster, &dir, &format!("git clone --quiet --no-local '{}' clone", repository().display()));
    script(&cluster, &dir, "cd clone && git fsck --full --strict && git status --porcelain | wc -l | grep -qx 0");
    script(&cluster, &dir, "cd clone && git checkout -q -b e2e && git gc --quiet && git log --oneline | head -1");
    let there = script(&cluster, &dir, "cd clone && git ls-files -s | git hash-object --stdin");
    let here = script(
        &cluster,
        repository(),
        "git ls-tree -r HEAD | sed 's/ blob / /; s/ \\([0-9a-f]*\\)\t/ \\1 0\t/' | git hash-object --stdin",
    );
    assert_eq!(there, here, "the clone's index holds what the origin's HEAD holds");

    fs::create_dir_all(dir.join("small/src")).unwrap();
    fs::write(
        dir.join("small/Cargo.toml"),
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    )
    .unwrap();
    let modules: Vec<String> = (0..20).map(|n| format!("mod m{n};")).collect();
    let sum: Vec<String> = (0..20).map(|n| format!("m{n}::value()")).collect();
    let main = format!("{}\nfn main() {{ println!(\"{{}}\", {}); }}\n", modules.join("\n"), sum.join(" + "));
    fs::write(dir.join("small/src/main.rs"), main).unwrap();
    for n in 0..20 {
        let text = format!("pub fn value() -> u64 {{ (0..={n}).map(|x: u64| x * x).sum() }}\n");
        fs::write(dir.join(format!("small/src/m{n}.rs")), text).unwrap();
    }
    script(&cluster, &dir, "cd small && CARGO_TARGET_DIR=target cargo build --offline --quiet");
    let printed = script(&cluster, &dir, "small/target/debug/small");
    let want: u64 = (0..20_u64).map(|n| (0..=n).map(|x| x * x).sum::<u64>()).sum();
    assert_eq!(printed.trim(), want.to_string());
    script(
        &cluster,
        &dir,
        "cd small && touch src/m3.rs && CARGO_TARGET_DIR=target cargo build --offline --quiet && cargo clean --quiet --target-dir target",
    );
}

#[test]
fn e2e_tar_roundtrip() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("tar");
    script(&cluster, &dir, "tar -C /usr -cf include.tar include");
    script(&cluster, &dir, "tar -xf include.tar");
    script(&cluster, &dir, "diff -r --no-dereference /usr/include include");
    script(&cluster, &dir, "tar -cf again.tar include && tar -df again.tar && tar -C /usr -df include.tar");
    script(&cluster, &dir, "rm -r include && test ! -e include && rm *.tar && test -z \"$(ls -A)\"");
}

/// All of /usr/share in the long form; otherwise the parts of it named here (about 15,000 files).
#[test]
fn e2e_rsync_checksum() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("rsync");
    let parts = if long() { "/usr/share/".to_owned() } else { bounded("/usr/share", 15_000) };
    script(&cluster, &dir, &format!("mkdir share && rsync -aH {parts} share/"));
    let changed = script(&cluster, &dir, &format!("rsync -aHn --checksum --delete --itemize-changes {parts} share/"));
    assert_eq!(changed, "", "after rsync nothing differs, by checksum, mode, time and owner");
    script(&cluster, &dir, "find share -type f -print0 | head -z -n 50 | xargs -0 -n1 sh -c 'printf x >> \"$0\"'");
    let changed =
        script(&cluster, &dir, &format!("rsync -aHn --checksum --itemize-changes {parts} share/ | grep -c '^>f'"));
    assert!(
        changed.trim().parse::<u32>().unwrap() >= 40,
        "the comparison sees a difference where there is one: {changed}"
    );
    script(&cluster, &dir, "rm -r share");
}

/// Directories directly below `top`, smallest name first, until `most` files and directories are reached.
fn bounded(top: &str, most: usize) -> String {
    let mut names: Vec<String> = fs::read_dir(top)
        .unwrap()
        .flatten()
        .filter(|e| e.path().is_dir())
        .map(|e| e.path().display().to_string())
        .collect();
    names.sort();
    let mut total = 0;
    let mut taken = Vec::new();
    for name in names {
        let count = sh(&format!("find '{name}' | wc -l"), LIMIT).must().trim().parse::<usize>().unwrap();
        if total + count <= most {
            total += count;
            taken.push(format!("'{name}'"));
        }
    }
    println!("{total} files and directories in {} parts of {top}", taken.len());
    taken.join(" ")
}

/// 10,000 transactions in each journal mode that works on a network file system; WAL needs shared memory mappings, which
/// one client has.
#[test]
fn e2e_sqlite() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("sqlite");
    for (mode, transactions) in [("delete", 6000), ("wal", 3000), ("truncate", 1000)] {
        let mut sql = format!("PRAGMA journal_mode={mode}; PRAGMA synchronous=NORMAL;\n");
        sql.push_str("CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT); CREATE INDEX i ON t(a);\n");
        for number in 0..transactions {
            sql.push_str(&format!(
                "BEGIN; INSERT INTO t VALUES({number},{},'{}');",
                number * 7 % 1000,
                "v".repeat(number % 200)
            ));
            if number % 3 == 0 {
                sql.push_str(&format!("UPDATE t SET a=a+1 WHERE id={};", number / 2));
            }
            if number % 10 == 9 {
                sql.push_str(&format!("DELETE FROM t WHERE id={};", number - 5));
            }
            sql.push_str("COMMIT;\n");
        }
        let input = cluster.root().join(format!("{mode}.sql"));
        fs::write(&input, sql).unwrap();
        let said = script(&cluster, &dir, &format!("sqlite3 -bail {mode}.db < '{}'", input.display()));
        assert_eq!(said.lines().next(), Some(mode), "SQLite took the journal mode");
        let checked =
            script(&cluster, &dir, &format!("sqlite3 {mode}.db 'PRAGMA integrity_check; SELECT count(*) FROM t;'"));
        assert_eq!(checked, format!("ok\n{}\n", transactions - transactions / 10));
    }
}
