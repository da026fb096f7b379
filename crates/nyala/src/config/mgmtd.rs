// SPDX-License-Identifier: Apache-2.0

//! Settings of a management service.

use super::{DEFAULT_SECRET, MGMT_PORT, REST_PORT, settings};
use crate::exit::Failure;
use crate::units::{Hosts, Size, Span};
use clap::ValueEnum;
use nyala_mgmt::MgmtConfig;
use nyala_transport::trace::SlowOperations;
use nyala_wire::map::{Placement, Rebalance, Settings as ClusterSettings};
use nyala_wire::{Pattern, StripePattern};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How often services are asked for the figures of the page, and the bounds of it.
const SAMPLE_EVERY: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// How targets of a new file are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementArg {
    /// At random.
    Random,
    /// In turn.
    #[value(name = "round-robin", alias = "roundrobin")]
    RoundRobin,
    /// At random, over as many nodes as possible.
    RandomInternode,
}

/// How data is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatternArg {
    /// Striped over targets without redundancy.
    Raid0,
    /// Striped over mirror groups: every target of a group holds the same.
    Mirror,
}

impl From<PatternArg> for Pattern {
    fn from(pattern: PatternArg) -> Pattern {
        match pattern {
            PatternArg::Raid0 => Pattern::Raid0,
            PatternArg::Mirror => Pattern::Mirror,
        }
    }
}

settings! {
    /// Settings of a management service. Those from `chunk-size` on count at the cluster's first start only.
    MgmtdSettings, "mgmtd" {
        /// Directory of the cluster state [default: /var/lib/nyala/mgmtd]
        #[arg(long, env = "NYALA_MGMTD_DIR", value_name = "DIR")]
        dir: PathBuf,
        /// Where to listen [default: 0.0.0.0:8008]
        #[arg(long, env = "NYALA_MGMTD_LISTEN", value_name = "IP:PORT")]
        listen: SocketAddr,
        /// Addresses under which others reach this service, best first
        #[arg(long, env = "NYALA_MGMTD_ADVERTISE", value_name = "HOST[:PORT],…")]
        advertise: Hosts,
        /// Where to listen for the REST API [default: 127.0.0.1:8010]
        #[arg(long, env = "NYALA_MGMTD_REST_LISTEN", value_name = "IP:PORT")]
        rest_listen: SocketAddr,
        /// Allow the REST API on another address than localhost although it is not encrypted
        #[arg(long, env = "NYALA_MGMTD_REST_INSECURE", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        rest_insecure: bool,
        /// Requests that take at least so long are logged with their parts; 0: none are [default: 1s]
        #[arg(long, env = "NYALA_MGMTD_SLOW_OPERATION", value_name = "TIME")]
        slow_operation: Span,
        /// Where to serve metrics for Prometheus, without a secret; nowhere unless it is said [suggested: 127.0.0.1:9808]
        #[arg(long, env = "NYALA_MGMTD_METRICS", value_name = "IP:PORT")]
        metrics: SocketAddr,
        /// How often to ask all services for the figures of the web page; 0 turns that off [default: 5s]
        #[arg(long, env = "NYALA_MGMTD_SAMPLE_INTERVAL", value_name = "TIME")]
        sample_interval: Span,
        /// The cluster's secret file [default: /etc/nyala/secret]
        #[arg(long, env = "NYALA_MGMTD_SECRET", value_name = "FILE")]
        secret: PathBuf,
        /// First start: become a member of the cluster whose management is here, instead of making one
        #[arg(long, env = "NYALA_MGMTD_JOIN", value_name = "HOST[:PORT],…")]
        join: Hosts,
        /// First start: wait until `nyala mgmt add` makes this node a member, instead of making a cluster
        #[arg(long, env = "NYALA_MGMTD_STANDBY", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        standby: bool,
        /// Encrypt all traffic; the same on every node of the cluster [default: false]
        #[arg(long, env = "NYALA_MGMTD_ENCRYPT", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        encrypt: bool,
        /// First start: how the root directory's files are spread [default: raid0]
        #[arg(long, env = "NYALA_MGMTD_PATTERN", value_name = "HOW")]
        pattern: PatternArg,
        /// First start: chunk size that the root directory gives to files [default: 512k]
        #[arg(long, env = "NYALA_MGMTD_CHUNK_SIZE", value_name = "SIZE")]
        chunk_size: Size,
        /// First start: number of targets that the root directory gives to files [default: 4]
        #[arg(long, env = "NYALA_MGMTD_NUM_TARGETS", value_name = "N")]
        num_targets: u16,
        /// First start: largest content kept with the inode; 0 turns it off [default: 4k]
        #[arg(long, env = "NYALA_MGMTD_INLINE_SIZE", value_name = "SIZE")]
        inline_size: Size,
        /// First start: how targets are chosen [default: random]
        #[arg(long, env = "NYALA_MGMTD_PLACEMENT", value_name = "HOW")]
        placement: PlacementArg,
        /// First start: interval between heartbeats [default: 500ms]
        #[arg(long, env = "NYALA_MGMTD_HEARTBEAT", value_name = "TIME")]
        heartbeat: Span,
        /// First start: length of a service's lease [default: 3s]
        #[arg(long, env = "NYALA_MGMTD_LEASE", value_name = "TIME")]
        lease: Span,
        /// First start: a client that is silent for so long loses its session [default: 30s]
        #[arg(long, env = "NYALA_MGMTD_SESSION_TIMEOUT", value_name = "TIME")]
        session_timeout: Span,
        /// First start: give a metadata server that joins its share of the name space, by itself [default: true]
        #[arg(long, env = "NYALA_MGMTD_REBALANCE_METADATA", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        rebalance_metadata: bool,
        /// First start: how long that server must have been good, with nothing on its way between servers [default: 60s]
        #[arg(long, env = "NYALA_MGMTD_REBALANCE_SETTLE", value_name = "TIME")]
        rebalance_settle: Span,
        /// First start: slots that are on their way to it at once [default: 1]
        #[arg(long, env = "NYALA_MGMTD_REBALANCE_AT_ONCE", value_name = "N")]
        rebalance_at_once: u16,
        /// First start: pause after a slot has arrived [default: 1s]
        #[arg(long, env = "NYALA_MGMTD_REBALANCE_PAUSE", value_name = "TIME")]
        rebalance_pause: Span,
    }
}

