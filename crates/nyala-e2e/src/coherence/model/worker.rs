// SPDX-License-Identifier: Apache-2.0

//! One mount's process: does what it is told on its standard input, and answers each line with one.

use super::super::gang;
use super::op::{HANDLES, Op, content, digest};
use crate::sys;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufRead, Error, ErrorKind, Result, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const XATTR: &str = "user.model";

/// Serves until the input ends: `DIR`.
pub fn run(args: &[&str]) -> std::result::Result<(), String> {
    let [dir] = args else { return Err(super::super::USAGE.to_owned()) };
    gang::die_with_parent();
    // SAFETY: sets a value of this process, touches no memory.
    unsafe { libc::umask(0o022) };
    let mut worker = Worker { dir: PathBuf::from(dir), handles: std::array::from_fn(|_| None) };
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let op = Op::parse(&line).ok_or_else(|| format!("{line:?} is no operation"))?;
        let answer = match worker.work(&op) {
            Ok(answer) => format!("ok {answer}\n"),
            Err(error) => match error.raw_os_error() {
                Some(number) => format!("error {number} {error}\n"),
                None => format!("error 0 {error}\n"),
            },
        };
        out.write_all(answer.as_bytes()).and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

struct Worker {
    dir: PathBuf,
    handles: [Option<File>; HANDLES],
}

fn options(read: bool, write: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(read).write(write).mode(0o644);
    options
}

fn done(_: impl Sized) -> String {
    String::new()
}

/// One system call for all of it.
fn write_at(file: &File, data: &[u8], at: u64) -> Result<String> {
    let written = file.write_at(data, at)?;
    if written == data.len() { Ok(String::new()) } else { Ok(format!("{written} of {} bytes written", data.len())) }
}

fn read_at(file: &File, at: u64, len: u64) -> Result<String> {
    let mut bytes = vec![0; len as usize];
    let got = file.read_at(&mut bytes, at)?;
    Ok(digest(&bytes[..got]))
}

fn stat(meta: &std::fs::Metadata) -> String {
    let (kind, size) = match meta.mode() & libc::S_IFMT {
        libc::S_IFDIR => ("dir", 0),
        libc::S_IFLNK => ("link", meta.len()),
        _ => ("file", meta.len()),
    };
    let mode = meta.mode() & 0o7777;
    format!(
        "{kind} mode {mode:o} links {} size {size} inode {} mtime {}.{:09}",
        meta.nlink(),
        meta.ino(),
        meta.mtime(),
        meta.mtime_nsec()
    )
}

impl Worker {
    fn work(&mut self, op: &Op) -> Result<String> {
        let path = |at: usize| self.dir.join(&op.paths[at]);
        let number = |at: usize| op.numbers[at];
        Ok(match op.name {
            "create" => done(options(false, true).create(true).truncate(false).open(path(0))?),
            "exclusive" => done(options(false, true).create_new(true).open(path(0))?),
            "fresh" => {
                let file = options(false, true).create(true).truncate(true).open(path(0))?;
                write_at(&file, &content(number(0), number(1)), 0)?
            }
            "write" => write_at(&options(false, true).open(path(0))?, &content(number(0), number(2)), number(1))?,
            "append" => {
                let mut file = OpenOptions::new().append(true).open(path(0))?;
                let data = content(number(0), number(1));
                let written = file.write(&data)?;
                if written == data.len() { String::new() } else { format!("{written} bytes appended") }
            }
            "read" => read_at(&File::open(path(0))?, number(0), number(1))?,
            "whole" => digest(&std::fs::read(path(0))?),
            "truncate" => done(options(false, true).open(path(0))?.set_len(number(0))?),
            "mapread" | "mapwrite" => map(&path(0), op)?,
            "punch" => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                done(sys::fallocate(&options(false, true).open(path(0))?, mode, number(0) as i64, number(1) as i64)?)
            }
            "extend" => {
                done(sys::fallocate(&options(false, true).open(path(0))?, 0, number(0) as i64, number(1) as i64)?)
            }
            "rename" => done(sys::rename2(&path(0), &path(1), 0)?),
            "noreplace" => done(sys::rename2(&path(0), &path(1), libc::RENAME_NOREPLACE)?),
            "exchange" => done(sys::rename2(&path(0), &path(1), libc::RENAME_EXCHANGE)?),
            "link" => done(sys::link(&path(0), &path(1))?),
            "hopen" | "hread" | "hwrite" | "hstat" | "htruncate" | "hsync" | "hclose" => return self.handle(op),
            _ => name(&path(0), op)?,
        })
    }

    fn handle(&mut self, op: &Op) -> Result<String> {
        let slot = op.numbers[0] as usize;
        if op.name == "hopen" {
            let file = options(true, true).open(self.dir.join(&op.paths[0]))?;
            self.handles[slot] = Some(file);
            return Ok(String::new());
        }
        let Some(file) = &self.handles[slot] else { return Ok("not open".to_owned()) };
        Ok(match op.name {
            "hread" => read_at(file, op.numbers[1], op.numbers[2])?,
            "hwrite" => write_at(file, &content(op.numbers[1], op.numbers[3]), op.numbers[2])?,
            "hstat" => stat(&file.metadata()?),
            "htruncate" => done(file.set_len(op.numbers[1])?),
            "hsync" => done(file.sync_all()?),
            _ => done(self.handles[slot].take()),
        })
    }
}

/// Reads the whole file, or writes a part of it, through a shared mapping.
fn map(path: &Path, op: &Op) -> Result<String> {
    let file = options(true, true).open(path)?;
    let len = file.metadata()?.len() as usize;
    if len == 0 {
        return Ok(if op.name == "mapread" { digest(&[]) } else { String::new() });
    }
    let mut mapping = sys::Mapping::new(&file, len)?;
    if op.name == "mapread" {
        return Ok(digest(mapping.bytes()));
    }
    let start = (op.numbers[1] as usize).min(len);
    let end = (start + op.numbers[2] as usize).min(len);
    mapping.bytes()[start..end].copy_from_slice(&content(op.numbers[0], (end - start) as u64));
    mapping.sync()?;
    Ok(String::new())
}

/// An operation on a name, or on what is known about an inode.
fn name(path: &Path, op: &Op) -> Result<String> {
    Ok(match op.name {
        "stat" => stat(&std::fs::symlink_metadata(path)?),
        "list" => {
            let names: Result<Vec<String>> =
                std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect();
            let mut names = names?;
            names.sort();
            names.join(",")
        }
        "unlink" => done(sys::unlink(path)?),
        "rmdir" => done(sys::rmdir(path)?),
        "mkdir" => done(std::fs::create_dir(path)?),
        "symlink" => done(std::os::unix::fs::symlink(format!("nowhere/{}", op.numbers[0]), path)?),
        "readlink" => std::fs::read_link(path)?.to_string_lossy().into_owned(),
        "chmod" => done(std::fs::set_permissions(path, Permissions::from_mode(op.numbers[0] as u32 & 0o777 | 0o600))?),
        "setxattr" => done(sys::setxattr_followed(path, XATTR, op.numbers[0].to_string().as_bytes())?),
        "getxattr" => String::from_utf8_lossy(&sys::getxattr_followed(path, XATTR)?).into_owned(),
        "removexattr" => done(sys::removexattr_followed(path, XATTR)?),
        _ => return Err(Error::new(ErrorKind::Unsupported, op.line())),
    })
}
