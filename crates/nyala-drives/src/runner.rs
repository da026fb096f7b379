// SPDX-License-Identifier: Apache-2.0

//! A drive and what does its effects, one after the other.

use crate::drive::Drive;
use nyala_raid::{Effect, Reply};
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// An effect that somebody waits for.
pub(crate) struct Job {
    pub effect: Effect,
    /// Its place among those that are wanted together.
    pub at: usize,
    pub replies: Sender<(usize, Reply, Duration)>,
}

pub(crate) enum Runner {
    Inline(Drive),
    /// A thread that ends when this goes.
    Thread(Sender<Job>),
}

impl Runner {
    /// A thread for a member's drive.
    pub fn thread(member: usize, drive: Drive) -> io::Result<Runner> {
        let (sender, receiver) = mpsc::channel();
        std::thread::Builder::new().name(format!("drive-{member}")).spawn(move || work(&drive, receiver))?;
        Ok(Runner::Thread(sender))
    }
}

fn work(drive: &Drive, jobs: Receiver<Job>) {
    for Job { effect, at, replies } in jobs {
        let began = Instant::now();
        let reply = drive.run(effect);
        // Nobody waits for what is late.
        let _ = replies.send((at, reply, began.elapsed()));
    }
}
