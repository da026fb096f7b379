// SPDX-License-Identifier: Apache-2.0

//! The kernel mount: our own FUSE session and the adapter to the client.
//!
//! [`mount::Mount`] makes the mount, [`Handler`] says what it shows, [`Session`] serves it:
//!
//! ```no_run
//! # use nyala_fuse::{Handler, Session, SessionConfig, mount::{Mount, MountOptions}};
//! # use std::sync::Arc;
//! struct Nothing;
//! impl Handler for Nothing {}
//! let mount = Mount::new(&MountOptions::new("host:/", "/mnt/nyala"))?;
//! Session::new(mount.device(), Arc::new(Nothing), SessionConfig::default()).run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abi;
pub mod adapter;
mod buf;
mod dirbuf;
mod dispatch;
mod encode;
mod errno;
#[doc(hidden)]
pub mod fuzzing;
mod handler;
mod memory;
pub mod mount;
mod notifier;
mod request;
mod session;
mod transport;
pub mod types;

pub use buf::WriteData;
pub use dirbuf::DirBuffer;
pub use errno::Errno;
pub use handler::Handler;
pub use notifier::{InvalRange, Known, Notifier};
pub use session::{Refused, Session, SessionConfig, SessionError};
pub use transport::dev::Device;
pub use transport::{Transport, UnknownTransport};
pub use types::{Attr, Attributes, Context, Entry, Features, Fh, Ino, Negotiated, Timestamp};
