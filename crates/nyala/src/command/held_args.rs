// SPDX-License-Identifier: Apache-2.0

//! Flags that `nyala key set` and `nyala access set` share.

use nyala_wire::key_rules::{IdRange, KeyRule, NOBODY, Squash};

/// Whose ids count as the anonymous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SquashWhom {
    /// Nobody's
    None,
    /// Those of root
    Root,
    /// Everybody's
    All,
}

/// What clients are held to, of `nyala key set` and `nyala access set`.
#[derive(Clone, Debug, clap::Args)]
pub struct HeldArgs {
    /// Servers refuse every change
    #[arg(long)]
    pub read_only: bool,
    /// Whose ids count as the anonymous user and group
    #[arg(long, value_enum, default_value = "none", value_name = "WHOM")]
    pub squash: SquashWhom,
    /// The anonymous user and group
    #[arg(long, default_value_t = Pair(NOBODY, NOBODY), value_name = "UID:GID")]
    pub anonymous: Pair,
    /// Users of the client's host that count as users of the cluster, COUNT of them; all others count as anonymous
    #[arg(long, value_delimiter = ',', value_name = "CLIENT:CLUSTER:COUNT")]
    pub map_users: Vec<Range>,
    /// The same for groups
    #[arg(long, value_delimiter = ',', value_name = "CLIENT:CLUSTER:COUNT")]
    pub map_groups: Vec<Range>,
}

impl HeldArgs {
    /// What they say for the clients of a key.
    pub fn rule(&self, key: &str) -> KeyRule {
        let ranges = |ranges: &[Range]| ranges.iter().map(|range| range.0).collect();
        KeyRule {
            key: key.to_owned(),
            read_only: self.read_only,
            squash: match self.squash {
                SquashWhom::None => Squash::None,
                SquashWhom::Root => Squash::Root,
                SquashWhom::All => Squash::All,
            },
            anonymous_uid: self.anonymous.0,
            anonymous_gid: self.anonymous.1,
            users: ranges(&self.map_users),
            groups: ranges(&self.map_groups),
        }
    }
}

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair(pub u32, pub u32);

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0, self.1)
    }
}

impl std::str::FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Pair, String> {
        let parts = text.split_once(':').and_then(|(uid, gid)| Some(Pair(uid.parse().ok()?, gid.parse().ok()?)));
        parts.ok_or_else(|| format!("{text:?} is not UID:GID, two numbers such as 65534:65534"))
    }
}

/// A range of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range(IdRange);

impl std::str::FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Range, String> {
        let numbers: Option<Vec<u32>> = text.split(':').map(|part| part.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[client, server, count]) => Ok(Range(IdRange { client, server, count })),
            _ => Err(format!("{text:?} is not CLIENT:CLUSTER:COUNT, three numbers such as 1000:50000:100")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_taken_or_refused_in_words() {
        assert_eq!("0:7".parse(), Ok(Pair(0, 7)));
        assert_eq!("1000:50000:10".parse(), Ok(Range(IdRange { client: 1000, server: 50_000, count: 10 })));
        for bad in ["", "1", "1:x", "1:2:3", "-1:2"] {
            assert!(bad.parse::<Pair>().unwrap_err().contains("two numbers"), "{bad}");
        }
        for bad in ["", "1:2", "1:2:3:4", "1:2:x", "1:2:4294967296"] {
            assert!(bad.parse::<Range>().unwrap_err().contains("three numbers"), "{bad}");
        }
    }
}
