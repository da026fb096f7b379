// SPDX-License-Identifier: Apache-2.0

//! One trial: the directories as they were, some bits flipped in one structure, and everything that may be seen of it.

use crate::flips::cluster::{ALL, Cluster, Ended, Who};
use crate::flips::content::{DataPlace, Model, Seen, pattern};
use crate::flips::scrub::Scrub;
use crate::flips::snapshot::{Flip, Snapshot, chunk_files};
use nyala_client::Client;
use nyala_transport::{Endpoint, Pool, PoolOptions, Request};
use nyala_wire::SplitMix64;
use nyala_wire::map::{ClusterMap, MemberState, TargetKind};
use nyala_wire::{InodeId, TargetId, message_type};
use std::path::Path;
use std::time::Duration;

/// How long a client tries.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(8);
/// No trial takes longer, whatever is damaged.
const TRIAL: Duration = Duration::from_secs(300);
/// Until members have what they lacked.
const RESYNC: Duration = Duration::from_secs(25);

/// What there was before anything was flipped.
pub struct Known {
    pub secret: Vec<u8>,
    pub snapshots: Vec<(Snapshot, Model)>,
    /// Targets, groups and slots.
    pub map: ClusterMap,
}

/// What came of a trial, if nothing was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// All was right.
    Right,
    /// Right, and what was damaged was repaired from the other member.
    Repaired,
    /// Something was an error.
    Errors,
    /// A service did not start, and said what to do.
    Refused,
    /// A service ended while it ran, and said what to do.
    Ended,
}

pub struct Trial {
    pub number: u64,
    pub flip: Flip,
    pub snapshot: usize,
    pub running: bool,
    random: SplitMix64,
}

impl Trial {
    pub fn random(known: &Known, seed: u64, number: u64) -> Trial {
        let mut random = SplitMix64::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let snapshot = random.below(known.snapshots.len() as u64) as usize;
        let who = ALL[random.below(4) as usize];
        let flip = Flip::random(&known.snapshots[snapshot].0, who, &mut random);
        Trial { number, flip, snapshot, running: random.coin(), random }
    }

    pub fn describe(&self, known: &Known) -> String {
        let when = if self.running { "while it runs" } else { "while it is stopped" };
        format!("trial {} ({}, {when}): {:?}", self.number, known.snapshots[self.snapshot].0.name, self.flip)
    }

    /// Does it. An error: what is wrong.
    pub async fn run(&mut self, known: &Known) -> Result<Outcome, String> {
        let dir = tempfile::tempdir().unwrap();
        let (snapshot, model) = &known.snapshots[self.snapshot];
        snapshot.put(dir.path());
        put_secret(dir.path(), &known.secret);
        let mut cluster = Cluster::at(dir.path());
        let done = tokio::time::timeout(TRIAL, self.on(&mut cluster, known, model.clone(), dir.path())).await;
        let done = done.unwrap_or_else(|_| Err(format!("it does not end within {TRIAL:?}")));
        let mut stopped = cluster.stop_all();
        stopped.retain(|(_, ended)| ended.is_err());
        let outcome = done?;
        match self.judge(&stopped)? {
            Some(_) => Ok(outcome.max(Outcome::Ended)),
            None => Ok(outcome),
        }
    }

    async fn on(
        &mut self,
        cluster: &mut Cluster,
        known: &Known,
        mut model: Model,
        dir: &Path,
    ) -> Result<Outcome, String> {
        let mut worst = Outcome::Right;
        if !self.running {
            self.flip.apply(dir);
        }
        cluster.start(Who::Mgmt);
        [Who::Meta, Who::Storage1, Who::Storage2].into_iter().for_each(|who| cluster.start(who));
        let ended = cluster.settled().await;
        if self.running {
            if !ended.is_empty() {
                return Err(format!("nothing is damaged yet: {ended:?}"));
            }
            if !cluster.groups_are_good(RESYNC).await {
                return Err("the members do not become good, and nothing is damaged yet".into());
            }
            self.flip.apply(dir);
            // Whoever reads in the background meets it.
            // sleeps: reading in the background, which nothing announces
            tokio::time::sleep(Duration::from_millis(self.random.below(100))).await;
        } else if let Some(outcome) = self.judge(&ended)? {
            worst = outcome;
        }
        worst = worst.max(self.look(cluster, known, &model).await?);
        if self.running {
            worst = worst.max(self.work(cluster, &mut model).await?);
            let mut ended = Vec::from_iter(cluster.stop(self.flip.who).map(|ended| (self.flip.who, ended)));
            ended.retain(|(_, ended)| ended.is_err());
            worst = worst.max(self.judge(&ended)?.map_or(worst, |_| Outcome::Ended));
            cluster.start(self.flip.who);
            // The others hear of management's new address only by themselves: all start again.
            if self.flip.who == Who::Mgmt {
                for who in [Who::Meta, Who::Storage1, Who::Storage2] {
                    let _ = cluster.stop(who);
                    cluster.start(who);
                }
            }
            let ended = cluster.settled().await;
            worst = worst.max(self.judge(&ended)?.unwrap_or(worst));
            worst = worst.max(self.look(cluster, known, &model).await?);
        }
        if cluster.runs(Who::Mgmt) && cluster.runs(Who::Meta) {
            worst = worst.max(self.repair(cluster, &model, dir, worst).await?);
        }
        Ok(worst)
    }

