// SPDX-License-Identifier: Apache-2.0

//! `nyala scrub`: reads everything on storage targets, compares it with its checksums, repairs what is mirrored.

use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, Table, show};
use crate::role::block_on;
use crate::units::Size;
use crate::walk::{Look, Mending, scrub};
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, TargetKind};
use std::rc::Rc;
use tokio::task::JoinSet;

/// Flags of `nyala scrub`.
#[derive(Clone, Debug, clap::Args)]
pub struct ScrubArgs {
    /// The storage targets [default: all]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<TargetId>,
    /// How much is read from each target in a second; 0: as fast as it goes
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    pub rate: Size,
    /// Only say what is damaged
    #[arg(long)]
    pub no_repair: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// The targets that are named, which must be there, or all storage targets.
fn chosen(map: &ClusterMap, named: &[TargetId]) -> Result<Vec<TargetId>, Failure> {
    let all: Vec<TargetId> = map.targets_of(TargetKind::Storage).map(|target| target.id).collect();
    if let Some(missing) = named.iter().find(|target| !all.contains(target)) {
        return Err(Failure::failed(format!("there is no storage target {missing}; see nyala target list")));
    }
    Ok(if named.is_empty() { all } else { named.to_vec() })
}

/// Scrubs. Exit code 6 if damage remains, 1 if a target could not be read to the end.
pub fn run(args: ScrubArgs, output: Output) -> Outcome {
    let (rate, repair) = (args.rate.0, !args.no_repair);
    let all = block_on(async {
        let look = Rc::new(Look::at(&args.cluster.find()?).await?);
        let mut scrubs = JoinSet::new();
        for target in chosen(&look.client.map(), &args.targets)? {
            let look = look.clone();
            scrubs.spawn_local(async move { scrub(&look, target, rate, repair).await });
        }
        let mut all = Vec::new();
        while let Some(done) = scrubs.join_next().await {
            all.push(done.map_err(|error| Failure::failed(error.to_string()))?);
        }
        all.sort_by_key(|mending| mending.target);
        // What it asked for is known; a failing goodbye changes nothing.
        let _ = look.client.shutdown().await;
        Ok(all)
    })?;
    show(output, &all, |all| render(all))?;
    Ok(exit(&all))
}

fn exit(all: &[Mending]) -> Exit {
    let damaged = all.iter().any(|mending| mending.repaired_bytes < mending.damaged_bytes);
    match (damaged, all.iter().any(|mending| mending.error.is_some())) {
        (true, _) => Exit::Degraded,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Ok,
    }
}

fn render(all: &[Mending]) -> String {
    let mut table = Table::new(&["TARGET", "READ", "DAMAGED", "REPAIRED", "RESULT"]);
    for mending in all {
        let result = match &mending.error {
            Some(error) => format!("not finished: {error}"),
            None if mending.repaired_bytes < mending.damaged_bytes => "damage remains".to_owned(),
            None => "good".to_owned(),
        };
        let size = |bytes| Size(bytes).to_string();
        let [read, damaged, repaired] = [mending.bytes, mending.damaged_bytes, mending.repaired_bytes].map(size);
        table.row([mending.target.to_string(), read, damaged, repaired, result]);
    }
    let mut text = table.render();
    let mut places = Table::new(&["TARGET", "INODE", "INODE NUMBER", "INDEX", "OFFSET", "LENGTH", "RESULT"]);
    for damage in all.iter().flat_map(|mending| &mending.damage) {
        places.row([
            damage.target.to_string(),
            damage.inode.clone(),
            damage.inode_number.to_string(),
            damage.index.to_string(),
            damage.offset.to_string(),
            damage.length.to_string(),
            damage.reason.clone().unwrap_or_else(|| "repaired".to_owned()),
        ]);
    }
    if all.iter().any(|mending| !mending.damage.is_empty()) {
        text += &format!("\n{}\nfind MOUNTPOINT -inum NUMBER tells the name of a file.\n", places.render());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mirror_list::tests::mirrored;
    use crate::walk::Damage;

    #[test]
    fn targets_are_named_or_all() {
        let map = mirrored();
        assert_eq!(chosen(&map, &[]).unwrap(), [TargetId(101), TargetId(201)]);
        assert!(chosen(&map, &[TargetId(102)]).unwrap_err().message.contains("target list"));
    }

    #[test]
    fn what_remains_is_an_exit_code_and_a_line() {
        let damage = Damage {
            target: TargetId(101),
            inode: "0040-000000000010".to_owned(),
            inode_number: 77,
            index: 0,
            offset: 4096,
            length: 8192,
            group: None,
            repaired: false,
            reason: Some("not mirrored: restore the file".to_owned()),
        };
        let target = TargetId(101);
        let good = Mending { target, bytes: 9, damaged_bytes: 0, repaired_bytes: 0, error: None, damage: vec![] };
        let bad = Mending { damaged_bytes: 8192, damage: vec![damage], ..good.clone() };
        let lost = Mending { error: Some("gone".to_owned()), ..good.clone() };
        let mended = Mending { damaged_bytes: 8192, repaired_bytes: 8192, ..good.clone() };
        assert_eq!(exit(&[good.clone(), mended]), Exit::Ok);
        assert_eq!(exit(&[lost.clone(), good]), Exit::Failed);
        assert_eq!(exit(&[lost.clone(), bad.clone()]), Exit::Degraded);
        let text = render(&[bad, lost]);
        for word in ["damage remains", "restore the file", "4096", "not finished: gone", "-inum"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}
