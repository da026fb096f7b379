// SPDX-License-Identifier: Apache-2.0

//! What a cluster on this machine consists of. Pure but for the ports.

use super::options::ClusterOptions;
use super::ports::{PortGroup, Ports};
use super::{ClusterDir, DEFAULT_MOUNT};
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::units::{Size, Span};
use nyala_wire::{StripePattern, TargetId};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

const FORMAT: u32 = 1;
/// Most services of a kind, and most storage targets.
const MOST: u16 = 99;
/// Most management services: more would only be slower.
const MOST_MGMT: u16 = 5;

/// What a service is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Management.
    Mgmtd,
    /// Metadata.
    Meta,
    /// Storage.
    Storage,
    /// The mount.
    Mount,
}

/// One service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServicePlan {
    /// `mgmt` (further ones `mgmt2`, …), `meta1`, `storage1`, …, `mount`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Where it listens; nowhere for the mount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Where the management service listens for HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<SocketAddr>,
    /// Storage targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetId>,
    /// A metadata service that mirrors another one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spare: bool,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    format: u32,
    /// Where it is mounted.
    pub mount: PathBuf,
    pub(super) chunk_size: Size,
    pub(super) num_targets: u16,
    pub(super) inline_size: Size,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_timeout: Option<Span>,
    pub(super) encrypt: bool,
    /// Files are mirrored by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mirror: bool,
    pub(super) base_port: Option<u16>,
    /// Its services, in the order of their start.
    pub services: Vec<ServicePlan>,
}

fn count(flag: &str, option: Option<u16>, default: u16, most: u16) -> Result<u16, Failure> {
    let value = option.unwrap_or(default);
    let good = (1..=most).contains(&value);
    good.then_some(value).ok_or_else(|| Failure::usage(format!("{flag} {value} is not from 1 to {most}")))
}

fn check_odd(mgmt: u16) -> Result<(), Failure> {
    let even = || Failure::usage(format!("--mgmt {mgmt}: an even number loses no more nodes than one less"));
    (mgmt % 2 == 1).then_some(()).ok_or_else(even)
}

/// A file cannot lie on more targets than there are, or groups, which are of two targets of different services.
fn most_width(mirror: bool, storage: u16, services: u16) -> Result<u16, Failure> {
    if !mirror {
        return Ok(storage);
    }
    if services >= 2 && storage.is_multiple_of(services) && storage.is_multiple_of(2) {
        return Ok(storage / 2);
    }
    Err(Failure::usage(format!(
        "--mirror pairs targets of different storage services: --storage {storage} must be an even number, and the same for each \
         of --storage-services {services}, at least 2"
    )))
}

impl Plan {
    /// A new cluster.
    pub fn new(options: &ClusterOptions) -> Result<Plan, Failure> {
        Plan::on(options, Ports::new(options.base_port))
    }

