// SPDX-License-Identifier: Apache-2.0

//! `nyala health bundle` has logs, settings, kernel and disks of every host, without their secrets, and names the host that does not answer.

use super::setup::disks;
use super::site::Site;
use serde_json::Value;

const PASSWORD: &str = "hunter2hunter2";

/// Management on one host, storage on two others, each with settings and a log of its own.
fn set_up(site: &mut Site) -> String {
    site.on("m1").sh("nyala secret /etc/nyala/secret").must();
    let secret = site.on("m1").sh("cat /etc/nyala/secret").must().trim().to_owned();
    let m1 = site.address("m1");
    for name in ["s1", "s2"] {
        site.on(name).sh(&format!("umask 077; cat > /etc/nyala/secret <<'END'\n{secret}\nEND")).must();
        disks(site, name, &["t1"]);
        let settings = format!("mgmt = [\"{m1}\"]\nalias = \"{name}\"\n[[targets]]\ndir = \"/data/t1\"\n");
        site.on(name).sh(&format!("cat > /etc/nyala/storage.toml <<'END'\n{settings}END")).must();
        // Of a program that this version does not know.
        site.on(name).sh(&format!("echo 'password = \"{PASSWORD}\"' > /etc/nyala/other.toml")).must();
        let log = format!("mkdir -p /var/log/nyala; echo 'a line of {name}, and {secret}' > /var/log/nyala/x.log");
        site.on(name).sh(&log).must();
    }
    site.on("m1").start("mgmtd", "nyala mgmtd --heartbeat 200ms");
    site.on("m1").sh(&format!("echo 'mgmt = [\"{m1}\"]' > /etc/nyala/client.toml")).must();
    site.until("management answers", |site| site.json("nyala mgmt list").is_array());
    for name in ["s1", "s2"] {
        site.on(name).start("storage", "nyala storage --config /etc/nyala/storage.toml");
    }
    site.until_whole(1, 2);
    secret
}

pub fn bundle(site: &mut Site) {
    let secret = set_up(site);
    site.on("s2").stop("storage", "KILL");
    site.on("m1").sh("nyala health bundle --file /tmp/b.tar.gz && tar -xzf /tmp/b.tar.gz -C /tmp").must();
    let of_s1 = site.on("m1").sh("cd /tmp/nyala-bundle/hosts; echo *").must();
    assert!(of_s1.trim().ends_with("-s1") && of_s1.split_whitespace().count() == 1, "{of_s1}");
    let dir = format!("/tmp/nyala-bundle/hosts/{}", of_s1.trim());
    for (file, has) in [
        ("logs/var_log_nyala_x.log", "a line of s1, and [secret]"),
        ("settings/etc_nyala_storage.toml", "alias = \"s1\""),
        ("settings/etc_nyala_other.toml", "1 of other keys"),
        ("host/proc/meminfo", "MemTotal"),
        ("host/proc/version", "Linux"),
        ("host/facts.json", "file_systems"),
        ("manifest.json", "host/facts.json"),
    ] {
        let text = site.on("m1").sh(&format!("cat {dir}/{file}")).must();
        assert!(text.contains(has), "{file}: {text}");
    }
    let found = site.on("m1").sh(&format!("grep -rlE '{secret}|{PASSWORD}' /tmp/nyala-bundle"));
    assert!(!found.ok(), "a secret left: {}", found.out);
    let manifest = site.on("m1").sh("cat /tmp/nyala-bundle/manifest.json").must();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let missing = manifest["missing"].as_array().unwrap();
    let of_host = |missing: &&Value| missing["what"].as_str().is_some_and(|what| what.starts_with("the host of"));
    let hosts: Vec<&Value> = missing.iter().filter(of_host).collect();
    assert!(hosts.len() == 1 && hosts[0]["what"].as_str().unwrap().ends_with("-s2"), "{missing:#?}");
    assert!(hosts[0]["why"].as_str().unwrap().contains("refuse"), "{missing:#?}");
    // Without other hosts, nobody is asked, and who has a key of clients only gets none.
    site.on("m1")
        .sh("nyala health bundle --this-host-only --file /tmp/c.tar.gz; tar -tzf /tmp/c.tar.gz > /tmp/c")
        .must();
    assert!(!site.on("m1").sh("grep -q /hosts/ /tmp/c").ok());
}
