// SPDX-License-Identifier: Apache-2.0

//! `nyala scrub status`: how far the services' own scrubs are, and what they found.
//!
//! **Failure model.** A service may be away, or of a build that does not scrub: that is said of its targets, and the others are shown.

use super::scrub_state::TargetStatus;
use super::scrub_targets::chosen;
use crate::cluster::{Cluster, ClusterArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, Table, show};
use crate::role::block_on;
use crate::units::human_bytes;
use nyala_transport::{Endpoint, Pool, PoolOptions, Request};
use nyala_wire::map::ClusterMap;
use nyala_wire::scrub::{ScrubRequest, ScrubState};
use nyala_wire::time::utc;
use nyala_wire::{ErrorCode, TargetId, WireError, codec, message_type};
use std::time::Duration;

/// Longest wait for an answer.
const CALL: Duration = Duration::from_secs(10);

/// Flags of `nyala scrub status`.
#[derive(Clone, Debug, clap::Args)]
pub struct ScrubStatusArgs {
    /// The storage targets [default: all]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<TargetId>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Shows. Exit code 6 if there is damage, or a target is not scrubbed in time; 1 if one does not say.
pub fn run(args: ScrubStatusArgs, output: Output) -> Outcome {
    let all = block_on(async { ask_all(&args.cluster.find()?, &args.targets).await })?;
    show(output, &all, |all| render(all))?;
    Ok(exit(&all))
}

async fn ask_all(cluster: &Cluster, named: &[TargetId]) -> Result<Vec<TargetStatus>, Failure> {
    let map = cluster.map().await?;
    let pool = Pool::new(cluster.handshake(), PoolOptions::default());
    let mut all = Vec::new();
    for target in chosen(&map, named)? {
        all.push(match ask(&map, &pool, target).await {
            Ok(state) => TargetStatus::of(target, state),
            Err(failure) => TargetStatus { target, error: Some(failure.message), ..TargetStatus::default() },
        });
    }
    Ok(all)
}

/// How many bytes of data there are on these targets together, as their services count them; `None` where one does not know or say.
pub(super) async fn total(cluster: &Cluster, map: &ClusterMap, targets: &[TargetId]) -> Option<u64> {
    let pool = Pool::new(cluster.handshake(), PoolOptions::default());
    let mut states = Vec::new();
    for target in targets {
        states.push(ask(map, &pool, *target).await.ok()?);
    }
    sum(&states)
}

fn sum(states: &[ScrubState]) -> Option<u64> {
    let known = |state: &ScrubState| (state.total_bytes > 0).then_some(state.total_bytes);
    states.iter().map(known).try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?)))
}

async fn ask(map: &ClusterMap, pool: &Pool, target: TargetId) -> Result<ScrubState, Failure> {
    let endpoint = map.node_of(target).map(|node| Endpoint { addresses: node.addresses.clone() });
    let endpoint = endpoint.ok_or_else(|| Failure::failed("its service is not in the cluster map"))?;
    let body = codec::encode(&ScrubRequest { target });
    let request = Request::new(message_type::STORAGE_SCRUB, body).at(map.version.0, 0).with_timeout(CALL);
    let frame = pool.call(&endpoint, request).await?;
    if !frame.is_error() {
        return Ok(codec::decode(&frame.body)?);
    }
    let error: WireError = codec::decode(&frame.body)?;
    match error.code {
        ErrorCode::UNKNOWN_MESSAGE => Err(Failure::failed("its service is of a build that does not scrub by itself")),
        _ => Err(error.into()),
    }
}

fn exit(all: &[TargetStatus]) -> Exit {
    let found = all.iter().any(|status| status.damaged_bytes > 0 || status.late);
    match (found, all.iter().any(|status| status.error.is_some())) {
        (true, _) => Exit::Degraded,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Ok,
    }
}

