// SPDX-License-Identifier: Apache-2.0

//! temporary

use crate::core::Core;
use crate::error::Result;
use crate::handle::FileHandle;
use crate::types::{CacheListener, LookedUp};
use nyala_wire::meta::{LeaseMode, NewEntry, Owner};
use nyala_wire::{Attr, ErrorCode, InodeId};
use std::sync::Arc;
use std::time::Duration;

impl Core {
    pub(crate) fn set_listener(&self, listener: Arc<dyn CacheListener>) {
        *self.listener.write() = Some(listener);
    }

    pub(crate) fn lease_time(&self) -> Duration {
        Duration::from_secs(10)
    }

    pub(crate) fn leased(&self, _inode: InodeId) -> LeaseMode {
        LeaseMode::None
    }

    pub(crate) async fn look_up(self: &Arc<Core>, parent: InodeId, name: &[u8]) -> Result<LookedUp> {
        let attr = match self.lookup(parent, name).await {
            Err(error) if error.is(ErrorCode::NOT_FOUND) => None,
            other => Some(other?),
        };
        Ok(LookedUp { attr, entry_leased: false, attr_leased: false })
    }

    pub(crate) async fn copy_range(
        self: &Arc<Core>,
        from: &FileHandle,
        from_offset: u64,
        to: &FileHandle,
        offset: u64,
        len: u64,
    ) -> Result<u64> {
        let mut done = 0;
        while done < len {
            let data = from.read(from_offset + done, (len - done).min(1 << 20) as usize).await?.concat();
            if data.is_empty() {
                break;
            }
            to.write(offset + done, &data).await?;
            done += data.len() as u64;
        }
        Ok(done)
    }

    pub(crate) async fn tmpfile(self: &Arc<Core>, entry: NewEntry, owner: Owner) -> Result<(Attr, FileHandle)> {
        use nyala_wire::meta::{MetaOp, MetaReply};
        let odd = || crate::maps::odd("make a file without a name");
        match self.meta("make a file without a name", MetaOp::Tmpfile { entry }, owner).await? {
            MetaReply::Created { inode, file: Some(file), .. } => {
                let handle = self.open_handle(inode, Some(&file), false).await?;
                Ok((file.attr, handle))
            }
            _ => Err(odd()),
        }
    }
}
