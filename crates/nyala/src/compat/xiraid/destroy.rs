// SPDX-License-Identifier: Apache-2.0

//! `xicli raid destroy`: as `nyala raid delete --yes`. A set whose target the cluster has is refused with what comes first; then nobody knows its name any more, and its drives are named.

use super::device::drives_of;
use super::named;
use super::options::Options;
use crate::command::raid::ask::Sets;
use crate::command::raid::delete::{self, RaidDeleteArgs};
use crate::command::raid::delete_first::to_do_first;
use crate::compat::notice::notice;
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::role::block_on;
use nyala_wire::raid::RaidOrder;

/// Deletes the set on drives, or says what to do first.
pub fn run(line: &Options) -> Outcome {
    line.only(&["name", "drives", "all", "force", "config_only"])?;
    if line.has("all") {
        return Err(Failure::usage("--all: sets are deleted one by one: -n NAME -d DEVICE…"));
    }
    if line.has("config_only") {
        return Err(Failure::usage(
            "--config_only: a set has no other configuration than what its drives say; take it out of the settings of its storage service, and it rests",
        ));
    }
    let name = line.need("name")?;
    if line.has("force") {
        notice("--force: a set in use is not deleted");
    }
    if line.has("drives") {
        let drives = drives_of(line.values("drives"))?;
        let args = RaidDeleteArgs { drives, yes: true, ..RaidDeleteArgs::default() };
        return delete::delete(&args, named::find, Output::Table);
    }
    Err(Failure::failed(block_on(first(name))?))
}

/// What comes before the deletion of a set that goes by a name.
async fn first(name: &str) -> Result<String, Failure> {
    let unknown = format!(
        "If the target of {name} was removed, or never was one, name the drives of the set: xicli raid destroy -n {name} -d DEVICE…"
    );
    let cluster =
        named::find().map_err(|error| Failure { message: format!("{}. {unknown}", error.message), ..error })?;
    let map = cluster.map().await?;
    let Ok(target) = named::target(&map, name) else {
        return Ok(format!("The cluster has no RAID {name}. {unknown}"));
    };
    // A service that does not answer leaves the drives for the operator to name.
    let set = Sets::of(&cluster).await?.ask(target, RaidOrder::Show).await.ok().flatten();
    let drives: Vec<String> =
        set.map_or_else(Vec::new, |set| set.set.members.into_iter().filter_map(|member| member.drive).collect());
    let drives = if drives.is_empty() { "DEVICE…".to_owned() } else { drives.join(" ") };
    Ok(format!("{}: xicli raid destroy -n {name} -d {drives}", to_do_first(&map, target)))
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::read;
    use super::*;
    use crate::command::raid::create;
    use crate::config::SetShape;
    use crate::exit::Exit;

    #[test]
    fn drives_that_are_named_are_a_set_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let drives: Vec<String> =
            (1..3).map(|at| dir.path().join(format!("nvme{at}n1")).display().to_string()).collect();
        drives.iter().for_each(|drive| std::fs::create_dir(drive).unwrap());
        let shape = SetShape { level: Some("1".into()), ..SetShape::default() };
        let args = create::RaidCreateArgs { drives: drives.clone(), shape, yes: true, ..Default::default() };
        create::run(args, Output::Json).unwrap();
        let line = format!("-n era1 -d {} {} --force", drives[0], drives[1]);
        assert_eq!(run(&read(&line)), Ok(Exit::Ok));
        assert!(drives.iter().all(|drive| std::fs::read_dir(drive).unwrap().next().is_none()));
    }

    #[test]
    fn what_is_not_done_is_said() {
        for (line, word) in [
            ("-d /tmp", "--name"),
            ("-a", "one by one"),
            ("-n era1 --config_only", "storage service"),
            ("-n era1 -d /dev/null", "block device"),
            ("-n era1 --colour blue", "--colour"),
        ] {
            assert!(run(&read(line)).unwrap_err().message.contains(word), "{line}");
        }
    }
}
