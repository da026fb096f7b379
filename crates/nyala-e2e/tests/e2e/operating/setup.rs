// SPDX-License-Identifier: Apache-2.0

//! Set up, mirrored and looked at, by the page.

use super::site::Site;
use super::{META, STORAGE};

/// "Several machines" and "Management on several machines".
pub fn set_up(site: &mut Site) {
    site.runs("m1", "nyala secret", &[]);
    let secret = site.on("m1").sh("cat /etc/nyala/secret").must();
    for name in site.names().into_iter().skip(1) {
        let copy = format!("umask 077; printf '%s' '{secret}' > /etc/nyala/secret");
        site.on(name).sh(&copy).must();
    }
    let (m1, m3) = (site.address("m1"), site.address("m3"));
    let host = [("HOST", m1.as_str())];
    // Shorter than usual: each slot that moves waits for a heartbeat, and a server that comes back for clients that are gone.
    site.serves("m1", "nyala mgmtd", &[], "--heartbeat 200ms --session-timeout 10s");
    let settings = site.page.block("mgmt = [", &host);
    site.on("m1").sh(&format!("echo '{settings}' > /etc/nyala/client.toml")).must();
    site.until("the first management node answers", |site| site.json("nyala mgmt list").is_array());
    site.serves("m2", "nyala mgmtd --join HOST", &host, "");
    site.serves("m3", "nyala mgmtd --standby", &[], "");
    site.until("the third waits", |site| site.tries("m1", "nyala mgmt add NEWHOST", &[("NEWHOST", &m3)]).ok());
    site.serves("m1", META, &host, "");
    for name in ["s1", "s2"] {
        disks(site, name, &["t1", "t2"]);
        site.serves(name, STORAGE, &host, "");
    }
    site.until_whole(3, 5);
    site.runs("m1", "nyala mount HOST:/ /mnt/nyala", &host);
    site.runs("m1", "nyala umount /mnt/nyala", &[]);
    let fstab = site.page.block("fuse.nyala", &host);
    site.on("m1").sh("ln -s $(command -v nyala) /sbin/mount.fuse.nyala").must();
    site.on("m1").sh(&format!("echo '{fstab}' >> /etc/fstab; mount /mnt/nyala")).must();
    // Where management moves to later.
    let all: Vec<String> = ["m1", "m2", "m3"].map(|name| site.address(name)).into();
    let both: Vec<String> = all.iter().flat_map(|at| [format!("\"{at}\""), format!("\"{at}:8018\"")]).collect();
    site.on("m1").sh(&format!("echo 'mgmt = [{}]' > /etc/nyala/client.toml", both.join(", "))).must();
}

/// Disks of a storage server, each mounted where a target is to be.
pub fn disks(site: &mut Site, machine: &str, names: &[&str]) {
    for name in names {
        let script = format!("mkdir -p /disks/{name} /data/{name}; mount --bind /disks/{name} /data/{name}");
        site.on(machine).sh(&script).must();
    }
}

/// "Disks that fail": what is not mirrored is moved off a target by hand.
pub fn leave_disk(site: &mut Site) {
    let target = site.target("s1", "/data/t1");
    let names = [("MOUNTPOINT", "/mnt/nyala"), ("TARGET", target.as_str())];
    let files = "mkdir /mnt/nyala/plain; for n in 1 2 3 4 5 6; do head -c 3000000 /dev/urandom > /mnt/nyala/plain/$n; done; \
                 cd /mnt/nyala/plain; cksum * > /root/plain";
    site.on("m1").sh(files).must();
    let find = "nyala entry find MOUNTPOINT --targets TARGET";
    assert!(site.runs("m1", find, &names).contains("/mnt/nyala/plain/"));
    site.runs("m1", "nyala entry migrate MOUNTPOINT --targets TARGET --yes", &names);
    assert!(!site.runs("m1", find, &names).contains("/mnt/nyala/plain/"));
    site.on("m1").sh("cd /mnt/nyala/plain; cksum * | cmp - /root/plain; rm -r /mnt/nyala/plain").must();
}

/// "Mirror groups": two groups of four targets, and a directory with files on them.
pub fn mirror(site: &mut Site) {
    let (first, second) = (site.target("s1", "/data/t1"), site.target("s2", "/data/t1"));
    let names = [("TARGET", first.as_str()), ("OTHER", second.as_str())];
    site.runs("m1", "nyala mirror create --primary TARGET --secondary OTHER", &names);
    site.runs("m1", "nyala mirror create --auto", &[]);
    site.on("m1").sh("mkdir /mnt/nyala/mirrored").must();
    site.runs("m1", "nyala entry set --pattern mirror DIR", &[("DIR", "/mnt/nyala/mirrored")]);
    site.runs("m1", "nyala entry set DIR --chunk-size 1m --num-targets 2", &[("DIR", "/mnt/nyala/mirrored")]);
    site.runs("m1", "nyala mirror list", &[]);
    site.runs("m1", "nyala mirror resync stop", &[]);
    site.runs("m1", "nyala mirror resync start", &[]);
    site.work();
    site.runs("m1", "nyala mirror switch GROUP TARGET", &[("GROUP", "1"), ("TARGET", &second)]);
    site.work();
    site.runs("m1", "nyala target set-state TARGET bad --yes", &names);
    site.runs("m1", "nyala target set-state TARGET needs-resync", &names);
    site.until("it is filled again", |site| site.is_good_member(&first));
}

/// "Looking", and what the other sections say to look with.
pub fn look_around(site: &mut Site) {
    for said in [
        "nyala mgmt list",
        "nyala node list",
        "nyala target list",
        "nyala target list --state",
        "nyala health check",
        "nyala health df",
        "nyala health net",
        "nyala health bundle",
        "nyala stats server",
        "nyala stats client",
        "nyala stats user",
        "nyala mirror check",
        "nyala mirror resync stats",
        "nyala mirror --help",
        "nyala scrub",
        "nyala scrub status",
        "nyala scrub --leftovers",
    ] {
        site.runs("m1", said, &[]);
    }
    // So slow that it has to say how far it is, and nothing but the result on standard output.
    let slow = site.on("m1").sh("nyala scrub --rate 100k --output json --log-level info 2> /root/progress");
    assert!(slow.ok() && serde_json::from_str::<serde_json::Value>(&slow.out).is_ok(), "{}", slow.describe());
    let told = site.on("m1").sh("cat /root/progress").must();
    assert!(told.contains("so far: scrub: ") && told.contains("/s"), "{told}");
    site.runs("m1", "nyala COMMAND --help", &[("COMMAND", "scrub")]);
    site.runs("m1", "nyala config check FILE", &[("FILE", "/etc/nyala/client.toml")]);
    site.runs("m1", "nyala health bundle --file FILE", &[("FILE", "/root/report.tar.gz")]);
    site.on("m1").sh("tar -tzf /root/report.tar.gz | grep -q cluster/map.json").must();
    site.runs("m1", "nyala entry info PATH", &[("PATH", "/mnt/nyala/mirrored/f0")]);
    site.runs("m1", "nyala trace DIR", &[("DIR", "/mnt/nyala/mirrored")]);
    site.on("m1").sh("getfattr --only-values -n user.nyala.stats /mnt/nyala").must();
}
