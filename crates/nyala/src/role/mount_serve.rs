// SPDX-License-Identifier: Apache-2.0

//! A mount's life: the cluster is asked, the mount made, served, and ended.
//!
//! **Failure model.** The cluster may be down, foreign or half started when the mount is asked for: that is tried for a
//! short while and then said, before anything is mounted. Once mounted, the client waits through failures by itself. On
//! SIGTERM the mount is taken away; if programs still use it, everything written is sent out first and they then get
//! "not connected".

use super::mount_announce::make_known;
use super::mount_wait::{await_root, probe};
use super::{mount_flags, stop_signal};
use crate::exit::Failure;
use crate::mount::MountFlags;
use crate::mount::daemon::Caller;
use crate::mount::record::MountRecord;
use crate::process::ProcessId;
use nyala_client::{Client, ClientConfig};
use nyala_fuse::adapter::{FsOptions, NyalaFs};
use nyala_fuse::mount::{Mount, MountOptions, UnmountError};
use nyala_fuse::{Session, SessionConfig, Transport};
use nyala_metrics::Page;
use nyala_metrics::catalog::Source;
use nyala_scrape::Scrapes;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a detached mount gets to end by itself.
const DETACHED: Duration = Duration::from_millis(500);
/// What the kernel may read ahead, KiB; without it, requests would be at most 128 KiB.
const READ_AHEAD_KIB: u32 = 2048;

/// Everything that is known before the cluster is asked.
pub struct Plan {
    /// What was asked for, as it was written.
    pub source: String,
    /// Mount options.
    pub flags: MountFlags,
    /// Where.
    pub mountpoint: PathBuf,
    /// The secret file.
    pub secret: PathBuf,
    /// How the kernel talks to it.
    pub transport: Transport,
    /// Where metrics are served.
    pub metrics: Option<SocketAddr>,
    /// For the client.
    pub config: ClientConfig,
}

/// Mounts, and serves until the mount has ended.
pub async fn serve(plan: Plan, caller: &mut Caller) -> Result<(), Failure> {
    let stop = stop_signal()?;
    probe(&plan.config).await?;
    let mut scrapes = Scrapes::at(plan.metrics).map_err(|error| Failure::config(error.to_string()))?;
    let (mgmt, encrypt) = (plan.config.mgmt.clone(), plan.config.encrypt);
    let mut announcing = std::pin::pin!(make_known(plan.config.clone(), plan.metrics));
    let client = Client::connect(ClientConfig { tracer: Some(Arc::default()), ..plan.config }).await?;
    await_root(&client).await?;
    let mount = Mount::new(&mount_options(&plan.flags, &plan.source, plan.mountpoint))?;
    let (mountpoint, read_ahead) = (mount.mountpoint().to_path_buf(), mount.read_ahead());
    let (tell, mut ready) = tokio::sync::oneshot::channel();
    let options = FsOptions { noatime: plan.flags.noatime || plan.flags.read_only, ..FsOptions::default() };
    let handler = Arc::new(NyalaFs::new(client.clone(), options));
    let session = Session::new(
        mount.device(),
        Arc::clone(&handler),
        SessionConfig { transport: plan.transport, ..SessionConfig::default() },
    );
    handler.attach(session.notifier());
    let session = session.on_ready(move |_| {
        // An error means that the mount is ending already.
        let _ = tell.send(());
    });
    let record = MountRecord {
        mountpoint: mountpoint.clone(),
        source: plan.source,
        mgmt,
        secret: plan.secret,
        encrypt,
        process: ProcessId::own(),
    };
    let _following = mount_flags::follow(&mount, &handler);
    let mut serving = nyala_fuse::adapter::serve(session);
    let mut stop = std::pin::pin!(stop);
    let mut announced = false;
    let result = loop {
        tokio::select! {
            ended = &mut serving => break ended.map_err(Failure::from),
            Ok(()) = &mut ready, if !announced => {
                announced = true;
                if let Err(error) = read_ahead.set(READ_AHEAD_KIB) {
                    tracing::warn!(%error, "cannot set the kernel's read-ahead; large reads will be slower");
                }
                if let Err(error) = record.save() {
                    tracing::warn!(%error, "no record of this mount; commands have to be told the cluster");
                }
                tracing::info!(mountpoint = %mountpoint.display(), source = record.source, "mounted");
                caller.ready()?;
            }
            never = &mut announcing => match never {},
            never = scrapes.answer(|page| metrics(page, &handler)) => match never {},
            () = &mut stop => {
                match mount.unmount(false) {
                    Ok(()) => break serving.as_mut().await.map_err(Failure::from),
                    // Somebody else unmounted it: it ends by itself, unless it was a lazy detach and is still in use.
                    Err(UnmountError::NotMounted(_)) => {
                        if let Ok(ended) = tokio::time::timeout(DETACHED, &mut serving).await {
                            break ended.map_err(Failure::from);
                        }
                    }
                    Err(error) => tracing::warn!(%error, "the mount is taken away from those who use it"),
                }
                break client.shutdown().await.map_err(Failure::from);
            }
        }
    };
    MountRecord::remove(&mountpoint);
    tracing::info!(mountpoint = %mountpoint.display(), "unmounted");
    result
}

fn metrics(page: &mut Page, handler: &NyalaFs) {
    nyala_scrape::process(page, Source::Mount);
    handler.write_metrics(page);
}

fn mount_options(flags: &MountFlags, source: &str, mountpoint: PathBuf) -> MountOptions {
    let mut options = MountOptions::new(source, mountpoint);
    options.read_only = flags.read_only;
    options.nosuid = flags.nosuid;
    options.nodev = flags.nodev;
    options.noexec = flags.noexec;
    (options.noatime, options.nodiratime) = (flags.noatime, flags.nodiratime);
    options.allow_other = !flags.only_me;
    options
}
