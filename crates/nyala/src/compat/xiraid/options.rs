// SPDX-License-Identifier: Apache-2.0

//! A command line of verbs, then options with values up to the next option: `-n era1 -d /dev/a /dev/b -ss 64`. Pure.

use crate::exit::Failure;

/// Letters of options and their long names.
const NAMES: [(&str, &str); 31] = [
    ("n", "name"),
    ("l", "level"),
    ("d", "drives"),
    ("gs", "group_size"),
    ("sc", "synd_cnt"),
    ("ss", "strip_size"),
    ("bs", "block_size"),
    ("sp", "sparepool"),
    ("no", "number"),
    ("a", "all"),
    ("f", "format"),
    ("u", "units"),
    ("e", "extended"),
    ("o", "online"),
    ("me", "merge_enabled"),
    ("mwe", "merge_write_enabled"),
    ("mre", "merge_read_enabled"),
    ("am", "adaptive_merge"),
    ("mw", "merge_wait"),
    ("mm", "merge_max"),
    ("se", "sched_enabled"),
    ("inp", "init_prio"),
    ("ip", "init_prio"),
    ("rcp", "recon_prio"),
    ("rp", "recon_prio"),
    ("rsp", "restripe_prio"),
    ("ml", "memory_limit"),
    ("rl", "request_limit"),
    ("fm", "force_metadata"),
    ("ca", "cpu_allowed"),
    ("fo", "force_online"),
];

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What comes before the first option.
    pub verbs: Vec<String>,
    /// Options by their long names, in their order, with their values.
    options: Vec<(String, Vec<String>)>,
}

/// The long name of an option; `--drive` is as good as `--drives`.
fn long_name(written: &str) -> String {
    let long = written.strip_prefix("--").map(|long| long.replace('-', "_"));
    let letters = written.trim_start_matches('-');
    let known = NAMES.iter().find(|(short, _)| *short == letters).map(|(_, long)| (*long).to_owned());
    match long {
        Some(long) if long == "drive" => "drives".to_owned(),
        Some(long) => long,
        None => known.unwrap_or_else(|| letters.to_owned()),
    }
}

impl Options {
    /// Reads them. An option that is there several times has all its values.
    pub fn of(args: &[String]) -> Options {
        let mut read = Options::default();
        for arg in args {
            let is_option = arg.len() > 1 && arg.starts_with('-');
            match (is_option, read.options.last_mut()) {
                (true, _) => {
                    let (written, value) = match arg.split_once('=') {
                        Some((written, value)) if arg.starts_with("--") => (written, Some(value.to_owned())),
                        _ => (arg.as_str(), None),
                    };
                    read.add(long_name(written), value);
                }
                (false, Some((_, values))) => values.push(arg.clone()),
                (false, None) => read.verbs.push(arg.clone()),
            }
        }
        read
    }

    fn add(&mut self, name: String, value: Option<String>) {
        // Values that follow belong to the last entry.
        let mut values = match self.options.iter().position(|(own, _)| *own == name) {
            Some(at) => self.options.remove(at).1,
            None => Vec::new(),
        };
        values.extend(value);
        self.options.push((name, values));
    }

    /// Whether an option is there.
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(own, _)| own == name)
    }

    /// All values of an option.
    pub fn values(&self, name: &str) -> &[String] {
        self.options.iter().find(|(own, _)| own == name).map_or(&[], |(_, values)| values)
    }

    /// The value of an option that has one.
    pub fn value(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.values(name) {
            [] if self.has(name) => Err(Failure::usage(format!("Missing value of --{name}"))),
            [] => Ok(None),
            [value] => Ok(Some(value)),
            [_, more, ..] => Err(Failure::usage(format!("Invalid argument: {more}"))),
        }
    }

    /// A value that has to be there.
    pub fn need(&self, name: &str) -> Result<&str, Failure> {
        self.value(name)?.ok_or_else(|| Failure::usage(format!("Missing argument: --{name} <{name}>")))
    }

    /// A whole number, if it is there.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let read = |text: &str| {
            text.parse().map_err(|_| {
                Failure::usage(format!("Invalid value of --{name}: {text:?}; it has to be a whole number"))
            })
        };
        self.value(name)?.map(read).transpose()
    }

    /// Refuses options other than these.
    pub fn only(&self, known: &[&str]) -> Result<(), Failure> {
        match self.options.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(Failure::usage(format!("Invalid argument: --{name}"))),
            None => Ok(()),
        }
    }

    /// Names of the options, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.options.iter().map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn read(line: &str) -> Options {
        Options::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn letters_and_long_names_are_the_same() {
        let short = read("create -n era1 -l 1 -d /dev/nvme1n1 /dev/nvme2n1 -ss 64 -bs 4096");
        let long =
            read("create --name era1 --level=1 --drives /dev/nvme1n1 /dev/nvme2n1 --strip-size 64 --block_size=4096");
        assert_eq!(short, long);
        assert_eq!((short.verbs.as_slice(), short.need("name")), (&["create".to_owned()][..], Ok("era1")));
        assert_eq!(short.values("drives"), ["/dev/nvme1n1", "/dev/nvme2n1"]);
        assert_eq!(short.number("strip_size"), Ok(Some(64)));
        assert_eq!(read("replace -d /dev/a"), read("replace --drive /dev/a"));
        assert_eq!(read("-d a -n x -d b").values("drives"), ["a", "b"]);
    }

    #[test]
    fn what_is_missing_or_strange_is_named() {
        let line = read("raid modify -n -me 1 2 -ss x");
        for (name, said) in [("name", "--name"), ("merge_enabled", "argument: 2"), ("level", "--level")] {
            assert!(line.need(name).unwrap_err().message.contains(said), "{name}");
        }
        assert!(line.number("strip_size").unwrap_err().message.contains("\"x\""));
        assert!(line.only(&["name", "strip_size"]).unwrap_err().message.contains("--merge_enabled"));
        assert_eq!(line.verbs, ["raid", "modify"]);
    }
}
