// SPDX-License-Identifier: Apache-2.0

//! Planning the set-up of a host for commands and mounts.

use super::args::ClientSetup;
use super::plan::Plan;
use super::step::Step;
use super::{document, fstab};
use crate::config::{CONFIG_DIR, ClientSettings, DEFAULT_SECRET, load};
use crate::exit::{Failure, io};
use crate::units::Hosts;
use nyala_transport::Secret;
use std::path::{Path, PathBuf};
use toml::Value;

/// Where a host has what mounts need.
struct HostFiles {
    /// The table of file systems.
    fstab: PathBuf,
    /// How mount(8) finds us.
    helper: PathBuf,
}

impl HostFiles {
    fn of_this_host() -> HostFiles {
        HostFiles { fstab: "/etc/fstab".into(), helper: "/sbin/mount.fuse.nyala".into() }
    }
}

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
    planned(args, &HostFiles::of_this_host())
}

fn planned(args: &ClientSetup, files: &HostFiles) -> Result<Plan, Failure> {
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
        Some(at) => mount(&mut plan, at, &mgmt, &secret, args, files)?,
        None if args.common.start => return Err(Failure::usage("--start mounts: give --mount DIR as well")),
        None => plan.next.push("nyala health check".into()),
    }
    Ok(plan)
}

fn mount(
    plan: &mut Plan,
    at: &Path,
    mgmt: &Hosts,
    secret: &Path,
    args: &ClientSetup,
    files: &HostFiles,
) -> Result<(), Failure> {
    let (Some(point), true) = (at.to_str(), at.is_absolute()) else {
        return Err(Failure::usage(format!("{}: a mount point begins with / and is UTF-8", at.display())));
    };
    let mut options = args.options.clone();
    if secret != Path::new(DEFAULT_SECRET) {
        let shown = secret.to_str().filter(|text| !text.contains([',', '"']));
        let refused = || Failure::usage(format!("{}: mount options cannot name a file like this", secret.display()));
        options += &format!(",secret={}", shown.ok_or_else(refused)?);
    }
    crate::mount::MountFlags::default().add(&options, false).map_err(Failure::usage)?;
    let [source, point, options] = [&format!("{mgmt}:/"), point, &options].map(nyala_tune::fstab::escape);
    let line = format!("{source} {point} fuse.nyala {options} 0 0");
    if fstab::is_to_be_added(&files.fstab, &line)? {
        plan.steps.push(Step::Fstab { path: files.fstab.clone(), line });
    }
    let own = std::env::current_exe().map_err(io("this program's file"))?;
    if !helper_is_there(&files.helper, &own)? {
        plan.steps.push(Step::Link { path: files.helper.clone(), to: own });
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

/// Whether mount(8) finds this program. What else is at that place is somebody's, and stays.
fn helper_is_there(helper: &Path, own: &Path) -> Result<bool, Failure> {
    let shown = helper.display();
    let there = match std::fs::symlink_metadata(helper) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        there => there.map_err(io(&shown))?,
    };
    if !there.is_symlink() {
        return Err(Failure::failed(format!(
            "{shown} is a file of its own and not a link to {}; mount(8) would call it. Move it away, or mount with `nyala mount`",
            own.display()
        )));
    }
    let to = std::fs::read_link(helper).map_err(io(&shown))?;
    let same = |one: &Path| std::fs::canonicalize(one).ok().zip(std::fs::canonicalize(own).ok());
    if to == own || same(helper).is_some_and(|(there, own)| there == own) {
        return Ok(true);
    }
    Err(Failure::failed(format!(
        "{shown} links to {}, and not to {}: mount(8) would call that one. Set up with that program, or remove the link",
        to.display(),
        own.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let common = super::super::args::CommonSetup {
            config: Some(dir.path().join("client.toml")),
            secret: Some(dir.path().join("secret")),
            ..Default::default()
        };
        let files = HostFiles { fstab: dir.path().join("fstab"), helper: dir.path().join("mount.fuse.nyala") };
        let client = |args: &ClientSetup| planned(args, &files);
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
        assert!(plan.steps.contains(&Step::Fstab { path: files.fstab.clone(), line }), "{plan:?}");
        // The second time there is nothing to do; another line or program is somebody's, and is refused.
        let args = ClientSetup { mount: Some(dir.path().join("m t")), ..args.clone() };
        client(&args).unwrap().steps.iter().for_each(|step| step.perform().unwrap());
        let table = std::fs::read_to_string(&files.fstab).unwrap();
        assert!(table.contains("/m\\040t fuse.nyala _netdev,secret=") && table.ends_with(" 0 0\n"), "{table}");
        assert_eq!(client(&args).unwrap().steps, []);
        let other = ClientSetup { options: "_netdev,ro".into(), ..args.clone() };
        assert!(client(&other).unwrap_err().message.contains("another line for this mount point"));
        assert_eq!(std::fs::read_to_string(&files.fstab).unwrap(), table);
        for (kind, word) in
            [("link", "links to /bin/true"), ("dangling", "links to /nonexistent"), ("file", "a file of its own")]
        {
            std::fs::remove_file(&files.helper).unwrap();
            match kind {
                "link" => std::os::unix::fs::symlink("/bin/true", &files.helper).unwrap(),
                "dangling" => std::os::unix::fs::symlink("/nonexistent", &files.helper).unwrap(),
                _ => std::fs::write(&files.helper, "theirs").unwrap(),
            }
            assert!(client(&args).unwrap_err().message.contains(word), "{kind}");
        }
        // A link by way of another link, as between /sbin and /usr/sbin, is this program's.
        std::fs::remove_file(&files.helper).unwrap();
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), dir.path().join("nyala")).unwrap();
        std::os::unix::fs::symlink("nyala", &files.helper).unwrap();
        assert_eq!(client(&args).unwrap().steps, []);
    }
}
