// SPDX-License-Identifier: Apache-2.0

//! Whether a user may do something, for clients whose word on that is not taken: those of keys with a rule about ids. Pure.
//!
//! Clients of other keys are trusted with it, as their kernels check permissions; nothing here runs for them.
//!
//! **Failure model.** A client may name any user of its host, or none, and any inode number. Its key's rule makes of every user that it names one
//! that the key may act as ([`nyala_wire::key_rules`]); where it names none (what was buffered is written in the background), it may do
//! what somebody may do whom the key may act as. So nothing that it says gets it further than the users that its key is for. What it
//! names by number alone is checked for itself, and not for the directories above, as with file handles of NFS. Owners may write and
//! read what they have whatever its permission bits say: a program that opened a file and then took its rights away goes on writing.

mod attributes;
mod check;
mod names;
mod parts;
mod permission;

pub use check::{check, may_put, may_see_content};
pub use names::owned_elsewhere;
pub use parts::check as check_part;
pub use permission::storage_rights;
