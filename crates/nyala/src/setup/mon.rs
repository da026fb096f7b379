// SPDX-License-Identifier: Apache-2.0

//! Planning the set-up of a monitoring service: its settings, directory and unit. It is no member of the cluster, and needs its secret only.

use super::client::secret_is_there;
use super::directories::{Found, of_mon};
use super::mon_args::MonSetup;
use super::plan::Plan;
use super::settings_file::settings_file;
use super::site::Site;
use super::step::Step;
use super::values::{list, text};
use crate::config::{ConfigRole, MonSettings};
use crate::exit::Failure;
use nyala_mon::InfluxConfig;
use nyala_transport::Secret;

/// Plans it.
pub fn mon(args: &MonSetup) -> Result<Plan, Failure> {
    let service = args.service();
    let site = Site::new("mon", &service);
    let mut keys = site.keys(args.dir.as_deref(), &service)?;
    keys.extend(args.mgmt.as_ref().map(|hosts| list("mgmt", hosts)));
    keys.extend(args.port.map(|port| text("listen", format!("127.0.0.1:{port}"))));
    let file = settings_file::<MonSettings>(&site.config, keys, &args.common, &[])?;
    let config = file.settings.clone().resolve().map_err(|error| error.context(site.config.display()))?;
    if !config.listen.ip().is_loopback() && !config.insecure {
        return Err(Failure::config(format!(
            "listen = {}: queries and their token are not encrypted; listen on 127.0.0.1, or --set insecure=true",
            config.listen
        )));
    }
    secret_is_there(&config.secret_file)?;
    Secret::load(&config.secret_file)?;
    // The service reads the files of its database once, when it starts.
    config.influx.as_ref().map_or(Ok(()), InfluxConfig::check).map_err(|error| Failure::config(error.to_string()))?;
    let mut plan = Plan::default();
    if of_mon(&config.dir)? == Found::Missing {
        plan.steps.push(Step::MakeDir { path: config.dir.clone(), mode: 0o700 });
    }
    plan.steps.extend(file.step);
    site.finish(&mut plan, &service, ConfigRole::Mon, &file.text, &config.secret_file)?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::args::CommonSetup;
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    fn args(place: &Path) -> MonSetup {
        let (config, secret) = (Some(place.join("mon.toml")), Some(place.join("secret")));
        let common = CommonSetup { config, secret, ..Default::default() };
        let mgmt = Some("127.0.0.1".parse().unwrap());
        MonSetup { mgmt, dir: Some(place.join("history")), common, ..Default::default() }
    }

    fn refused(args: &MonSetup) -> String {
        mon(args).unwrap_err().message
    }

    fn set(args: &MonSetup, pairs: &[(&str, &str)]) -> MonSetup {
        let mut args = args.clone();
        args.common.set =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), toml::Value::String((*value).to_owned()))).collect();
        args
    }

    #[test]
    fn it_is_set_up_once() {
        let place = tempfile::tempdir().unwrap();
        let args = args(place.path());
        assert!(refused(&args).contains("scp -p HOST:"));
        Secret::generate(&place.path().join("secret")).unwrap();
        let plan = mon(&MonSetup { port: Some(8112), ..args.clone() }).unwrap();
        plan.steps.iter().for_each(|step| step.perform().unwrap());
        let config = args.common.config.clone().unwrap();
        assert_eq!(crate::config::check(&config, None), Ok(ConfigRole::Mon));
        let text = std::fs::read_to_string(&config).unwrap();
        for line in ["listen = \"127.0.0.1:8112\"", "mgmt = [\"127.0.0.1\"]", "# interval = \"5s\"", "# keep = \"24h\""]
        {
            assert!(text.contains(&format!("\n{line}\n")), "{line} is not in {text}");
        }
        let mode = std::fs::metadata(place.path().join("history")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
        let again = mon(&args).unwrap();
        assert_eq!(again.steps, []);
        assert_eq!(again.next, [format!("nyala mon --config {}", config.display())]);
        // What the service has left there is its own; its history may be given up.
        std::fs::write(place.path().join("history/mon.token"), "x").unwrap();
        assert_eq!(mon(&args).unwrap().steps, []);
        std::fs::remove_dir_all(place.path().join("history")).unwrap();
        assert!(matches!(mon(&args).unwrap().steps[..], [Step::MakeDir { .. }]));
    }

    #[test]
    fn what_its_service_would_refuse_is_refused_now() {
        let place = tempfile::tempdir().unwrap();
        let args = args(place.path());
        Secret::generate(&place.path().join("secret")).unwrap();
        assert!(refused(&MonSetup { mgmt: None, ..args.clone() }).contains("--mgmt"));
        assert!(refused(&MonSetup { dir: Some(PathBuf::from("history")), ..args.clone() }).contains("begin with /"));
        assert!(refused(&set(&args, &[("interval", "1ms")])).contains("100ms"));
        assert!(refused(&set(&args, &[("listen", "0.0.0.0:8012")])).contains("insecure=true"));
        std::fs::create_dir_all(place.path().join("full/x")).unwrap();
        assert!(refused(&MonSetup { dir: Some(place.path().join("full")), ..args.clone() }).contains("not empty"));
        let token = place.path().join("token");
        let influx = set(
            &args,
            &[
                ("influx-url", "http://db:8086"),
                ("influx-org", "o"),
                ("influx-bucket", "b"),
                ("influx-token-file", token.to_str().unwrap()),
            ],
        );
        assert!(refused(&influx).contains("token"));
        std::fs::write(&token, "s3cret\n").unwrap();
        std::fs::set_permissions(&token, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(refused(&influx).contains("chmod 600"));
        std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
        let plan = mon(&influx).unwrap();
        assert!(plan.steps.iter().any(|step| step.to_string().contains("influx-bucket = \"b\"")), "{plan:?}");
        let mut started = args;
        started.common.start = true;
        assert!(refused(&started).contains("--config"));
        assert!(!place.path().join("history").exists());
    }
}