    /// A new cluster on these ports.
    fn on(options: &ClusterOptions, mut ports: Ports) -> Result<Plan, Failure> {
        let mgmt = count("--mgmt", options.mgmt, 1, MOST_MGMT)?;
        check_odd(mgmt)?;
        let meta = count("--meta", options.meta, 2, MOST)?;
        let spares = options.meta_spares.unwrap_or(if options.mirror { meta } else { 0 });
        if spares > meta {
            return Err(Failure::usage(format!(
                "--meta-spares {spares}: each of --meta {meta} is mirrored by one at most"
            )));
        }
        let storage = count("--storage", options.storage, 4, MOST)?;
        let services = count("--storage-services", options.storage_services, storage.min(2), storage)?;
        let most = most_width(options.mirror, storage, services)?;
        let width = count("--targets", options.targets, most.min(4), StripePattern::MAX_TARGETS)?;
        let pattern = crate::config::pattern(options.chunk_size, Some(width.min(most)), options.inline_size);
        let pattern = pattern.map_err(|error| Failure::usage(error.message))?;
        let mut local = |group| ports.next(group).map(|port| Some(SocketAddr::from(([127, 0, 0, 1], port))));
        let plain =
            |name: String, kind, listen| ServicePlan { name, kind, listen, rest: None, targets: vec![], spare: false };
        let mut all = vec![ServicePlan {
            rest: local(PortGroup::Rest)?,
            ..plain("mgmt".into(), Kind::Mgmtd, local(PortGroup::Mgmt)?)
        }];
        for number in 2..=mgmt {
            all.push(ServicePlan {
                rest: local(PortGroup::Rest)?,
                ..plain(format!("mgmt{number}"), Kind::Mgmtd, local(PortGroup::Mgmt)?)
            });
        }
        for number in 1..=meta {
            all.push(plain(format!("meta{number}"), Kind::Meta, local(PortGroup::Meta)?));
        }
        for number in 1..=spares {
            all.push(ServicePlan {
                spare: true,
                ..plain(format!("meta{}", meta + number), Kind::Meta, local(PortGroup::Meta)?)
            });
        }
        for number in 1..=services {
            // Dealt out in turn; numbered as the field likes it: target 203 is the third of service 2.
            let mine = (1..=storage).filter(|target| (target - 1) % services == number - 1).count() as u16;
            let targets = (1..=mine).map(|target| TargetId(number * 100 + target)).collect();
            all.push(ServicePlan {
                targets,
                ..plain(format!("storage{number}"), Kind::Storage, local(PortGroup::Storage)?)
            });
        }
        all.push(plain("mount".into(), Kind::Mount, None));
        Ok(Plan {
            format: FORMAT,
            mount: options.mount.clone().unwrap_or_else(|| DEFAULT_MOUNT.into()),
            chunk_size: Size(pattern.chunk_bytes.into()),
            num_targets: pattern.num_targets,
            inline_size: Size(pattern.inline_bytes.into()),
            session_timeout: options.session_timeout,
            encrypt: options.encrypt,
            mirror: options.mirror,
            base_port: options.base_port,
            services: all,
        })
    }

    /// Reads `cluster.toml`.
    pub(super) fn parse(text: &str) -> Result<Plan, String> {
        let plan: Plan = toml::from_str(text).map_err(|error| error.to_string())?;
        if plan.format != FORMAT {
            return Err(format!("its format is {}, this build knows {FORMAT}", plan.format));
        }
        if plan.of(Kind::Mgmtd).next().is_none() {
            return Err("it has no management service; was it cut short?".into());
        }
        Ok(plan)
    }

