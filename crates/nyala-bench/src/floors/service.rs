// SPDX-License-Identifier: Apache-2.0

//! The storage side: receives blocks, checks and writes them, or reads, checks and sends them; on one thread with blocking calls, no queue,
//! no log and no lock.
//!
//! **Failure model.** Bad data, a request for what is not there, or a disk that fails ends the connection with an error. The end of the
//! stream between two requests is the end of the phase; what was written is synced then.

use super::error::FloorError;
use super::files::Store;
use super::inbox::Inbox;
use super::layout::Assignment;
use super::message::{HEAD_BYTES, Location};
use super::send::send;
use crate::measure::cpu::thread_us;
use nyala_transport::buffers::Buffers;
use std::net::TcpStream;

/// Serves a connection until its other end closes; CPU time of this thread, microseconds.
pub fn serve(mut stream: TcpStream, store: &mut Store, share: &Assignment) -> Result<u64, FloorError> {
    let before = thread_us();
    if share.step.is_write() {
        take_writes(&mut stream, store, share)?;
        store.sync()?;
    } else {
        answer_reads(&mut stream, store, share)?;
    }
    Ok(thread_us() - before)
}

fn take_writes(stream: &mut TcpStream, store: &mut Store, share: &Assignment) -> Result<(), FloorError> {
    let mut inbox = Inbox::new(share.full_head(), share.bytes(), share.batch());
    let mut answers = Vec::with_capacity(share.batch() * HEAD_BYTES);
    loop {
        let requests = inbox.receive(stream).map_err(FloorError::io("cannot receive a request"))?;
        if requests.is_empty() {
            return Ok(());
        }
        answers.clear();
        for request in requests {
            let head = inbox.head(request);
            store.write(Location::decode(head), &head[HEAD_BYTES..], inbox.data(request))?;
            answers.extend_from_slice(&head[..HEAD_BYTES]);
        }
        send(stream, &[&answers]).map_err(FloorError::io("cannot answer a write"))?;
    }
}

fn answer_reads(stream: &mut TcpStream, store: &mut Store, share: &Assignment) -> Result<(), FloorError> {
    let (full, bytes) = (share.full_head(), share.bytes());
    let mut inbox = Inbox::new(HEAD_BYTES, 0, share.batch());
    let mut heads = vec![0; full * share.batch()];
    let mut data = Buffers::new(0).take(bytes * share.batch());
    loop {
        let requests = inbox.receive(stream).map_err(FloorError::io("cannot receive a request"))?;
        if requests.is_empty() {
            return Ok(());
        }
        let count = requests.len();
        for (n, request) in requests.enumerate() {
            let (head, crcs) = heads[n * full..][..full].split_at_mut(HEAD_BYTES);
            let at = Location::decode(inbox.head(request));
            store.read(at, crcs, &mut data[n * bytes..][..bytes])?;
            at.encode(head);
        }
        let answers = heads.chunks_exact(full).zip(data.chunks_exact(bytes)).take(count);
        let answers: Vec<&[u8]> = answers.flat_map(|(head, data)| [head, data]).collect();
        send(stream, &answers).map_err(FloorError::io("cannot answer a read"))?;
    }
}
