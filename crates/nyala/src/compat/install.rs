// SPDX-License-Identifier: Apache-2.0

//! `nyala compat install`: the old names, as links to this program.

use super::names::NAMES;
use crate::exit::{Failure, Outcome, io};
use crate::output::{Output, show};
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Where published manuals have the commands.
const PREFIX: &str = "/opt/beegfs";
/// Where the shell finds those that are called without a directory.
const PATH_DIR: &str = "/usr/local/bin";

/// `nyala compat …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum CompatCommand {
    /// Install beegfs-ctl, beegfs-df, beegfs-net, beegfs-check-servers, beegfs-setup-…, xicli and xiraid as links to this program
    Install(InstallArgs),
    /// Show what an old configuration file is in Nyala
    Translate(TranslateArgs),
}

/// Flags of `nyala compat install`.
#[derive(Clone, Debug, clap::Args)]
pub struct InstallArgs {
    /// Where to: they are in DIR/sbin [default: /opt/beegfs, with links in /usr/local/bin]
    #[arg(long, value_name = "DIR")]
    pub prefix: Option<PathBuf>,
    /// What they link to [default: this program]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// Flags of `nyala compat translate`.
#[derive(Clone, Debug, clap::Args)]
pub struct TranslateArgs {
    /// The old file, such as /etc/beegfs/beegfs-meta.conf
    pub file: PathBuf,
    /// Whose it is
    #[arg(long, value_parser = ["mgmtd", "meta", "storage", "client"])]
    pub role: String,
}

/// Does it.
pub fn run(command: CompatCommand, output: Output) -> Outcome {
    match command {
        CompatCommand::Install(args) => install(&args, output),
        CompatCommand::Translate(args) => translate(&args, output),
    }
}

fn install(args: &InstallArgs, output: Output) -> Outcome {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe().map_err(io("this program's file"))?,
    };
    let sbin = args.prefix.clone().unwrap_or_else(|| PREFIX.into()).join("sbin");
    std::fs::create_dir_all(&sbin).map_err(io(sbin.display()))?;
    let mut links = Vec::new();
    for name in NAMES {
        links.push(link(&sbin.join(name), &program)?);
        if args.prefix.is_none() && !name.starts_with("beegfs-setup") {
            links.push(link(&Path::new(PATH_DIR).join(name), &sbin.join(name))?);
        }
    }
    show(output, &links, |links| links.iter().map(Link::text).collect())
}

/// An old name.
#[derive(Serialize)]
struct Link {
    /// Bytes that are no text are shown as U+FFFD.
    path: String,
    to: String,
    /// It was not there before.
    made: bool,
}

impl Link {
    fn new(path: &Path, to: &Path, made: bool) -> Link {
        Link { path: path.to_string_lossy().into(), to: to.to_string_lossy().into(), made }
    }

    fn text(&self) -> String {
        let Link { path, to, made } = self;
        if *made { format!("{path} -> {to}\n") } else { format!("{path} is there\n") }
    }
}

/// What is there and is not such a link is somebody else's.
fn link(path: &Path, to: &Path) -> Result<Link, Failure> {
    let shown = path.display();
    match std::fs::read_link(path) {
        Ok(there) if there == to => return Ok(Link::new(path, to, false)),
        Ok(_) => std::fs::remove_file(path).map_err(io(&shown))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(_) => {
            return Err(Failure::failed(format!(
                "{shown} is another program's; remove it, or choose another --prefix"
            )));
        }
    }
    symlink(to, path).map_err(io(&shown))?;
    Ok(Link::new(path, to, true))
}

fn translate(args: &TranslateArgs, output: Output) -> Outcome {
    let new = super::config_file::ConfigFile::read(&args.file)?.translate(&args.role);
    new.notices.iter().for_each(|text| super::notice::notice(text));
    let settings: BTreeMap<&str, &toml::Value> = new.keys.iter().map(|(key, value)| (&**key, value)).collect();
    let text = |(key, value): &(String, toml::Value)| format!("{key} = {value}\n");
    show(output, &settings, |_| new.keys.iter().map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_made_and_others_files_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let args = InstallArgs { prefix: Some(dir.path().into()), program: Some("/usr/bin/nyala".into()) };
        install(&args, Output::Json).unwrap();
        install(&args, Output::Json).unwrap();
        for name in NAMES {
            let there = std::fs::read_link(dir.path().join("sbin").join(name)).unwrap();
            assert_eq!(there, Path::new("/usr/bin/nyala"));
        }
        let ctl = dir.path().join("sbin/beegfs-ctl");
        std::fs::remove_file(&ctl).unwrap();
        std::fs::write(&ctl, "theirs").unwrap();
        assert!(install(&args, Output::Json).unwrap_err().message.contains("another program's"));
        assert_eq!(std::fs::read_to_string(&ctl).unwrap(), "theirs");
    }
}
