// SPDX-License-Identifier: Apache-2.0

//! Which cluster a command is about: the one named by `--mgmt`, the one that `nyala up` made in `--dir`, the one that the
//! path in question is mounted from, the one of `/etc/nyala/client.toml`, the one in the default directory of `nyala up`.

use super::Cluster;
use crate::config::{CONFIG_DIR, ClientSettings, DEFAULT_SECRET, MGMT_PORT, load, load_default};
use crate::exit::Failure;
use crate::mount::record::MountRecord;
use crate::mount::table;
use crate::units::Hosts;
use crate::up::{ClusterDir, DEFAULT_DIR};
use std::path::{Path, PathBuf};

/// Flags that name a cluster.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterArgs {
    /// Directory of a cluster made by `nyala up`
    #[arg(long, env = "NYALA_DIR", value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Management services
    #[arg(long, env = "NYALA_MGMT", value_name = "HOST[:PORT],…")]
    pub mgmt: Option<Hosts>,
    /// The cluster's secret file [default: /etc/nyala/secret]
    #[arg(long, env = "NYALA_SECRET", value_name = "FILE")]
    pub secret: Option<PathBuf>,
    /// The cluster's traffic is encrypted (needed with --mgmt only)
    #[arg(long, env = "NYALA_ENCRYPT", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub encrypt: Option<bool>,
    /// Configuration file of a client [default: /etc/nyala/client.toml, if there is one]
    #[arg(long, env = "NYALA_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl ClusterArgs {
    /// The cluster.
    pub fn find(&self) -> Result<Cluster, Failure> {
        if let Some(named) = self.named()? {
            return Ok(named);
        }
        if Path::new(CONFIG_DIR).join("client.toml").exists() {
            let settings: ClientSettings = load_default()?;
            return self.with_settings(&settings, &Path::new(CONFIG_DIR).join("client.toml"));
        }
        if ClusterDir::new(DEFAULT_DIR).exists() {
            return self.in_cluster_dir(Path::new(DEFAULT_DIR));
        }
        Err(Failure::usage(format!(
            "no cluster is named; give --dir DIR (a cluster made by `nyala up`), or --mgmt HOST --secret FILE, \
             or write {CONFIG_DIR}/client.toml"
        )))
    }

    /// The cluster that a path is mounted from, unless the flags name one, with the path, cleaned; or the path alone where
    /// only the mount may reach its cluster.
    pub fn find_for(&self, path: &Path) -> Result<Way, Failure> {
        let path = table::absolute(path)?;
        let mounts = table::all()?;
        let real = || std::fs::canonicalize(&path).ok();
        let found = table::holding(&mounts, &path).map(|mounted| (path.clone(), mounted));
        // Only a path that leads into a mount by a link needs the second try.
        let found = found.or_else(|| real().and_then(|path| Some((path.clone(), table::holding(&mounts, &path)?))));
        let Some((path, mounted)) = found else {
            return match self.named()? {
                Some(cluster) => Ok(Way::Cluster(cluster, PathLocation::InRoot(path))),
                None => Err(Failure::usage(format!(
                    "{} is not on a nyala mount; for a path inside the file system, name the cluster (--dir DIR, or \
                     --mgmt HOST --secret FILE)",
                    path.display()
                ))),
            };
        };
        if let Some(cluster) = self.named()? {
            return Ok(Way::Cluster(cluster, PathLocation::Mounted(path, mounted.mountpoint)));
        }
        let cluster = match MountRecord::load(&mounted.mountpoint)? {
            Some(record) => Cluster::new(record.mgmt, &record.secret, record.encrypt),
            None => self.find(),
        };
        Ok(match cluster {
            Ok(cluster) => Way::Cluster(cluster, PathLocation::Mounted(path, mounted.mountpoint)),
            Err(why) => Way::Mount { path, mountpoint: mounted.mountpoint, why },
        })
    }

    /// The cluster that flags or variables name.
    fn named(&self) -> Result<Option<Cluster>, Failure> {
        if let Some(mgmt) = &self.mgmt {
            let secret = self.secret.clone().unwrap_or_else(|| DEFAULT_SECRET.into());
            return Cluster::new(mgmt.resolve(MGMT_PORT)?, &secret, self.encrypt.unwrap_or_default()).map(Some);
        }
        if let Some(dir) = &self.dir {
            return self.in_cluster_dir(dir).map(Some);
        }
        let Some(path) = &self.config else { return Ok(None) };
        self.with_settings(&load(path)?, path).map(Some)
    }

    fn with_settings(&self, settings: &ClientSettings, path: &Path) -> Result<Cluster, Failure> {
        let missing = || Failure::config(format!("configuration file {}: the key mgmt is missing", path.display()));
        let mgmt = settings.mgmt.as_ref().ok_or_else(missing)?.resolve(MGMT_PORT)?;
        let encrypt = self.encrypt.or(settings.encrypt).unwrap_or_default();
        Cluster::new(mgmt, &self.secret.clone().unwrap_or_else(|| settings.secret_file()), encrypt)
    }

    fn in_cluster_dir(&self, dir: &Path) -> Result<Cluster, Failure> {
        let cluster_dir = ClusterDir::new(dir);
        // Another cluster's variables must not turn this one's own secret away.
        cluster_dir.load()?.cluster(&cluster_dir)
    }
}

/// How an entry can be asked about.
#[derive(Clone, Debug)]
pub enum Way {
    /// Its cluster answers.
    Cluster(Cluster, PathLocation),
    /// Only the mount can ask: the cluster's secret is not for this user, or nobody says which cluster it is.
    Mount {
        /// The entry.
        path: PathBuf,
        /// The mount that it is on.
        mountpoint: PathBuf,
        /// Why not the cluster.
        why: Failure,
    },
}

/// Where a path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathLocation {
    /// On a mount: absolute path and mount point.
    Mounted(PathBuf, PathBuf),
    /// Not mounted here: a path from the root of the file system.
    InRoot(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use nyala_transport::Secret;

    #[test]
    fn named_clusters_come_first_and_missing_ones_are_explained() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        Secret::generate(&secret).unwrap();
        let args = ClusterArgs { mgmt: Some("127.0.0.1".parse().unwrap()), secret: Some(secret), ..Default::default() };
        assert_eq!(args.find().unwrap().mgmt, ["127.0.0.1:8008".parse().unwrap()]);
        let way = args.find_for(&dir.path().join("a/../b")).unwrap();
        assert!(matches!(way, Way::Cluster(_, PathLocation::InRoot(path)) if path == dir.path().join("b")));
        let nowhere = ClusterArgs::default().find_for(dir.path()).unwrap_err();
        assert_eq!(nowhere.exit, Exit::Usage);
        assert!(nowhere.message.contains("not on a nyala mount"), "{nowhere}");
        let empty = ClusterArgs { dir: Some(dir.path().to_owned()), ..Default::default() };
        assert!(empty.find().unwrap_err().message.contains("nyala up"));
        let config = dir.path().join("client.toml");
        std::fs::write(&config, "cache-time = \"1s\"\n").unwrap();
        let no_mgmt = ClusterArgs { config: Some(config), ..Default::default() };
        assert!(no_mgmt.find().unwrap_err().message.contains("mgmt"));
    }
}
