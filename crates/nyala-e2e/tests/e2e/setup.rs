// SPDX-License-Identifier: Apache-2.0

//! `nyala setup`, by the page `docs/install.md`, on hosts of their own: from nothing to a mirrored cluster that is mounted, with what
//! the units run; and what a service tells its service manager.

mod manager;
mod site;
mod ways;

use nyala_e2e::{beside_others, binary};
use serde_json::Value;
use site::Site;
use std::fs;

/// The page's commands, with the host of each.
fn commands() -> Vec<(String, String)> {
    let page = fs::read_to_string(binary::repository().join("docs/install.md")).unwrap();
    let block = page.split("```").nth(1).expect("the page has the block of commands");
    let lines = block.lines().filter_map(|line| line.split_once("# "));
    lines.map(|(host, command)| (host.to_owned(), command.trim().to_owned())).collect()
}

#[test]
fn e2e_setup_by_the_page() {
    let _one = beside_others();
    let mut site = Site::new();
    let commands = commands();
    assert!((8..=12).contains(&commands.len()), "{commands:?}");
    for (host, command) in &commands {
        if command.starts_with("nyala mirror create") {
            // An administrator would see with `nyala target list` that all are there.
            site.wait("all targets are online", |site| {
                let targets = site.json("nyala target list");
                let online = |target: &&Value| target["reachability"] == "online";
                targets.as_array().is_some_and(|all| all.iter().filter(online).count() == 6)
            });
        }
        site.does(host, command);
    }
    site.wait("all groups are good", |site| {
        let groups = site.json("nyala mirror list");
        let members: Vec<Value> = groups
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|group| group["members"].as_array())
            .flatten()
            .cloned()
            .collect();
        members.len() == 6 && members.iter().all(|member| member["state"] == "good")
    });
    mirrored_and_mounted(&mut site);
    without_root(&mut site);
    again_and_wrong(&mut site);
    monitored(&mut site);
    ways::are_judged(&mut site);
    site.on("node01").sh("umount /mnt/nyala").must();
}

/// What is written there is on two hosts.
fn mirrored_and_mounted(site: &mut Site) {
    let write = "head -c 3000000 /dev/urandom > /tmp/o; cp /tmp/o /mnt/nyala/f; sync /mnt/nyala/f; \
                 umount /mnt/nyala; mount /mnt/nyala; cmp /tmp/o /mnt/nyala/f";
    site.on("node01").sh(write).must();
    let info = site.on("node01").sh("nyala entry info /mnt/nyala/f --output json").must();
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["stripe"]["pattern"], "mirror", "{info}");
    site.on("node01").sh("nyala health check").must();
    // What hosts of a test are on is no disk of their own, which is a danger (6); every server is reached.
    let looked = site.on("node01").sh("nyala setup check --output json || test $? = 6").must();
    let looked: Value = serde_json::from_str(&looked).unwrap();
    assert_eq!(looked["round_trips"].as_array().map(Vec::len), Some(7), "{looked}");
    let links = looked["links"].as_array().unwrap();
    let reached = links.iter().filter(|link| link["error"].is_null() && link["large"] == true).count();
    assert_eq!((links.len(), reached), (7 * 6, 7 * 6), "{looked}");
    let fast = links.iter().filter(|link| link["bytes_per_s"].as_u64() > Some(1_000_000)).count();
    assert_eq!(fast, 6, "each host to each other one: {looked}");
    assert_eq!(looked["clocks"].as_array().map(Vec::len), Some(3), "{looked}");
    assert!(!looked["findings"].to_string().contains("\"network\",\"subject\":\"storage"), "{looked}");
    // Nobody sets anything of the machine under test.
    let tuned = site.on("node01").sh("nyala tune apply").must();
    assert!(tuned.contains("--yes does it") || tuned.contains("nothing to change"), "{tuned}");
}

