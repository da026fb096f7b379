// SPDX-License-Identifier: Apache-2.0

//! What happens to a cluster and to its management: cuts, moves, a lost machine, a disk that is not mounted.

use super::STORAGE;
use super::site::Site;
use nyala_e2e::long;
use std::time::Duration;

const CUT: Duration = Duration::from_secs(4);

/// All are cut off from all, then each is alone for a while.
pub fn cuts(site: &mut Site) {
    let leads = |site: &mut Site| -> Vec<usize> {
        let of = |name| site.on(name).log("mgmtd").matches("this management node leads").count();
        ["m1", "m2", "m3"].map(of).into()
    };
    let before = leads(site);
    for name in site.names() {
        site.on(name).network().cut();
    }
    // sleeps: all are cut off for so long, and nothing may happen
    std::thread::sleep(CUT);
    assert_eq!(leads(site), before, "nobody leads alone");
    for name in site.names() {
        site.on(name).network().mend();
    }
    site.until_whole(3, 5);
    site.work();
    for name in ["m2", "m3", "s1", "s2"] {
        site.on(name).network().cut();
        site.work();
        // sleeps: one is cut off for so long
        std::thread::sleep(if long() { CUT } else { Duration::ZERO });
        site.on(name).network().mend();
        site.until_whole(3, 5);
    }
    site.look();
}

/// The machine whose management node leads.
fn leader(site: &mut Site) -> &'static str {
    let nodes = site.json("nyala mgmt list");
    let leads = nodes.as_array().unwrap().iter().find(|node| node["role"] == "leader").cloned().unwrap_or_default();
    let at = leads["addresses"].to_string();
    let names = ["m1", "m2", "m3"].into_iter();
    let found = names.map(|name| (name, site.address(name))).find(|(_, address)| at.contains(address.as_str()));
    found.unwrap_or_else(|| panic!("nobody leads: {nodes}")).0
}

/// Management moves to other addresses and back, one after the other, in any order.
pub fn moves(site: &mut Site) {
    let short = [["m2", "m3", "m1"], ["m1", "m3", "m2"]];
    let more = [["m3", "m2", "m1"], ["m1", "m2", "m3"], ["m3", "m1", "m2"], ["m2", "m1", "m3"]];
    let orders = short.into_iter().chain(more.into_iter().filter(|_| long()));
    for (order, port) in orders.zip([8018, 8008].into_iter().cycle()) {
        for name in order {
            let at = format!("{}:{port}", site.address(name));
            let led = leader(site) == name;
            site.on(name).stop("mgmtd", "TERM");
            if led {
                // It does not hear of its successor for a while.
                site.on(name).network().cut();
            }
            site.on(name).start("mgmtd", &format!("nyala mgmtd --listen {at} --advertise {at}"));
            if led {
                // sleeps: it does not hear of its successor for so long
                std::thread::sleep(Duration::from_secs(1));
                site.on(name).network().mend();
            }
            // Before that, the others look for it where it was.
            site.until("the others know", |site| site.json("nyala mgmt list").to_string().contains(&at));
            site.until_whole(3, 5);
        }
        site.work();
    }
}

/// A lost management machine is replaced: removed, then added anew with an empty directory.
pub fn replace_management(site: &mut Site) {
    let nodes = site.json("nyala mgmt list");
    let at = site.address("m3");
    let of_third = |node: &&serde_json::Value| node["addresses"].to_string().contains(&at);
    let id = nodes.as_array().unwrap().iter().find(of_third).unwrap()["node"].clone();
    site.on("m3").stop("mgmtd", "KILL");
    site.runs("m1", "nyala mgmt remove ID --yes", &[("ID", &id.to_string())]);
    site.on("m3").sh("rm -r /var/lib/nyala/mgmtd").must();
    let m1 = site.address("m1");
    site.serves("m3", "nyala mgmtd --join HOST", &[("HOST", &m1)], "");
    site.until_whole(3, 5);
    let nodes = site.json("nyala mgmt list");
    let again = nodes.as_array().unwrap().iter().any(|node| node["node"] == id);
    assert!(!again, "no number is given twice: {id} in {nodes}");
}

/// Two of three management machines are lost for good; the third goes on, and what comes back of them is refused.
pub fn recover_management(site: &mut Site) {
    for name in ["m2", "m3"] {
        site.on(name).stop("mgmtd", "KILL");
        site.on(name).sh("mv /var/lib/nyala/mgmtd /var/lib/nyala/lost").must();
    }
    assert!(!site.tries("m1", "nyala mgmt recover", &[]).ok(), "its service runs");
    site.on("m1").stop("mgmtd", "TERM");
    let look = site.runs("m1", "nyala mgmt recover", &[]);
    let m3 = site.address("m3");
    for part in ["GIVEN UP", "Nothing was changed", "May be lost", &m3] {
        assert!(look.contains(part), "{part} in {look}");
    }
    site.runs("m1", "nyala mgmt recover --yes", &[]);
    site.serves("m1", "nyala mgmtd", &[], "");
    site.until_whole(1, 5);
    site.work();
    // Both come back at once: a majority of what they remember.
    for name in ["m2", "m3"] {
        site.on(name)
            .sh("(nyala mgmtd --dir /var/lib/nyala/lost || echo $? > /root/lost) > /root/lost.log 2>&1 < /dev/null &")
            .must();
    }
    for name in ["m2", "m3"] {
        let began = std::time::Instant::now();
        while !site.on(name).sh("test -s /root/lost").ok() {
            let mut log = || site.on(name).sh("tail -n 40 /root/lost.log").describe();
            assert!(began.elapsed().as_secs() < 60, "{name} does not end: {}", log());
            // sleeps: between two looks
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        let said = site.on(name).sh("cat /root/lost.log /root/lost; rm -r /var/lib/nyala/lost").must();
        assert!(said.contains("was removed from the cluster") && said.trim().ends_with('5'), "{said}");
    }
    let (m1, list) = (site.address("m1"), site.json("nyala mgmt list"));
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    for name in ["m2", "m3"] {
        site.serves(name, "nyala mgmtd --join HOST", &[("HOST", &m1)], "");
    }
    site.until_whole(3, 5);
    site.work();
    let audit = site.json("nyala audit").to_string();
    assert!(audit.contains("mgmt recover"), "{audit}");
}

/// A disk that is not mounted: its target is offline, nothing is made in its place, and the others are served.
pub fn not_mounted(site: &mut Site) {
    let m1 = site.address("m1");
    site.on("s1").stop("storage", "TERM");
    site.on("s1").detach("/data/t2");
    site.serves("s1", STORAGE, &[("HOST", &m1)], "");
    let first = site.target("s1", "/data/t1");
    site.until("the other disk is served", |site| site.is_good_member(&first));
    site.work();
    assert_eq!(site.on("s1").sh("ls /data/t2").must(), "", "nothing is made in its place");
    let list = site.json("nyala target list");
    assert_eq!(list.as_array().map(Vec::len), Some(5), "no new target: {list}");
    site.on("s1").stop("storage", "TERM");
    site.on("s1").sh("mount --bind /disks/t2 /data/t2").must();
    site.serves("s1", STORAGE, &[("HOST", &m1)], "");
    site.until_whole(3, 5);
    site.look();
}
