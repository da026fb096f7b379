// SPDX-License-Identifier: Apache-2.0

//! How far walks are, for whoever waits for them. Failure model: see the parent module.

use super::Look;
use crate::progress::{self, Counted};
use std::sync::atomic::Ordering;

/// Does something with walks, and shows how far they are. `total` is what they will have looked at, where that is known.
pub async fn shown<T>(look: &Look, what: &str, total: Option<u64>, work: impl Future<Output = T>) -> T {
    progress::during(what, Counted::Bytes, || (look.walked.load(Ordering::Relaxed), total), work).await
}
