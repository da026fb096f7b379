// SPDX-License-Identifier: Apache-2.0

//! Settings of a client: a mount, or a command that asks the cluster.

use super::meta::need_mgmt;
use super::{DEFAULT_SECRET, FuseTransport, memory, settings};
use crate::exit::Failure;
use crate::units::{Hosts, Size, Span};
use nyala_client::ClientConfig;
use nyala_transport::Secret;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How often a mount looks whether a storage target is to be emptied.
const EVACUATE_EVERY: Duration = Duration::from_secs(10);

settings! {
    /// Settings of a client.
    ClientSettings, "client" {
        /// Management services
        #[arg(long, env = "NYALA_MGMT", value_name = "HOST[:PORT],…")]
        mgmt: Hosts,
        /// The cluster's secret file [default: /etc/nyala/secret]
        #[arg(long, env = "NYALA_SECRET", value_name = "FILE")]
        secret: PathBuf,
        /// Encrypt all traffic; the same on every node of the cluster [default: false]
        #[arg(long, env = "NYALA_ENCRYPT", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        encrypt: bool,
        /// How long operations are tried again through failures before they fail; 0: for ever [default: 10m]
        #[arg(long, env = "NYALA_RETRY_TIMEOUT", value_name = "TIME")]
        retry_timeout: Span,
        /// Most bytes written and not yet on a server [default: 64m]
        #[arg(long, env = "NYALA_WRITE_BUFFER", value_name = "SIZE")]
        write_buffer: Size,
        /// Most bytes read ahead and not yet asked for [default: 64m]
        #[arg(long, env = "NYALA_READ_CACHE", value_name = "SIZE")]
        read_cache: Size,
        /// Largest read-ahead of one stream; 0: none [default: 4m]
        #[arg(long, env = "NYALA_READ_AHEAD", value_name = "SIZE")]
        read_ahead: Size,
        /// Memory for attributes and names that servers leave to the mount [default: 1/32 of the machine's, at most 2g]
        #[arg(long, env = "NYALA_METADATA_CACHE", value_name = "SIZE")]
        metadata_cache: Size,
        /// Written data goes out after this time at the latest [default: 500ms]
        #[arg(long, env = "NYALA_MAX_DIRTY_AGE", value_name = "TIME")]
        max_dirty_age: Span,
        /// A closed small file's content goes out after this time, with that of others; 0: the close waits for it [default: 20ms]
        #[arg(long, env = "NYALA_CLOSE_DELAY", value_name = "TIME")]
        close_delay: Span,
        /// How long what was read or looked up may be used again; at most 1s [default: 1s]
        #[arg(long, env = "NYALA_CACHE_TIME", value_name = "TIME")]
        cache_time: Span,
        /// How the kernel talks to a mount [default: auto]
        #[arg(long, env = "NYALA_FUSE_TRANSPORT", value_name = "WAY")]
        fuse_transport: FuseTransport,
        /// Where to serve metrics for Prometheus, without a secret; nowhere unless it is said [suggested: 127.0.0.1:9804]
        #[arg(long, env = "NYALA_METRICS", value_name = "IP:PORT")]
        metrics: SocketAddr,
    }
}

impl ClientSettings {
    /// The secret file.
    pub fn secret_file(&self) -> PathBuf {
        self.secret.clone().unwrap_or_else(|| DEFAULT_SECRET.into())
    }

    /// What the client has to be told; reads the secret file. `name` is for people: host and mount point.
    pub fn resolve(self, name: String) -> Result<ClientConfig, Failure> {
        let secret = Secret::load(&self.secret_file())?;
        let mut config = ClientConfig::new(need_mgmt(self.mgmt)?, secret, name);
        config.encrypt = self.encrypt.unwrap_or_default();
        let bytes = |size: Size| usize::try_from(size.0).unwrap_or(usize::MAX);
        config.evacuate_every = Some(EVACUATE_EVERY);
        if let Some(time) = self.retry_timeout {
            config.retry_timeout = time.0;
        }
        if let Some(size) = self.write_buffer {
            if size < Size(1 << 20) {
                return Err(Failure::config(format!("write-buffer = {size} is less than 1m")));
            }
            config.write_buffer_bytes = bytes(size);
        }
        if let Some(size) = self.read_cache {
            config.read_cache_bytes = bytes(size);
        }
        if let Some(size) = self.read_ahead {
            config.read_ahead_bytes = bytes(size);
        }
        config.keep_metadata(self.metadata_cache.map_or_else(memory::share_for_metadata, bytes));
        if let Some(time) = self.max_dirty_age {
            config.max_dirty_age = time.0;
        }
        if let Some(time) = self.close_delay {
            config.close_delay = time.0;
        }
        if let Some(time) = self.cache_time {
            if time.0.as_millis() > 1000 {
                return Err(Failure::config(format!("cache-time = {time} is more than 1s")));
            }
            config.cache_time = time.0;
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_checked_and_the_secret_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        let settings = ClientSettings {
            mgmt: Some("127.0.0.1".parse().unwrap()),
            secret: Some(secret.clone()),
            retry_timeout: Some("5s".parse().unwrap()),
            ..Default::default()
        };
        let missing = settings.clone().resolve("h:/m".into()).unwrap_err();
        assert_eq!(missing.exit, crate::exit::Exit::Config);
        assert!(missing.message.contains(&secret.display().to_string()), "{missing}");
        Secret::generate(&secret).unwrap();
        assert_eq!(settings.clone().resolve("h:/m".into()).unwrap().retry_timeout.as_secs(), 5);
        let long = ClientSettings { cache_time: Some("2s".parse().unwrap()), ..settings };
        assert!(long.resolve("h:/m".into()).unwrap_err().message.contains("cache-time"));
    }
}
