// SPDX-License-Identifier: Apache-2.0

//! `xicli raid create`: as `nyala raid create --yes`, with the set's name as the alias of its target.

use super::device::drives_of;
use super::options::Options;
use super::pools::{self, Pools};
use crate::command::raid::create::{self, RaidCreateArgs};
use crate::command::raid::far::FarArgs;
use crate::compat::notice::notice;
use crate::config::{DEFAULT_SECRET, SetShape};
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::units::Size;

const KNOWN: [&str; 9] =
    ["name", "level", "drives", "group_size", "synd_cnt", "strip_size", "block_size", "sparepool", "force_metadata"];

/// Makes the set and prints what belongs in the settings.
pub fn run(line: &Options) -> Outcome {
    let known: Vec<&str> =
        KNOWN.iter().chain(super::modify::WITHOUT_MEANING.iter().map(|(name, _)| name)).copied().collect();
    line.only(&known)?;
    let name = line.need("name")?;
    nyala_cluster::alias::check(name).map_err(|error| Failure::usage(format!("-n {name}: {error}")))?;
    let shape = shape(line)?;
    let devices = line.values("drives");
    if devices.is_empty() {
        return Err(Failure::usage("Missing argument: --drives <block devices>"));
    }
    let drives = drives_of(devices)?;
    super::modify::say_what_means_nothing(line);
    if line.number("block_size")?.is_some_and(|bytes| bytes != 4096) {
        notice("-bs: blocks have 4096 bytes");
    }
    let mut pools = Pools::load(&pools::file())?;
    let spares = match line.value("sparepool")? {
        Some(pool) => {
            pools.give(name, Some(pool))?;
            pools.named(pool)?.drives.clone()
        }
        None => vec![],
    };
    for (device, drive) in devices.iter().zip(&drives).filter(|(device, drive)| device != drive) {
        notice(&format!("{device} stands for {drive}, where it is mounted"));
    }
    notice(&format!(
        "{name} becomes the alias of a storage target, which lies on the set itself; there is no block device to make a file system on"
    ));
    let far = FarArgs { secret: DEFAULT_SECRET.into(), encrypt: false };
    let has_spares = !spares.is_empty();
    let args = RaidCreateArgs { drives, spare: spares, shape, alias: Some(name.to_owned()), far, yes: true };
    let made = create::run(args, Output::Table)?;
    if has_spares {
        pools.save(&pools::file())?;
    }
    Ok(made)
}

/// Level and strips, in the words that Nyala has for them.
fn shape(line: &Options) -> Result<SetShape, Failure> {
    let level = line.need("level")?;
    let number = |name: &str, wanted: u64| {
        let fits = u8::try_from(wanted).ok().filter(|number| *number > 0);
        fits.ok_or_else(|| Failure::usage(format!("Invalid value of --{name}")))
    };
    let (mut groups, mut parity) = (None, None);
    let written = match level {
        "7" => "7.3",
        "nm" | "n+m" | "N+M" => {
            let wanted = line.number("synd_cnt")?;
            let missing = || Failure::usage("Missing argument: --synd_cnt <drives that may be lost>");
            parity = Some(number("synd_cnt", wanted.ok_or_else(missing)?)?);
            "n+m"
        }
        "50" | "60" | "70" => {
            let size = line.number("group_size")?.filter(|size| *size > 0);
            let size = size.ok_or_else(|| Failure::usage("Missing argument: --group_size <drives of a group>"))?;
            let drives = line.values("drives").len() as u64;
            if !drives.is_multiple_of(size) {
                return Err(Failure::usage(format!("{drives} drives are no whole groups of {size}")));
            }
            groups = Some(number("group_size", drives / size)?);
            level
        }
        other => other,
    };
    let strip = line.number("strip_size")?.map(|kib| Size(kib.saturating_mul(1024)));
    Ok(SetShape { level: Some(written.to_owned()), strip, groups, parity })
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::read;
    use super::*;

    #[test]
    fn levels_and_strips_in_other_words() {
        let of = |line: &str| shape(&read(line)).unwrap();
        let mirror = of("-n era1 -l 1 -d a b -ss 64 -bs 4096");
        assert_eq!((mirror.level.as_deref(), mirror.strip), (Some("1"), Some(Size(65536))));
        assert_eq!(of("-l 7").level.as_deref(), Some("7.3"));
        assert_eq!(of("-l 7.3").level.as_deref(), Some("7.3"));
        let nested = of("-l 60 -d a b c d e f g h -gs 4");
        assert_eq!((nested.level.as_deref(), nested.groups), (Some("60"), Some(2)));
        let coded = of("-l nm -sc 3");
        assert_eq!((coded.level.as_deref(), coded.parity), (Some("n+m"), Some(3)));
        for (wrong, word) in [
            ("-l nm", "synd_cnt"),
            ("-l 50 -d a b", "group_size"),
            ("-l 50 -gs 3 -d a b", "whole groups"),
            ("-ss 64", "level"),
        ] {
            assert!(shape(&read(wrong)).unwrap_err().message.contains(word), "{wrong}");
        }
    }

    #[test]
    fn a_set_is_made_of_directories_as_it_is_printed() {
        let dir = tempfile::tempdir().unwrap();
        let drives: Vec<String> =
            (1..3).map(|at| dir.path().join(format!("nvme{at}n1")).display().to_string()).collect();
        drives.iter().for_each(|drive| std::fs::create_dir(drive).unwrap());
        let line = |name: &str| read(&format!("-n {name} -l 1 -d {} {} -ss 64 -bs 4096", drives[0], drives[1]));
        assert!(run(&line("1")).unwrap_err().message.contains("-n 1"), "no alias");
        assert!(run(&read("-n era1 -l 1 -d /dev/null /dev/zero")).unwrap_err().message.contains("block device"));
        run(&line("era1")).unwrap();
        assert!(dir.path().join("nvme2n1/target/target.toml").exists());
        assert!(run(&line("era1")).unwrap_err().message.contains("not empty"));
    }
}
