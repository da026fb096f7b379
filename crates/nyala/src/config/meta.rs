// SPDX-License-Identifier: Apache-2.0

//! Settings of a metadata service.

use super::{DEFAULT_SECRET, META_PORT, MGMT_PORT, settings};
use crate::exit::Failure;
use crate::units::{Hosts, Span};
use nyala_meta::MetaConfig;
use nyala_transport::trace::SlowOperations;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// Settings of a metadata service.
    MetaSettings, "meta" {
        /// Directory of the metadata target [default: /var/lib/nyala/meta]
        #[arg(long, env = "NYALA_META_DIR", value_name = "DIR")]
        dir: PathBuf,
        /// Where to listen [default: 0.0.0.0:8005]
        #[arg(long, env = "NYALA_META_LISTEN", value_name = "IP:PORT")]
        listen: SocketAddr,
        /// Addresses under which others reach this service, best first [default: the one that faces management]
        #[arg(long, env = "NYALA_META_ADVERTISE", value_name = "HOST[:PORT],…")]
        advertise: Hosts,
        /// Management services
        #[arg(long, env = "NYALA_META_MGMT", value_name = "HOST[:PORT],…")]
        mgmt: Hosts,
        /// The cluster's secret file [default: /etc/nyala/secret]
        #[arg(long, env = "NYALA_META_SECRET", value_name = "FILE")]
        secret: PathBuf,
        /// Encrypt all traffic; the same on every node of the cluster [default: false]
        #[arg(long, env = "NYALA_META_ENCRYPT", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        encrypt: bool,
        /// A target that registers for the first time gets no part of the name space: it waits to become a member of a mirror group
        /// [default: false]
        #[arg(long, env = "NYALA_META_SPARE", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        spare: bool,
        /// Wished name [default: management chooses]
        #[arg(long, env = "NYALA_META_ALIAS", value_name = "NAME")]
        alias: String,
        /// Longest time that an acknowledged change is not on disk yet [default: 1s]
        #[arg(long, env = "NYALA_META_SYNC_INTERVAL", value_name = "TIME")]
        sync_interval: Span,
        /// A directory with more names than this is split over several metadata servers; 0: none is [default: 8192]
        #[arg(long, env = "NYALA_META_SPLIT_ABOVE", value_name = "NUMBER")]
        split_above: u64,
        /// Requests that take at least so long are logged with their parts; 0: none are [default: 1s]
        #[arg(long, env = "NYALA_META_SLOW_OPERATION", value_name = "TIME")]
        slow_operation: Span,
        /// Where to serve metrics for Prometheus, without a secret; nowhere unless it is said [suggested: 127.0.0.1:9805]
        #[arg(long, env = "NYALA_META_METRICS", value_name = "IP:PORT")]
        metrics: SocketAddr,
    }
}

/// Names of a directory that one server has alone.
const SPLIT_ABOVE: u64 = 8192;

/// The key that has no default.
pub(super) fn need_mgmt(mgmt: Option<Hosts>) -> Result<Vec<SocketAddr>, Failure> {
    let missing = "no management service is named; set the key mgmt in the configuration file, or give --mgmt HOST";
    mgmt.ok_or_else(|| Failure::config(missing))?.resolve(MGMT_PORT)
}

impl MetaSettings {
    /// What the service has to be told.
    pub fn resolve(self) -> Result<MetaConfig, Failure> {
        let listen = self.listen.unwrap_or_else(|| ([0, 0, 0, 0], META_PORT).into());
        Ok(MetaConfig {
            dir: self.dir.unwrap_or_else(|| "/var/lib/nyala/meta".into()),
            listen,
            advertise: self.advertise.map(|hosts| hosts.resolve(listen.port())).transpose()?.unwrap_or_default(),
            mgmt: need_mgmt(self.mgmt)?,
            secret_file: self.secret.unwrap_or_else(|| DEFAULT_SECRET.into()),
            encrypt: self.encrypt.unwrap_or_default(),
            spare: self.spare.unwrap_or_default(),
            alias: self.alias.unwrap_or_default(),
            sync_interval: self.sync_interval.map_or(Duration::from_secs(1), |span| span.0),
            split_above: self.split_above.unwrap_or(SPLIT_ABOVE),
            metrics: self.metrics,
            slow_operation: self.slow_operation.map_or(SlowOperations::ABOVE, |span| span.0),
        })
    }
}
