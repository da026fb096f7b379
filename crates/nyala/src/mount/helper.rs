// SPDX-License-Identifier: Apache-2.0

//! Called as `mount.fuse.nyala` (or `mount.nyala`) by `mount(8)`: `SOURCE MOUNTPOINT [-sfnv] [-N NS] [-t TYPE] [-o OPTIONS]`.

use crate::exit::Failure;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What `mount(8)` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperCall {
    /// What to mount.
    pub source: String,
    /// Where.
    pub mountpoint: PathBuf,
    /// All `-o` texts, with commas between.
    pub options: String,
    /// `-f`: everything but the mount itself.
    pub fake: bool,
    /// `-s`: unknown options are no errors.
    pub sloppy: bool,
}

/// Whether the program was called under one of the helper's names.
pub fn is_helper(argv0: &OsStr) -> bool {
    let name = Path::new(argv0).file_name().and_then(OsStr::to_str);
    matches!(name, Some("mount.fuse.nyala" | "mount.nyala"))
}

/// Reads the helper's arguments (without argv\[0\]).
pub fn parse(args: &[OsString]) -> Result<HelperCall, Failure> {
    let form = "called as a mount helper: mount.fuse.nyala HOST:/ MOUNTPOINT [-o OPTIONS]";
    let wrong = |what: String| Failure::usage(format!("{what}; {form}"));
    let mut call = HelperCall {
        source: String::new(),
        mountpoint: PathBuf::new(),
        options: String::new(),
        fake: false,
        sloppy: false,
    };
    let mut places = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.to_str().filter(|text| text.len() > 1 && text.starts_with('-'));
        let Some(flags) = text.and_then(|text| text.strip_prefix('-')) else {
            places.push(arg);
            continue;
        };
        // Flags with a value end their cluster: the rest of it, or the next argument, is the value.
        let letters = flags.char_indices();
        for (at, letter) in letters {
            match letter {
                'f' => call.fake = true,
                's' => call.sloppy = true,
                'n' | 'v' => {}
                'o' | 't' | 'N' => {
                    let inside = &flags[at + 1..];
                    let value =
                        if inside.is_empty() { rest.next().map(OsString::as_os_str) } else { Some(inside.as_ref()) };
                    let value =
                        value.and_then(OsStr::to_str).ok_or_else(|| wrong(format!("-{letter} has no value")))?;
                    if letter == 'o' {
                        call.options = [call.options.as_str(), value].join(",");
                    }
                    break;
                }
                _ => return Err(wrong(format!("unknown flag -{letter}"))),
            }
        }
    }
    let [source, mountpoint] = places[..] else {
        return Err(wrong(format!("{} places are named instead of a source and a mount point", places.len())));
    };
    call.source = source.to_str().ok_or_else(|| wrong("the source is not text".into()))?.to_owned();
    call.mountpoint = mountpoint.into();
    Ok(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<HelperCall, Failure> {
        parse(&line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn names() {
        assert!(is_helper(OsStr::new("/sbin/mount.fuse.nyala")) && is_helper(OsStr::new("mount.nyala")));
        assert!(!is_helper(OsStr::new("/usr/bin/nyala")) && !is_helper(OsStr::new("")));
    }

    #[test]
    fn calls_as_mount_makes_them() {
        let call = read("node01:/ /mnt/x -n -o rw,noatime,secret=/s").unwrap();
        assert_eq!((call.source.as_str(), call.mountpoint.as_path()), ("node01:/", Path::new("/mnt/x")));
        assert_eq!(call.options, ",rw,noatime,secret=/s");
        let call = read("-sfv -t fuse.nyala h:/ /m -oro -o port=1").unwrap();
        assert!(call.sloppy && call.fake);
        assert_eq!(call.options, ",ro,port=1");
        for bad in ["", "h:/", "h:/ /m /n", "h:/ /m -o", "h:/ /m -q"] {
            assert!(read(bad).unwrap_err().message.contains("mount.fuse.nyala"), "{bad}");
        }
    }
}
