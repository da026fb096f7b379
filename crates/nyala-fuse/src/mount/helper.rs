// SPDX-License-Identifier: Apache-2.0

//! Mounting and unmounting through `fusermount3`, for users other than root.
//!
//! **Failure model.** The helper may be missing, refuse (it says why on its standard error), or die without sending the
//! device: each is an error with its words. The device comes as a descriptor over a socket pair; a helper that sends
//! none is one that failed.

use super::error::{MountError, UnmountError};
use super::options::MountOptions;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const HELPER: &str = "fusermount3";

/// Mounts; the result is the mount's device.
pub(super) fn mount(options: &MountOptions, mountpoint: &Path) -> Result<OwnedFd, MountError> {
    let failed = |reason: String| MountError::Helper { path: mountpoint.to_path_buf(), reason };
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(|error| failed(error.to_string()))?;
    let child = {
        // Only the helper's end may live through exec, and only in the helper: a fork elsewhere in this process must
        // not inherit it, so the copy without close-on-exec is made in the child by `dup`, through its standard input.
        let mut command = Command::new(HELPER);
        command.arg("-o").arg(options.helper_options()).arg("--").arg(mountpoint).env("_FUSE_COMMFD", "0");
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => MountError::NoHelper,
            _ => failed(error.to_string()),
        })?
    };
    // The command, and with it our copy of their end, is gone here: a helper that dies ends the connection.
    let device = receive(&ours);
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    match device {
        Ok(Some(device)) if output.status.success() => Ok(device),
        Ok(_) => Err(failed(output_text(&output))),
        Err(error) => Err(failed(format!("{error} ({})", output_text(&output)))),
    }
}

/// Receives one descriptor; none when the other end closed without sending one.
fn receive(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8; 1];
    loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(_) => break,
        }
    }
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    if let Some(descriptor) = &descriptor {
        tracing::debug!(fd = descriptor.as_raw_fd(), "got the device from fusermount3");
    }
    Ok(descriptor)
}

/// Unmounts.
pub(super) fn unmount(mountpoint: &Path, lazy: bool) -> Result<(), UnmountError> {
    let flag = if lazy { "-uz" } else { "-u" };
    let output = Command::new(HELPER).arg(flag).arg("--").arg(mountpoint).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let reason = output_text(&output);
            let path = mountpoint.to_path_buf();
            Err(if reason.contains("busy") { UnmountError::Busy(path) } else { UnmountError::Failed { path, reason } })
        }
        Err(error) => {
            Err(UnmountError::Failed { path: mountpoint.to_path_buf(), reason: format!("{HELPER}: {error}") })
        }
    }
}

/// What the helper said.
fn output_text(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    if said.is_empty() { format!("{HELPER} ended with {}", output.status) } else { said.to_owned() }
}
