// SPDX-License-Identifier: Apache-2.0

//! Keys come and go, and roles are parted, while programs write and read.

use super::site::Site;

const SECRET: &str = "/etc/nyala/secret";
const STOP: &str = "/var/lib/nyala/stop-load";
const SAID: &str = "/var/lib/nyala/load.log";

/// A program that writes, syncs, reads back, renames and removes, and ends at the first thing that is not as it has to be.
fn begin_load(site: &mut Site) {
    let script = format!(
        "rm -f {STOP} {SAID}; mkdir /mnt/nyala/load; cp {SECRET} /var/lib/nyala/old; \
         setsid sh -c 'cd /mnt/nyala/load; n=0; while ! test -e {STOP}; do \
           seq $n $((n + 30000)) > f && sync f && seq $n $((n + 30000)) | cmp - f && mv f g$n && test ! -e f && \
           seq $n $((n + 30000)) | cmp - g$n && {{ test $n -lt 20 || rm g$((n - 20)); }} || {{ echo failed at $n; exit 1; }}; \
           n=$((n + 1)); done; echo well $n' > {SAID} 2>&1 < /dev/null &"
    );
    site.on("m1").sh(&script).must();
}

fn end_load(site: &mut Site) {
    site.on("m1").sh(&format!("touch {STOP}")).must();
    site.until("the load ends", |site| !site.on("m1").sh(&format!("cat {SAID}")).out.is_empty());
    let said = site.on("m1").sh(&format!("cat {SAID}")).must();
    let rounds = said.trim().strip_prefix("well ").and_then(|rounds| rounds.parse::<u32>().ok());
    assert!(rounds.is_some_and(|rounds| rounds > 10), "{said}\n{}", site.logs(25));
    println!("rounds of the load meanwhile: {}", said.trim());
    site.on("m1").sh("rm -r /mnt/nyala/load").must();
}

/// The file of the first machine goes to the others, as `scp` would write it: in place, not at once.
fn copy(site: &mut Site) {
    let file = site.on("m1").sh(&format!("cat {SECRET}")).must();
    for name in site.names().into_iter().skip(1) {
        site.on(name).sh(&format!("umask 077; cat > {SECRET} <<'END'\n{}\nEND", file.trim_end())).must();
    }
}