fn render(all: &[TargetStatus]) -> String {
    let mut table = Table::new(&["TARGET", "READ", "FOUND", "REPAIRED", "DAMAGED", "LAST WHOLE SCRUB", "STATE"]);
    for status in all {
        let TargetStatus { bytes, found_bytes, repaired_bytes, damaged_bytes, .. } = *status;
        let [read, found, repaired, damaged] = [bytes, found_bytes, repaired_bytes, damaged_bytes].map(human_bytes);
        let last = status.ended_s.map_or_else(|| "never".to_owned(), utc);
        let last = if status.late { format!("{last} (late)") } else { last };
        table.row([status.target.to_string(), read, found, repaired, damaged, last, status.describe()]);
    }
    let mut places = Table::new(&["TARGET", "INODE", "INODE NUMBER", "INDEX", "OFFSET", "LENGTH", "FOUND", "WHY"]);
    for (status, place) in all.iter().flat_map(|status| status.damage.iter().map(move |place| (status, place))) {
        places.row([
            status.target.to_string(),
            place.inode.clone(),
            place.inode_number.to_string(),
            place.index.to_string(),
            place.offset.to_string(),
            place.length.to_string(),
            utc(place.found_s),
            place.reason.clone(),
        ]);
    }
    let mut text = table.render();
    if all.iter().any(|status| !status.damage.is_empty()) {
        text += &format!("\n{}\nfind MOUNTPOINT -inum NUMBER tells the name of a file.\n", places.render());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;
    use nyala_wire::scrub::ScrubDamage;
    use nyala_wire::storage::ChunkFileId;
    use nyala_wire::walk::WalkAt;

    fn state() -> ScrubState {
        ScrubState { interval_ms: 86_400_000, due_ms: 86_400_000, total_bytes: 1 << 30, ..ScrubState::default() }
    }

    fn status(state: ScrubState) -> TargetStatus {
        TargetStatus::of(TargetId(101), state)
    }

    #[test]
    fn a_state_is_said_in_a_word_and_an_exit_code() {
        let at = Some(WalkAt::default());
        let waits = status(ScrubState { ended_ms: 5000, ..state() });
        let runs = status(ScrubState { at, bytes: 1 << 29, ..state() });
        let off = status(ScrubState { interval_ms: 0, ..state() });
        let late = status(ScrubState { late: true, ..state() });
        let away = TargetStatus { error: Some("gone".to_owned()), ..TargetStatus::default() };
        let text = render(&[waits.clone(), runs.clone(), off.clone(), late.clone(), away.clone()]);
        let unknown = status(ScrubState { at, bytes: 3 << 20, total_bytes: 0, ..state() });
        assert_eq!(unknown.describe(), "runs, 3.0MiB read");
        for words in ["waits until 1970-01-02", "runs, 50%", "off", "never (late)", "gone", "1970-01-01"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(exit(&[waits.clone(), runs, off]), Exit::Ok);
        assert_eq!(exit(&[waits, away.clone()]), Exit::Failed);
        assert_eq!(exit(&[away, late]), Exit::Degraded);
    }

    #[test]
    fn there_is_no_total_where_one_target_does_not_know_its_own() {
        let of = |bytes| ScrubState { total_bytes: bytes, ..state() };
        assert_eq!(sum(&[of(7), of(9)]), Some(16));
        assert_eq!(sum(&[of(7), of(0)]), None);
        assert_eq!(sum(&[of(u64::MAX), of(9)]), Some(u64::MAX));
    }

    #[test]
    fn damage_is_listed_by_places() {
        let file = ChunkFileId { inode: InodeId(77), index: 3 };
        let reason = "not mirrored: restore the file".to_owned();
        let damage = vec![ScrubDamage { at: WalkAt { file, offset: 262_144 }, bad: 0b1101, found_ms: 1000, reason }];
        let status = status(ScrubState { damaged_bytes: 12_288, damage, ..state() });
        let places: Vec<_> = status.damage.iter().map(|place| (place.offset, place.length)).collect();
        assert_eq!(places, [(262_144, 4096), (270_336, 8192)]);
        assert_eq!(exit(std::slice::from_ref(&status)), Exit::Degraded);
        let text = render(&[status]);
        for word in ["270336", "77", "restore the file", "-inum"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}
