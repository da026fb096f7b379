// SPDX-License-Identifier: Apache-2.0

//! Settings of a role: flag before `NYALA_…` variable before file before default.
//!
//! A role's settings are one struct whose every field is a key of the file, a flag and a variable; [`settings!`] makes
//! it. What is set nowhere stays `None` until the role fills in its default.

mod check;
mod client;
mod export;
mod influx;
mod load;
mod memory;
mod meta;
mod mgmtd;
mod mon;
#[cfg(test)]
mod reference;
mod storage;
mod target;
mod transport;

pub use check::{ConfigRole, check};
pub use client::ClientSettings;
pub use load::{load, load_default};
pub use meta::MetaSettings;
pub use mgmtd::{MgmtdSettings, PatternArg, pattern};
pub use mon::MonSettings;
pub use storage::StorageSettings;
pub use target::{SetShape, TargetArg};
pub use transport::FuseTransport;

/// Where the secret file is unless something else is said.
pub const DEFAULT_SECRET: &str = "/etc/nyala/secret";
/// Where configuration files are looked for.
pub const CONFIG_DIR: &str = "/etc/nyala";

/// Default port of the management service.
pub const MGMT_PORT: u16 = 8008;
/// Default port of metadata services.
pub const META_PORT: u16 = 8005;
/// Default port of storage services.
pub const STORAGE_PORT: u16 = 8003;
/// Default port of the REST API.
pub const REST_PORT: u16 = 8010;

/// Default port of the monitoring service's queries.
pub const MON_PORT: u16 = 8012;

/// Settings that can be laid over others.
pub trait Settings: serde::de::DeserializeOwned + Default {
    /// Short name of the role, as in `/etc/nyala/ROLE.toml`.
    const ROLE: &'static str;

    /// These settings, and where they say nothing, those.
    fn over(self, below: Self) -> Self;
}

macro_rules! settings {
    ($(#[$meta:meta])* $name:ident, $role:literal { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_meta])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }

        impl $crate::config::Settings for $name {
            const ROLE: &'static str = $role;

            fn over(self, below: Self) -> Self {
                $name { $($field: self.$field.or(below.$field),)* }
            }
        }
    };
}
pub(crate) use settings;
