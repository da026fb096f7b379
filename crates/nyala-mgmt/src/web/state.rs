// SPDX-License-Identifier: Apache-2.0

//! What all handlers share.

use super::locator::Locator;
use super::logic::sessions::Sessions;
use super::render::Rendered;
use super::sampled::Sampled;
use crate::core::Core;
use crate::rest::{Proof, Tokens};
use parking_lot::Mutex;
use std::sync::Arc;

/// What handlers work with.
#[derive(Clone)]
pub(crate) struct WebState {
    pub core: Arc<Core>,
    pub tokens: Tokens,
    /// The page comes encrypted.
    pub is_encrypted: bool,
    pub sessions: Arc<Mutex<Sessions>>,
    pub sampled: Arc<Sampled>,
    pub rendered: Arc<Rendered>,
    /// Finds entries by their paths.
    pub locator: Arc<Locator>,
}

/// A connection that showed a session has shown a token once.
pub(super) fn give(proof: Option<&Proof>) {
    if let Some(proof) = proof {
        proof.give();
    }
}
