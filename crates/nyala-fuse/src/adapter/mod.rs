// SPDX-License-Identifier: Apache-2.0

//! What a Nyala mount shows: the kernel's requests become calls of the client, its errors become errnos, once, here.
//!
//! Inode numbers are the cluster's own, so little has to be remembered for the kernel's references (of directories that
//! others moved: [`moved`]). The kernel keeps
//! names, attributes, pages and listings as far as the client has delegations on them, and is made to forget when they are
//! revoked ([`cache`]). Permissions, ACLs included, are checked by the kernel (`default_permissions`, `POSIX_ACL`),
//! and where the client's key has a rule about users also by servers, which are told who asks.
//!
//! Failure model: the cluster may be slow, restarting or gone; the client waits and tries again, and what comes here as
//! an error is final for the request. Nothing here is durable. What can be late between withdrawals and replies is said
//! in [`cache`], between closes and locks in [`lock_owners`] and [`lock_holders`].

mod access_times;
mod again;
mod atime;
mod attr_requests;
mod attrs;
mod by_number;
pub mod cache;
pub(crate) mod callers;
mod convert;
mod dirs;
pub mod entry;
mod files;
mod fs;
mod handles;
mod lock_holders;
mod lock_owners;
mod locks;
pub mod moved;
mod names;
pub mod open_dirs;
pub mod page_cache;
pub(crate) mod processes;
pub mod statistics;
pub mod traces;
mod xattrs;

pub use fs::{FsOptions, NyalaFs};

use crate::{Session, SessionError};
use std::pin::Pin;

/// Serves until the mount is gone, as [`Session::serve`] does. Neither generic nor `async`: so the code of all requests is
/// made once, in this crate, and not in each that awaits it.
pub fn serve(session: Session<NyalaFs>) -> Pin<Box<dyn Future<Output = Result<(), SessionError>>>> {
    Box::pin(session.serve())
}
