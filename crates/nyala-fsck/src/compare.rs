// SPDX-License-Identifier: Apache-2.0

//! Shows what is known to every class.

use crate::classes::{CLASSES, Class};
use crate::finding::{Finding, Rests};
use crate::loops::Loops;
use crate::mirrors::Mirrors;
use crate::object::{KEPT_CHUNKS, Object};
use crate::report::{Findings, Report, Scope};
use crate::servers::Servers;
use crate::sort::Sorted;
use crate::stated::{Stated, parse};
use nyala_wire::map::ClusterMap;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Shows each inode, with all that was stated of it.
pub fn compare(mut sorted: Sorted, found: &mut Findings) -> io::Result<()> {
    let mut object: Option<Object> = None;
    while let Some(record) = sorted.next()? {
        let (inode, stated) = parse(record)?;
        if object.as_ref().is_none_or(|object| object.inode != inode)
            && let Some(done) = object.replace(Object::new(inode))
        {
            look(found, &done);
        }
        match (stated, &mut object) {
            (Stated::Meta(target, fact), Some(object)) => object.take(&found.scope.map, target, fact),
            (Stated::Chunk(chunk), Some(object)) if object.chunks.len() < KEPT_CHUNKS => object.chunks.push(chunk),
            _ => {}
        }
    }
    object.iter().for_each(|object| look(found, object));
    Ok(())
}

/// Shows what servers say that is not about inodes.
pub fn compare_servers(servers: &Servers, found: &mut Findings) {
    for class in CLASSES {
        class.look_at_servers(servers, &mut report(found, *class, None));
    }
}

/// Shows what members of mirror groups hold that their primaries do not. Findings, at most `most`, and how many further ones.
pub fn compare_mirrors(map: Arc<ClusterMap>, mirrors: &Mirrors, most: usize) -> (Vec<Finding>, u64) {
    let scope = Scope { map, all_names: true, listed: BTreeSet::new(), loops: Loops::default() };
    let mut findings = Findings::new(scope, most);
    for class in CLASSES {
        class.look_at_mirrors(mirrors, &mut report(&mut findings, *class, None));
    }
    (findings.kept, findings.more)
}

/// Shows an inode to all classes.
fn look(findings: &mut Findings, object: &Object) {
    // What has no name may have one on a server that was not asked, or that is not to have it.
    let all_names = findings.scope.all_names && object.elsewhere.is_empty();
    for class in CLASSES {
        if all_names || class.rests_on() == Rests::Rows {
            class.look(object, &mut report(findings, *class, Some(object)));
        }
    }
}

fn report<'a>(findings: &'a mut Findings, class: &dyn Class, object: Option<&'a Object>) -> Report<'a> {
    Report { findings, class: class.id(), weight: class.weight(), rests: class.rests_on(), object }
}
