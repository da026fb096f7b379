// SPDX-License-Identifier: Apache-2.0

//! Settings of a storage service.

use super::export::ExportArg;
use super::meta::need_mgmt;
use super::target::TargetArg;
use super::{DEFAULT_SECRET, STORAGE_PORT, settings};
use crate::exit::Failure;
use crate::units::{Hosts, Size, Span};
use nyala_storage::{DRIVE_PORT, ExportSpec, ScrubConfig, StorageConfig};
use std::net::SocketAddr;
use std::path::PathBuf;

settings! {
    /// Settings of a storage service.
    StorageSettings, "storage" {
        /// The service's own directory [default: /var/lib/nyala/storage]
        #[arg(long, env = "NYALA_STORAGE_DIR", value_name = "DIR")]
        dir: PathBuf,
        /// Where to listen [default: 0.0.0.0:8003]
        #[arg(long, env = "NYALA_STORAGE_LISTEN", value_name = "IP:PORT")]
        listen: SocketAddr,
        /// Addresses under which others reach this service, best first [default: the one that faces management]
        #[arg(long, env = "NYALA_STORAGE_ADVERTISE", value_name = "HOST[:PORT],…")]
        advertise: Hosts,
        /// Management services
        #[arg(long, env = "NYALA_STORAGE_MGMT", value_name = "HOST[:PORT],…")]
        mgmt: Hosts,
        /// The cluster's secret file [default: /etc/nyala/secret]
        #[arg(long, env = "NYALA_STORAGE_SECRET", value_name = "FILE")]
        secret: PathBuf,
        /// Encrypt all traffic; the same on every node of the cluster [default: false]
        #[arg(long, env = "NYALA_STORAGE_ENCRYPT", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        encrypt: bool,
        /// Wished name [default: management chooses]
        #[arg(long, env = "NYALA_STORAGE_ALIAS", value_name = "NAME")]
        alias: String,
        /// A storage target; may be given several times (in the variable: with semicolons between)
        #[arg(long = "target", env = "NYALA_STORAGE_TARGETS", value_name = "DIR[,id=N][,alias=NAME][,limit=SIZE]", value_delimiter = ';')]
        targets: Vec<TargetArg>,
        /// A drive that targets of other hosts may lie on; may be given several times (in the variable: with semicolons between)
        #[arg(long = "drive-export", env = "NYALA_STORAGE_DRIVE_EXPORTS", value_name = "NAME=DIR", value_delimiter = ';')]
        drive_exports: Vec<ExportArg>,
        /// Where other hosts ask for those drives [default: 0.0.0.0:8004]
        #[arg(long, env = "NYALA_STORAGE_DRIVE_LISTEN", value_name = "IP:PORT")]
        drive_listen: SocketAddr,
        /// Bytes of requests and replies in memory at once [default: 512m]
        #[arg(long, env = "NYALA_STORAGE_MEMORY_LIMIT", value_name = "SIZE")]
        memory_limit: Size,
        /// Threads per target that do file operations [default: 4]
        #[arg(long, env = "NYALA_STORAGE_WORKERS_PER_TARGET", value_name = "N")]
        workers_per_target: usize,
        /// Threads that serve connections [default: 2, or fewer on a smaller machine]
        #[arg(long, env = "NYALA_STORAGE_CORES", value_name = "N")]
        cores: usize,
        /// Files nobody wrote to for so long are synced in the background [default: 4s]
        #[arg(long, env = "NYALA_STORAGE_SYNC_IDLE", value_name = "TIME")]
        sync_idle: Span,
        /// Each target is read and compared with its checksums once in this time, and repaired where it is mirrored; 0: only by `nyala scrub` [default: 30d]
        #[arg(long, env = "NYALA_STORAGE_SCRUB_INTERVAL", value_name = "TIME")]
        scrub_interval: Span,
        /// Most bytes that are read for it from each target in a second; 0: as fast as it goes [default: 64m]
        #[arg(long, env = "NYALA_STORAGE_SCRUB_RATE", value_name = "SIZE")]
        scrub_rate: Size,
        /// After so many errors of its disk within a month or two, data is moved away from a target; 0: however many there are [default: 64]
        #[arg(long, env = "NYALA_STORAGE_EVACUATE_ERRORS", value_name = "N")]
        evacuate_errors: u64,
        /// Requests that take at least so long are logged with their parts; 0: none are [default: 1s]
        #[arg(long, env = "NYALA_STORAGE_SLOW_OPERATION", value_name = "TIME")]
        slow_operation: Span,
        /// Where to serve metrics for Prometheus, without a secret; nowhere unless it is said [suggested: 127.0.0.1:9803]
        #[arg(long, env = "NYALA_STORAGE_METRICS", value_name = "IP:PORT")]
        metrics: SocketAddr,
    }
}

/// A number of threads or bytes within bounds.
fn bounded(key: &str, value: usize, most: usize) -> Result<usize, Failure> {
    let good = (1..=most).contains(&value);
    good.then_some(value).ok_or_else(|| Failure::config(format!("{key} = {value} is not from 1 to {most}")))
}