/// A second client, of a user who is not root: the command of the page. Device nodes of a machine under test may be root's alone.
fn without_root(site: &mut Site) {
    site.on("node01").sh("mkdir -m 1777 /mnt/nyala/all").must();
    let page = fs::read_to_string(binary::repository().join("docs/install.md")).unwrap();
    let command = page.split('`').find(|text| text.ends_with("noallow_other")).expect("the page has the command");
    let mut command = site.with_addresses(command);
    for (word, is) in [("DIR", "/tmp/user/mnt"), ("FILE", "/tmp/user/secret"), ("LOG", "/tmp/user/log")] {
        command = command.replace(word, is);
    }
    let script = format!(
        "set -e; mkdir -p /tmp/user/mnt; cp /etc/nyala/secret /tmp/user; chown -R 65534:65534 /tmp/user
         rm -f /tmp/fuse; mknod -m 666 /tmp/fuse c 10 229; mount --bind /tmp/fuse /dev/fuse
         user='setpriv --reuid 65534 --regid 65534 --clear-groups'
         $user {command}
         $user sh -c 'id -u > /tmp/user/mnt/all/mine; md5sum < /tmp/user/mnt/f; ! rm -f /tmp/user/mnt/f'
         ! ls /tmp/user/mnt
         $user nyala umount /tmp/user/mnt"
    );
    let said = site.on("node02").sh(&format!("unshare -m sh -c \"{}\"", script.replace('$', "\\$"))).must();
    let whole = site.on("node01").sh("md5sum < /tmp/o").must();
    assert!(said.contains(whole.trim()), "{said} {whole}");
    assert_eq!(
        site.on("node01").sh("stat -c %u /mnt/nyala/all/mine; cat /mnt/nyala/all/mine").must(),
        "65534\n65534\n"
    );
}

/// A monitoring service that is set up and started as its unit says keeps what it hears.
fn monitored(site: &mut Site) {
    site.does("node03", "nyala setup mon --mgmt node01,node02,node03 --start --yes");
    site.wait("a round is in the history", |site| site.on("node03").sh("ls /var/lib/nyala/mon/raw-*.seg").ok());
    site.on("node03").stop("mon", "TERM");
}

/// The same again changes nothing; what is wrong is refused and changes nothing.
fn again_and_wrong(site: &mut Site) {
    let again = site.on("node01").sh("nyala setup mgmtd").must();
    assert!(again.contains("nothing was changed"), "{again}");
    let before = site.on("node02").sh("cat /etc/nyala/*.toml /etc/fstab | md5sum").must();
    let line = |command: &str| format!("nyala setup {command} --yes");
    for (command, code, word) in [
        ("storage --target /etc", 1, "not empty"),
        ("storage --target /data/t1/sub", 2, "lie in each other"),
        ("meta --instance b", 3, "--mgmt"),
        ("meta --instance b --mgmt 10.77.0.1", 2, "--port"),
        ("meta --instance b/c --mgmt 10.77.0.1", 2, "letters"),
        ("meta --instance b --port 8105 --mgmt 10.77.0.1 --interfaces ib7", 2, "no network interface"),
        ("meta --instance b --port 8105 --mgmt 10.77.0.1 --dir /data/t1", 1, "kind"),
        ("meta --instance b --port 8105 --mgmt 10.77.0.1 --secret /etc/nyala/none", 3, "scp"),
        ("meta --instance b --port 8105 --mgmt 10.77.0.1 --set lisen=1", 2, "lisen"),
        ("client --mgmt 10.77.0.1 --mount mnt", 2, "begins with /"),
        ("meta --mgmt 10.77.0.1 --start", 2, "systemd"),
        ("mon --mgmt 10.77.0.1 --dir /etc", 1, "not empty"),
        ("mon --mgmt 10.77.0.1 --set interval=1ms", 3, "100ms"),
    ] {
        let refused = site.on("node02").sh(&line(command));
        assert_eq!(refused.code(), Some(code), "{}", refused.describe());
        assert!(refused.err.contains(word), "{word:?} is not said: {}", refused.describe());
    }
    let silent = site.on("node02").sh("nyala setup meta --instance b --port 8105 --mgmt 10.77.0.1 < /dev/null");
    assert_eq!((silent.code(), silent.err.contains("--yes")), (Some(2), true), "{}", silent.describe());
    assert_eq!(site.on("node02").sh("cat /etc/nyala/*.toml /etc/fstab | md5sum").must(), before);
    site.on("node02").sh("test ! -e /etc/nyala/b.d").must();
    // A further instance, and a further target of a service that is there.
    site.on("node02").sh(&line("meta --instance b --port 8105 --mgmt 10.77.0.1 --interfaces lo")).must();
    site.on("node02").sh("nyala config check /etc/nyala/b.d/meta.toml && grep -q '^dir = \"/var/lib/nyala/b/meta\"' /etc/nyala/b.d/meta.toml").must();
    let added = site.on("node02").sh(&line("storage --target /data/t3")).must();
    assert!(added.contains("new storage target"), "{added}");
    site.on("node02").stop("storage", "TERM");
    site.on("node02").start("storage", "nyala storage --config /etc/nyala/storage.toml");
    site.wait("the new target is online", |site| {
        let targets = site.json("nyala target list");
        targets
            .as_array()
            .is_some_and(|all| all.iter().filter(|target| target["reachability"] == "online").count() == 7)
    });
}
