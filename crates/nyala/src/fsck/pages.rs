// SPDX-License-Identifier: Apache-2.0

//! What targets say on their way into a pass. Failure model: see the parent module.

use super::progress::Progress;
use super::report::Unchecked;
use crate::exit::Failure;
use nyala_fsck::pass::Pass;
use nyala_wire::TargetId;
use nyala_wire::check::Fact;
use nyala_wire::map::TargetKind;
use nyala_wire::storage::ListedFile;
use tokio::sync::mpsc;

/// What a target said.
pub enum Page {
    /// A page of facts, at a log position.
    Facts(TargetId, Vec<Fact>, u64),
    /// All of some inodes.
    Inodes(TargetId, Vec<Fact>),
    /// A page of chunk files.
    Chunks(TargetId, Vec<ListedFile>),
    /// That were all chunk files.
    Listed(TargetId),
    /// It cannot be asked to the end.
    Failed(TargetId, TargetKind, Failure),
}

/// Where pages go.
pub type Pages = mpsc::Sender<Page>;

/// Takes in what comes until all have said everything.
pub async fn take_in(
    mut pages: mpsc::Receiver<Page>,
    pass: &mut Pass,
    progress: &mut Progress,
    unchecked: &mut Vec<Unchecked>,
) -> Result<(), Failure> {
    while let Some(page) = pages.recv().await {
        let taken = match page {
            Page::Facts(target, facts, position) => {
                pass.read_at(target, position);
                facts.into_iter().try_for_each(|fact| pass.meta(target, fact))
            }
            Page::Inodes(target, facts) => facts.into_iter().try_for_each(|fact| pass.of_inodes(target, fact)),
            Page::Chunks(target, files) => files.iter().try_for_each(|file| pass.chunk(target, file)),
            Page::Listed(target) => {
                pass.listed(target);
                Ok(())
            }
            Page::Failed(target, kind, failure) => {
                if kind == TargetKind::Meta {
                    pass.incomplete();
                }
                unchecked.push(Unchecked { target, error: failure.message });
                Ok(())
            }
        };
        taken.map_err(crate::exit::io("cannot keep what the servers say"))?;
        progress.tell(pass.counts());
    }
    Ok(())
}
