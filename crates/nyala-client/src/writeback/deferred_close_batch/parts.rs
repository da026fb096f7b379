// SPDX-License-Identifier: Apache-2.0

//! How many closed small files go in one request.

use crate::file::state::File;
use nyala_wire::meta::MAX_PUTS;
use std::sync::Arc;

/// Most content in one request, bytes, unless one file has more. What allocators keep at hand ends at about 64 KiB, here and
/// at the server: the memory of larger requests comes from the kernel anew each time (docs/history/performance.md).
const MAX_BYTES: usize = 56 << 10;
/// Most files in one request.
const MAX_FILES: usize = 16;
const _: () = assert!(MAX_FILES <= MAX_PUTS);

/// What goes in one request each.
pub(super) fn parts(files: Vec<Arc<File>>) -> Vec<Vec<Arc<File>>> {
    let (mut parts, mut part, mut bytes) = (Vec::new(), Vec::new(), 0);
    for file in files {
        let size = file.state.lock().size() as usize;
        if !part.is_empty() && (part.len() == MAX_FILES || bytes + size > MAX_BYTES) {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
        bytes += size;
        part.push(file);
    }
    parts.push(part);
    parts
}
