// SPDX-License-Identifier: Apache-2.0

//! Where a file lies, by its path.

use super::layout::{data, fact};
use crate::facts::Facts;
use crate::units;
use maud::{Markup, html};
use nyala_wire::FileKind;
use nyala_wire::meta::EntryInfo;

/// What became of a look at a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// The path.
    pub path: String,
    /// What is there, or why that is not known.
    pub found: Result<EntryInfo, String>,
}

pub(crate) fn form(path: &str) -> Markup {
    html! {
        section aria-labelledby="file-title" {
            h2 id="file-title" { "Where a file lies" }
            form method="get" action="/files" class="card search" role="search" {
                label for="path" { "Path from the root of the file system, wherever that is mounted" }
                input id="path" name="path" type="text" value=(path) required maxlength="2048" autocomplete="off" spellcheck="false"
                    placeholder="/projects/a.dat";
                button type="submit" class="primary" { "Look it up" }
            }
        }
    }
}

pub(crate) fn looked(facts: &Facts<'_>, looked: &Looked) -> Markup {
    html! {
        section aria-labelledby="found-title" {
            h2 id="found-title" { (looked.path) }
            @match &looked.found {
                Err(why) => { p class="flash critical" role="alert" { (why) } }
                Ok(info) => { (about(facts, info)) (data(facts, info)) }
            }
        }
    }
}

fn about(facts: &Facts<'_>, info: &EntryInfo) -> Markup {
    let (attr, seconds) = (&info.attr, u64::try_from(info.attr.mtime.seconds).unwrap_or(0));
    let node = facts.map.server_node(info.meta_target).map_or("no node now", |node| &node.alias);
    let size = match attr.kind {
        FileKind::Directory => format!("{} entries", attr.size),
        _ => format!("{} ({} bytes)", units::bytes(attr.size as f64), attr.size),
    };
    html! {
        dl class="card facts" {
            (fact("Type", kind(attr.kind)))
            (fact("Owner", &format!("user {}, group {}, mode {:04o}", attr.uid, attr.gid, attr.perm)))
            (fact("Size", &size))
            (fact("Changed", &units::moment(seconds.saturating_mul(1000))))
            (fact("Inode", &format!("{} (slot {})", attr.inode, attr.inode.slot())))
            (fact("Metadata target", &format!("{} on {node}", info.meta_target)))
            @if let Some(fragments) = &info.fragments {
                (fact("Split", &format!("its names are in {} parts, on several metadata targets perhaps", fragments.len() + 1)))
            }
        }
        p class="quiet" { "As the metadata server has it: what a client has written and not yet sent is not counted." }
    }
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symbolic link",
        FileKind::Fifo => "named pipe",
        FileKind::Socket => "socket",
        FileKind::BlockDevice => "block device",
        FileKind::CharDevice => "character device",
    }
}
