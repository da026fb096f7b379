// SPDX-License-Identifier: Apache-2.0

//! The configuration files of a cluster's services. Pure.

use super::ClusterDir;
use super::plan::{Kind, Plan, ServicePlan};
use crate::config::{ClientSettings, MetaSettings, MgmtdSettings, PatternArg, StorageSettings, TargetArg};
use crate::exit::Failure;
use crate::units::Hosts;
use nyala_wire::TargetId;

impl Plan {
    /// Content of a service's configuration file.
    pub fn configuration(&self, cluster_dir: &ClusterDir, service: &ServicePlan) -> Result<String, Failure> {
        self.mgmt()?;
        let mgmt = Some(Hosts::from(self.mgmt_all().collect::<Vec<_>>()));
        let before: Vec<_> = self.mgmt_all().take_while(|address| Some(*address) != service.listen).collect();
        let secret = Some(cluster_dir.secret());
        let encrypt = self.encrypt.then_some(true);
        let dir = cluster_dir.dir().join(&service.name);
        let (listen, alias) = (service.listen, Some(service.name.clone()));
        let text = match service.kind {
            Kind::Mgmtd => toml::to_string(&MgmtdSettings {
                dir: Some(dir),
                listen,
                rest_listen: service.rest,
                // The first makes the cluster, the others join it.
                join: (!before.is_empty()).then(|| Hosts::from(before)),
                secret,
                encrypt,
                pattern: self.mirror.then_some(PatternArg::Mirror),
                chunk_size: Some(self.chunk_size),
                num_targets: Some(self.num_targets),
                inline_size: Some(self.inline_size),
                session_timeout: self.session_timeout,
                ..MgmtdSettings::default()
            }),
            Kind::Meta => toml::to_string(&MetaSettings {
                dir: Some(dir),
                listen,
                mgmt,
                secret,
                encrypt,
                alias,
                spare: service.spare.then_some(true),
                ..MetaSettings::default()
            }),
            Kind::Storage => {
                let target = |(at, id): (usize, &TargetId)| TargetArg {
                    dir: dir.join(format!("t{}", at + 1)),
                    id: Some(*id),
                    ..TargetArg::default()
                };
                let targets = Some(service.targets.iter().enumerate().map(target).collect());
                let dir = Some(dir.join("node"));
                toml::to_string(&StorageSettings {
                    dir,
                    listen,
                    mgmt,
                    secret,
                    encrypt,
                    alias,
                    targets,
                    ..StorageSettings::default()
                })
            }
            Kind::Mount => toml::to_string(&ClientSettings { mgmt, secret, encrypt, ..ClientSettings::default() }),
        };
        text.map_err(|error| Failure::failed(format!("configuration of {}: {error}", service.name)))
    }
}
