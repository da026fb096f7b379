// SPDX-License-Identifier: Apache-2.0

//! Settings of the monitoring service.

use super::influx::{InfluxKeys, influx_config};
use super::meta::need_mgmt;
use super::{DEFAULT_SECRET, MON_PORT, settings};
use crate::exit::Failure;
use crate::units::{Hosts, Size, Span};
use nyala_mon::MonConfig;
use nyala_mon::logic::history::Limits;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// Settings of the monitoring service.
    MonSettings, "mon" {
        /// Directory of the history [default: /var/lib/nyala/mon]
        #[arg(long, env = "NYALA_MON_DIR", value_name = "DIR")]
        dir: PathBuf,
        /// Management services
        #[arg(long, env = "NYALA_MON_MGMT", value_name = "HOST[:PORT],…")]
        mgmt: Hosts,
        /// The cluster's secret file [default: /etc/nyala/secret]
        #[arg(long, env = "NYALA_MON_SECRET", value_name = "FILE")]
        secret: PathBuf,
        /// Encrypt traffic with services; the same on every node of the cluster [default: false]
        #[arg(long, env = "NYALA_MON_ENCRYPT", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        encrypt: bool,
        /// Time between two rounds of samples [default: 5s]
        #[arg(long, env = "NYALA_MON_INTERVAL", value_name = "TIME")]
        interval: Span,
        /// How long samples are kept as they were taken [default: 1h]
        #[arg(long, env = "NYALA_MON_KEEP_SAMPLES", value_name = "TIME")]
        keep_samples: Span,
        /// How long they are kept in steps of one minute [default: 24h]
        #[arg(long, env = "NYALA_MON_KEEP", value_name = "TIME")]
        keep: Span,
        /// Most memory of the history; the oldest goes first [default: 128m]
        #[arg(long, env = "NYALA_MON_MEMORY", value_name = "SIZE")]
        memory: Size,
        /// Most space of the history on disk; the oldest goes first [default: 512m]
        #[arg(long, env = "NYALA_MON_DISK", value_name = "SIZE")]
        disk: Size,
        /// Most series; samples of more are left out [default: 50000]
        #[arg(long, env = "NYALA_MON_MAX_SERIES", value_name = "N")]
        max_series: u32,
        /// Where to answer queries of the history [default: 127.0.0.1:8012]
        #[arg(long, env = "NYALA_MON_LISTEN", value_name = "IP:PORT")]
        listen: SocketAddr,
        /// Allow queries on another address than localhost although they are not encrypted
        #[arg(long, env = "NYALA_MON_INSECURE", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        insecure: bool,
        /// Where to serve metrics of the monitoring service itself, without a secret; nowhere unless it is said [suggested: 127.0.0.1:9812]
        #[arg(long, env = "NYALA_MON_METRICS", value_name = "IP:PORT")]
        metrics: SocketAddr,
        /// InfluxDB to write to; nothing is written unless it is said
        #[arg(long, env = "NYALA_MON_INFLUX_URL", value_name = "http://HOST[:PORT]")]
        influx_url: String,
        /// InfluxDB 1: name of the database, which is made if it is missing [default: nyala]
        #[arg(long, env = "NYALA_MON_INFLUX_DATABASE", value_name = "NAME")]
        influx_database: String,
        /// InfluxDB 1: who writes
        #[arg(long, env = "NYALA_MON_INFLUX_USER", value_name = "NAME")]
        influx_user: String,
        /// InfluxDB 1: file with the password, mode 0600
        #[arg(long, env = "NYALA_MON_INFLUX_PASSWORD_FILE", value_name = "FILE")]
        influx_password_file: PathBuf,
        /// InfluxDB 2: organisation
        #[arg(long, env = "NYALA_MON_INFLUX_ORG", value_name = "NAME")]
        influx_org: String,
        /// InfluxDB 2: bucket
        #[arg(long, env = "NYALA_MON_INFLUX_BUCKET", value_name = "NAME")]
        influx_bucket: String,
        /// InfluxDB 2: file with the token, mode 0600
        #[arg(long, env = "NYALA_MON_INFLUX_TOKEN_FILE", value_name = "FILE")]
        influx_token_file: PathBuf,
    }
}

/// Shortest and longest time between two rounds.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));
/// Length of the steps that are kept longest.
const STEP_MS: u64 = 60_000;
const HOUR_MS: u64 = 3_600_000;

impl MonSettings {
    /// What the service has to be told.
    pub fn resolve(self) -> Result<MonConfig, Failure> {
        let interval = self.interval.map_or(Duration::from_secs(5), |span| span.0);
        if !(INTERVALS.0..=INTERVALS.1).contains(&interval) {
            return Err(Failure::config("interval is from 100ms to 60s"));
        }
        let ms = |span: Option<Span>, default| span.map_or(default, |span| span.0.as_millis() as u64);
        let limits = Limits {
            raw_ms: ms(self.keep_samples, HOUR_MS),
            folded_ms: ms(self.keep, 24 * HOUR_MS),
            step_ms: STEP_MS,
            series: self.max_series.unwrap_or(50_000) as usize,
            memory: self.memory.map_or(128 << 20, |size| size.0 as usize),
            disk: self.disk.map_or(512 << 20, |size| size.0),
        };
        let influx = influx_config(&InfluxKeys {
            url: self.influx_url,
            database: self.influx_database,
            user: self.influx_user,
            password_file: self.influx_password_file,
            org: self.influx_org,
            bucket: self.influx_bucket,
            token_file: self.influx_token_file,
        })?;
        Ok(MonConfig {
            dir: self.dir.unwrap_or_else(|| "/var/lib/nyala/mon".into()),
            mgmt: need_mgmt(self.mgmt)?,
            secret_file: self.secret.unwrap_or_else(|| DEFAULT_SECRET.into()),
            encrypt: self.encrypt.unwrap_or_default(),
            interval,
            limits,
            listen: self.listen.unwrap_or_else(|| ([127, 0, 0, 1], MON_PORT).into()),
            insecure: self.insecure.unwrap_or_default(),
            metrics: self.metrics,
            influx,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_mon::InfluxDestination;

    fn read(text: &str) -> Result<MonConfig, Failure> {
        toml::from_str::<MonSettings>(&format!("mgmt = \"127.0.0.1\"\n{text}")).unwrap().resolve()
    }

    #[test]
    fn a_database_of_either_version() {
        assert!(read("").unwrap().influx.is_none());
        let v1 = read("influx-url = \"http://db:8086\"").unwrap().influx.unwrap();
        assert!(matches!(v1.destination, InfluxDestination::Database { name, user: None } if name == "nyala"));
        let v2 = "influx-url = \"http://db\"\ninflux-org = \"o\"\ninflux-bucket = \"b\"\ninflux-token-file = \"/t\"";
        assert!(matches!(read(v2).unwrap().influx.unwrap().destination, InfluxDestination::Bucket { .. }));
        for (text, why) in [
            ("influx-org = \"o\"", "influx-url"),
            ("influx-url = \"https://db\"", "proxy"),
            ("influx-url = \"http://db\"\ninflux-org = \"o\"", "influx-bucket"),
            ("influx-url = \"http://db\"\ninflux-org = \"o\"\ninflux-user = \"u\"", "take one"),
            ("influx-url = \"http://db\"\ninflux-user = \"u\"", "go together"),
            ("interval = \"1ms\"", "100ms"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message.contains(why), "{text}: {error}");
        }
    }
}