/// A time in milliseconds as the cluster's settings hold it.
fn millis(key: &str, span: Span) -> Result<u32, Failure> {
    u32::try_from(span.0.as_millis()).map_err(|_| Failure::config(format!("{key} = {span} is too long")))
}

/// A stripe pattern from its parts, checked in the server's words.
pub fn pattern(chunk: Option<Size>, targets: Option<u16>, inline: Option<Size>) -> Result<StripePattern, Failure> {
    let default = StripePattern::default();
    // What does not fit is replaced by what the check refuses, so that there is one sentence for each bound.
    let bytes = |size: Option<Size>, default: u32| size.map_or(default, |s| u32::try_from(s.0).unwrap_or(u32::MAX));
    let pattern = StripePattern {
        chunk_bytes: bytes(chunk, default.chunk_bytes),
        num_targets: targets.unwrap_or(default.num_targets),
        inline_bytes: bytes(inline, default.inline_bytes),
        ..default
    };
    pattern.check().map_err(|error| Failure::config(error.message))?;
    Ok(pattern)
}

impl MgmtdSettings {
    /// What the service has to be told.
    pub fn resolve(self) -> Result<MgmtConfig, Failure> {
        let default = ClusterSettings::default();
        let listen = self.listen.unwrap_or_else(|| ([0, 0, 0, 0], MGMT_PORT).into());
        let advertise = self.advertise.map(|hosts| hosts.resolve(listen.port())).transpose()?;
        let time = |key, span: Option<Span>, default| span.map_or(Ok(default), |span| millis(key, span));
        let sample_every = self.sample_interval.map_or(SAMPLE_EVERY, |span| span.0);
        if !sample_every.is_zero() && !(SHORTEST..=LONGEST).contains(&sample_every) {
            return Err(Failure::config("sample-interval is 0, or from 1s to 60s"));
        }
        let settings = ClusterSettings {
            default_pattern: StripePattern {
                pattern: self.pattern.map_or(Pattern::default(), Pattern::from),
                ..pattern(self.chunk_size, self.num_targets, self.inline_size)?
            },
            placement: match self.placement {
                Some(PlacementArg::RoundRobin) => Placement::RoundRobin,
                Some(PlacementArg::RandomInternode) => Placement::RandomInternode,
                Some(PlacementArg::Random) | None => Placement::Random,
            },
            heartbeat_ms: time("heartbeat", self.heartbeat, default.heartbeat_ms)?,
            lease_ms: time("lease", self.lease, default.lease_ms)?,
            session_timeout_ms: time("session-timeout", self.session_timeout, default.session_timeout_ms)?,
            rebalance: Rebalance {
                automatic: self.rebalance_metadata.unwrap_or(default.rebalance.automatic),
                settle_ms: time("rebalance-settle", self.rebalance_settle, default.rebalance.settle_ms)?,
                at_once: self.rebalance_at_once.unwrap_or(default.rebalance.at_once),
                pause_ms: time("rebalance-pause", self.rebalance_pause, default.rebalance.pause_ms)?,
            },
        };
        Ok(MgmtConfig {
            listen: vec![listen],
            advertise: advertise.unwrap_or_default(),
            rest_listen: self.rest_listen.unwrap_or_else(|| ([127, 0, 0, 1], REST_PORT).into()),
            rest_insecure: self.rest_insecure.unwrap_or_default(),
            encrypt: self.encrypt.unwrap_or_default(),
            join: self.join.map(|hosts| hosts.resolve(MGMT_PORT)).transpose()?.unwrap_or_default(),
            standby: self.standby.unwrap_or_default(),
            settings,
            metrics: self.metrics,
            slow_operation: self.slow_operation.map_or(SlowOperations::ABOVE, |span| span.0),
            sample_every: Some(sample_every).filter(|every| !every.is_zero()),
            ..MgmtConfig::new(
                self.dir.unwrap_or_else(|| "/var/lib/nyala/mgmtd".into()),
                self.secret.unwrap_or_else(|| DEFAULT_SECRET.into()),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_bounds() {
        let config = MgmtdSettings::default().resolve().unwrap();
        assert_eq!(config.settings, ClusterSettings::default());
        assert_eq!(config.listen, vec!["0.0.0.0:8008".parse().unwrap()]);
        let refused = |settings: MgmtdSettings| settings.resolve().unwrap_err().message;
        let chunk = |bytes| MgmtdSettings { chunk_size: Some(Size(bytes)), ..Default::default() };
        assert!(refused(chunk(1000)).contains("power of two"));
        assert!(refused(chunk(1 << 40)).contains("power of two"));
        let inline = MgmtdSettings { inline_size: Some(Size(1 << 20)), ..Default::default() };
        assert!(refused(inline).contains("64 KiB"));
        let targets = MgmtdSettings { num_targets: Some(0), ..Default::default() };
        assert!(refused(targets).contains("1 to 1024"));
        let mirror = MgmtdSettings { pattern: Some(PatternArg::Mirror), ..Default::default() };
        assert_eq!(mirror.resolve().unwrap().settings.default_pattern.pattern, Pattern::Mirror);
        let lease = MgmtdSettings { lease: Some("9999h".parse().unwrap()), ..Default::default() };
        assert!(refused(lease).contains("lease"));
        assert_eq!(config.sample_every, Some(SAMPLE_EVERY));
        let sampled = |text: &str| MgmtdSettings { sample_interval: Some(text.parse().unwrap()), ..Default::default() };
        assert_eq!(sampled("0s").resolve().unwrap().sample_every, None);
        assert!(refused(sampled("1h")).contains("from 1s to 60s"));
    }
}
