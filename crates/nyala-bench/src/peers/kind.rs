// SPDX-License-Identifier: Apache-2.0

//! Which file systems are compared, and what each needs.

use super::processes::installed;
use serde::Serialize;

/// A file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// This one.
    Nyala,
    /// GlusterFS.
    GlusterFs,
    /// MooseFS.
    MooseFs,
    /// A directory of the file system that the others work on: no servers, one machine, no second copy.
    Local,
}

impl Kind {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nyala => "Nyala",
            Kind::GlusterFs => "GlusterFS",
            Kind::MooseFs => "MooseFS",
            Kind::Local => "local",
        }
    }

    /// Programs that it needs, and the packages that have them.
    fn needs(self) -> (&'static [&'static str], &'static str) {
        match self {
            Kind::Nyala | Kind::Local => (&[], ""),
            Kind::GlusterFs => (&["glusterd", "gluster", "glusterfs"], "glusterfs-server"),
            Kind::MooseFs => (
                &["mfsmaster", "mfschunkserver", "mfsmount", "mfssetgoal"],
                "moosefs-master, moosefs-chunkserver and moosefs-client",
            ),
        }
    }

    /// Why it cannot be started here.
    pub fn missing(self) -> Option<String> {
        let (programs, packages) = self.needs();
        let missing = programs.iter().find(|program| installed(program).is_none())?;
        Some(format!("{} is not here: there is no {missing}; it is in {packages}", self.name()))
    }
}
