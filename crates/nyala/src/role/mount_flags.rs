// SPDX-License-Identifier: Apache-2.0

//! A mount's flags may change while it is served (`mount -o remount`). The kernel sees to all of them but access times.
//!
//! **Failure model.** See `nyala_fuse::mount::FlagsWatch`: a change is seen a moment late. Where nothing is seen the mount goes on as
//! it was made, and the log says so.

use nyala_fuse::adapter::NyalaFs;
use nyala_fuse::mount::Mount;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Access times follow what `mount -o remount` makes of the mount, until the returned set is dropped.
pub fn follow(mount: &Mount, fs: &Arc<NyalaFs>) -> JoinSet<()> {
    let mut following = JoinSet::new();
    let watch = mount.watch();
    let fs = Arc::clone(fs);
    following.spawn(async move {
        let follow = async {
            let watch = watch?;
            loop {
                if let Some(renews) = watch.changed().await? {
                    fs.set_noatime(!renews);
                }
            }
        };
        let ended: std::io::Result<std::convert::Infallible> = follow.await;
        let Err(error) = ended;
        tracing::warn!(%error, "what a remount changes of access times is not seen");
    });
    following
}
