// SPDX-License-Identifier: Apache-2.0

//! "Let clients in by address, and keep them to a directory": a host with all services, and two hosts of clients.

use super::setup::disks;
use super::site::Site;
use super::{META, STORAGE, grants};

const KEYS: [&str; 3] = ["lab", "web", "ops"];

/// A cluster on one machine; the others have a key of clients each.
fn set_up(site: &mut Site) {
    site.on("m1").sh("nyala secret /etc/nyala/secret").must();
    for key in KEYS {
        site.on("m1").sh(&format!("nyala secret add --role client --id {key}")).must();
        site.on("m1").sh(&format!("nyala secret export /etc/nyala/{key} --key {key}")).must();
    }
    for (name, key) in [("c1", "lab"), ("c2", "web")] {
        let file = site.on("m1").sh(&format!("cat /etc/nyala/{key}")).must();
        site.on(name).sh(&format!("umask 077; cat > /etc/nyala/secret <<'END'\n{}\nEND", file.trim_end())).must();
    }
    let m1 = site.address("m1");
    let host = [("HOST", m1.as_str())];
    site.serves("m1", "nyala mgmtd", &[], "--heartbeat 200ms --session-timeout 10s");
    site.on("m1").sh(&format!("echo 'mgmt = [\"{m1}\"]' > /etc/nyala/client.toml")).must();
    site.until("management answers", |site| site.json("nyala mgmt list").is_array());
    disks(site, "m1", &["t1", "t2"]);
    site.serves("m1", META, &host, "");
    site.serves("m1", STORAGE, &host, grants::METRICS);
    site.until_whole(1, 3);
    site.on("m1").sh(&format!("nyala mount {m1}:/ /mnt/nyala -o secret=/etc/nyala/ops")).must();
    site.on("m1")
        .sh("cd /mnt/nyala; mkdir -m 1777 projects; seq 1 50000 > projects/large; seq 1 50000 > outside; sync -f .; \
             umask 077; echo private > projects/private")
        .must();
}

pub fn mount(site: &mut Site, name: &str) -> nyala_e2e::run::Outcome {
    let m1 = site.address("m1");
    site.on(name).sh(&format!("mkdir -p /mnt/nyala; nyala mount {m1}:/ /mnt/nyala"))
}

pub fn umount(site: &mut Site, name: &str) {
    site.on(name).sh("nyala umount /mnt/nyala").must();
}

/// A key that is kept to a directory; a network that only reads.
fn kept_and_read_only(site: &mut Site) {
    let c2 = site.address("c2");
    site.runs("m1", "nyala access set KEY --root /projects --yes", &[("KEY", "lab")]);
    let read = "nyala access set '*' --from NETWORK --read-only --squash root --yes";
    site.runs("m1", read, &[("NETWORK", &c2)]);
    site.until("the rule is known", |site| {
        mount(site, "c1").must();
        let is_kept = site.on("c1").sh("test ! -e /mnt/nyala/outside && test -e /mnt/nyala/large").ok();
        if !is_kept {
            umount(site, "c1");
        }
        is_kept
    });
    let listed = site.on("c1").sh("ls -a /mnt/nyala | sort | tr '\\n' ' '").must();
    assert_eq!(listed.trim(), ". .. large private");
    let work = "cd /mnt/nyala; seq 1 50000 | cmp - large; mkdir a a/b; seq 1 50000 > a/b/new; sync a/b/new; mv a/b/new moved; \
                ln moved a/link; rm moved; seq 1 50000 | cmp - a/link; cd /; seq 1 50000 | cmp - /mnt/nyala/../nyala/a/link";
    site.on("c1").sh(work).must();
    site.on("m1").sh("seq 1 50000 | cmp - /mnt/nyala/projects/a/link").must();
    // What another mount changes in the root is seen.
    site.on("m1").sh("touch /mnt/nyala/projects/later; chmod 755 /mnt/nyala/projects").must();
    site.on("c1").sh("test -e /mnt/nyala/later; test \"$(stat -c %a /mnt/nyala)\" = 755").must();
    mount(site, "c2").must();
    site.on("c2").sh("seq 1 50000 | cmp - /mnt/nyala/projects/large; test -e /mnt/nyala/outside").must();
    for (what, says) in [
        ("touch /mnt/nyala/new", "Read-only file system"),
        ("rm /mnt/nyala/outside", "Read-only file system"),
        ("cat /mnt/nyala/projects/private", "Permission denied"),
    ] {
        let refused = site.on("c2").sh(what);
        assert!(!refused.ok() && refused.err.contains(says), "{what}: {}", refused.describe());
    }
}

/// Nobody but who has a rule of his own.
fn refused(site: &mut Site) {
    let (m1, c1, c2) = (site.address("m1"), site.address("c1"), site.address("c2"));
    site.runs("m1", "nyala access set KEY --from NETWORK --allow --yes", &[("KEY", "ops"), ("NETWORK", &m1)]);
    site.runs("m1", "nyala access set '*' --from NETWORK --refuse --yes", &[("NETWORK", "0.0.0.0/0")]);
    site.on("c2").sh("test -e /mnt/nyala/outside").must();
    site.runs("m1", "nyala access delete KEY --from NETWORK --yes", &[("KEY", "'*'"), ("NETWORK", &c2)]);
    site.until("the rule ends", |site| site.on("c2").sh("touch /mnt/nyala/new").err.contains("Permission denied"));
    site.on("c2").sh("umount -l /mnt/nyala").must();
    let refused = mount(site, "c2");
    assert!(!refused.ok() && refused.err.contains("access rule"), "{}", refused.describe());
    site.on("c1").sh("seq 1 50000 | cmp - /mnt/nyala/large").must();
    site.on("m1").sh("touch /mnt/nyala/free").must();
    let all = site.runs("m1", "nyala access list", &[]);
    assert!(all.contains("/projects") && all.contains("0.0.0.0/0") && all.contains("ops"), "{all}");
    let counts = site.runs("m1", "nyala access list --key KEY --address IP", &[("KEY", "lab"), ("IP", &c1)]);
    assert!(counts.contains("/projects") && !counts.contains("0.0.0.0/0"), "{counts}");
    let wrong = site.on("m1").sh("nyala access set lab --from 10.0.0.1/8 --read-only");
    assert!(!wrong.ok() && wrong.err.contains("the network is 10.0.0.0/8"), "{}", wrong.describe());
}

/// All of it.
pub fn access(site: &mut Site) {
    set_up(site);
    kept_and_read_only(site);
    grants::users_at_storage(site);
    refused(site);
    umount(site, "c1");
    umount(site, "m1");
}
