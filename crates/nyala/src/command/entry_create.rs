// SPDX-License-Identifier: Apache-2.0

//! `nyala entry create file|directory PATH…`: entries with a stripe pattern of their own.
//!
//! **Failure model.** A file and its layout are one change of its metadata server. A directory is made and then given its pattern: if
//! the second fails, it is removed again, and stays with its parent's pattern if that fails, too. A metadata server that is older than
//! this command ignores a file's pattern: the file is removed again, which is said. Of several paths those before the one that failed stay.

use super::entry_create_args::CreateCommand;
use super::entry_create_mounted::{Made, New, What, make_through_mount};
use super::entry_info::{describe, render, show_all};
use crate::cluster::{Cluster, ClusterArgs, PathLocation, Way};
use crate::entries::{gid, mounted, uid};
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::role::block_on;
use nyala_client::Client;
use nyala_wire::meta::{EntryInfo, Owner};
use nyala_wire::{ErrorCode, InodeId, StripePattern};
use rustix::process::{getegid, geteuid};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Makes entries, and shows them.
pub fn run(command: CreateCommand, output: Output) -> Outcome {
    let (what, args) = match command {
        CreateCommand::File(args) => (What::File, args),
        CreateCommand::Directory(args) => (What::Directory, args),
    };
    let default = if what == What::File { 0o644 } else { 0o755 };
    let owner = Owner {
        uid: args.user.as_deref().map_or_else(|| Ok(geteuid().as_raw()), uid)?,
        gid: args.group.as_deref().map_or_else(|| Ok(getegid().as_raw()), gid)?,
    };
    let new = New { mode: args.mode.unwrap_or(default), owner, stripe: args.stripe.clone() };
    let (mut entries, mut text) = (Vec::new(), String::new());
    block_on(async {
        for path in &args.paths {
            let made = make(&args.cluster, what, &new, path).await.map_err(|error| error.context(path.display()))?;
            let entry = describe(path, &made.0, &made.1);
            text += &render(&entry, &made.1, !text.is_empty());
            entries.push(entry);
        }
        Ok(())
    })?;
    show_all(output, &entries, &text)
}

async fn make(args: &ClusterArgs, what: What, new: &New, path: &Path) -> Result<Made, Failure> {
    let name = path.file_name().ok_or_else(|| Failure::usage("this names nothing that could be made"))?.to_owned();
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match args.find_for(above)? {
        Way::Cluster(cluster, location) => make_in(&cluster, &location, what, new, name.as_bytes()).await,
        Way::Mount { path, why, .. } => make_through_mount(&path.join(name), &path, what, new, &why),
    }
}

async fn make_in(cluster: &Cluster, above: &PathLocation, what: What, new: &New, name: &[u8]) -> Result<Made, Failure> {
    let client = cluster.client().await?;
    let made = async {
        let parent = directory_at(&client, above).await?;
        let old = client.entry_info(parent).await?.pattern;
        let old = old.ok_or_else(|| Failure::failed("the place above is not a directory"))?;
        let pattern = new.stripe.wanted(old, &client.map())?;
        let made = match what {
            What::File => client.mkfile(parent, name, new.mode, new.owner, pattern).await,
            What::Directory => client.mkdir(parent, name, new.mode, new.owner).await,
        };
        let inode = match made {
            Ok(attr) => attr.inode,
            Err(error) if error.is(ErrorCode::EXISTS) => {
                return Err(Failure::failed("it exists already; nyala entry info shows it"));
            }
            Err(error) => return Err(error.into()),
        };
        let info = match what {
            What::File => as_asked(&client, inode, &pattern).await,
            What::Directory if new.stripe.sets_nothing() => Ok(client.entry_info(inode).await?),
            What::Directory => match client.set_pattern(inode, pattern).await {
                Ok(()) => Ok(client.entry_info(inode).await?),
                Err(error) => Err(error.into()),
            },
        };
        match (info, what) {
            (Ok(info), _) => Ok((info, client.map())),
            (Err(failure), What::File) => undone(failure, client.unlink(parent, name).await),
            (Err(failure), What::Directory) => undone(failure, client.rmdir(parent, name).await),
        }
    };
    let made = made.await;
    // What was made is made; a failing goodbye changes nothing.
    let _ = client.shutdown().await;
    made
}

/// The directory at a place; links that lead to one are followed.
async fn directory_at(client: &Client, location: &PathLocation) -> Result<InodeId, Failure> {
    match location {
        PathLocation::InRoot(path) => Ok(client.resolve(path.as_os_str().as_bytes(), true).await?.inode),
        PathLocation::Mounted(path, mountpoint) => Ok(mounted::at(path, mountpoint, true)?.inode),
    }
}

/// A new file, if it is laid out as it was asked for.
async fn as_asked(client: &Client, inode: InodeId, pattern: &StripePattern) -> Result<EntryInfo, Failure> {
    let info = client.entry_info(inode).await?;
    let map = client.map();
    let in_pool = |id: &nyala_wire::TargetId| map.target(*id).is_none_or(|target| target.pool == pattern.pool);
    let same = info.layout.as_ref().is_some_and(|layout| {
        let (mirrored, asked) = (layout.pattern == nyala_wire::Pattern::Mirror, pattern.of_new_files());
        (layout.pattern, layout.code) == (asked.pattern, asked.code)
            && layout.chunk_bytes == pattern.chunk_bytes
            && layout.targets.len() <= usize::from(pattern.num_targets)
            && (mirrored || layout.targets.iter().all(in_pool))
    });
    if same && info.inline == (pattern.inline_bytes > 0) {
        return Ok(info);
    }
    Err(Failure::failed(
        "its metadata server is of an older version, which gives files no pattern of their own; upgrade it, or make a directory with \
         this pattern",
    ))
}

fn undone<T>(failure: Failure, removed: Result<(), nyala_client::Error>) -> Result<T, Failure> {
    match removed {
        Ok(()) => Err(failure),
        Err(error) => {
            Err(Failure { message: format!("{}; it stays there, since: {error}", failure.message), ..failure })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_said() {
        let failure = || Failure::failed("no");
        assert_eq!(undone::<()>(failure(), Ok(())), Err(failure()));
        let stays = undone::<()>(failure(), Err(nyala_client::Error::ShutDown)).unwrap_err();
        assert!(stays.message.starts_with("no; it stays there"), "{stays}");
    }
}
