// SPDX-License-Identifier: Apache-2.0

//! Repairs of what was found, step by step, by the servers. Failure model: see the parent module.

use super::ask::Ask;
use super::copies;
use super::operator::Operator;
use super::report::Found;
use crate::exit::Failure;
use nyala_fsck::finding::{Finding, Fix};
use nyala_wire::meta::{MetaOp, Owner, Repair};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, TargetId};

/// Where what has no name goes.
const LOST_AND_FOUND: &[u8] = b"lost+found";

/// No file has a chunk file, or something that is no file.
const NO_FILE: [ErrorCode; 4] = [ErrorCode::NOT_FOUND, ErrorCode::STALE, ErrorCode::IS_A_DIRECTORY, ErrorCode::INVALID];

/// A repair at work.
struct Work<'a> {
    ask: &'a Ask,
    operator: Operator,
    lost_and_found: Option<InodeId>,
    remove_chunks: bool,
}

/// Repairs what can be. What was repaired, and what was not, with the reason.
pub async fn repair(ask: &Ask, findings: &[Finding], remove_chunks: bool) -> (Vec<Found>, Vec<Found>) {
    let mut work = Work { ask, operator: Operator::default(), lost_and_found: None, remove_chunks };
    let (mut repaired, mut kept) = (Vec::new(), Vec::new());
    for finding in findings {
        match work.repair(finding).await {
            Ok(()) => repaired.push(Found::of(finding)),
            Err(failure) => kept.push(Found { kept: Some(failure.message), ..Found::of(finding) }),
        }
    }
    work.operator.end(ask).await;
    (repaired, kept)
}

impl Work<'_> {
    async fn repair(&mut self, finding: &Finding) -> Result<(), Failure> {
        if finding.fixes.is_empty() {
            return Err(Failure::failed("there is no repair for this"));
        }
        for fix in &finding.fixes {
            self.fix(fix).await?;
        }
        Ok(())
    }

    async fn fix(&mut self, fix: &Fix) -> Result<(), Failure> {
        match fix {
            Fix::Meta(repair) => self.meta(repair).await,
            Fix::MetaAt(target, repair) => {
                self.operator.repair(self.ask, *target, &Repair::Server(repair.clone())).await
            }
            Fix::Adopt { inode, kind, links, parent } => self.adopt(*inode, *kind, *links, *parent).await,
            Fix::RemoveChunk(target, file) => self.remove_chunk(*target, *file).await,
            Fix::CutBesideInline(inode) => {
                let client = &self.ask.client;
                let done = client.cut_beside_inline(*inode).await?
                    || (self.remove_chunks && client.cut_behind_end(*inode).await?);
                if done { Ok(()) } else { Err(Failure::failed(self.why_beside_inline())) }
            }
            Fix::CutBehindEnd(inode) => match self.ask.client.cut_behind_end(*inode).await? {
                true => Ok(()),
                false => Err(Failure::failed("others use the file; try again when they have closed it")),
            },
            Fix::Refill { group, primary, member } => copies::refill(self.ask, *group, *primary, *member).await,
            Fix::CopyFromPrimary { group, primary, member, file, ranges } => {
                copies::copy_from_primary(self.ask, (*group, *primary, *member), *file, ranges).await
            }
            Fix::CopyFromMirror { group, target, file, range } => {
                copies::copy_from_mirror(self.ask, *group, *target, *file, range.clone()).await
            }
        }
    }

    async fn meta(&mut self, repair: &Repair) -> Result<(), Failure> {
        let slot = MetaOp::Repair(repair.clone()).routing_inode().map(InodeId::slot);
        let target = slot.and_then(|slot| self.ask.map().slot_target(slot));
        let target = target.ok_or_else(|| Failure::failed("no metadata target serves it"))?;
        self.operator.repair(self.ask, target, repair).await
    }

    /// Gives an inode a name in `lost+found`, first the name, then what the inode says of it: in between, the next check finds the rest.
    async fn adopt(
        &mut self,
        inode: InodeId,
        kind: FileKind,
        links: u32,
        parent: Option<InodeId>,
    ) -> Result<(), Failure> {
        let dir = self.lost_and_found().await?;
        let name = Name::new(inode.to_string().as_bytes())
            .map_err(|error| Failure::failed(format!("no name for {inode}: {error}")))?;
        self.meta(&Repair::AddName { dir, name, inode, kind }).await?;
        match parent {
            Some(from) if from != dir => self.meta(&Repair::SetParent { dir: inode, from, to: dir }).await,
            Some(_) => Ok(()),
            None if links == 1 => Ok(()),
            None => self.meta(&Repair::SetLinks { inode, from: links, to: 1 }).await,
        }
    }

    async fn lost_and_found(&mut self) -> Result<InodeId, Failure> {
        if let Some(dir) = self.lost_and_found {
            return Ok(dir);
        }
        let client = &self.ask.client;
        let attr = match client.lookup(InodeId::ROOT, LOST_AND_FOUND).await {
            Err(error) if error.is(ErrorCode::NOT_FOUND) => {
                client.mkdir(InodeId::ROOT, LOST_AND_FOUND, 0o700, Owner::default()).await?
            }
            other => other?,
        };
        if attr.kind != FileKind::Directory {
            return Err(Failure::failed("/lost+found is there, and is no directory"));
        }
        self.lost_and_found = Some(attr.inode);
        Ok(attr.inode)
    }

    fn why_beside_inline(&self) -> &'static str {
        match self.remove_chunks {
            true => "others use the file; try again when they have closed it",
            false => {
                "its metadata server knows of no client that left it: --remove-chunks cuts it, if metadata was not restored"
            }
        }
    }

    async fn remove_chunk(&self, target: TargetId, file: ChunkFileId) -> Result<(), Failure> {
        if !self.remove_chunks {
            return Err(Failure::failed("--remove-chunks removes it, if metadata was not restored from an old copy"));
        }
        let client = &self.ask.client;
        match client.remove_beside_layout(file, target).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::failed("others use the file, or its data is there now; check again later")),
            Err(error) if NO_FILE.iter().any(|code| error.is(*code)) => {
                Ok(client.remove_chunk_file(file, target).await?)
            }
            Err(error) => Err(error.into()),
        }
    }
}
