// SPDX-License-Identifier: Apache-2.0

//! Opening the set of a target. Failure model: see the parent module.

use super::make::place;
use crate::config::SetSpec;
use crate::error::StorageError;
use nyala_drives::{Drive, DriveSet, SetError};
use nyala_raid::event::ErrorLimit;
use nyala_raid::geometry::Geometry;
use nyala_store::StoreError;
use std::path::PathBuf;
use std::sync::Arc;

/// A set, and which of the directories have its drives.
pub struct OpenSet {
    /// The set.
    pub set: Arc<DriveSet>,
    /// Directories of drives that are there.
    pub there: Vec<PathBuf>,
    /// Spares that no drive of the set is in.
    pub spares: Vec<PathBuf>,
}

/// Opens it with what is there.
pub fn open(spec: &SetSpec) -> Result<OpenSet, StorageError> {
    let path = place(spec);
    let failed = |error| StorageError::Set { path: path.clone(), error: Box::new(error) };
    let (mut drives, mut there) = (Vec::new(), Vec::new());
    for dir in spec.drives.iter().chain(&spec.spares) {
        match Drive::open(dir, false) {
            Ok(drive) if drive.superblock().map_err(failed)?.is_some() => {
                drives.push(drive);
                there.push(dir.clone());
            }
            Ok(_) => tracing::error!(dir = %dir.display(), "a drive has no superblock and is left out"),
            // Somebody else is at work on it.
            Err(error @ SetError::Table { error: StoreError::Locked { .. }, .. }) => return Err(failed(error)),
            Err(error) if spec.drives.contains(dir) => {
                tracing::error!(dir = %dir.display(), %error, "a drive is missing: is it mounted?");
            }
            Err(_) => {}
        }
    }
    let set = DriveSet::open(drives, false, ErrorLimit::default(), true).map_err(failed)?;
    check(spec, set.geometry())?;
    // Never a directory where a drive should be: that may be not mounted.
    let spares = spec.spares.iter().filter(|spare| !there.contains(spare)).cloned().collect();
    Ok(OpenSet { set: Arc::new(set), there, spares })
}

/// The settings say nothing else than the set has.
fn check(spec: &SetSpec, geometry: &Geometry) -> Result<(), StorageError> {
    let other = |said: String, has: String| Err(StorageError::OtherSet { path: place(spec), said, has });
    if let Some(level) = spec.level.filter(|level| *level != geometry.level()) {
        return other(format!("level {level}"), format!("level {}", geometry.level()));
    }
    match spec.strip_bytes.filter(|strip| *strip != geometry.strip_bytes()) {
        Some(strip) => other(format!("strips of {strip} bytes"), format!("strips of {} bytes", geometry.strip_bytes())),
        None => Ok(()),
    }
}
