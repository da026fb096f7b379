// SPDX-License-Identifier: Apache-2.0

//! What was done to the files, and what may be there after a power cut at a moment. Pure.

use std::collections::BTreeMap;

/// The names that a sequence works on: the file, and what is renamed over it.
pub const NAMES: [&str; 2] = ["file", "new"];
/// Larger content is not kept with the inode.
pub const INLINE_BYTES: usize = 4096;

/// One step that a client was told is done, and what it left: files by name, and the content of all files there ever were.
#[derive(Clone, Debug)]
pub struct Shot {
    pub what: String,
    /// When the client was told.
    pub moment: u64,
    pub names: BTreeMap<&'static str, usize>,
    pub contents: Vec<Vec<u8>>,
    /// The step said that all of these is on disk.
    pub synced: Vec<usize>,
}

/// All steps in order. The first one is what was there and synced before.
#[derive(Clone, Debug, Default)]
pub struct History(pub Vec<Shot>);

/// What a client finds: content or an error, by name.
pub type Seen = BTreeMap<&'static str, Result<Vec<u8>, String>>;

impl History {
    pub fn now(&self) -> &Shot {
        self.0.last().expect("it begins with a shot")
    }

    /// What is wrong with what is seen after a power cut at a moment; nothing if it may be.
    pub fn judge(&self, moment: u64, seen: &Seen) -> Option<String> {
        if let Some((name, Err(error))) = seen.iter().find(|(_, found)| found.is_err()) {
            return Some(format!("{name}: {error}"));
        }
        // The step after those that are done may be there in part.
        let done = self.0.iter().filter(|shot| shot.moment <= moment).count();
        let last = done.min(self.0.len() - 1);
        let synced = |shot: &Shot| !shot.synced.is_empty();
        let floor = self.0[..done].iter().rposition(synced).unwrap_or(0);
        let mut reasons = Vec::new();
        for shot in floor..=last {
            match self.fits(shot, done, last, seen) {
                None => return None,
                Some(reason) => reasons.push(format!("  as after {:?}: {reason}", self.0[shot].what)),
            }
        }
        Some(reasons.join("\n"))
    }

    /// Why the names are not those after a step, or one's content is none of what it may be.
    fn fits(&self, at: usize, done: usize, last: usize, seen: &Seen) -> Option<String> {
        NAMES.iter().find_map(|name| match (self.0[at].names.get(name), seen.get(name)) {
            (None, None) => None,
            (Some(_), None) => Some(format!("{name} is missing")),
            (None, Some(_)) => Some(format!("{name} is there")),
            (Some(file), Some(found)) => {
                let found = found.as_ref().expect("errors were looked at before");
                let from = self.0[..done].iter().rposition(|shot| shot.synced.contains(file));
                let made = self.0.iter().position(|shot| shot.contents.len() > *file).unwrap_or(0);
                let versions: Vec<&[u8]> = self.0[from.unwrap_or(made)..=last]
                    .iter()
                    .filter_map(|shot| Some(&shot.contents.get(*file)?[..]))
                    .collect();
                let ever = self.0[..=last].iter().filter_map(|shot| shot.contents.get(*file));
                let inline = ever.into_iter().all(|content| content.len() <= INLINE_BYTES);
                content(&versions, inline, found).map(|why| format!("{name} of {} bytes: {why}", found.len()))
            }
        })
    }
}

/// Why content is none of what it may be: as one version says, where bytes of later ones may be there already, and zeros
/// where there was nothing before.
fn content(versions: &[&[u8]], inline: bool, found: &[u8]) -> Option<String> {
    if inline {
        let whole = versions.contains(&found);
        return (!whole).then(|| format!("no version of it, which have {:?} bytes", lengths(versions)));
    }
    let mut reason = format!("no version has that size: {:?}", lengths(versions));
    for (at, version) in versions.iter().enumerate() {
        let before = at.checked_sub(1).map_or(version.len(), |before| versions[before].len());
        if found.len() != version.len() && !(before < found.len() && found.len() < version.len()) {
            continue;
        }
        match (0..found.len()).find(|p| !may_be(versions, at, *p, found[*p])) {
            None => return None,
            Some(p) => reason = format!("byte {p} is {}, sizes are {:?}", found[p], lengths(versions)),
        }
    }
    Some(reason)
}

/// Whether a byte may be this while the file's size is that of version `at`.
fn may_be(versions: &[&[u8]], at: usize, p: usize, byte: u8) -> bool {
    let cut = versions[..=at].iter().rposition(|version| version.len() <= p);
    let since = cut.map_or(0, |cut| cut + 1);
    let zero = byte == 0 && (cut.is_some() || versions[at].len() <= p);
    zero || versions[since.min(at)..].iter().any(|version| version.get(p) == Some(&byte))
}

fn lengths(versions: &[&[u8]]) -> Vec<usize> {
    versions.iter().map(|version| version.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::content;

    #[test]
    fn what_may_be_there_and_what_not() {
        let (old, cut, grown) = (vec![1; 9000], vec![1; 3000], [vec![1; 3000], vec![2; 5000]].concat());
        let versions: Vec<&[u8]> = vec![&old, &cut, &grown];
        let is = |found: &[u8]| content(&versions, false, found).is_none();
        assert!(is(&old) && is(&cut) && is(&grown));
        assert!(
            is(&[vec![1; 3000], vec![0; 2000], vec![2; 1000]].concat()),
            "what was not written down reads as zeros"
        );
        assert!(is(&[vec![1; 4000], vec![2; 4000], vec![1; 1000]].concat()), "later bytes may be there");
        assert!(!is(&[vec![1; 2999], vec![0; 1]].concat()), "zeros over what was synced");
        assert!(!is(&[vec![1; 3000], vec![1; 5000]].concat()), "what was cut off comes back");
        assert!(!is(&[1; 8999]), "a size of nothing");
        let small: Vec<&[u8]> = vec![&[1, 1], &[2, 2, 2]];
        assert!(content(&small, true, &[2, 2, 2]).is_none());
        assert!(content(&small, true, &[1, 1, 2]).is_some(), "inline content is whole");
    }
}
