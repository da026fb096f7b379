// SPDX-License-Identifier: Apache-2.0

//! What a class of findings is.

use crate::finding::{Rests, Weight};
use crate::mirrors::Mirrors;
use crate::object::Object;
use crate::report::Report;
use crate::servers::Servers;

/// A class of findings.
pub trait Class: Sync {
    /// Its id, for people and programs.
    fn id(&self) -> &'static str;

    /// What is wrong where it finds something.
    fn meaning(&self) -> &'static str;

    /// What a repair does; of a class without one: why, and what an administrator does.
    fn repair(&self) -> &'static str;

    /// How bad it is.
    fn weight(&self) -> Weight {
        Weight::Damage
    }

    /// What a second look has to find unchanged.
    fn rests_on(&self) -> Rests {
        Rests::Rows
    }

    /// Whether one look is enough.
    fn is_sure(&self) -> bool {
        false
    }

    /// Looks at an inode.
    fn look(&self, _object: &Object, _report: &mut Report) {}

    /// Looks at what members of mirror groups hold that their primaries do not.
    fn look_at_mirrors(&self, _mirrors: &Mirrors, _report: &mut Report) {}

    /// Looks at what servers say beside inodes.
    fn look_at_servers(&self, _servers: &Servers, _report: &mut Report) {}
}
