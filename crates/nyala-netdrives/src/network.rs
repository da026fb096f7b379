// SPDX-License-Identifier: Apache-2.0

//! Getting hold of the drives of a set.
//!
//! **Failure model.** See the crate. Hosts that start together are ready at different times: there is a wait for those that do not answer. Somebody else may take
//! the drives at the same time: whoever is refused by one of them gives up, and tries again with a larger epoch if it still wants to.

use crate::attachment::{Address, AskError};
use crate::error::NetError;
use crate::held::{GIVE_UP, Shared};
use crate::location::DriveLocation;
use crate::remote::RemoteDrive;
use crate::thread::NetThread;
use bytes::Bytes;
use nyala_drives::Drive;
use nyala_raid::member::SetId;
use nyala_transport::{HandshakeConfig, Role, Secret};
use nyala_wire::ClusterId;
use nyala_wire::drive::{DriveHold, DriveLook, DriveOrder, DriveReply};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Longest wait for a connection: hosts of a set are near each other.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// The way to drives of other hosts, for one set. Clones are the same.
#[derive(Clone)]
pub struct Network {
    thread: Arc<NetThread>,
    handshake: HandshakeConfig,
    hold: DriveHold,
    /// That of the last drive that was taken.
    turn: Arc<AtomicU64>,
}

impl Network {
    /// A thread for the network. `secret` has a key for storage.
    pub fn new(secret: Secret, encrypt: bool) -> Result<Network, NetError> {
        let thread = Arc::new(NetThread::start()?);
        let mut holder = [0; 16];
        getrandom::fill(&mut holder).map_err(io::Error::other)?;
        let handshake = HandshakeConfig {
            encrypt,
            dead_after: GIVE_UP,
            connect_timeout: CONNECT_WITHIN,
            ..HandshakeConfig::new(secret, 0, Role::Storage, 0)
        };
        let hold = DriveHold { epoch: 0, holder: ClusterId(holder), turn: 0 };
        Ok(Network { thread, handshake, hold, turn: Arc::default() })
    }

    /// Makes drives of empty directories.
    pub fn make(&self, locations: &[DriveLocation]) -> Result<(), NetError> {
        locations.iter().try_for_each(|location| self.order(location, DriveOrder::Make))
    }

    /// Makes a drive of an empty directory for a set, if no other one has taken it, or of what this set began there before.
    pub fn take(&self, location: &DriveLocation, set: SetId) -> Result<(), NetError> {
        self.order(location, DriveOrder::Take { set: ClusterId(set.0.to_le_bytes()) })
    }

    /// Gives back what a set took and never finished.
    pub fn release(&self, location: &DriveLocation, set: SetId) -> Result<(), NetError> {
        self.order(location, DriveOrder::Release { set: ClusterId(set.0.to_le_bytes()) })
    }

    /// The drive goes with its set; without `finish` it is only written down that it does.
    pub fn delete(&self, location: &DriveLocation, set: SetId, finish: bool) -> Result<(), NetError> {
        self.order(location, DriveOrder::Delete { set: ClusterId(set.0.to_le_bytes()), finish })
    }

    /// Has a drive service do something without holding the drive.
    fn order(&self, location: &DriveLocation, order: DriveOrder) -> Result<(), NetError> {
        let (address, handshake) = (Address::of(location)?, self.handshake.clone());
        let done = self.thread.wait(async move {
            let connection = address.connect(&handshake).await?;
            match address.ask(&connection, order, Bytes::new()).await? {
                (DriveReply::Done, _) => Ok(()),
                _ => Err(AskError::Nonsense),
            }
        })?;
        done.map_err(|error| refused(location, &error))
    }

    /// Holds all drives that are there, as the newest holder; waits for those that do not answer, so long.
    pub fn open(
        &mut self,
        locations: &[DriveLocation],
        timeout: Duration,
    ) -> Result<Vec<Result<Drive, NetError>>, NetError> {
        let looks = self.look(locations, timeout)?;
        // Larger than that of any opening before, also of drives that are away now while all that are here are of this host: those have no epoch.
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let there = looks.iter().flatten().filter(|look| look.missing.is_none());
        let seen = there.map(|look| look.epoch).max().unwrap_or(0);
        self.hold.epoch = u64::try_from(now_ms).unwrap_or(0).max(seen.saturating_add(1));
        Ok(locations.iter().map(|location| self.attach(location)).collect())
    }

    /// How drives are, without holding them; none of a service that does not answer. Those that are not there are asked again, so long.
    pub fn look(&self, locations: &[DriveLocation], timeout: Duration) -> Result<Vec<Option<DriveLook>>, NetError> {
        let until = Instant::now() + timeout;
        let addresses = locations.iter().map(Address::of).collect::<Result<Vec<_>, _>>()?;
        let handshake = self.handshake.clone();
        let looks = self.thread.wait(async move {
            let look = |address: Address| tokio::spawn(address.look_until(handshake.clone(), until));
            let looks: Vec<_> = addresses.into_iter().map(look).collect();
            let mut found = Vec::new();
            for look in looks {
                // An error is a look that did not end.
                found.push(look.await.unwrap_or_default());
            }
            found
        })?;
        Ok(looks)
    }

    /// Holds a drive with the epoch of the set's opening. One of which another service has a larger one is refused.
    pub fn attach(&self, location: &DriveLocation) -> Result<Drive, NetError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) + 1;
        let (address, handshake, hold) =
            (Address::of(location)?, self.handshake.clone(), DriveHold { turn, ..self.hold });
        let theirs = address.clone();
        let attached = self.thread.wait(async move {
            let connection = theirs.connect(&handshake).await?;
            let look = theirs.look(&connection).await?;
            Ok::<_, AskError>((look, theirs.attach(connection, hold, None).await?))
        })?;
        let (look, attachment) = attached.map_err(|error| refused(location, &error))?;
        let shared = Shared {
            address,
            handshake: self.handshake.clone(),
            hold,
            instance: attachment.instance.clone(),
            attachment: parking_lot::Mutex::new(Some(attachment)),
            taken: false.into(),
            lost: false.into(),
            space: (look.total_bytes.into(), look.free_bytes.into()),
        };
        let drive =
            RemoteDrive { location: location.to_string(), shared: Arc::new(shared), thread: self.thread.clone() };
        Ok(Drive::with(Arc::new(drive)))
    }
}

fn refused(location: &DriveLocation, error: &AskError) -> NetError {
    NetError::Drive { location: location.clone(), why: error.to_string(), taken: error.is_taken() }
}
