// SPDX-License-Identifier: Apache-2.0

//! What an operator types and sees, on one cluster: entries that are made and found, words that a shell completes, and every table
//! and progress bar at 80 columns as `docs/recordings` has them.

mod completion;
mod entries;
mod recordings;

use nyala_e2e::{Cluster, Options, beside_others};

#[test]
fn e2e_terminal() {
    let _one = beside_others();
    let more = ["--mirror"].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { meta: 1, storage: 4, storage_services: 2, more });
    let part = |what: &str, run: fn(&Cluster)| {
        let began = std::time::Instant::now();
        run(&cluster);
        println!("{what}: {:.1} s", began.elapsed().as_secs_f64());
    };
    part("entries are made", entries::make);
    part("entries are found", entries::find);
    part("words are completed", completion::complete);
    part("tables", recordings::tables);
    part("progress", recordings::progress);
}
