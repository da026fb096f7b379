// SPDX-License-Identifier: Apache-2.0

//! INIT, and what has to be ready before it is answered.
//!
//! **Failure model.** A ring can turn out impossible: before the answer (the kernel or a sandbox forbids io_uring, no
//! memory) or after it (registering fails). Unless io_uring was demanded, the mount is served over the device
//! then, with a warning. Between answer and registration the kernel holds all requests back; a session that dies there
//! closes the device, which fails them.

use super::negotiate::{Answer, negotiate};
use super::rings::Rings;
use super::{Session, SessionError, io};
use crate::abi::init::OVER_IO_URING;
use crate::abi::opcode::Opcode;
use crate::handler::Handler;
use crate::transport::dev::DevFuse;
use crate::transport::{Channel, Choice, Request, choose};
use crate::types::Negotiated;
use std::io::IoSlice;
use zerocopy::IntoBytes;

impl<H: Handler> Session<H> {
    /// Answers INIT; none when the mount was gone before.
    pub(super) async fn handshake(
        &self,
        channel: &DevFuse,
    ) -> Result<Option<(Negotiated, Option<Rings<H>>)>, SessionError> {
        let features = self.handler.features();
        loop {
            let Some(request) = channel.next().await.map_err(io("reading INIT from /dev/fuse"))? else {
                return Ok(None);
            };
            if request.header.opcode != Opcode::Init as u32 {
                return Err(SessionError::NoInit(request.header.opcode));
            }
            match negotiate(request.args(), &self.config, &features) {
                Answer::Agreed(mut out, mut negotiated) => {
                    let rings = self.rings(request.args(), negotiated.max_write_bytes).await?;
                    if rings.is_some() {
                        out.flags2 |= (OVER_IO_URING >> 32) as u32;
                        negotiated.flags |= OVER_IO_URING;
                    }
                    answer(channel, &request, 0, out.as_bytes())?;
                    return Ok(Some((negotiated, rings)));
                }
                Answer::Again(out) => answer(channel, &request, 0, out.as_bytes())?,
                Answer::Refused(refused) => {
                    answer(channel, &request, -libc::EPROTO, &[])?;
                    return Err(refused.into());
                }
            }
        }
    }

    /// Prepares the rings, if there are to be any.
    async fn rings(&self, init_args: &[u8], max_write_bytes: u32) -> Result<Option<Rings<H>>, SessionError> {
        match choose(self.config.transport, self.config.threads, init_args, max_write_bytes) {
            Choice::Dev => Ok(None),
            Choice::Impossible(why) => Err(SessionError::NoUring(why)),
            choice => match Rings::prepare(&self.device, &self.config, max_write_bytes).await {
                Ok(rings) => Ok(Some(rings)),
                Err(source) if choice == Choice::Uring => Err(io("preparing FUSE over io_uring")(source)),
                Err(error) => {
                    tracing::warn!(%error, "no io_uring for this mount; it is served over /dev/fuse");
                    Ok(None)
                }
            },
        }
    }
}

fn answer(channel: &DevFuse, request: &Request, error: i32, body: &[u8]) -> Result<(), SessionError> {
    channel.reply(request.ticket(), error, &[IoSlice::new(body)]).map_err(io("answering INIT"))
}