    /// Services of a kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &ServicePlan> {
        self.services.iter().filter(move |service| service.kind == kind)
    }

    /// The service with this name.
    pub fn service(&self, name: &str) -> Result<&ServicePlan, Failure> {
        self.services.iter().find(|service| service.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.services.iter().map(|service| service.name.as_str()).collect();
            Failure::failed(format!("there is no service {name:?} in this cluster; there are {}", names.join(", ")))
        })
    }

    /// Where the first management service listens.
    pub fn mgmt(&self) -> Result<SocketAddr, Failure> {
        let first = self.mgmt_all().next();
        first.ok_or_else(|| Failure::config("cluster.toml: the management service has no address"))
    }

    /// Where all management services listen.
    pub fn mgmt_all(&self) -> impl Iterator<Item = SocketAddr> {
        self.of(Kind::Mgmtd).filter_map(|service| service.listen)
    }

    /// What is mounted.
    pub fn source(&self) -> Result<String, Failure> {
        self.mgmt()?;
        let all: Vec<String> = self.mgmt_all().map(|address| address.to_string()).collect();
        Ok(format!("{}:/", all.join(",")))
    }

    /// How commands reach it.
    pub fn cluster(&self, cluster_dir: &ClusterDir) -> Result<Cluster, Failure> {
        self.mgmt()?;
        Cluster::new(self.mgmt_all().collect(), &cluster_dir.secret(), self.encrypt)
    }

    /// Targets that a file can lie on at most: groups, where files are mirrored.
    pub(super) fn most_width(&self) -> u16 {
        let targets = u16::try_from(self.storage_targets()).unwrap_or(u16::MAX);
        if self.mirror { targets / 2 } else { targets }
    }

    /// Number of spare metadata services.
    pub fn spares(&self) -> usize {
        self.of(Kind::Meta).filter(|service| service.spare).count()
    }

    /// Number of storage targets.
    pub fn storage_targets(&self) -> usize {
        self.of(Kind::Storage).map(|service| service.targets.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClientSettings, MetaSettings, MgmtdSettings, StorageSettings};
    use crate::exit::Exit;

    fn options() -> ClusterOptions {
        ClusterOptions { base_port: Some(61_400), ..ClusterOptions::default() }
    }

    /// A plan on a machine where every port is free: two tests that tried the same port at once would find it taken.
    fn planned(options: &ClusterOptions) -> Result<Plan, Failure> {
        Plan::on(options, Ports::where_free(options.base_port, |_| true))
    }

    #[test]
    fn the_default_is_one_two_four() {
        let plan = planned(&options()).unwrap();
        let names: Vec<&str> = plan.services.iter().map(|service| service.name.as_str()).collect();
        assert_eq!(names, ["mgmt", "meta1", "meta2", "storage1", "storage2", "mount"]);
        assert_eq!(plan.service("storage2").unwrap().targets, [TargetId(201), TargetId(202)]);
        assert_eq!(plan.storage_targets(), 4);
        assert_eq!(plan.mgmt().unwrap().port(), 61_400);
        assert!(plan.service("meta3").unwrap_err().message.contains("meta1, meta2"));
        assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()), Ok(plan));
    }

    #[test]
    fn the_stripe_is_no_wider_than_the_cluster() {
        let plan =
            planned(&ClusterOptions { storage: Some(3), storage_services: Some(3), targets: Some(8), ..options() })
                .unwrap();
        assert_eq!(plan.num_targets, 3);
        plan.check_options(&ClusterOptions { targets: Some(8), storage: Some(3), ..ClusterOptions::default() })
            .unwrap();
        assert_eq!(plan.of(Kind::Storage).map(|service| service.targets.len()).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn impossible_and_changed_wishes_are_refused() {
        let refused = |options: ClusterOptions| {
            let error = planned(&options).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            error.message
        };
        assert!(refused(ClusterOptions { meta: Some(0), ..options() }).contains("--meta 0"));
        assert!(
            refused(ClusterOptions { storage: Some(2), storage_services: Some(3), ..options() }).contains("1 to 2")
        );
        assert!(refused(ClusterOptions { chunk_size: Some(Size(1000)), ..options() }).contains("power of two"));
        let plan = planned(&options()).unwrap();
        let changed = |options: ClusterOptions| plan.check_options(&options).unwrap_err().message;
        assert!(changed(ClusterOptions { meta: Some(3), ..ClusterOptions::default() }).contains("with --meta 2"));
        assert!(
            changed(ClusterOptions { chunk_size: Some(Size(1 << 20)), ..ClusterOptions::default() })
                .contains("entry set")
        );
        plan.check_options(&ClusterOptions { meta: Some(2), storage: Some(4), ..options() }).unwrap();
    }

    #[test]
    fn mirrored_clusters_pair_their_targets() {
        let plan = planned(&ClusterOptions { mirror: true, ..options() }).unwrap();
        assert_eq!((plan.num_targets, plan.mirror), (2, true), "four targets are two groups");
        assert_eq!((plan.of(Kind::Meta).count(), plan.spares()), (4, 2), "each metadata server has a spare");
        let without = planned(&ClusterOptions { mirror: true, meta_spares: Some(0), ..options() }).unwrap();
        assert_eq!((without.of(Kind::Meta).count(), without.spares()), (2, 0));
        let text = plan.configuration(&ClusterDir::new("/d"), plan.service("mgmt").unwrap()).unwrap();
        let mgmtd: MgmtdSettings = toml::from_str(&text).unwrap();
        assert_eq!(mgmtd.resolve().unwrap().settings.default_pattern.pattern, nyala_wire::Pattern::Mirror);
        assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()), Ok(plan));
        for (storage, services) in [(4, 1), (3, 2), (5, 2)] {
            let options =
                ClusterOptions { mirror: true, storage: Some(storage), storage_services: Some(services), ..options() };
            assert!(planned(&options).unwrap_err().message.contains("--mirror"), "{storage} over {services}");
        }
        let plain = planned(&options()).unwrap();
        let refused = plain.check_options(&ClusterOptions { mirror: true, ..ClusterOptions::default() }).unwrap_err();
        assert!(refused.message.contains("mirror create --auto"), "{refused}");
    }

    #[test]
    fn metadata_services_are_mirrored_by_spares() {
        let cluster_dir = ClusterDir::new("/d");
        let plan = planned(&ClusterOptions { meta: Some(2), meta_spares: Some(1), ..options() }).unwrap();
        let spare: MetaSettings =
            toml::from_str(&plan.configuration(&cluster_dir, plan.service("meta3").unwrap()).unwrap()).unwrap();
        assert!(spare.resolve().unwrap().spare && plan.spares() == 1);
        plan.check_options(&ClusterOptions { meta: Some(2), meta_spares: Some(1), ..ClusterOptions::default() })
            .unwrap();
        assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()), Ok(plan));
        let refused = planned(&ClusterOptions { meta: Some(1), meta_spares: Some(2), ..options() }).unwrap_err();
        assert!(refused.message.contains("--meta-spares 2"), "{refused}");
    }

    #[test]
    fn several_management_services_know_of_each_other() {
        let cluster_dir = ClusterDir::new("/d");
        let plan = planned(&ClusterOptions { mgmt: Some(3), ..options() }).unwrap();
        let names: Vec<&str> = plan.of(Kind::Mgmtd).map(|service| service.name.as_str()).collect();
        assert_eq!(names, ["mgmt", "mgmt2", "mgmt3"]);
        let all: Vec<SocketAddr> = plan.mgmt_all().collect();
        let text = |name: &str| plan.configuration(&cluster_dir, plan.service(name).unwrap()).unwrap();
        let mgmtd = |name| toml::from_str::<MgmtdSettings>(&text(name)).unwrap().resolve().unwrap();
        assert_eq!(mgmtd("mgmt").join, [], "the first makes the cluster");
        assert_eq!((mgmtd("mgmt3").join, mgmtd("mgmt3").listen), (all[..2].to_vec(), vec![all[2]]));
        let meta: MetaSettings = toml::from_str(&text("meta1")).unwrap();
        assert_eq!(meta.resolve().unwrap().mgmt, all);
        assert!(planned(&ClusterOptions { mgmt: Some(2), ..options() }).unwrap_err().message.contains("even"));
        assert!(plan.check_options(&ClusterOptions { mgmt: Some(1), ..ClusterOptions::default() }).is_err());
        assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()), Ok(plan));
    }

    #[test]
    fn configurations_are_what_the_roles_read() {
        let cluster_dir = ClusterDir::new("/d");
        let plan = planned(&options()).unwrap();
        let text = |name: &str| plan.configuration(&cluster_dir, plan.service(name).unwrap()).unwrap();
        let mgmtd: MgmtdSettings = toml::from_str(&text("mgmt")).unwrap();
        assert_eq!(mgmtd.resolve().unwrap().settings.default_pattern, StripePattern::default());
        let meta: MetaSettings = toml::from_str(&text("meta2")).unwrap();
        assert_eq!(meta.resolve().unwrap().dir, PathBuf::from("/d/meta2"));
        let storage: StorageSettings = toml::from_str(&text("storage2")).unwrap();
        let storage = storage.resolve().unwrap();
        assert_eq!(storage.targets[1].dir, PathBuf::from("/d/storage2/t2"));
        assert_eq!((storage.targets[1].id, storage.dir), (Some(TargetId(202)), PathBuf::from("/d/storage2/node")));
        let client: ClientSettings = toml::from_str(&text("mount")).unwrap();
        assert_eq!(client.secret_file(), PathBuf::from("/d/secret"));
    }
}
