// SPDX-License-Identifier: Apache-2.0

//! The commands of BeeGFS and xiRAID, as published papers print them, on three hosts with their addresses and names, each with a network of its own: set up,
//! looked at, mirrored, and a target on a RAID of block devices. Management and the mount are on the first one, storage on the two others, metadata on the first two.

use nyala_e2e::cluster::sibling;
use nyala_e2e::hosts::Machine;
use nyala_e2e::hosts::net::Switch;
use nyala_e2e::{beside_others, cleanup, run};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);

struct Host {
    machines: Vec<Machine>,
    /// On which commands run, from 1.
    at: usize,
    root: PathBuf,
    guard: Child,
}

impl Host {
    fn new() -> Host {
        let root = tempfile::Builder::new().prefix("nyala-compat-").tempdir_in("/var/tmp").unwrap().keep();
        let guard = Command::new(sibling("nyala-e2e-guard")).arg(&root).stdin(Stdio::piped()).spawn().unwrap();
        let switch = Switch::make(&root);
        let machine = |number: u8| {
            let machine = Machine::make(&root, &switch, number, &format!("node0{number}"));
            let script = format!(
                "ip address add 192.168.5.1{number}/24 dev eth0; \
                 printf '192.168.5.11 node01 masterbgfs\\n192.168.5.12 node02\\n192.168.5.13 node03\\n' >> /etc/hosts; \
                 mkdir -p /etc/beegfs /mnt/beegfs /beegfs; nyala compat install"
            );
            machine.sh(&script).must();
            machine
        };
        let machines = (1..=3).map(machine).collect();
        Host { machines, at: 1, root, guard }
    }

    /// From now on commands run on this host.
    fn on(&mut self, number: usize) -> &mut Host {
        self.at = number;
        self
    }

    fn machine(&mut self) -> &mut Machine {
        &mut self.machines[self.at - 1]
    }

    /// Runs a line, which has to work; everything that it printed.
    #[track_caller]
    fn prints(&mut self, line: &str) -> String {
        let outcome = self.machine().sh(line);
        assert!(outcome.ok(), "{}\n{}", outcome.describe(), self.machine().logs(15));
        outcome.out
    }

    /// The same, and it prints these lines, in this order.
    #[track_caller]
    fn shows(&mut self, line: &str, wanted: &[&str]) -> String {
        let out = self.prints(line);
        let mut rest = out.as_str();
        for want in wanted {
            let at = rest.find(want).unwrap_or_else(|| panic!("{line}\n{want:?} is not (there) in:\n{out}"));
            rest = &rest[at + want.len()..];
        }
        out
    }

    /// A line that is refused, with the code that scripts expect, and a sentence.
    #[track_caller]
    fn refused(&mut self, line: &str, word: &str) {
        let outcome = self.machine().sh(line);
        assert_eq!(outcome.code(), Some(1), "{}", outcome.describe());
        assert!(outcome.err.contains(word), "{word:?} is not said: {}", outcome.describe());
    }

