// SPDX-License-Identifier: Apache-2.0

//! Adding to the end of a file.
//!
//! **Failure model.** Others move the end: where it is counts only under an exclusive delegation, which is waited for. Writers of
//! this client take turns.

use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::Result;
use crate::file::state::File;
use crate::writeback::owner::Writeback;
use nyala_wire::ErrorCode;
use std::sync::Arc;

impl Writeback {
    /// Writes `data` at the end, wherever others have moved it; returns where that was. `done`: so many bytes of it are taken, which counts where this
    /// fails since the file is encoded meanwhile.
    pub(crate) async fn append(self: &Arc<Writeback>, file: &Arc<File>, data: &[u8], done: &mut usize) -> Result<u64> {
        let admission = self.delegations.admit(file, Need { write: true, cached: true, patient: true }).await?;
        let _one = file.appending.lock().await;
        if admission.access == Access::Timed {
            self.delegations.freshen(file).await?;
        }
        let at = file.state.lock().size();
        self.check_write(at, data)?;
        let written = self.write_cached(file, at, data, admission.session).await;
        if written.as_ref().is_err_and(|error| error.is(ErrorCode::NOT_SUPPORTED)) {
            *done = (file.state.lock().size().saturating_sub(at) as usize).min(data.len());
        }
        written?;
        self.ctx.stats.written_bytes.add(data.len() as u64);
        Ok(at)
    }
}
