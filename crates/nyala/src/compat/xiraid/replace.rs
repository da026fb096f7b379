// SPDX-License-Identifier: Apache-2.0

//! `xicli raid replace`: as `nyala raid replace --yes`. The command runs on the storage host, since a block device is one of this host.

use super::device::drive_of;
use super::named;
use super::options::Options;
use crate::compat::notice::notice;
use crate::exit::{Exit, Failure, Outcome};
use crate::role::block_on;
use nyala_wire::raid::RaidOrder;

/// Gives a member another drive.
pub fn run(line: &Options) -> Outcome {
    line.only(&["name", "number", "drives"])?;
    let (name, device) = (line.need("name")?, line.need("drives")?);
    let number =
        line.number("number")?.ok_or_else(|| Failure::usage("Missing argument: --number <number of the drive>"))?;
    let member = u16::try_from(number).map_err(|_| Failure::usage(format!("Invalid value of --number: {number}")))?;
    if device == "null" {
        return Err(Failure::usage(
            "A drive leaves its set when it is unmounted, or fails; one that is there is replaced by naming the new one: -d DEVICE",
        ));
    }
    let drive = drive_of(device)?;
    let order = RaidOrder::Replace { member, drive: drive.clone() };
    block_on(async { named::order(name, order).await })?;
    notice(&format!(
        "it is rebuilt by itself; in the settings of the storage service, {drive} takes the place of the drive before"
    ));
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::read;
    use super::*;

    #[test]
    fn what_is_missing_is_said_before_anything_is_asked() {
        for (line, word) in [
            ("-n era1 -no 0", "--drives"),
            ("-n era1 -d /tmp", "--number"),
            ("-no 1 -d /tmp", "--name"),
            ("-n era1 -no 70000 -d /tmp", "--number: 70000"),
            ("-n era1 -no 0 -d null", "unmounted"),
            ("-n era1 -no 0 -d /dev/null", "block device"),
        ] {
            assert!(run(&read(line)).unwrap_err().message.contains(word), "{line}");
        }
    }
}
