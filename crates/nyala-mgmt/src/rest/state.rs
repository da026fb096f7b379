// SPDX-License-Identifier: Apache-2.0

//! What handlers of the REST API work with.

use super::token::Tokens;
use crate::core::Core;
use crate::web::Sampled;
use nyala_transport::Secret;
use std::sync::Arc;

/// Longest body of a request, bytes.
pub(super) const MAX_BODY: usize = 64 << 10;

/// What handlers work with.
#[derive(Clone)]
pub(super) struct RestState {
    pub core: Arc<Core>,
    pub tokens: Tokens,
    /// Says which keys there are.
    pub secret: Secret,
    /// What services said of themselves.
    pub sampled: Arc<Sampled>,
}