    #[track_caller]
    fn until(&mut self, what: &str, line: &str) {
        let began = Instant::now();
        while !self.machine().sh(line).ok() {
            let ended = self.machines.iter_mut().find_map(Machine::ended);
            assert!(ended.is_none(), "{}", ended.unwrap_or_default());
            assert!(began.elapsed() < SOON, "not after {SOON:?}: {what}\n{}", self.machine().logs(20));
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.machines.clear();
        for problem in cleanup::remove(&self.root) {
            eprintln!("{problem}");
        }
        drop(self.guard.stdin.take());
        run::wait(&mut self.guard, SOON);
    }
}

#[test]
fn e2e_compat_commands_of_the_papers() {
    let _one = beside_others();
    let mut host = Host::new();
    set_up(&mut host);
    start(&mut host);
    look(&mut host);
    patterns(&mut host);
    mirrors(&mut host);
    sets(&mut host);
    wrong(&mut host);
    host.prints("nyala umount /mnt/beegfs");
}

/// Groups 3 to 11 and 31: the secret, and every set-up command that is printed.
fn set_up(host: &mut Host) {
    host.prints("dd if=/dev/random of=/etc/beegfs/connauthfile bs=128 count=1 2>/dev/null");
    configured(host);
    host.refused("/opt/beegfs/sbin/beegfs-setup-mgmtd -p /mnt/beegfsmgmt", "chmod 600");
    host.prints("chmod 600 /etc/beegfs/connauthfile");
    let secret = host.prints("base64 -w0 /etc/beegfs/connauthfile");
    for other in [2, 3] {
        host.on(other).prints(&format!("umask 077; echo {secret} | base64 -d > /etc/beegfs/connauthfile"));
        configured(host);
    }
    host.on(1);
    let mgmtd = "/opt/beegfs/sbin/beegfs-setup-mgmtd";
    let printed =
        ["Updating config file: /etc/nyala/mgmtd.toml", " * Setting storage directory in config file...", "All done."];
    host.shows(&format!("{mgmtd} -p /data/beegfs/beegfs_mgmtd"), &printed);
    host.shows(&format!("{mgmtd} -p /beegfs/metaA-numa0-1/mgmtd -S beegfs-mgmt"), &printed);
    host.shows(&format!("{mgmtd} -p /mnt/beegfsmgmt"), &printed);
    let own = "-p /mnt/beegfsmgmt/ -c /etc/beegfs/beegfs-mgmtd.conf -S mgmt-server";
    host.shows(&format!("{mgmtd} {own}"), &["Preparing storage directory: /mnt/beegfsmgmt/", "All done."]);
    set_up_servers(host);
}

/// The files that the set-up commands change.
fn configured(host: &mut Host) {
    host.prints(
        "mkdir -p /etc/beegfs/inst1.d /etc/beegfs/inst2.d; cd /etc/beegfs; \
         printf 'connAuthFile = /etc/beegfs/connauthfile\\nconnMaxInternodeNum = 64\\nconnInterfacesFile =\\n' | \
         tee beegfs-mgmtd.conf beegfs-client.conf beegfs-storage.conf inst1.d/beegfs-meta.conf inst1.d/beegfs-storage.conf inst2.d/beegfs-storage.conf >/dev/null; \
         { cat beegfs-mgmtd.conf; echo 'connMetaPortTCP = 8105'; } > inst2.d/beegfs-meta.conf",
    );
}

/// Groups 7 to 11.
fn set_up_servers(host: &mut Host) {
    let meta = "/opt/beegfs/sbin/beegfs-setup-meta";
    let printed = [
        "Preparing storage directory:",
        "Updating config file: /etc/nyala/inst",
        " * Setting management host: 192.168.5.11",
        "All done.",
    ];
    for (at, line) in [
        (
            1,
            "-c /etc/beegfs/inst1.d/beegfs-meta.conf -p /data/beegfs/beegfs_meta1 -s 11 -S meta1-inst1 -m 192.168.5.11",
        ),
        (
            2,
            "-c /etc/beegfs/inst2.d/beegfs-meta.conf -p /data/beegfs/beegfs_meta2 -s 12 -S meta1-inst2 -m 192.168.5.11",
        ),
    ] {
        host.on(at).shows(&format!("{meta} {line}"), &printed);
    }
    let storage = "/opt/beegfs/sbin/beegfs-setup-storage";
    for (inst, node, name, target) in [
        (1, 21, "stor1-inst1", 211),
        (2, 31, "stor2-inst1", 311),
        (1, 21, "stor1-inst1", 411),
        (2, 31, "stor2-inst1", 511),
    ] {
        let line = format!(
            "{storage} -c /etc/beegfs/inst{inst}.d/beegfs-storage.conf -p /mnt/target{target}/beegfs_storage -s {node} -S {name} -i {target} -m 192.168.5.11"
        );
        host.on(1 + inst)
            .shows(&line, &["Preparing storage directory:", " * Appending to target directory list", "All done."]);
    }
    host.on(1).refused(
        &format!("{storage} -p /mnt/myraid1/beegfs_storage -s Node_Id -i Storage_target_Id -m masterbgfs"),
        "Storage_target_Id",
    );
    for name in ["node01", "192.168.5.11", "masterbgfs"] {
        host.shows(
            &format!("/opt/beegfs/sbin/beegfs-setup-client -m {name}"),
            &[&format!("Setting management host: {name}"), "All done."],
        );
    }
    for at in [3, 2, 1] {
        host.on(at).prints(
            "for f in $(ls /etc/nyala/*.toml /etc/nyala/*/*.toml 2>/dev/null || true); do nyala config check $f; done",
        );
    }
}

/// Group 12, as the units would.
fn start(host: &mut Host) {
    host.machine().start("mgmtd", "nyala mgmtd --config /etc/nyala/mgmtd.toml");
    host.machine().start("meta1", "nyala meta --config /etc/nyala/inst1.d/meta.toml");
    host.on(2).machine().start("storage1", "nyala storage --config /etc/nyala/inst1.d/storage.toml");
    host.on(3).machine().start("storage2", "nyala storage --config /etc/nyala/inst2.d/storage.toml");
    host.on(1).until("five targets are online", "test $(nyala target list --output json | grep -c '\"online\"') = 5");
    host.on(2).machine().start("meta2", "nyala meta --config /etc/nyala/inst2.d/meta.toml --spare");
    host.on(1).until("six targets are online", "test $(nyala target list --output json | grep -c '\"online\"') = 6");
    host.prints("nyala mount node01:/ /mnt/beegfs -o secret=/etc/beegfs/connauthfile");
    host.prints("mkdir /mnt/beegfs/bdm /mnt/beegfs/benchmark /mnt/beegfs/mirrordir");
}

/// Groups 14 to 16 and 29.
fn look(host: &mut Host) {
    let df = host.shows(
        "beegfs-df",
        &[
            "METADATA SERVERS:\nTargetID",
            "Cap. Pool",
            "Total",
            "Free",
            "ITotal",
            "IFree",
            "\n========",
            "STORAGE TARGETS:\nTargetID",
        ],
    );
    for target in ["211", "311", "411", "511"] {
        let row =
            df.lines().find(|line| line.trim_start().starts_with(target)).unwrap_or_else(|| panic!("{target} in {df}"));
        assert!(row.contains("iB") && row.contains('%'), "{row}");
    }
    let net = [
        "mgmt_nodes\n=============",
        "meta_nodes\n=============\nmeta1-inst1 [ID: ",
        "]\n   Connections: TCP: 1 (192.168.5.11:8005);",
        "storage_nodes\n=============\nstor",
    ];
    host.shows("beegfs-net", &net);
    host.shows("beegfs-ctl --listnodes --nodetype=client --details", &["Number of nodes: "]);
    let typo = host.prints("beegfs-ctl --listnodes --nodetype=client -details");
    assert!(typo.contains("Number of nodes: "), "{typo}");
    for (name, interfaces) in [
        ("stor1-inst1 [ID: ", "\n   Interfaces: 192.168.5.12(TCP)\n"),
        ("stor2-inst1 [ID: ", "\n   Interfaces: 192.168.5.13(TCP)\n"),
    ] {
        let wanted = [name, "]\n   Ports: UDP: 0; TCP: 8", interfaces, "Number of nodes: 2\n"];
        host.shows("beegfs-ctl --listnodes --nodetype=storage --details", &wanted);
    }
    host.shows(
        "beegfs-ctl --listnodes --nodetype=meta --details",
        &["meta1-inst1 [ID: ", "Number of nodes: 2\nRoot: "],
    );
    let servers = [
        "Management\n==========\n",
        ":8008 (protocol: TCP)\n\nMetadata\n==========\n",
        "meta1-inst1 [ID: ",
        "Storage\n==========\n",
        "(protocol: TCP)",
    ];
    host.shows("beegfs-check-servers", &servers);
}

/// Groups 17, 19, 21, 22.
fn patterns(host: &mut Host) {
    let printed = "New chunksize: 1048576\nNew number of storage targets: 4\n\nPath: \nMount: /mnt/beegfs\n";
    assert!(host.prints("beegfs-ctl --setpattern --chunksize=1M --numtargets=4 /mnt/beegfs").starts_with(printed));
    let printed =
        ["New chunksize: 1048576\nNew number of storage targets: 1\n\nPath: /benchmark\nMount: /mnt/beegfs\n"];
    host.shows("beegfs-ctl --setpattern --numtargets=1 --chunksize=1m /mnt/beegfs/benchmark", &printed);
    let shown = [
        "Entry type: directory\nEntryID: ",
        "ParentID: ",
        "Metadata node: meta1-inst1 [ID: ",
        "Stripe pattern details:\n+ Type: RAID0\n+ Chunksize: 1M\n+ Number of storage targets: desired: 1\n+ Storage Pool: 1 (",
    ];
    host.shows("beegfs-ctl --getentryinfo --mount=/mnt/beegfs/ /mnt/beegfs/benchmark/ --verbose", &shown);
    host.prints("head -c 3000000 /dev/urandom > /mnt/beegfs/benchmark/f; sync /mnt/beegfs/benchmark/f");
    host.shows(
        "beegfs-ctl --getentryinfo /mnt/beegfs/benchmark/f",
        &["Entry type: file", "desired: 1; actual: 1", "+ Storage targets:\n  + ", " @ stor"],
    );
}

/// Groups 18 and 20 to 28.
fn mirrors(host: &mut Host) {
    let set = "Mirror buddy group successfully set: groupID 100 -> target IDs 211, 311";
    host.shows("beegfs-ctl --addmirrorgroup --nodetype=storage --primary=211 --secondary=311 --groupid=100", &[set]);
    host.refused("beegfs-ctl --addmirrorgroup --nodetype=storage --primary=1 --secondary=2 --groupid=100", "1");
    host.shows(
        "beegfs-ctl --addmirrorgroup --automatic --nodetype=storage --force",
        &["New mirror groups:\nBuddyGroupID Target type", "primary", "secondary"],
    );
    host.refused("beegfs-ctl --mirrormd", "--addmirrorgroup --automatic --nodetype=meta");
    host.shows(
        "beegfs-ctl --addmirrorgroup --automatic --nodetype=meta --force",
        &["New mirror groups:\nBuddyGroupID   Node type", "meta1-inst1"],
    );
    let heads = [
        "     BuddyGroupID   PrimaryTargetID SecondaryTargetID\n     ============   =============== =================\n",
        "100               211               311\n",
    ];
    host.shows("beegfs-ctl --listmirrorgroups --nodetype=storage", &heads);
    host.shows("beegfs-ctl --listmirrorgroups --nodetype=meta", &["PrimaryNodeID   SecondaryNodeID"]);
    // A metadata server goes by its node's number everywhere.
    let id = host.prints("beegfs-ctl --listnodes --nodetype=meta | sed -n 's/^meta1-inst1 .ID: \\(.*\\)]/\\1/p'");
    let id = id.trim();
    host.shows(&format!("beegfs-ctl --resyncstats --nodetype=meta --nodeid={id}"), &[&format!("Node ID: {id}\n")]);
    host.shows("beegfs-df", &[&format!("\n{id:>8}")]);
    host.refused("beegfs-ctl --resyncstats --nodetype=storage --nodeid=1", "--targetid");
    mirrored_entries(host);
}

/// Groups 18, 20, 21 and 26 to 28.
fn mirrored_entries(host: &mut Host) {
    let good = "test $(beegfs-ctl --listtargets --mirrorgroups --state | grep -c Good) = 4";
    host.until("all members are good", good);
    let heads = "MirrorGroupID MGMemberType TargetID     Reachability  Consistency   NodeID\n============= ============ ========";
    host.shows(
        "beegfs-ctl --listtargets --mirrorgroups --state",
        &[heads, "          100      primary      211           Online         Good"],
    );
    host.shows("beegfs-ctl --setpattern --buddymirror --help", &["USAGE: beegfs-ctl --setpattern"]);
    let printed = ["New chunksize: 1048576\nNew number of storage targets: 2\n", "\nPath: /bdm\nMount: /mnt/beegfs\n"];
    host.shows("beegfs-ctl --setpattern --chunksize=1m --pattern=buddymirror --numtargets=2 /mnt/beegfs/bdm", &printed);
    host.shows(
        "beegfs-ctl --setpattern --numtargets=2 --chunksize=1M --pattern=buddymirror /mnt/beegfs/mirrordir",
        &["Path: /mirrordir\n"],
    );
    host.shows(
        "beegfs-ctl --getentryinfo /mnt/beegfs/bdm",
        &["Metadata buddy group: ", "Current primary metadata node: ", "+ Type: Buddy Mirror\n+ Chunksize: 1M\n"],
    );
    host.prints("head -c 3000000 /dev/urandom > /mnt/beegfs/bdm/f; sync /mnt/beegfs/bdm/f");
    host.shows("beegfs-ctl --getentryinfo /mnt/beegfs/bdm/f", &["+ Storage mirror buddy groups:\n  + ", "primary"]);
    for line in ["beegfs-ctl -mirrormd", "beegfs-ctl --mirrormd"] {
        host.shows(line, &["Operation succeeded.\n"]);
    }
    host.shows("beegfs-ctl --mirrormd -help", &["USAGE: beegfs-ctl --mirrormd"]);
    host.shows("beegfs-ctl --startresync --help", &["USAGE: beegfs-ctl --startresync"]);
    host.shows("beegfs-ctl --resyncstats --help", &["USAGE: beegfs-ctl --resyncstats"]);
    host.shows(
        "beegfs-ctl --startresync --nodetype=storage --targetid=311 --timestamp=0 --restart",
        &["Resync request sent.\n"],
    );
    host.until("it is good again", good);
    host.shows(
        "beegfs-ctl --resyncstats --nodetype=storage --targetid=311",
        &["Job state: Success\n# of bytes to sync: "],
    );
}

/// The commands of xiRAID: a RAID 1 of two block devices becomes a storage target of a further service.
fn sets(host: &mut Host) {
    host.on(3).shows("xiraid show 2>&1", &["Notice: there are no sets to show", "╔RAIDs═", "║ name ║ static ║"]);
    host.shows("xiraid license --update /root/license.txt 2>&1", &["Notice: license"]);
    let mut devices = Vec::new();
    for drive in ["nvme1n1", "nvme2n1"] {
        let image = format!("truncate -s 300m /{drive}.img; mkfs.ext4 -q -F /{drive}.img; mkdir -p /drives/{drive}");
        host.prints(&image);
        let device = host.prints(&format!("losetup --show -f /{drive}.img")).trim().to_owned();
        let create = format!("xiraid create -n era1 -l 1 -d {device} {device} -ss 64 -bs 4096");
        host.refused(&create, &format!("mount {device} /drives/"));
        // The device goes by itself with the mount.
        host.prints(&format!("mount {device} /drives/{drive}; losetup -d {device}"));
        devices.push(device);
    }
    let create = format!("xiraid create -n era1 -l 1 -d {} {} -ss 64 -bs 4096", devices[0], devices[1]);
    let printed = format!("{} stands for /drives/nvme1n1", devices[0]);
    let targets = host
        .shows(&create, &["RAID 1: 2 drives", "alias = \"era1\"\ndrives = [\"/drives/nvme1n1\", \"/drives/nvme2n1\"]"]);
    host.refused(&create, "not empty");
    assert!(host.machine().sh(&format!("{create} || true")).err.contains(&printed));
    host.shows(
        "xiraid modify -n era1 -me 1 -mw 9000 -mm 9000 -se 1 2>&1",
        &["Notice: --merge_enabled", "--merge_wait", "--sched_enabled"],
    );
    let (_, targets) = targets.split_once("[[targets]]").unwrap();
    set_in_use(host, targets);
}

/// What was printed goes into settings, and the set is asked.
fn set_in_use(host: &mut Host, targets: &str) {
    let settings = format!(
        "mkdir -p /etc/nyala/sets.d; {{ grep -v '^listen\\|^alias' /etc/nyala/inst2.d/storage.toml | sed -e '/^\\[\\[targets/,$d' -e 's|^dir = .*|dir = \"/data/sets\"|'; \
         printf 'listen = \"0.0.0.0:8503\"\\n[[targets]]%s' '{targets}'; }} > /etc/nyala/sets.d/storage.toml; nyala config check /etc/nyala/sets.d/storage.toml"
    );
    host.prints(&settings);
    host.machine().start("sets", "nyala storage --config /etc/nyala/sets.d/storage.toml");
    let shown = "xicli raid show -n era1 | grep -q 'strip_size: 64'";
    host.on(1).until("the set is a target", shown);
    let row = [
        "╔RAIDs═",
        "║ era1 ║ size: ",
        "║ online      ║ 0 /drives/nvme1n1 online ║ memory_usage_mb : - ║",
        "║ level: 1 ",
        "║ initialized ║ 1 /drives/nvme2n1 online ║",
    ];
    host.shows("xicli raid show", &row);
    host.refused("xicli raid show -n era9", "There is no RAID era9");
    host.refused("xicli raid replace -n era1 -no 1 -d null", "unmounted");
    host.refused("xicli raid resize -n era1", "does not grow");
    host.prints("xicli raid modify -n era1 -rp 100; xicli raid init start -n era1");
    host.on(3).machine().stop("sets", "TERM");
    host.prints("umount /drives/nvme1n1 /drives/nvme2n1");
    host.on(1);
}

/// Wrong input has a sentence, and code 1.
fn wrong(host: &mut Host) {
    for (line, word) in [
        ("beegfs-ctl --listnods", "Unknown or missing mode: --listnods"),
        ("beegfs-ctl --listnodes --nodetype=disk", "Invalid or missing node type: disk"),
        ("beegfs-ctl --setpattern --chunksize=100k --numtargets=1 /mnt/beegfs", "power of two"),
        ("beegfs-ctl --setpattern --numtargets=99 /mnt/beegfs", "there are only"),
        ("beegfs-ctl --getentryinfo /mnt/beegfs/none", "No such file"),
        ("beegfs-ctl --getentryinfo /etc", "not on a nyala mount"),
        ("beegfs-ctl --startresync --nodetype=storage --targetid=9 --timestamp=0", "There is no storage target 9"),
        ("beegfs-ctl --storagebench --alltargets --write --blocksize=1M --size=1G --threads=4", "nyala bench"),
        ("/opt/beegfs/sbin/beegfs-setup-meta -q", "Invalid argument: -q"),
        ("/opt/beegfs/sbin/beegfs-setup-storage -p /etc -m node01", "not empty"),
    ] {
        host.refused(line, word);
    }
    host.on(3).machine().stop("storage2", "TERM");
    let down = host.on(1).machine().sh("beegfs-check-servers");
    assert_eq!((down.code(), down.out.contains("]: UNREACHABLE")), (Some(1), true), "{}", down.describe());
}