impl StorageSettings {
    /// What the service has to be told.
    pub fn resolve(self) -> Result<StorageConfig, Failure> {
        let listen = self.listen.unwrap_or_else(|| ([0, 0, 0, 0], STORAGE_PORT).into());
        let dir = self.dir.unwrap_or_else(|| "/var/lib/nyala/storage".into());
        let secret = self.secret.unwrap_or_else(|| DEFAULT_SECRET.into());
        let (targets, exports) = (self.targets.unwrap_or_default(), self.drive_exports.unwrap_or_default());
        if targets.is_empty() && exports.is_empty() {
            return Err(Failure::config(
                "no storage target is named; add [[targets]] with dir = \"…\" to the file, or give --target DIR",
            ));
        }
        let mut config = StorageConfig::new(dir, listen, need_mgmt(self.mgmt)?, secret);
        config.targets = targets.into_iter().map(TargetArg::spec).collect::<Result<_, _>>()?;
        config.exports = exports.into_iter().map(ExportSpec::from).collect();
        config.drive_listen = self.drive_listen.unwrap_or_else(|| ([0, 0, 0, 0], DRIVE_PORT).into());
        config.advertise = self.advertise.map(|hosts| hosts.resolve(listen.port())).transpose()?.unwrap_or_default();
        config.encrypt = self.encrypt.unwrap_or_default();
        config.alias = self.alias.unwrap_or_default();
        if let Some(size) = self.memory_limit {
            let bytes = usize::try_from(size.0).unwrap_or(usize::MAX);
            if bytes < 16 << 20 {
                return Err(Failure::config(format!("memory-limit = {size} is less than 16m")));
            }
            config.memory_limit_bytes = bytes;
        }
        if let Some(workers) = self.workers_per_target {
            config.workers_per_target = bounded("workers-per-target", workers, 256)?;
        }
        if let Some(cores) = self.cores {
            config.cores = bounded("cores", cores, 1024)?;
        }
        if let Some(idle) = self.sync_idle {
            config.sync_idle = idle.0;
        }
        config.scrub = ScrubConfig {
            interval: self.scrub_interval.map_or(config.scrub.interval, |interval| interval.0),
            rate: self.scrub_rate.map_or(config.scrub.rate, |rate| rate.0),
        };
        if let Some(errors) = self.evacuate_errors {
            config.evacuate_errors = errors;
        }
        if let Some(slow) = self.slow_operation {
            config.slow_operation = slow.0;
        }
        config.metrics = self.metrics;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_flags_and_files() {
        let flag: TargetArg = "/data/t1,id=101,limit=4g".parse().unwrap();
        let file: StorageSettings =
            toml::from_str("[[targets]]\ndir = \"/data/t1\"\nid = 101\nlimit = \"4GiB\"\n").unwrap();
        assert_eq!(file.targets, Some(vec![flag]));
        for bad in ["", ",id=1", "/d,id=x", "/d,limit=big", "/d,size=1", "/d,id=70000"] {
            assert!(bad.parse::<TargetArg>().is_err(), "{bad}");
        }
        let error = toml::from_str::<StorageSettings>("[[targets]]\ndir = \"/d\"\nsize = 1\n").unwrap_err();
        assert!(error.to_string().contains("size"), "{error}");
    }

    #[test]
    fn what_has_no_default_is_asked_for() {
        let error = StorageSettings::default().resolve().unwrap_err();
        assert!(error.message.contains("--target"), "{error}");
        let targets = Some(vec!["/d".parse().unwrap()]);
        let error = StorageSettings { targets: targets.clone(), ..Default::default() }.resolve().unwrap_err();
        assert!(error.message.contains("--mgmt"), "{error}");
        let mgmt = Some("127.0.0.1".parse().unwrap());
        let small = StorageSettings { targets, mgmt, memory_limit: Some(Size(1)), ..Default::default() };
        assert!(small.clone().resolve().unwrap_err().message.contains("memory-limit"));
        let good = StorageSettings { memory_limit: None, cores: Some(1), ..small }.resolve().unwrap();
        assert_eq!((good.mgmt, good.cores), (vec!["127.0.0.1:8008".parse().unwrap()], 1));
        assert_eq!(good.scrub, ScrubConfig::default());
    }

    #[test]
    fn drives_are_lent_out_also_without_targets() {
        let file = "mgmt = \"127.0.0.1\"\n[[drive-exports]]\nname = \"d1\"\ndir = \"/drives/1\"\n";
        let config = toml::from_str::<StorageSettings>(file).unwrap().resolve().unwrap();
        assert_eq!((config.targets.len(), config.drive_listen.port()), (0, DRIVE_PORT));
        assert_eq!(config.exports, vec![ExportSpec { name: "d1".into(), dir: "/drives/1".into() }]);
        let flag: ExportArg = "d1=/drives/1".parse().unwrap();
        assert_eq!(ExportSpec::from(flag), config.exports[0]);
        assert!("d1".parse::<ExportArg>().is_err() && "=/d".parse::<ExportArg>().is_err());
    }

    #[test]
    fn scrubs_are_set_and_switched_off() {
        let file = "mgmt = \"127.0.0.1\"\nscrub-interval = \"7d\"\nscrub-rate = \"1m\"\n[[targets]]\ndir = \"/d\"\n";
        let week = toml::from_str::<StorageSettings>(file).unwrap();
        let off = StorageSettings { scrub_interval: Some("0".parse().unwrap()), ..week.clone() };
        let interval = std::time::Duration::from_secs(7 * 24 * 3600);
        assert_eq!(week.resolve().unwrap().scrub, ScrubConfig { interval, rate: 1 << 20 });
        assert!(off.resolve().unwrap().scrub.interval.is_zero());
    }
}