    /// Only the service whose files were flipped may end, and it says which file and what to do.
    fn judge(&self, ended: &[(Who, Ended)]) -> Result<Option<Outcome>, String> {
        for (who, how) in ended {
            let Err(words) = how else { return Err(format!("{who:?} ended by itself")) };
            // Without management nobody else comes up.
            let for_mgmt = self.flip.who == Who::Mgmt && *who != Who::Mgmt;
            if *who != self.flip.who && !for_mgmt {
                return Err(format!("{who:?} ended, and nothing of it was flipped: {words}"));
            }
            if *who == self.flip.who {
                says_what_to_do(words, &self.flip.path)?;
            }
        }
        Ok((!ended.is_empty()).then_some(Outcome::Refused))
    }

    /// What a client finds that has seen nothing before.
    async fn look(&self, cluster: &Cluster, known: &Known, model: &Model) -> Result<Outcome, String> {
        if !cluster.runs(Who::Mgmt) || !cluster.runs(Who::Meta) {
            return Ok(Outcome::Right);
        }
        let both = [Who::Storage1, Who::Storage2].into_iter().all(|who| cluster.runs(who));
        let mirror = both || cluster.other_member_serves().await;
        let mut places = vec![DataPlace::Inline];
        places.extend(both.then_some(DataPlace::Striped));
        places.extend(mirror.then_some(DataPlace::Mirrored));
        let map = cluster.map().await.ok_or("management says no map")?;
        same_cluster(&known.map, &map)?;
        let client = match cluster.client(CLIENT_TIMEOUT).await {
            Ok(client) => client,
            // It has just ended, which is judged when it is stopped.
            Err(_) if !cluster.runs(Who::Meta) => return Ok(Outcome::Errors),
            Err(why) => return Err(why),
        };
        let seen = tokio::select! {
            seen = model.look(&client, &places) => seen,
            // Its last words are judged when it is stopped.
            () = cluster.ended(Who::Meta) => return Ok(Outcome::Errors),
        };
        // A service that is damaged may refuse it.
        let _ = tokio::time::timeout(CLIENT_TIMEOUT, client.shutdown()).await;
        let map = cluster.map().await.unwrap_or(map);
        match self.sort(seen, &map) {
            Err(why) => Err(format!("{why}\n    {:?}", cluster.map().await.map(|map| (map.groups, map.targets)))),
            sorted => sorted,
        }
    }

    fn sort(&self, seen: Seen, map: &ClusterMap) -> Result<Outcome, String> {
        if !seen.wrong.is_empty() {
            return Err(format!("{} answers are wrong, the first: {}", seen.wrong.len(), seen.wrong[0]));
        }
        let may_fail: &[&str] = match self.flip.who {
            Who::Mgmt => &[],
            Who::Meta => &["inline", "striped", "mirrored"],
            // All were started anew within seconds of a write: the damaged block is in question, and the only good member's.
            _ if self.flip.kind == "chunk file" && is_alone(map) => &["striped", "mirrored"],
            // The other member has what is mirrored.
            _ => &["striped"],
        };
        if let Some((place, errors)) = seen.errors.iter().find(|(place, _)| !may_fail.contains(place)) {
            return Err(format!("{} errors for what is {place}, the first: {}", errors.len(), errors[0]));
        }
        Ok(if seen.errors.is_empty() { Outcome::Right } else { Outcome::Errors })
    }

    /// Changes, which are acknowledged or not; and what was in logs goes into trees.
    async fn work(&mut self, cluster: &Cluster, model: &mut Model) -> Result<Outcome, String> {
        let client = match cluster.client(CLIENT_TIMEOUT).await {
            Ok(client) => client,
            Err(_) if !cluster.runs(Who::Meta) => return Ok(Outcome::Errors),
            Err(why) => return Err(why),
        };
        let mut worst = Outcome::Right;
        for number in 0..4_u64 {
            for dir in ["inline", "striped", "mirrored"] {
                let content = pattern(number << 8 | dir.len() as u64, if dir == "inline" { 700 } else { 90_000 });
                let mut after = model.clone();
                let name = format!("w{number}");
                let put = tokio::time::timeout(CLIENT_TIMEOUT * 2, after.put(&client, dir, &name, content)).await;
                match put {
                    Ok(Ok(())) => *model = after,
                    // It may be there or not.
                    Ok(Err(_)) | Err(_) => {
                        worst = Outcome::Errors;
                        model.may_have(dir, &name);
                    }
                }
            }
            if number == 1 && self.random.coin() {
                self.checkpoint(cluster, &client).await;
            }
        }
        let _ = tokio::time::timeout(CLIENT_TIMEOUT, client.shutdown()).await;
        Ok(worst)
    }

