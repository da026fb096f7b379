// SPDX-License-Identifier: Apache-2.0

//! What must come of an operation, which the model then is too.

use super::op::{Op, content, digest};
use super::state::{Body, Errno, State, read, write};
use std::collections::BTreeMap;

/// Does an operation of a mount to the model; what the system call gives.
pub fn expect(state: &mut State, mount: usize, op: &Op) -> Result<String, Errno> {
    let path = |at: usize| op.paths[at].as_str();
    let number = |at: usize| op.numbers[at];
    match op.name {
        "create" | "exclusive" | "fresh" => {
            let at = state.resolve(path(0))?;
            let inode = match (at.found, op.name) {
                (Some(_), "exclusive") => return Err(libc::EEXIST),
                (Some(inode), _) => inode,
                (None, _) => state.make(&at, Body::File(Vec::new()), 0o644),
            };
            let file = state.content(inode)?;
            if op.name == "fresh" {
                *file = content(number(0), number(1));
            }
            Ok(String::new())
        }
        "write" | "append" | "mapwrite" | "read" | "whole" | "mapread" | "truncate" | "punch" | "extend" => {
            let inode = state.followed(path(0))?;
            on_file(state.content(inode)?, op)
        }
        "hopen" => {
            let inode = state.followed(path(0))?;
            state.content(inode)?;
            state.handles.insert((mount, number(0)), inode);
            Ok(String::new())
        }
        "hread" | "hwrite" | "hstat" | "htruncate" | "hsync" | "hclose" => on_handle(state, mount, op),
        "rename" | "noreplace" | "exchange" => super::rename::rename(state, op.name, path(0), path(1)),
        "link" => link(state, path(0), path(1)),
        _ => on_name(state, op),
    }
}

/// An operation on a file's content.
fn on_file(file: &mut Vec<u8>, op: &Op) -> Result<String, Errno> {
    let number = |at: usize| op.numbers[at];
    match op.name {
        "write" => write(file, number(1), &content(number(0), number(2))),
        "append" => file.extend(content(number(0), number(1))),
        "mapwrite" => {
            // Only what is there can be written through a mapping.
            let start = (number(1) as usize).min(file.len());
            let end = (start + number(2) as usize).min(file.len());
            file[start..end].copy_from_slice(&content(number(0), (end - start) as u64));
        }
        "read" => return Ok(digest(read(file, number(0), number(1)))),
        "whole" | "mapread" => return Ok(digest(file)),
        "truncate" => file.resize(number(0) as usize, 0),
        "punch" | "extend" if number(1) == 0 => return Err(libc::EINVAL),
        "punch" => {
            let start = (number(0) as usize).min(file.len());
            let end = (start + number(1) as usize).min(file.len());
            file[start..end].fill(0);
        }
        _ => {
            let end = (number(0) + number(1)) as usize;
            if file.len() < end {
                file.resize(end, 0);
            }
        }
    }
    Ok(String::new())
}

/// An operation on an open file; one that is not open is nothing.
fn on_handle(state: &mut State, mount: usize, op: &Op) -> Result<String, Errno> {
    let key = (mount, op.numbers[0]);
    let Some(&inode) = state.handles.get(&key) else { return Ok("not open".to_owned()) };
    match op.name {
        "hread" => return Ok(digest(read(state.content(inode)?, op.numbers[1], op.numbers[2]))),
        "hwrite" => write(state.content(inode)?, op.numbers[2], &content(op.numbers[1], op.numbers[3])),
        "hstat" => return Ok(stat(state, inode)),
        "htruncate" => state.content(inode)?.resize(op.numbers[1] as usize, 0),
        "hclose" => drop(state.handles.remove(&key)),
        _ => {}
    }
    Ok(String::new())
}

fn stat(state: &State, inode: usize) -> String {
    let found = &state.inodes[inode];
    let (kind, size) = match &found.body {
        Body::File(content) => ("file", content.len()),
        Body::Dir(_) => ("dir", 0),
        Body::Link(target) => ("link", target.len()),
    };
    format!("{kind} mode {:o} links {} size {size}", found.mode, found.nlink)
}

fn link(state: &mut State, from: &str, to: &str) -> Result<String, Errno> {
    let inode = state.inode(from)?;
    let at = state.resolve(to)?;
    if at.found.is_some() {
        return Err(libc::EEXIST);
    }
    if state.is_dir(inode) {
        return Err(libc::EPERM);
    }
    state.inodes[inode].nlink += 1;
    state.enter(&at, inode);
    Ok(String::new())
}

/// An operation on a name, or on what is known about an inode.
fn on_name(state: &mut State, op: &Op) -> Result<String, Errno> {
    let path = op.paths[0].as_str();
    match op.name {
        "stat" => {
            let inode = state.inode(path)?;
            return Ok(stat(state, inode));
        }
        "list" => {
            let inode = state.followed(path)?;
            let names: Vec<String> = state.entries(inode)?.keys().cloned().collect();
            return Ok(names.join(","));
        }
        "unlink" | "rmdir" => {
            let at = state.resolve(path)?;
            let inode = at.found.ok_or(libc::ENOENT)?;
            match (&state.inodes[inode].body, op.name) {
                (Body::Dir(_), "unlink") => return Err(libc::EISDIR),
                (Body::Dir(entries), _) if !entries.is_empty() => return Err(libc::ENOTEMPTY),
                (Body::Dir(_), _) => state.inodes[inode].nlink = 0,
                (_, "rmdir") => return Err(libc::ENOTDIR),
                _ => state.inodes[inode].nlink -= 1,
            }
            state.leave(&at);
        }
        "mkdir" | "symlink" => {
            let at = state.resolve(path)?;
            if at.found.is_some() {
                return Err(libc::EEXIST);
            }
            match op.name {
                "mkdir" => state.make(&at, Body::Dir(BTreeMap::new()), 0o755),
                _ => state.make(&at, Body::Link(format!("nowhere/{}", op.numbers[0])), 0o777),
            };
        }
        "readlink" => {
            let inode = state.inode(path)?;
            let Body::Link(target) = &state.inodes[inode].body else { return Err(libc::EINVAL) };
            return Ok(target.clone());
        }
        _ => {
            let inode = state.followed(path)?;
            let inode = &mut state.inodes[inode];
            match op.name {
                "chmod" => inode.mode = (op.numbers[0] & 0o777) as u32 | 0o600,
                "setxattr" => inode.xattr = Some(op.numbers[0]),
                "getxattr" => return inode.xattr.map(|value| value.to_string()).ok_or(libc::ENODATA),
                _ => drop(inode.xattr.take().ok_or(libc::ENODATA)?),
            }
        }
    }
    Ok(String::new())
}
