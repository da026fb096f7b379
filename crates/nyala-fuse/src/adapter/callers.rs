// SPDX-License-Identifier: Apache-2.0

//! Groups and capabilities of the process behind a request. The kernel sends only its user and one group; what decides
//! about setgid without the group's right to execute are all of them.
//!
//! **Failure model.** The process waits for the answer, so that it is there; but it may be in a process namespace of its own,
//! or be a thread of the kernel. Who cannot be looked at counts as a stranger: the bit goes.

use crate::types::Context;

/// `CAP_FSETID`: the right to keep, and to set, setuid and setgid.
const FSETID: u64 = 1 << 4;

/// What `/proc/…/status` says of a process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) groups: Vec<u32>,
    pub(crate) capabilities: u64,
}

pub(crate) fn parse(status: &str) -> Credentials {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    Credentials {
        groups: field("Groups:").split_whitespace().filter_map(|group| group.parse().ok()).collect(),
        capabilities: u64::from_str_radix(field("CapEff:"), 16).unwrap_or(0),
    }
}

/// Whether the caller is neither in the group nor entitled to setgid bits of others' groups.
pub fn is_outside(ctx: &Context, group: u32) -> bool {
    if ctx.gid == group {
        return false;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", ctx.pid)).unwrap_or_default();
    let Credentials { groups, capabilities } = parse(&status);
    !groups.contains(&group) && capabilities & FSETID == 0
}

/// The groups of a process besides the one that the kernel sends; none if it cannot be looked at.
pub fn groups(pid: u32) -> Vec<u32> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default()).groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_capabilities_of_a_process() {
        let status = "Name:\tsh\nGid:\t7\t7\t7\t7\nGroups:\t4 65534 \nCapPrm:\t0\nCapEff:\t0000000000000010\n";
        assert_eq!(parse(status), Credentials { groups: vec![4, 65534], capabilities: FSETID });
        assert_eq!(parse("Groups:\t \n"), Credentials::default());
        assert_eq!(parse(""), Credentials::default());
    }

    #[test]
    fn who_cannot_be_looked_at_is_a_stranger() {
        let ctx = Context { unique: 1, uid: 5, gid: 5, pid: 0 };
        assert!(is_outside(&ctx, 6) && !is_outside(&ctx, 5));
    }
}
