// SPDX-License-Identifier: Apache-2.0

//! A cluster whose metadata server has two or three members, of which one can be damaged.

use super::flips::flip;
use nyala_e2e::cluster::text;
use nyala_e2e::{Cluster, Options, binary, run, wait_until};
use nyala_store::Store;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

/// Until members are good.
const LIMIT: Duration = Duration::from_secs(60);

/// A member: its group, its service, its target.
#[derive(Clone, Debug)]
pub struct Member {
    pub group: u64,
    pub name: String,
    pub target: u64,
}

/// A cluster whose metadata has so many members.
pub struct Mirrored {
    pub cluster: Cluster,
    members: usize,
    third: Option<Child>,
}

impl Drop for Mirrored {
    fn drop(&mut self) {
        if let Some(third) = &mut self.third {
            run::kill_group(third);
        }
    }
}

impl Mirrored {
    pub fn start(members: usize) -> Mirrored {
        let more = vec!["--mirror".to_owned()];
        let cluster = Cluster::start(Options { meta: 1, more, ..Options::default() });
        let mut mirrored = Mirrored { cluster, members: 2, third: None };
        mirrored.good();
        if members == 3 {
            mirrored.add_third();
        }
        mirrored
    }

    /// A service that `nyala up` does not know of becomes a member.
    fn add_third(&mut self) {
        let cluster = &self.cluster;
        let dir = cluster.root().join("third");
        let log = File::create(cluster.root().join("third.log")).unwrap();
        let mut command = Command::new(binary::nyala());
        let (mgmt, secret) = (format!("127.0.0.1:{}", cluster.port()), text(&cluster.dir().join("secret")));
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        command.args(["meta", "--spare", "--alias", "third", "--dir", &text(&dir), "--mgmt", &mgmt]);
        command.args(["--secret", &secret, "--listen", &free]).stdout(log.try_clone().unwrap()).stderr(log);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        self.third = Some(command.spawn().unwrap());
        let target = || {
            let targets = self.cluster.json(&["target", "list", "--state"]);
            let known: Vec<u64> = self.good().iter().map(|member| member.target).collect();
            let all = targets.as_array()?.iter().filter(|target| target["kind"] == "meta");
            all.filter_map(|target| target["id"].as_u64()).find(|target| !known.contains(target))
        };
        wait_until(LIMIT, || target().is_some(), || format!("{}", self.cluster.json(&["target", "list", "--state"])));
        let (dir, target) = (text(&self.cluster.dir()), target().unwrap().to_string());
        let group = self.good()[0].group.to_string();
        self.cluster.nyala(["mirror", "add", &group, &target, "--dir", &dir]).must();
        self.members = 3;
        self.good();
    }

    /// The members, the primary first, once all are good.
    pub fn good(&self) -> Vec<Member> {
        let listed = || self.cluster.json(&["mirror", "list"]);
        let all_good = || {
            let groups = listed();
            let group = groups.as_array()?.iter().find(|group| group["type"] == "meta")?.clone();
            let (members, id) = (group["members"].as_array()?.clone(), group["id"].as_u64()?);
            (members.len() == self.members && members.iter().all(|member| member["state"] == "good")).then(|| {
                let member = |member: &serde_json::Value| {
                    let (name, target) = (member["node_alias"].as_str()?.to_owned(), member["target"].as_u64()?);
                    Some(Member { group: id, name, target })
                };
                members.iter().filter_map(member).collect()
            })
        };
        wait_until(LIMIT, || all_good().is_some(), || format!("not good: {}\n{}", listed(), self.cluster.logs(40)));
        all_good().expect("they were good a moment ago, and nobody has damaged anything since")
    }

    pub fn dir(&self, member: &Member) -> PathBuf {
        self.cluster.dir().join(&member.name)
    }

    /// How often a member has put its tables aside.
    pub fn refills(&self, member: &Member) -> usize {
        let log = self.cluster.dir().join("log").join(format!("{}.log", member.name));
        fs::read_to_string(log).unwrap().matches("tables are put aside").count()
    }

    /// A secondary that is stopped, has everything in its table, and is damaged.
    pub fn damage(&self, member: &Member, kind: &str) {
        self.cluster.stop_service(&member.name);
        let tables = self.dir(member).join("tables");
        let (store, _) = Store::open(&tables, Default::default()).unwrap();
        store.checkpoint_blocking().unwrap();
        store.close().unwrap();
        let flipped = flip(&tables, kind);
        assert!(flipped > 0, "there is no {kind}");
        println!("{member:?}: {kind}, {flipped} places");
        self.cluster.start_service(&member.name);
    }
}
