// SPDX-License-Identifier: Apache-2.0

//! Requests to management that are repeated until it answers.
//!
//! **Failure model.** As in `rpc::cluster_map`, which asks once.

use crate::error::Result;
use crate::rpc::cluster::Cluster;
use crate::rpc::failure::Again;
use crate::rpc::retry::Retry;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use std::time::Duration;

impl Cluster {
    /// Waits for the first map that has a metadata target.
    pub(crate) async fn first_map(&self) -> Result<()> {
        let mut retry = Retry::new("get the cluster map");
        loop {
            let why = match self.maps.watch(Duration::ZERO).await {
                Ok(()) if !self.maps.view().map.slots.is_empty() => return Ok(()),
                Ok(()) => Again::Connection("no metadata service has registered yet".into()),
                Err(why) => why,
            };
            retry.pause(self, why).await?;
        }
    }

    /// Asks management until it answers.
    pub(crate) async fn ask_management(&self, what: &'static str, request: MgmtRequest) -> Result<MgmtReply> {
        let mut retry = Retry::new(what);
        loop {
            match self.maps.ask(&request, Duration::ZERO).await {
                Ok(reply) => return Ok(reply),
                Err(why) => retry.pause(self, why).await?,
            }
        }
    }
}
