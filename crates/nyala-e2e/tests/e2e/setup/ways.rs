// SPDX-License-Identifier: Apache-2.0

//! What `nyala setup check` finds of ways between servers that are not as they should be.

use super::site::Site;
use serde_json::Value;

/// Ways between two servers of which the host that looks has no part: packets of another size, large ones that get lost, none.
pub fn are_judged(site: &mut Site) {
    let finds = |site: &mut Site, words: &[&str]| {
        let looked = site.on("node01").sh("nyala setup check --speed-bytes 0 --output json || test $? = 6").must();
        let looked: Value = serde_json::from_str(&looked).unwrap();
        let found = looked["findings"].as_array().unwrap().iter().find(|finding| {
            finding["area"] == "network" && words.iter().all(|word| finding.to_string().contains(word))
        });
        assert!(found.is_some(), "{words:?}: {looked}");
    };
    site.on("node03").sh("ip link set eth0 mtu 1400").must();
    finds(site, &["advice", "10.77.0.3", "at most 1400 bytes, but 1500 at 10.77.0.1, 10.77.0.2"]);
    site.on("node03").sh("ip link set eth0 mtu 1500").must();
    let node02 = site.on("node02").address();
    site.on("node02").network().send_one_by_one();
    site.on("node03").network().lose_from(node02, 1300);
    finds(site, &["danger", "packets of full size (1500 bytes)", "get lost"]);
    site.on("node03").network().mend();
    let node03 = site.on("node03").address();
    site.on("node02").network().cut_to(node03);
    finds(site, &["danger", "not reached at 10.77.0.3:8003 from"]);
    site.on("node02").network().mend();
}
