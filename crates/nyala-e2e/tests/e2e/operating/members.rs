// SPDX-License-Identifier: Apache-2.0

//! Disks, servers and copies: replaced, retired, put back.

use super::setup::disks;
use super::site::Site;
use super::{META, STORAGE};

/// A disk dies and another one takes its place in the group.
pub fn replace_disk(site: &mut Site) {
    let (m1, old) = (site.address("m1"), site.target("s2", "/data/t1"));
    site.on("s2").stop("storage", "KILL");
    site.on("s2").detach("/data/t1");
    site.on("s2").sh("rm -r /disks/t1").must();
    disks(site, "s2", &["t3"]);
    site.runs("s2", "nyala target add DIR", &[("DIR", "/data/t3")]);
    let serve = format!("nyala storage --mgmt {m1} --target /data/t3 --target /data/t2");
    site.on("s2").start("storage", &serve);
    site.until("it has an id", |site| site.target("s2", "/data/t3").parse().unwrap_or(0_u32) > 0);
    let new = site.target("s2", "/data/t3");
    exchange(site, "1", &new, &old);
    site.runs("m1", "nyala target remove OLD --yes", &[("OLD", &old)]);
    site.until_whole(3, 5);
}

/// `new` takes the place of `old` in a group.
fn exchange(site: &mut Site, group: &str, new: &str, old: &str) {
    let names = [("GROUP", group), ("NEW", new), ("OLD", old)];
    site.until("it can be added", |site| site.tries("m1", "nyala mirror add GROUP NEW", &names).ok());
    site.runs("m1", "nyala mirror resync stats", &[]);
    site.work();
    site.until("it is full", |site| site.is_good_member(new));
    site.runs("m1", "nyala mirror remove-member GROUP OLD", &names);
    site.look();
}

/// A server is retired: one that comes takes over its places in the groups.
pub fn retire(site: &mut Site) {
    let m1 = site.address("m1");
    disks(site, "s3", &["t1", "t2"]);
    site.serves("s3", STORAGE, &[("HOST", &m1)], "");
    site.until_whole(3, 7);
    let old = ["/data/t3", "/data/t2"].map(|dir| site.target("s2", dir));
    let new = ["/data/t1", "/data/t2"].map(|dir| site.target("s3", dir));
    for (group, (new, old)) in ["1", "2"].iter().zip(new.iter().zip(&old)) {
        exchange(site, group, new, old);
    }
    let targets = site.json("nyala target list");
    let node = targets
        .as_array()
        .unwrap()
        .iter()
        .find(|target| target["id"] == old[0].parse::<u32>().unwrap())
        .unwrap()["node"]
        .clone();
    leave(site, &old, &node.to_string());
    site.on("s2").stop("storage", "TERM");
    for target in &old {
        site.until("it is offline", |site| {
            site.tries("m1", "nyala target remove TARGET --yes", &[("TARGET", target)]).ok()
        });
    }
    site.runs("m1", "nyala node remove NODE --yes", &[("NODE", &node.to_string())]);
    site.until_whole(3, 5);
    site.work();
    site.runs("m1", "nyala mirror check", &[]);
}

/// Files that are not mirrored leave the targets, and new ones stay off them.
fn leave(site: &mut Site, targets: &[String], node: &str) {
    let made = "mkdir /mnt/nyala/plain; nyala entry set --pattern raid0 --num-targets 4 /mnt/nyala/plain; \
                cd /mnt/nyala/plain; head -c 6000000 /dev/urandom > /root/o; cp /root/o f; sync f";
    site.on("m1").sh(made).must();
    let lies = |site: &mut Site, path: &str| {
        let info = site.json(&format!("nyala entry info {path}"));
        let info = info.get(0).unwrap_or(&info);
        info["stripe"]["targets"].as_array().into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>()
    };
    let on = |site: &mut Site, path: &str| lies(site, path).iter().any(|id| targets.contains(id));
    // Four targets of more are drawn for each file.
    site.until("a file lies on one of them", |site| {
        on(site, "/mnt/nyala/plain/f") || !site.on("m1").sh("cd /mnt/nyala/plain; rm f; cp /root/o f; sync f").ok()
    });
    assert!(on(site, "/mnt/nyala/plain/f"));
    site.runs("m1", "nyala pool create retired --targets TARGETS", &[("TARGETS", &targets.join(","))]);
    let away = "nyala entry migrate MOUNTPOINT --nodes NODE --to-pool default --yes";
    site.runs("m1", away, &[("MOUNTPOINT", "/mnt/nyala"), ("NODE", node)]);
    assert!(!on(site, "/mnt/nyala/plain/f") && !lies(site, "/mnt/nyala/plain/f").is_empty());
    site.on("m1").sh("cd /mnt/nyala/plain; cmp /root/o f; cp f new; sync new").must();
    assert!(!on(site, "/mnt/nyala/plain/new"), "the default pool has other targets");
}

