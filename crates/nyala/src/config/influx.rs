// SPDX-License-Identifier: Apache-2.0

//! Which database the settings of the monitoring service name.

use crate::exit::Failure;
use nyala_mon::{InfluxConfig, InfluxDestination, Url};
use std::path::PathBuf;

/// The keys that begin with `influx-`.
pub struct InfluxKeys {
    /// Where it is.
    pub url: Option<String>,
    /// Version 1: database, who writes, file with the password.
    pub database: Option<String>,
    /// See above.
    pub user: Option<String>,
    /// See above.
    pub password_file: Option<PathBuf>,
    /// Version 2: organisation, bucket, file with the token.
    pub org: Option<String>,
    /// See above.
    pub bucket: Option<String>,
    /// See above.
    pub token_file: Option<PathBuf>,
}

/// Where points are written: version 2 where a bucket is named, else version 1.
pub fn influx_config(keys: &InfluxKeys) -> Result<Option<InfluxConfig>, Failure> {
    let v1 = keys.user.is_some() || keys.password_file.is_some() || keys.database.is_some();
    let v2 = keys.org.is_some() || keys.bucket.is_some() || keys.token_file.is_some();
    let Some(url) = &keys.url else {
        let idle = "influx-… says how to write to InfluxDB; influx-url has to say where it is";
        return if v1 || v2 { Err(Failure::config(idle)) } else { Ok(None) };
    };
    let url: Url = url.parse().map_err(|error: nyala_mon::UrlError| Failure::config(format!("influx-url: {error}")))?;
    let destination = match (&keys.org, &keys.bucket, &keys.token_file) {
        (None, None, None) => InfluxDestination::Database {
            name: keys.database.clone().unwrap_or_else(|| "nyala".to_owned()),
            user: match (&keys.user, &keys.password_file) {
                (Some(user), Some(file)) => Some((user.clone(), file.clone())),
                (None, None) => None,
                _ => return Err(Failure::config("influx-user and influx-password-file go together")),
            },
        },
        (Some(org), Some(bucket), Some(token_file)) if !v1 => {
            InfluxDestination::Bucket { org: org.clone(), bucket: bucket.clone(), token_file: token_file.clone() }
        }
        _ if v1 => {
            let both = "influx-database, -user and -password-file are for InfluxDB 1, influx-org, -bucket and -token-file for 2: take one of them";
            return Err(Failure::config(both));
        }
        _ => return Err(Failure::config("InfluxDB 2 needs influx-org, influx-bucket and influx-token-file")),
    };
    Ok(Some(InfluxConfig { url, destination }))
}
