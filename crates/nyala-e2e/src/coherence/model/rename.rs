// SPDX-License-Identifier: Apache-2.0

//! What `renameat2` does, errors in the order in which Linux finds them.

use super::state::{Body, Errno, State};

/// `how` is `rename`, `noreplace` or `exchange`.
pub fn rename(state: &mut State, how: &str, from: &str, to: &str) -> Result<String, Errno> {
    let old = state.resolve(from)?;
    let new = state.resolve(to)?;
    let moved = old.found.ok_or(libc::ENOENT)?;
    if how == "noreplace" && new.found.is_some() {
        return Err(libc::EEXIST);
    }
    if how == "exchange" && new.found.is_none() {
        return Err(libc::ENOENT);
    }
    if state.is_dir(moved) && state.is_below(new.dir, moved) {
        return Err(libc::EINVAL);
    }
    if let Some(there) = new.found
        && state.is_dir(there)
        && state.is_below(old.dir, there)
    {
        return Err(if how == "exchange" { libc::EINVAL } else { libc::ENOTEMPTY });
    }
    let Some(there) = new.found else {
        state.leave(&old);
        state.enter(&new, moved);
        return Ok(String::new());
    };
    if there == moved {
        return Ok(String::new());
    }
    if how == "exchange" {
        state.leave(&old);
        state.leave(&new);
        state.enter(&old, there);
        state.enter(&new, moved);
        return Ok(String::new());
    }
    match (state.is_dir(moved), &state.inodes[there].body) {
        (true, Body::Dir(entries)) if !entries.is_empty() => return Err(libc::ENOTEMPTY),
        (true, Body::Dir(_)) => state.inodes[there].nlink = 0,
        (true, _) => return Err(libc::ENOTDIR),
        (false, Body::Dir(_)) => return Err(libc::EISDIR),
        (false, _) => state.inodes[there].nlink -= 1,
    }
    state.leave(&new);
    state.leave(&old);
    state.enter(&new, moved);
    Ok(String::new())
}
