// SPDX-License-Identifier: Apache-2.0

//! Lists the circles of files in each crate of the working tree.

use nyala_tidy::imports::{self, Imports};
use nyala_tidy::repo::Repo;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let repo = Repo::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))?;
    for (name, _) in repo.crates() {
        let arrows = Imports::of(repo.sources.iter().filter(|source| source.crate_name() == Some(name))).arrows();
        let circles = imports::circles(&arrows);
        println!("{name}: {} files, {} circles", arrows.len(), circles.len());
        for circle in circles {
            println!("  {}", circle.into_iter().collect::<Vec<_>>().join(" "));
        }
    }
    Ok(())
}
