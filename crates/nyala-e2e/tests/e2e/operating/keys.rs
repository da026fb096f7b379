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
