// SPDX-License-Identifier: Apache-2.0

//! Planning the set-up of a host for commands and mounts.

use super::args::ClientSetup;
use super::document;
use super::plan::Plan;
use super::step::Step;
use crate::config::{CONFIG_DIR, ClientSettings, DEFAULT_SECRET, load};
use crate::exit::{Failure, io};
use crate::units::Hosts;
use nyala_transport::Secret;
use std::path::{Path, PathBuf};
use toml::Value;

/// The table of file systems.
const FSTAB: &str = "/etc/fstab";
/// How mount(8) finds us.
const HELPER: &str = "/sbin/mount.fuse.nyala";

/// A missing secret is asked for with the command that brings it.
pub fn secret_is_there(file: &Path) -> Result<(), Failure> {
    if file.exists() {
        return Ok(());
    }
    let shown = file.display();
    Err(Failure::config(format!(
        "the cluster's secret {shown} is missing; bring it from a host of the cluster: scp -p HOST:{shown} {shown}"
    )))
}

/// Plans it.
pub fn client(args: &ClientSetup) -> Result<Plan, Failure> {
    let config = args.common.config.clone().unwrap_or_else(|| Path::new(CONFIG_DIR).join("client.toml"));
    let mut keys: Vec<(String, Value)> = Vec::new();
    let texts = |hosts: &Hosts| hosts.0.iter().map(|host| Value::String(host.to_string())).collect();
    keys.extend(args.mgmt.as_ref().map(|hosts| ("mgmt".to_owned(), Value::Array(texts(hosts)))));
    if let Some(secret) = &args.common.secret {
        keys.push(("secret".to_owned(), Value::String(secret.display().to_string())));
    }
    keys.extend(args.common.encrypt.then(|| ("encrypt".to_owned(), Value::Boolean(true))));
    keys.extend(args.common.set.iter().cloned());
    let old = match std::fs::read_to_string(&config) {
        Ok(old) => load::<ClientSettings>(&config).map(|_| Some(old))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(io(config.display())(error)),
    };
    let text = document::settled::<ClientSettings>(old.as_deref(), &keys, &[]).map_err(Failure::config)?;
    let settings: ClientSettings = toml::from_str(&text).map_err(|error| Failure::usage(error.message().to_owned()))?;
    let missing = || Failure::usage("which cluster? Give --mgmt HOST, a management host (or several with commas)");
    let mgmt = settings.mgmt.clone().ok_or_else(missing)?;
    mgmt.resolve(crate::config::MGMT_PORT)?;
    let secret = settings.secret_file();
    secret_is_there(&secret)?;
    Secret::load(&secret)?;
    let mut plan = Plan::default();
    if old.as_deref() != Some(&text) {
        let shown = keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        plan.steps.push(Step::Write { path: config, text, mode: 0o644, shown, replaces: old.is_some() });
    }
    match &args.mount {
        Some(at) => mount(&mut plan, at, &mgmt, &secret, args)?,
        None if args.common.start => return Err(Failure::usage("--start mounts: give --mount DIR as well")),
        None => plan.next.push("nyala health check".into()),
    }
    Ok(plan)
}

fn mount(plan: &mut Plan, at: &Path, mgmt: &Hosts, secret: &Path, args: &ClientSetup) -> Result<(), Failure> {
    let blank = |path: &Path| path.to_str().is_none_or(|text| text.contains([' ', '\t', '\n', '\\']));
    if !at.is_absolute() || blank(at) || blank(secret) {
        return Err(Failure::usage(format!("{}: a mount point begins with / and has no blanks", at.display())));
    }
    let mut options = args.options.clone();
    if secret != Path::new(DEFAULT_SECRET) {
        options += &format!(",secret={}", secret.display());
    }
    crate::mount::MountFlags::default().add(&options, false).map_err(Failure::usage)?;
    let line = format!("{mgmt}:/ {} fuse.nyala {options} 0 0", at.display());
    let fstab = std::fs::read_to_string(FSTAB).unwrap_or_default();
    match entry_at(&fstab, at) {
        Some(there) if fields(there) == fields(&line) => {}
        Some(there) => {
            return Err(Failure::failed(format!(
                "{FSTAB} has another line for {}: {there}; change or remove that one",
                at.display()
            )));
        }
        None => plan.steps.push(Step::Append { path: FSTAB.into(), line }),
    }
    if !Path::new(HELPER).exists() {
        let own = std::env::current_exe().map_err(io("this program's file"))?;
        plan.steps.push(Step::Link { path: PathBuf::from(HELPER), to: own });
    }
    let mounted = crate::mount::table::at(at)?.is_some();
    if !mounted && !at.is_dir() {
        plan.steps.push(Step::MakeDir { path: at.to_owned(), mode: 0o755 });
    }
    if args.common.start && !mounted {
        plan.steps.push(Step::Run { command: vec!["mount".into(), at.display().to_string()] });
    } else if !mounted {
        plan.next.push(format!("mount {}", at.display()));
    }
    Ok(())
}

fn fields(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The line of a table of file systems that is about a mount point.
fn entry_at<'a>(fstab: &'a str, at: &Path) -> Option<&'a str> {
    let mut lines = fstab.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.rfind(|line| fields(line).get(1).is_some_and(|point| Path::new(point) == at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_fstab_are_found_by_their_mount_point() {
        let fstab = "# h:/ /mnt/a fuse.nyala x 0 0\nh:/\t/mnt/a  fuse.nyala _netdev 0 0\n\nUUID=1 / ext4 rw 0 1\n";
        let line = entry_at(fstab, Path::new("/mnt/a")).unwrap();
        assert_eq!(fields(line), fields("h:/ /mnt/a fuse.nyala _netdev 0 0"));
        assert_eq!(entry_at(fstab, Path::new("/mnt")), None);
        assert_eq!(entry_at("", Path::new("/")), None);
    }

    #[test]
    fn what_is_missing_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let common = super::super::args::CommonSetup {
            config: Some(dir.path().join("client.toml")),
            secret: Some(dir.path().join("secret")),
            ..Default::default()
        };
        let args = ClientSetup { common, options: "_netdev".into(), ..Default::default() };
        assert!(client(&args).unwrap_err().message.contains("--mgmt"));
        let args = ClientSetup { mgmt: Some("127.0.0.1,[::1]:9".parse().unwrap()), ..args };
        assert!(client(&args).unwrap_err().message.contains("scp -p HOST:"));
        Secret::generate(&dir.path().join("secret")).unwrap();
        let plan = client(&args).unwrap();
        plan.steps.iter().for_each(|step| step.perform().unwrap());
        assert!(client(&args).unwrap().steps.is_empty());
        let at = |mount: &str, options: &str| {
            client(&ClientSetup { mount: Some(mount.into()), options: options.into(), ..args.clone() })
        };
        assert!(at("mnt", "ro").unwrap_err().message.contains("begins with /"));
        assert!(at("/mnt/x", "r0").unwrap_err().message.contains("r0"));
        let plan = at("/nonexistent/x", "_netdev").unwrap();
        let secret = dir.path().join("secret");
        let line = format!("127.0.0.1,[::1]:9:/ /nonexistent/x fuse.nyala _netdev,secret={} 0 0", secret.display());
        assert!(plan.steps.contains(&Step::Append { path: FSTAB.into(), line }), "{plan:?}");
    }
}