/// A metadata server comes, gets its share, gives it back, and goes.
pub fn move_slots(site: &mut Site) {
    let m1 = site.address("m1");
    site.serves("m2", META, &[("HOST", &m1)], "");
    let servers = |site: &mut Site| site.json("nyala meta list").as_array().cloned().unwrap_or_default();
    site.until("there are two", |site| servers(site).len() == 2);
    site.runs("m1", "nyala meta list", &[]);
    site.runs("m1", "nyala meta automatic on", &[]);
    site.runs("m1", "nyala meta automatic off", &[]);
    site.work();
    assert!(site.runs("m1", "nyala meta rebalance", &[]).contains("nothing is changed"));
    site.runs("m1", "nyala meta rebalance --yes", &[]);
    site.until("it has its share", |site| servers(site).iter().all(|server| server["leaving"] == 0));
    let new = servers(site).into_iter().max_by_key(|server| server["target"].as_u64()).unwrap();
    assert!(new["slots"].as_u64() > Some(64), "{new}");
    site.work();
    let new = new["target"].to_string();
    let new_id: u64 = new.parse().unwrap();
    // Where maps come with heartbeats only, a slot takes half a second: more in all than a command is waited for here.
    assert!(site.on("m1").sh(&format!("nyala meta drain {new} --yes")).ok());
    site.until("half of it has gone", |site| {
        servers(site).iter().all(|server| server["target"] != new_id || server["slots"].as_u64() < Some(40))
    });
    site.runs("m1", "nyala meta drain TARGET --yes --wait", &[("TARGET", &new)]);
    site.runs("m1", "nyala meta cancel", &[]);
    site.work();
    let targets = site.json("nyala target list");
    let ours = |target: &&serde_json::Value| target["id"] == new_id;
    let node = targets.as_array().unwrap().iter().find(ours).unwrap()["node"].to_string();
    site.on("m2").stop("meta", "TERM");
    site.until("it is offline", |site| site.tries("m1", "nyala target remove TARGET --yes", &[("TARGET", &new)]).ok());
    site.runs("m1", "nyala node remove NODE --yes", &[("NODE", &node)]);
    site.look();
}

/// Metadata is put back from a copy: what was made since is gone, and nothing of it is ever seen in other files.
pub fn restore_metadata(site: &mut Site) {
    let (m1, copied) = (site.address("m1"), site.files);
    let host = [("HOST", m1.as_str())];
    site.on("m1").stop("meta", "TERM");
    site.on("m1").sh("cp -a /data/meta /disks/copy").must();
    site.serves("m1", META, &host, "");
    site.work();
    site.runs("m1", "nyala umount /mnt/nyala", &[]);
    site.on("m1").stop("meta", "KILL");
    site.on("m1").sh("rm -r /data/meta; cp -a /disks/copy /data/meta").must();
    site.serves("m1", META, &host, "");
    site.until_whole(3, 5);
    site.runs("m1", "nyala mount HOST:/ /mnt/nyala", &host);
    assert!(site.on("m1").log("meta").contains("the tables are older than"), "it says so\n{}", site.logs(20));
    site.files = copied;
    site.look();
    let fresh = "cd /mnt/nyala/mirrored; for n in $(seq 40); do truncate -s 200000 new$n; sync new$n; done; \
        for n in $(seq 40); do head -c 200000 /dev/zero | cmp - new$n; done; rm new*";
    site.on("m1").sh(fresh).must();
    site.work();
}