    async fn checkpoint(&self, cluster: &Cluster, client: &Client) {
        if self.flip.who != Who::Meta {
            return cluster.checkpoint(self.flip.who);
        }
        let map = client.map();
        let pool = Pool::new(cluster.as_client(&map), PoolOptions::default());
        for target in map.targets.iter().filter(|target| target.kind == TargetKind::Meta) {
            let endpoint = Endpoint { addresses: map.node_of(target.id).unwrap().addresses.clone() };
            let request = Request::new(message_type::META_CHECKPOINT, Vec::new()).with_timeout(CLIENT_TIMEOUT);
            // The tables may be damaged.
            let _ = pool.call(&endpoint, request).await;
        }
    }

    /// Members become good by themselves, a scrub mends what is damaged, and then both hold the same.
    async fn repair(
        &self,
        cluster: &mut Cluster,
        model: &Model,
        dir: &Path,
        so_far: Outcome,
    ) -> Result<Outcome, String> {
        let both = [Who::Storage1, Who::Storage2];
        if !both.into_iter().all(|who| cluster.runs(who)) || !self.flip.who.is_storage() {
            return Ok(Outcome::Right);
        }
        let map = cluster.map().await.ok_or("management says no map")?;
        let client = cluster.client(CLIENT_TIMEOUT).await?;
        let scrub = Scrub::new(&client, cluster.as_client(&map));
        let group = map.groups[0].id;
        let mirrored: Vec<(InodeId, &[u8])> = model.files("mirrored").collect();
        let is_mirrored = |inode| mirrored.iter().any(|(its, _)| *its == inode);
        let good = cluster.groups_are_good(RESYNC).await;
        let mut repaired = 0;
        for target in targets(&map) {
            match scrub.repair(group, target, is_mirrored).await {
                Ok((count, left)) if left.is_empty() => repaired += count,
                Ok(_) if !good => return Ok(Outcome::Errors),
                Ok((_, left)) => return Err(format!("a scrub of target {target} leaves damage: {left:?}")),
                // Its tables are damaged: they say what to do, as a refused start does.
                Err(words) if words.contains("restore") => return Ok(Outcome::Errors),
                Err(words) => return Err(format!("a scrub of target {target} ends: {words}")),
            }
        }
        if !good && so_far < Outcome::Errors {
            return Err("the members do not become good".into());
        }
        for who in both.into_iter().filter(|_| good) {
            for (inode, content) in &mirrored {
                let found = chunk_files(&dir.join(who.dir()).join("target"), *inode);
                if found.len() != 1 || found[0] != *content {
                    return Err(format!("{who:?} does not hold what inode {inode} is after a scrub"));
                }
            }
        }
        let _ = tokio::time::timeout(CLIENT_TIMEOUT, client.shutdown()).await;
        Ok(if repaired > 0 { Outcome::Repaired } else { Outcome::Right })
    }
}

/// Whether a group has only one good member.
fn is_alone(map: &ClusterMap) -> bool {
    map.groups.iter().any(|group| group.states.iter().filter(|state| **state == MemberState::Good).count() < 2)
}

fn targets(map: &ClusterMap) -> Vec<TargetId> {
    map.targets_of(TargetKind::Storage).map(|target| target.id).collect()
}

pub fn put_secret(dir: &Path, secret: &[u8]) {
    use std::io::Write;
    nyala_store::private::new_file().open(dir.join("secret")).unwrap().write_all(secret).unwrap();
}

/// What makes a cluster this one, and files to be where they are.
fn same_cluster(before: &ClusterMap, after: &ClusterMap) -> Result<(), String> {
    let key = |map: &ClusterMap| {
        let targets: Vec<_> =
            map.targets.iter().map(|target| (target.id, target.kind, target.node, target.pool)).collect();
        let groups: Vec<_> = map.groups.iter().map(|group| (group.id, group.kind, sorted(&group.members))).collect();
        format!("{} {targets:?} {groups:?} {:?} {:?}", map.cluster, map.slots, map.settings)
    };
    let (before, after) = (key(before), key(after));
    if before == after { Ok(()) } else { Err(format!("the cluster is another one: {after} in place of {before}")) }
}

fn sorted(members: &[TargetId]) -> Vec<TargetId> {
    let mut members = members.to_vec();
    members.sort_unstable();
    members
}

/// A sentence that names what is damaged and says what to do.
fn says_what_to_do(words: &str, flipped: &Path) -> Result<(), String> {
    let name = flipped.file_name().unwrap().to_str().unwrap();
    let names_it = words.contains(name);
    let says = ["restore", "remove", "use another directory"].iter().any(|word| words.contains(word));
    if names_it && says && !words.contains("PANIC") {
        return Ok(());
    }
    Err(format!("a service ended without saying what to do: {words}"))
}
