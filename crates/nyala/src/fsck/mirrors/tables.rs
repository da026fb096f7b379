// SPDX-License-Identifier: Apache-2.0

//! Tables of the members of a metadata mirror group: their primary has them sum up ranges of keys, all as of one record of their log.
//! Failure model: see the parent module. A member that did not say, since it was slow or the primary changed, is asked again a few times.

use super::pairs::Pairs;
use crate::exit::Failure;
use crate::fsck::ask::Ask;
use crate::fsck::progress::Progress;
use crate::fsck::report::Unchecked;
use nyala_fsck::mirrors::TablesDiffer;
use nyala_wire::TargetId;
use nyala_wire::check::{MAX_SCAN_ROWS, MemberCompared, ScanRequest};
use std::collections::BTreeMap;
use std::time::Duration;

/// Rows of a range; the server ends it earlier where they are large.
const ROWS: u32 = 1024;
/// A member that did not say is asked so often.
const TRIES: u32 = 8;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);
/// Keys that are told of a member.
const KEYS: usize = 8;

/// What was compared: what each member holds, and the key behind the range.
type Compared = (Vec<MemberCompared>, Option<Vec<u8>>);

/// Compares all rows of a server's members.
pub async fn compare(
    ask: &Ask,
    server: TargetId,
    pairs: &Pairs,
    progress: &mut Progress,
    differ: &mut Vec<TablesDiffer>,
    unchecked: &mut Vec<Unchecked>,
) {
    let mut found: BTreeMap<TargetId, TablesDiffer> = BTreeMap::new();
    if let Err((target, failure)) = walk(ask, server, pairs, progress, &mut found).await {
        let error = format!("compared with its mirror: {}", failure.message);
        unchecked.push(Unchecked { target, error });
    }
    differ.extend(found.into_values());
}

async fn walk(
    ask: &Ask,
    server: TargetId,
    pairs: &Pairs,
    progress: &mut Progress,
    found: &mut BTreeMap<TargetId, TablesDiffer>,
) -> Result<(), (TargetId, Failure)> {
    let mut from = Vec::new();
    loop {
        let (members, next) = range(ask, server, &from, ROWS).await?;
        progress.compared(u64::from(ROWS), 0);
        for member in members.iter().filter(|member| member.equal == Some(false)) {
            let differs = found.entry(member.target).or_insert_with(|| TablesDiffer {
                group: pairs.group,
                primary: pairs.primary,
                member: member.target,
                ranges: 0,
                keys: Vec::new(),
            });
            differs.ranges += 1;
            if differs.keys.len() < KEYS {
                let keys = keys(ask, server, member.target, &from, next.as_deref()).await?;
                differs.keys.extend(keys.into_iter().take(KEYS));
                differs.keys.truncate(KEYS);
            }
        }
        match next {
            Some(next) if next > from => from = next,
            _ => return Ok(()),
        }
    }
}

/// Rows of a range at which a member differs, the first ones.
async fn keys(
    ask: &Ask,
    server: TargetId,
    member: TargetId,
    from: &[u8],
    to: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>, (TargetId, Failure)> {
    let (mut keys, mut at) = (Vec::new(), from.to_vec());
    // A row at a time, so that this may be long: a range has at most so many, and grows while it is looked at.
    for _ in 0..MAX_SCAN_ROWS {
        let (members, next) = range(ask, server, &at, 1).await?;
        if members.iter().any(|found| found.target == member && found.equal == Some(false)) {
            keys.push(at.clone());
        }
        match next {
            Some(next) if keys.len() < KEYS && next > at && to.is_none_or(|to| *next < *to) => at = next,
            _ => break,
        }
    }
    Ok(keys)
}

/// Compares a range; again while somebody did not say.
async fn range(ask: &Ask, server: TargetId, from: &[u8], most: u32) -> Result<Compared, (TargetId, Failure)> {
    let mut tries = 0;
    loop {
        let request =
            ScanRequest { inodes: false, from: from.to_vec().into(), most, of: Vec::new(), compare: Some(true) };
        let reply = ask.scan(server, &request).await.map_err(|failure| (server, failure))?;
        let Some(members) = reply.compared else {
            return Err((server, Failure::failed("an older program, which cannot compare")));
        };
        let silent = members.iter().find(|member| member.equal.is_none()).map(|member| member.target);
        tries += 1;
        match silent {
            None => return Ok((members, reply.next.map(Into::into))),
            Some(target) if tries >= TRIES => return Err((target, Failure::failed("it does not say what it holds"))),
            Some(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
