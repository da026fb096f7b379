// SPDX-License-Identifier: Apache-2.0

//! `nyala compat install`: the old names, as links to this program.

use super::names::NAMES;
use crate::exit::{Failure, Outcome, io};
use crate::output::print;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Where published manuals have the commands.
const PREFIX: &str = "/opt/beegfs";
/// Where the shell finds those that are called without a directory.
const PATH_DIR: &str = "/usr/local/bin";

/// `nyala compat …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum CompatCommand {
    /// Install beegfs-ctl, beegfs-df, beegfs-net, beegfs-check-servers and beegfs-setup-… as links to this program
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
pub fn run(command: CompatCommand) -> Outcome {
    match command {
        CompatCommand::Install(args) => install(&args),
        CompatCommand::Translate(args) => translate(&args),
    }
}

fn install(args: &InstallArgs) -> Outcome {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe().map_err(io("this program's file"))?,
    };
    let sbin = args.prefix.clone().unwrap_or_else(|| PREFIX.into()).join("sbin");
    std::fs::create_dir_all(&sbin).map_err(io(sbin.display()))?;
    let mut text = String::new();
    for name in NAMES {
        text += &link(&sbin.join(name), &program)?;
        if args.prefix.is_none() && !name.starts_with("beegfs-setup") {
            text += &link(&Path::new(PATH_DIR).join(name), &sbin.join(name))?;
        }
    }
    print(&text)
}

/// What is there and is not such a link is somebody else's.
fn link(at: &Path, to: &Path) -> Result<String, Failure> {
    let shown = at.display();
    match std::fs::read_link(at) {
        Ok(there) if there == to => return Ok(format!("{shown} is there\n")),
        Ok(_) => std::fs::remove_file(at).map_err(io(&shown))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(_) => {
            return Err(Failure::failed(format!(
                "{shown} is another program's; remove it, or choose another --prefix"
            )));
        }
    }
    symlink(to, at).map_err(io(&shown))?;
    Ok(format!("{shown} -> {}\n", to.display()))
}

fn translate(args: &TranslateArgs) -> Outcome {
    let new = super::config_file::ConfigFile::read(&args.file)?.translate(&args.role);
    new.notices.iter().for_each(|text| super::notice::notice(text));
    print(&new.keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_made_and_others_files_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let args = InstallArgs { prefix: Some(dir.path().into()), program: Some("/usr/bin/nyala".into()) };
        install(&args).unwrap();
        install(&args).unwrap();
        for name in NAMES {
            let there = std::fs::read_link(dir.path().join("sbin").join(name)).unwrap();
            assert_eq!(there, Path::new("/usr/bin/nyala"));
        }
        let ctl = dir.path().join("sbin/beegfs-ctl");
        std::fs::remove_file(&ctl).unwrap();
        std::fs::write(&ctl, "theirs").unwrap();
        assert!(install(&args).unwrap_err().message.contains("another program's"));
        assert_eq!(std::fs::read_to_string(&ctl).unwrap(), "theirs");
    }
}