fn ids(site: &mut Site, machine: &str, file: &str) -> Vec<String> {
    let said = site.on(machine).sh(&format!("nyala secret list --file {file} --output json")).must();
    let rows: serde_json::Value = serde_json::from_str(&said).unwrap();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// "Rotate".
pub fn rotate(site: &mut Site) {
    begin_load(site);
    site.runs("m1", "nyala secret add", &[]);
    site.work();
    copy(site);
    site.runs("m1", "nyala secret list", &[]);
    assert_eq!(ids(site, "s1", SECRET), ["plain", "k1"]);
    site.work();
    for name in site.names() {
        site.runs(name, "nyala secret retire KEY --yes", &[("KEY", "plain")]);
        site.work();
    }
    site.until_whole(3, 5);
    site.work();
    end_load(site);
    let m1 = site.address("m1");
    let old = site.on("m1").sh(&format!("nyala node list --mgmt {m1} --secret /var/lib/nyala/old"));
    assert!(!old.ok() && old.err.contains("secret"), "the old secret is worth nothing: {}", old.describe());
}

/// "Part the roles".
pub fn part_roles(site: &mut Site) {
    begin_load(site);
    for said in ["nyala secret add --role client", "nyala secret add --role server", "nyala secret add --role admin"] {
        site.runs("m1", said, &[]);
    }
    site.runs("m1", "nyala secret add --role client --read-only", &[]);
    copy(site);
    site.runs("m1", "nyala secret export FILE --key KEY", &[("FILE", "/etc/nyala/client"), ("KEY", "k2")]);
    site.runs("m1", "nyala secret export FILE --key KEY", &[("FILE", "/etc/nyala/reader"), ("KEY", "k5")]);
    assert_eq!(ids(site, "m1", "/etc/nyala/client"), ["k2"]);
    for name in site.names() {
        site.runs(name, "nyala secret retire KEY --yes", &[("KEY", "k1")]);
    }
    site.until_whole(3, 5);
    site.work();
    let m1 = site.address("m1");
    // Who has the client's key alone asks, and changes nothing of the cluster, as whatever it poses.
    let as_client = format!("--mgmt {m1} --secret /etc/nyala/client");
    site.on("m1").sh(&format!("nyala node list {as_client}")).must();
    for command in ["mirror resync stop", "mirror resync start", "scrub"] {
        let refused = site.on("m1").sh(&format!("nyala {command} {as_client}"));
        assert!(!refused.ok() && refused.describe().contains("only "), "{}", refused.describe());
    }
    let service = format!("mkdir -p /data/x; nyala storage --mgmt {m1} --dir /data/x/d --target /data/x/t");
    let refused = site.on("m1").sh(&format!("{service} --secret /etc/nyala/client"));
    assert!(!refused.ok() && refused.err.contains("no key for a storage service"), "{}", refused.describe());
    // It writes "all" to the file: the servers' files count.
    let lie = "sed 's/roles=client/roles=client,server,admin/' /etc/nyala/client > /etc/nyala/liar; chmod 600 /etc/nyala/liar";
    site.on("m1").sh(lie).must();
    let refused = site.on("m1").sh(&format!("nyala node list --mgmt {m1} --secret /etc/nyala/liar"));
    assert!(!refused.ok() && refused.err.contains("is not for"), "{}", refused.describe());
    let reader = format!("mkdir -p /mnt/reader; nyala mount {m1}:/ /mnt/reader -o secret=/etc/nyala/reader");
    site.on("m1").sh(&reader).must();
    site.on("m1").sh("cmp /mnt/reader/mirrored/f0 /mnt/nyala/mirrored/f0").must();
    for change in ["touch /mnt/reader/mirrored/f0", "rm /mnt/reader/mirrored/f0", "echo x > /mnt/reader/new"] {
        let refused = site.on("m1").sh(change);
        assert!(!refused.ok() && refused.err.contains("Read-only file system"), "{}", refused.describe());
    }
    site.on("m1").sh("nyala umount /mnt/reader").must();
    site.look();
    end_load(site);
}

/// "Hold clients to rules", on a mount of its own; and who ordered what.
pub fn hold_to_rules(site: &mut Site) {
    site.on("m1").sh("nyala secret add --role client --id lab").must();
    copy(site);
    site.on("m1").sh("nyala secret export /etc/nyala/lab --key lab").must();
    let m1 = site.address("m1");
    site.on("m1").sh("mkdir -p /mnt/lab /mnt/nyala/ruled; chmod 1777 /mnt/nyala/ruled").must();
    site.on("m1")
        .sh("umask 077; echo private > /mnt/nyala/ruled/private; chown 1000:1000 /mnt/nyala/ruled/private")
        .must();
    let mount = format!("nyala mount {m1}:/ /mnt/lab -o secret=/etc/nyala/lab");
    site.on("m1").sh(&mount).must();
    site.on("m1").sh("cat /mnt/lab/ruled/private").must();
    site.on("m1").sh("nyala umount /mnt/lab").must();

    site.runs("m1", "nyala key set KEY --squash root --yes", &[("KEY", "lab")]);
    site.work();
    site.on("m1").sh(&mount).must();
    site.until("the rule is known", |site| !site.on("m1").sh("cat /mnt/lab/ruled/private").ok());
    let refused = site.on("m1").sh("cat /mnt/lab/ruled/private");
    assert!(refused.err.contains("Permission denied"), "{}", refused.describe());
    let as_user = |uid: u32, what: &str| format!("setpriv --reuid {uid} --regid {uid} --clear-groups sh -c '{what}'");
    site.on("m1").sh("echo mine > /mnt/lab/ruled/of-root; sync /mnt/lab/ruled/of-root").must();
    assert_eq!(site.on("m1").sh("stat -c %u:%g /mnt/nyala/ruled/of-root").must().trim(), "65534:65534");
    assert_eq!(site.on("m1").sh(&as_user(1000, "cat /mnt/lab/ruled/private")).must().trim(), "private");
    for what in [
        "chown 1000 /mnt/lab/ruled/of-root",
        "chmod 777 /mnt/lab/ruled/private",
        "rm /mnt/lab/ruled/private",
        "mknod /mnt/lab/ruled/dev c 1 3",
    ] {
        let refused = site.on("m1").sh(what);
        assert!(!refused.ok() && refused.err.contains("not permitted"), "{what}: {}", refused.describe());
    }
    site.on("m1").sh("rm /mnt/lab/ruled/of-root; nyala umount /mnt/lab").must();

    let maps = "nyala key set KEY --map-users 1000:50000:100 --map-groups 1000:50000:100 --yes";
    site.runs("m1", maps, &[("KEY", "lab")]);
    site.work();
    site.on("m1").sh(&mount).must();
    site.until("the ranges are known", |site| {
        site.on("m1").sh("stat -c %u /mnt/lab/ruled/private").out.trim() == "65534"
    });
    site.on("m1")
        .sh(&as_user(1001, "umask 077; echo mapped > /mnt/lab/ruled/mapped; sync /mnt/lab/ruled/mapped"))
        .must();
    assert_eq!(site.on("m1").sh("stat -c %u:%g /mnt/lab/ruled/mapped").must().trim(), "1001:1001");
    assert_eq!(site.on("m1").sh("stat -c %u:%g /mnt/nyala/ruled/mapped").must().trim(), "50001:50001");
    assert_eq!(site.on("m1").sh(&as_user(1001, "cat /mnt/lab/ruled/mapped")).must().trim(), "mapped");
    assert!(!site.on("m1").sh(&as_user(1000, "cat /mnt/lab/ruled/private")).ok(), "user 1000 there is another one");
    site.on("m1").sh("nyala umount /mnt/lab").must();

    site.runs("m1", "nyala key set KEY --squash all --anonymous 2000:2000 --yes", &[("KEY", "lab")]);
    site.runs("m1", "nyala key set KEY --read-only --yes", &[("KEY", "lab")]);
    site.work();
    site.on("m1").sh(&mount).must();
    site.until("nothing may be written", |site| {
        site.on("m1").sh("touch /mnt/lab/ruled/new").err.contains("Read-only file system")
    });
    site.on("m1").sh("nyala umount /mnt/lab").must();
    site.runs("m1", "nyala key list", &[]);
    site.runs("m1", "nyala key clear KEY --yes", &[("KEY", "lab")]);
    let refused = site.on("m1").sh("nyala key set k3 --squash root --yes");
    assert!(!refused.ok() && refused.err.contains("not for clients alone"), "{}", refused.describe());
    site.runs("m1", "nyala audit", &[]);
    let token = site.runs("m1", "nyala mgmt token NAME --for 8h", &[("NAME", "alice")]);
    assert!(token.starts_with("v.") && token.contains(".alice.") && token.contains("looks with it until"), "{token}");
    let said = site.on("m1").sh("nyala audit --output json").must();
    let orders: serde_json::Value = serde_json::from_str(&said).unwrap();
    let ours: Vec<&serde_json::Value> =
        orders.as_array().unwrap().iter().filter(|order| order["what"].as_str().unwrap().starts_with("key ")).collect();
    assert!(ours.len() >= 5 && ours.iter().all(|order| order["outcome"] == "done" && order["key"] == "k4"), "{said}");
    site.on("m1").sh("rm -r /mnt/nyala/ruled; nyala secret retire lab --yes").must();
    copy(site);
}
