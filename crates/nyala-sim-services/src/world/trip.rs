// SPDX-License-Identifier: Apache-2.0

//! One operation again and again, without accidents, so that the functions on its way can be counted (`scripts/trips`): those whose
//! calls grow with the number of operations.

use super::setup::{OWNER, client_config};
use nyala_client::{Client, Error, OpenOptions};
use nyala_wire::InodeId;
use std::net::SocketAddr;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// A new, empty file.
    Create,
    /// Bytes of a striped file that is open, from the write to their place on the target's disk.
    Write,
    /// A write that meets a mirror group whose primary has just been killed.
    Failover,
}

impl Trip {
    pub fn parse(word: &str) -> Option<Trip> {
        match word {
            "create" => Some(Trip::Create),
            "write" => Some(Trip::Write),
            "failover" => Some(Trip::Failover),
            _ => None,
        }
    }
}

/// More than stays with the inode.
const BYTES: usize = 100_000;

/// Does it so many times, after once for what is done only the first time. `change` takes the primary away before a failover, and brings it
/// back after it.
pub async fn run(mgmt: &[SocketAddr], trip: Trip, times: u64, change: impl Fn()) -> Result<(), Error> {
    let client = Client::connect(client_config(mgmt, "trip")).await?;
    let dir = if trip == Trip::Failover { "d0" } else { "d1" };
    let dir = client.lookup(InodeId::ROOT, dir.as_bytes()).await?.inode;
    let inode = client.lookup(dir, b"wide").await?.inode;
    let handle = client.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await?;
    for number in 0..=times {
        match trip {
            Trip::Create => {
                let name = format!("trip{number}");
                client.create(dir, name.as_bytes(), 0o644, OWNER, true).await?.1.release().await?;
            }
            Trip::Write | Trip::Failover => {
                if trip == Trip::Failover {
                    change();
                }
                handle.write(0, &[number as u8; BYTES]).await?;
                handle.fsync(false).await?;
                if trip == Trip::Failover {
                    change();
                }
            }
        }
    }
    handle.release().await?;
    client.shutdown().await
}
