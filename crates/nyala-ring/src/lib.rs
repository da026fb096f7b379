// SPDX-License-Identifier: Apache-2.0

//! An io_uring for one thread, as futures.
//!
//! A [`Ring`] takes [`Command`]s (`IORING_OP_URING_CMD`, what FUSE is spoken in) and gives back what became of each, in
//! any order, by its tag. It lives on the thread that made it, in one of two ways:
//!
//! - [`Ring::attached`]: inside a tokio runtime, which waits for the ring as it waits for a socket. Commands, connections
//!   and timers share the thread.
//! - [`Ring::own_thread`] with [`Ring::block_on`]: the thread waits in `io_uring_enter` and nowhere else, so that a
//!   command costs one system call, which hands in the last one's successor as well. Futures that wait for something of
//!   another thread (a channel, a timer of a runtime elsewhere) wake it through its [`RingWaker`].
//!
//! Commands are handed in together, when the thread has nothing else to do.
//!
//! **Failure model.** The kernel can lack io_uring, forbid it (`kernel.io_uring_disabled`, seccomp) or refuse the memory:
//! making a ring is then an error, and the caller has another way. A signal interrupts a wait: it is begun again.
//! Completions beyond the room in the ring are kept by the kernel and fetched later. A command's own failure is
//! its result (a negative errno), never an error of the ring. A ring used on another thread than its own is refused by
//! the kernel (`EEXIST`).

mod command;
mod read;
mod ring;
mod sleep;
mod sync;
mod wait;
mod waker;

pub use command::Command;
pub use ring::{Event, Ring};
pub use waker::RingWaker;
