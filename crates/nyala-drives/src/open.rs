// SPDX-License-Identifier: Apache-2.0

//! Making a set, and opening one.

use crate::core::{Core, Counters, LOCKS};
use crate::drive::Drive;
use crate::error::SetError;
use crate::events::{failed, store};
use crate::missed::load_missed;
use crate::options::{apply_options, options_found};
use crate::run::Runners;
use crate::scrub::scrub_found;
use crate::state::State;
use nyala_raid::Recovered;
use nyala_raid::assemble::assemble;
use nyala_raid::event::ErrorLimit;
use nyala_raid::member::{DriveId, Member, MemberState, SetId};
use nyala_raid::members::Members;
use nyala_raid::superblock::Superblock;
use nyala_raid::walk::Scrub;
use nyala_raid::{Effect, Geometry, Reply, StripeError, Volume, key};
use nyala_store::Batch;
use parking_lot::{Mutex, RwLock};
use std::time::Instant;

/// Makes a set of empty drives. The ids are random and used once.
pub fn create(drives: &[Drive], geometry: Geometry, set: SetId, ids: &[DriveId]) -> Result<(), SetError> {
    if drives.len() != geometry.drives() || ids.len() != drives.len() {
        return Err(SetError::Drives { wanted: geometry.drives(), given: drives.len() });
    }
    let members: Vec<Member> = ids.iter().map(|drive| Member { drive: *drive, state: MemberState::Good }).collect();
    for (drive, id) in drives.iter().zip(ids) {
        let geometry = geometry.clone();
        let superblock = Superblock { set, generation: 1, geometry, members: members.clone(), drive: *id };
        let mut batch = Batch::new();
        batch.put(key::SUPERBLOCK, superblock.encode());
        if !matches!(drive.run(Effect::Apply { member: 0, batch, sync: true }), Reply::Done) {
            return Err(StripeError::Failed { members: vec![0] }.into());
        }
    }
    Ok(())
}

/// Opens a set from the drives that are there, in any order. `force` starts it though drives are missing that could be newer. `threads` gives
/// each drive a thread of its own; otherwise the caller's does everything.
pub(crate) fn open(drives: Vec<Drive>, force: bool, limit: ErrorLimit, threads: bool) -> Result<Core, SetError> {
    let mut known = Vec::new();
    for drive in drives {
        match drive.superblock()? {
            Some(superblock) => known.push((superblock, drive)),
            None => tracing::warn!(drive = drive.location(), "has no superblock and is left out"),
        }
    }
    let found: Vec<Superblock> = known.iter().map(|(superblock, _)| superblock.clone()).collect();
    let assembled = assemble(&found, force)?;
    let volume = Volume::new(assembled.superblock.geometry.clone())?;
    let runners = Runners::new(volume.geometry().drives(), threads);
    for (superblock, drive) in known {
        let member = assembled.superblock.members.iter().position(|member| member.drive == superblock.drive);
        let location = drive.location().to_owned();
        if let Some(member) = member {
            let started = runners.set(member, drive);
            started.map_err(|error| SetError::Directory { location, error })?;
        }
    }
    let state = State::new(Members::new(assembled.superblock, limit), 0, Scrub::default());
    let mut set = Core {
        volume,
        runners,
        state: Mutex::new(state),
        gate: RwLock::new(()),
        locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
        checkpoints: Mutex::new(()),
        counters: Counters::default(),
        began: Instant::now(),
        recovered: Recovered::default(),
    };
    start(&mut set, assembled.changed, &assembled.outdated)?;
    Ok(set)
}

fn start(set: &mut Core, changed: bool, outdated: &[usize]) -> Result<(), SetError> {
    if changed {
        store(set, &[])?;
    }
    loop {
        let uses = set.state.lock().whole_uses();
        let outdated = outdated.iter().copied();
        let outdated = outdated.filter(|member| set.state.lock().members.state(*member) != MemberState::Missing);
        match set.finish(set.volume.recover(outdated.collect(), |member| uses[member])) {
            Ok(recovered) => {
                set.recovered = recovered;
                break;
            }
            Err(StripeError::Failed { members }) => failed(set, &members, None)?,
            Err(error) => return Err(error.into()),
        }
    }
    let scrub = scrub_found(set);
    let members = set.state.lock().members.clone();
    *set.state.lock() = State::new(members, set.recovered.number, scrub);
    apply_options(set, options_found(set));
    for member in 0..set.volume.geometry().drives() {
        load_missed(set, member)?;
    }
    Ok(())
}
