// SPDX-License-Identifier: Apache-2.0

//! Names change; everything is stopped and started; management and metadata are lost, and put back from backups.

use super::{MOVES, begin, others_run, plain_is_there};
use crate::operating::site::Site;
use nyala_e2e::alone;

#[test]
fn e2e_life_names_backups_and_a_day_off() {
    let _one = alone();
    let mut site = begin(&["m1", "s1", "s2"], "s1");
    rename(&mut site);
    backup(&mut site);
    restore(&mut site);
    restore_elsewhere(&mut site);
    others_run(&mut site, &MOVES, 1);
}

fn aliases(site: &mut Site) -> String {
    let names = |list: serde_json::Value| {
        list.as_array().into_iter().flatten().map(|one| one["alias"].to_string()).collect::<String>()
    };
    names(site.json("nyala node list")) + &names(site.json("nyala target list")) + &names(site.json("nyala pool list"))
}

fn rename(site: &mut Site) {
    let target = site.target("s1", "/data/t1");
    let node = site.json("nyala node list").as_array().unwrap().iter().find(|node| node["role"] == "storage").unwrap()
        ["id"]
        .to_string();
    let pool = site.json("nyala pool list").as_array().unwrap()[0]["id"].to_string();
    let names = [("NODE", node.as_str()), ("TARGET", &target), ("POOL", &pool)];
    let lines = site.page.block("nyala node set-alias", &names);
    for line in lines.lines() {
        site.on("m1").sh(line).must();
    }
    let now = aliases(site);
    for name in ["rack7-storage", "rack7-flash1", "archive"] {
        assert!(now.contains(&format!("\"{name}\"")), "{name}: {now}");
    }
    site.work();
}

/// Of both, with their services stopped; not while they run.
fn backup(site: &mut Site) {
    let m1 = site.address("m1");
    let block = site.page.block("nyala backup create", &[]);
    let line = |number: usize, dir: &str, file: &str| {
        block.lines().nth(number).expect("two lines").replace("DIR", dir).replace("FILE", file)
    };
    let used = site.on("m1").sh(&line(0, "/var/lib/nyala/mgmtd", "/root/mgmtd.tar.gz"));
    assert!(used.code() == Some(1) && used.err.contains("stop it first"), "{}", used.describe());
    site.on("m1").stop("mgmtd", "TERM");
    site.on("m1").sh(&line(0, "/var/lib/nyala/mgmtd", "/root/mgmtd.tar.gz")).must();
    site.on("m1").start("mgmtd", "nyala mgmtd");
    site.on("s1").stop("meta", "TERM");
    site.on("s1").sh(&line(0, "/disks/meta", "/root/meta.tar.gz")).must();
    site.on("s1").start("meta", &format!("nyala meta --mgmt {m1} --dir /disks/meta"));
    let storage = site.on("s1").sh(&line(0, "/data/t1", "/root/t1.tar.gz"));
    assert!(storage.code() == Some(2) && storage.err.contains("through a mount"), "{}", storage.describe());
    let shown = site.on("m1").sh(&line(1, "", "/root/mgmtd.tar.gz")).must();
    assert!(shown.contains("management node 1") && shown.contains("every file is what it was"), "{shown}");
    assert!(site.on("s1").sh(&line(1, "", "/root/meta.tar.gz")).must().contains("metadata target"));
    site.until_whole(1, 5);
}

/// Both are lost. What was done since the backup is gone; what was there then is there; nothing new shows anything of what is lost.
fn restore(site: &mut Site) {
    let (m1, kept) = (site.address("m1"), site.files);
    site.work();
    site.on("m1").sh("nyala node set-alias rack7-storage later").must();
    let block = site.page.block("nyala backup restore", &[]);
    let lines: Vec<&str> = block.lines().collect();
    let line = |number: usize, file: &str, dir: &str| lines[number].replace("FILE", file).replace("DIR", dir);
    let runs = site.on("m1").sh(&line(1, "/root/mgmtd.tar.gz", "/data/mgmtd"));
    assert!(runs.code() == Some(1) && runs.err.contains("answers"), "{}", runs.describe());
    site.runs("m1", "nyala umount /mnt/nyala", &[]);
    for (machine, service) in [("m1", "mgmtd"), ("s1", "meta")] {
        site.on(machine).stop(service, "KILL");
    }
    let asked = site.on("m1").sh(&line(0, "/root/mgmtd.tar.gz", "/data/mgmtd"));
    assert!(asked.code() == Some(2) && asked.out.contains("what was removed is there again"), "{}", asked.describe());
    site.on("m1").sh(&line(1, "/root/mgmtd.tar.gz", "/data/mgmtd")).must();
    site.on("s1").sh(&line(1, "/root/meta.tar.gz", "/disks/restored")).must();
    site.on("m1").start("mgmtd", "nyala mgmtd --dir /data/mgmtd");
    site.on("s1").start("meta", &format!("nyala meta --mgmt {m1} --dir /disks/restored"));
    site.until_whole(1, 5);
    let names = aliases(site);
    assert!(names.contains("rack7-storage") && !names.contains("later"), "{names}");
    site.on("m1").sh(&format!("nyala mount {m1}:/ /mnt/nyala")).must();
    site.files = kept;
    site.look();
    plain_is_there(site);
    let fresh = "cd /mnt/nyala/mirrored; for n in $(seq 40); do truncate -s 200000 new$n; sync new$n; done; \
        for n in $(seq 40); do head -c 200000 /dev/zero | cmp - new$n; done; rm new*";
    site.on("m1").sh(fresh).must();
    site.work();
    site.runs("m1", "nyala mirror check", &[]);
    site.until_healthy();
    site.on("m1").sh("nyala umount /mnt/nyala").must();
}

/// Management is put back on a host with another address, which services and mounts are told.
fn restore_elsewhere(site: &mut Site) {
    site.on("m1").stop("mgmtd", "TERM");
    let made = site
        .on("m1")
        .sh("nyala backup create /data/mgmtd --file /root/last.tar.gz; base64 -w0 /root/last.tar.gz")
        .must();
    let archive = made.lines().last().expect("the archive").to_owned();
    site.on("s1").sh(&format!("base64 -d > /root/last.tar.gz <<'END'\n{archive}\nEND")).must();
    site.on("s1").sh("nyala backup restore /root/last.tar.gz /disks/mgmtd --yes").must();
    site.on("s1").start("mgmtd", "nyala mgmtd --dir /disks/mgmtd");
    let host = site.address("s1");
    for (machine, service) in [("s1", "meta"), ("s1", "storage"), ("s2", "storage")] {
        site.on(machine).stop(service, "TERM");
    }
    site.on("s1").start("meta", &format!("nyala meta --mgmt {host} --dir /disks/restored"));
    site.on("s1").start("storage", &format!("nyala storage --mgmt {host} --target /data/t1 --target /data/t2"));
    let storage = format!("nyala storage --mgmt {host} --dir /disks/own --target /disks/t1 --target /disks/t2");
    site.on("s2").start("storage", &storage);
    site.on("m1").sh(&format!("echo 'mgmt = [\"{host}\"]' > /etc/nyala/client.toml")).must();
    site.until_whole(1, 5);
    site.on("m1").sh(&format!("nyala mount {host}:/ /mnt/nyala")).must();
    site.look();
    site.work();
    plain_is_there(site);
    site.until_healthy();
    site.on("m1").sh("nyala umount /mnt/nyala").must();
}
