// SPDX-License-Identifier: Apache-2.0

//! The two halves of a connection after the handshake: plain, or in encrypted records.
//!
//! A record is a little-endian u16 length and so many bytes (plain bytes sealed, and 16 bytes of tag). Records cut the byte stream anywhere.
//!
//! **Failure model.** Encrypted: a record that was changed, left out, repeated or moved does not decrypt and ends the
//! connection. Plain: whoever sits on the wire can read and change everything but frame headers and bodies by accident;
//! plain is for networks that are trusted.

use crate::file_part::FilePart;
use crate::handshake::Established;
use crate::record_key::{RecordKey, TAG_BYTES};
use bytes::{Buf, BytesMut};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{ErrorKind, IoSlice, Result};
use std::os::fd::AsFd;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::TcpStream;

const MAX_RECORD: usize = u16::MAX as usize;
const MAX_PLAIN: usize = MAX_RECORD - TAG_BYTES;

/// Where bytes come from.
pub(crate) struct ReadSide {
    socket: Arc<TcpStream>,
    sealed: Option<Opener>,
}

struct Opener {
    key: RecordKey,
    /// A record, opened in its place.
    record: Vec<u8>,
    shown: std::ops::Range<usize>,
}

/// Where bytes go.
pub(crate) struct WriteSide {
    socket: Arc<TcpStream>,
    sealed: Option<Sealer>,
}

struct Sealer {
    key: RecordKey,
    waiting: BytesMut,
}

/// The connection of two halves, out of their hands, for bytes that are neither frames nor records.
pub(crate) fn unite(read: ReadSide, write: WriteSide) -> Option<TcpStream> {
    let left_over = read.sealed.as_ref().is_some_and(|opener| !opener.shown.is_empty());
    drop(read);
    Arc::into_inner(write.socket).filter(|_| !left_over)
}

/// Splits an established connection.
pub(crate) fn split(established: Established) -> (ReadSide, WriteSide) {
    let socket = Arc::new(established.stream);
    let (sealing, opening) = established.records.unzip();
    let opener = opening.map(|key| Opener { key, record: Vec::new(), shown: 0..0 });
    let sealer = sealing.map(|key| Sealer { key, waiting: BytesMut::new() });
    (ReadSide { socket: socket.clone(), sealed: opener }, WriteSide { socket, sealed: sealer })
}

impl ReadSide {
    /// The connection, to look at.
    pub(crate) fn socket(&self) -> Arc<TcpStream> {
        self.socket.clone()
    }

    /// Fills the front of `out` with what is there; 0 bytes: the peer hung up.
    pub(crate) async fn read_into(&mut self, out: &mut [u8]) -> Result<usize> {
        let Some(opener) = &mut self.sealed else { return read_some(&self.socket, out).await };
        opener.fill(&self.socket).await?;
        let len = opener.shown.len().min(out.len());
        out[..len].copy_from_slice(&opener.record[opener.shown.start..opener.shown.start + len]);
        opener.shown.start += len;
        Ok(len)
    }
}

/// Waits for something to read.
pub(crate) async fn read_some(socket: &TcpStream, out: &mut [u8]) -> Result<usize> {
    loop {
        match socket.try_read(out) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => socket.readable().await?,
            other => return other,
        }
    }
}

async fn read_all(socket: &TcpStream, mut out: &mut [u8]) -> Result<()> {
    while !out.is_empty() {
        match read_some(socket, out).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => out = &mut out[read..],
        }
    }
    Ok(())
}

impl Opener {
    /// Has plain bytes to show, or the peer hung up between two records.
    async fn fill(&mut self, socket: &TcpStream) -> Result<()> {
        while self.shown.is_empty() {
            let mut length = [0; 2];
            if read_some(socket, &mut length[..1]).await? == 0 {
                return Ok(());
            }
            read_all(socket, &mut length[1..]).await?;
            self.record.resize(usize::from(u16::from_le_bytes(length)), 0);
            read_all(socket, &mut self.record).await?;
            self.shown = 0..self.key.open(&mut self.record)?;
        }
        Ok(())
    }
}

impl WriteSide {
    /// Waits until the socket takes something.
    pub(crate) async fn writable(&self) -> Result<()> {
        self.socket.writable().await
    }

    /// Are bytes changed on their way to the socket?
    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed.is_some()
    }

    /// Writes some of the pieces; says how many of their bytes are taken care of, [`ErrorKind::WouldBlock`] if nothing can be
    /// taken now. `more`: other bytes follow at once, so that what is here need not be sent on its own.
    pub(crate) fn try_write(&mut self, pieces: &[IoSlice<'_>], more: bool) -> Result<usize> {
        let Some(sealer) = &mut self.sealed else {
            return match more {
                false => self.socket.try_write_vectored(pieces),
                true => self.try_write_more(pieces),
            };
        };
        while !sealer.waiting.is_empty() {
            let written = self.socket.try_write(&sealer.waiting)?;
            sealer.written(written)?;
        }
        sealer.seal(pieces)
    }

    fn try_write_more(&self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
        let send = || Ok(sendmsg(&*self.socket, pieces, &mut SendAncillaryBuffer::default(), flags)?);
        self.socket.try_io(Interest::WRITABLE, send)
    }

    /// Sends what the socket takes of a file; `Ok(0)`: the file has to be read instead. Not for a sealed side.
    pub(crate) fn try_send(&self, file: &FilePart) -> Result<usize> {
        self.socket.try_io(Interest::WRITABLE, || file.send(self.socket.as_fd()))
    }

    /// Is everything taken in the socket?
    pub(crate) fn is_clean(&self) -> bool {
        self.sealed.as_ref().is_none_or(|sealer| sealer.waiting.is_empty())
    }

    /// Has everything taken in the socket, or [`ErrorKind::WouldBlock`].
    pub(crate) fn try_finish(&mut self) -> Result<()> {
        if self.sealed.is_some() {
            self.try_write(&[], false)?;
        }
        Ok(())
    }
}

impl Sealer {
    fn written(&mut self, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        self.waiting.advance(bytes);
        Ok(())
    }

    /// Encrypts one record's worth of each piece.
    fn seal(&mut self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        let mut taken = 0;
        for piece in pieces {
            for plain in piece.chunks(MAX_PLAIN) {
                self.waiting.extend_from_slice(&((plain.len() + TAG_BYTES) as u16).to_le_bytes());
                let start = self.waiting.len();
                self.waiting.extend_from_slice(plain);
                self.waiting.extend_from_slice(&[0; TAG_BYTES]);
                self.key.seal(&mut self.waiting[start..])?;
                taken += plain.len();
            }
        }
        Ok(taken)
    }
}
