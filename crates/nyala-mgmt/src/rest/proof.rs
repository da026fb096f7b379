// SPDX-License-Identifier: Apache-2.0

//! What a connection has shown.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The place of a connection among strangers, until it shows the token.
#[derive(Clone)]
pub(crate) struct Proof {
    /// From where it was made.
    pub host: IpAddr,
    sender: Arc<Mutex<Option<oneshot::Sender<()>>>>,
}

impl Proof {
    /// Of a connection whose place is told over `sender`.
    pub(super) fn new(host: IpAddr, sender: oneshot::Sender<()>) -> Proof {
        Proof { host, sender: Arc::new(Mutex::new(Some(sender))) }
    }

    /// A request of this connection has shown the token.
    pub(crate) fn give(&self) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Who does not listen has proven it before.
        sender.map(|sender| sender.send(()));
    }
}
