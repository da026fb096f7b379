// SPDX-License-Identifier: Apache-2.0

//! `nyala tune show|apply|revert`: what guides for storage hosts set, on this host.

use crate::exit::{Exit, Failure, Outcome};
use crate::host::{self, RootArg};
use crate::output::{Output, Table, show};
use crate::tune::{self, Change, Done};
use nyala_tune::plan::items;
use nyala_tune::{Device, Hardware, Role};
use serde::Serialize;
use std::path::PathBuf;

/// `nyala tune …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum TuneCommand {
    /// Show each setting: what it is, what it would be, what the guides say, and the rule that settles it
    Show(TuneArgs),
    /// Set them, until the host is restarted; without --yes, show what would be set
    Apply(TuneApplyArgs),
    /// Bring back what was before `apply`; without --yes, show what that is
    Revert(TuneRevertArgs),
}

/// Which settings.
#[derive(Clone, Debug, clap::Args)]
pub struct TuneArgs {
    /// A further directory with storage targets, beside those of the settings files; may be given several times
    #[arg(long = "target", value_name = "DIR")]
    pub targets: Vec<PathBuf>,
    /// A further block device, and what it holds; may be given several times
    #[arg(long = "device", value_name = "NAME=storage|meta", value_parser = device)]
    pub devices: Vec<Device>,
    /// Also what interfaces need of which several are in one subnet
    #[arg(long)]
    pub multi_homed: bool,
    #[command(flatten)]
    root: RootArg,
}

/// Flags of `nyala tune apply`.
#[derive(Clone, Debug, clap::Args)]
pub struct TuneApplyArgs {
    #[command(flatten)]
    which: TuneArgs,
    /// Do it
    #[arg(short = 'y', long)]
    yes: bool,
}

/// Flags of `nyala tune revert`.
#[derive(Clone, Debug, clap::Args)]
pub struct TuneRevertArgs {
    #[command(flatten)]
    root: RootArg,
    /// Do it
    #[arg(short = 'y', long)]
    yes: bool,
}

fn device(text: &str) -> Result<Device, String> {
    let form = "write NAME=storage or NAME=meta, as in nvme0n1=storage";
    let (name, role) = text.split_once('=').ok_or(form)?;
    let role = match role {
        "storage" => Role::Storage,
        "meta" => Role::Meta,
        _ => return Err(form.into()),
    };
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Err(format!("{name:?} is not a name below /sys/block; {form}"));
    }
    Ok(Device { name: name.to_owned(), role })
}

/// Does what the command says.
pub fn run(command: TuneCommand, output: Output) -> Outcome {
    match command {
        TuneCommand::Show(args) => {
            let listed = tune::list(&host::kernel_files(&args.root.root(), &hardware(&args)?));
            show(output, &listed, tune::render)
        }
        TuneCommand::Apply(args) => {
            let (root, hardware) = (args.which.root.root(), hardware(&args.which)?);
            if !args.yes {
                return dry(tune::changes(&host::kernel_files(&root, &hardware)), output);
            }
            report(tune::apply(&root, &root, &items(&hardware))?, output)
        }
        TuneCommand::Revert(args) => {
            let root = args.root.root();
            if !args.yes {
                return dry(tune::reverts(&root, &root)?, output);
            }
            report(tune::revert(&root, &root)?, output)
        }
    }
}

fn hardware(args: &TuneArgs) -> Result<Hardware, Failure> {
    let root = args.root.root();
    let mut hardware = host::hardware(&root, &host::directories(&root, &args.targets));
    for device in &args.devices {
        hardware.devices.retain(|known| known.name != device.name);
        hardware.devices.push(device.clone());
    }
    if args.multi_homed {
        hardware.interfaces = host::sharing_subnets(&host::interfaces(&root)?);
    }
    Ok(hardware)
}

#[derive(Serialize)]
struct Report<T> {
    done: bool,
    changes: Vec<T>,
}

fn rows<'a>(changes: impl Iterator<Item = (&'a Change, Option<&'a str>)>) -> String {
    let mut table = Table::new(&["FILE", "FROM", "TO", "NOTE"]);
    for (change, error) in changes {
        let note = error.map(|error| format!("failed: {error}")).or_else(|| change.note.clone()).unwrap_or_default();
        table.row([format!("/{}", change.file), change.from.clone(), change.to.clone(), note]);
    }
    table.render()
}

fn dry(changes: Vec<Change>, output: Output) -> Outcome {
    show(output, &Report { done: false, changes }, |report| match report.changes.as_slice() {
        [] => "There is nothing to change.\n".to_owned(),
        changes => {
            format!("{}\nNothing was changed; --yes does it.\n", rows(changes.iter().map(|change| (change, None))))
        }
    })
}

fn report(changes: Vec<Done>, output: Output) -> Outcome {
    let failed = changes.iter().filter(|done| done.error.is_some()).count();
    show(output, &Report { done: true, changes }, |report| match report.changes.as_slice() {
        [] => "There was nothing to change.\n".to_owned(),
        changes => rows(changes.iter().map(|done| (&done.change, done.error.as_deref()))),
    })?;
    match failed {
        0 => Ok(Exit::Ok),
        _ => Err(Failure::failed(format!("{failed} settings were not taken; the others were"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Pretended;

    fn args(host: &Pretended) -> TuneArgs {
        let root = RootArg { root: host.dir.path().to_owned() };
        TuneArgs { targets: Vec::new(), devices: Vec::new(), multi_homed: false, root }
    }

    #[test]
    fn nothing_is_set_without_yes() {
        let host = Pretended::new();
        let which = args(&host);
        let ratio = || host.says("proc/sys/vm/dirty_background_ratio");
        run(TuneCommand::Apply(TuneApplyArgs { which: which.clone(), yes: false }), Output::Json).unwrap();
        assert_eq!(ratio(), "10");
        run(TuneCommand::Apply(TuneApplyArgs { which: which.clone(), yes: true }), Output::Json).unwrap();
        assert_eq!(ratio(), "5");
        run(TuneCommand::Revert(TuneRevertArgs { root: which.root.clone(), yes: false }), Output::Json).unwrap();
        assert_eq!(ratio(), "5");
        run(TuneCommand::Revert(TuneRevertArgs { root: which.root, yes: true }), Output::Table).unwrap();
        assert_eq!(ratio(), "10");
    }

    #[test]
    fn devices_are_named_with_what_they_hold() {
        assert_eq!(device("nvme0n1=meta"), Ok(Device { name: "nvme0n1".into(), role: Role::Meta }));
        for bad in ["sda", "sda=disk", "=meta", "../x=meta", "/dev/sda=storage"] {
            assert!(device(bad).is_err(), "{bad}");
        }
        let host = Pretended::new();
        let named = TuneArgs { devices: vec![device("sda=meta").unwrap()], ..args(&host) };
        let items = items(&hardware(&named).unwrap());
        let of = |id: &str| -> Vec<&str> {
            items.iter().filter(|item| item.setting.id == id).map(|item| item.subject.as_str()).collect()
        };
        assert_eq!((of("meta.scheduler"), of("storage.scheduler")), (vec!["nvme0n1", "sda"], vec!["md0", "sdb"]));
    }
}
