// SPDX-License-Identifier: Apache-2.0

//! The commands of BeeGFS 7 and xiRAID under their names, for administrators who know them and for what was written for them: `beegfs-ctl`,
//! `beegfs-df`, `beegfs-net`, `beegfs-check-servers`, `beegfs-setup-…`, `xicli` and `xiraid` are links to this program (`nyala compat install`). Arguments
//! and the shape of the output are those of published manuals and papers; what they do is what Nyala's own commands do.
//!
//! What means nothing here is said in a line that begins with `Notice:` on standard error, and never done silently; what Nyala does
//! otherwise is refused with the command that does it.
//!
//! **Failure model.** As of the commands that do the work. Exit code: 0, or 1 for everything that went wrong, as scripts expect.

mod cluster;
mod command_line;
mod config_file;
mod ctl;
mod df;
pub mod install;
mod letters;
mod meaning;
mod names;
mod notice;
mod servers;
mod setup;
mod table;
mod xiraid;

use crate::exit::{Failure, Outcome};
use command_line::CommandLine;
use names::NAMES;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The name under which the program was called, if it is one of them.
pub fn called_as(argv0: &OsStr) -> Option<&'static str> {
    let name = Path::new(argv0).file_name()?;
    NAMES.into_iter().find(|known| name == *known)
}

/// Does what the command line says.
pub fn run(name: &'static str, args: &[OsString]) -> Outcome {
    let args: Option<Vec<String>> = args.iter().map(|arg| arg.to_str().map(str::to_owned)).collect();
    let args = args.ok_or_else(|| Failure::usage("the arguments are not text in UTF-8"))?;
    match name {
        "beegfs-ctl" => ctl::run(&CommandLine::of(&args)),
        "beegfs-df" => df::run(&CommandLine::of(&args)),
        "beegfs-net" => servers::net(&CommandLine::of(&args)),
        "beegfs-check-servers" => servers::check(&CommandLine::of(&args)),
        "xiraid" | "xicli" => xiraid::run(name, &args),
        _ => setup::run(name, &args),
    }
}
