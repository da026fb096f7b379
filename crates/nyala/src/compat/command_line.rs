// SPDX-License-Identifier: Apache-2.0

//! A command line of `--name`, `--name=value` and operands. Pure. One dash is as good as two: papers and mails have lost many.

use crate::exit::Failure;

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Options in their order, with their values.
    options: Vec<(String, Option<String>)>,
    /// What does not begin with a dash.
    pub operands: Vec<String>,
}

impl CommandLine {
    /// Reads them.
    pub fn of(args: &[String]) -> CommandLine {
        let mut line = CommandLine::default();
        for arg in args {
            match arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) {
                Some(option) if !option.is_empty() => {
                    let (name, value) = match option.split_once('=') {
                        Some((name, value)) => (name, Some(value.to_owned())),
                        None => (option, None),
                    };
                    line.options.push((name.to_owned(), value));
                }
                _ => line.operands.push(arg.clone()),
            }
        }
        line
    }

    /// Whether a flag is there.
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(own, _)| own == name)
    }

    /// The value of an option, the last one if it is there several times.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(own, _)| own == name).and_then(|(_, value)| value.as_deref())
    }

    /// A value that has to be there.
    pub fn need(&self, name: &str, example: &str) -> Result<&str, Failure> {
        let missing = || Failure::usage(format!("Missing argument: --{name}=<{example}>"));
        self.value(name).filter(|value| !value.is_empty()).ok_or_else(missing)
    }

    /// A number that has to be there.
    pub fn number(&self, name: &str) -> Result<u16, Failure> {
        let text = self.need(name, "number")?;
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| {
            Failure::usage(format!("Invalid value for --{name}: {text:?}; it has to be a number from 1 to 65535"))
        })
    }

    /// The option names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.options.iter().map(|(name, _)| name.as_str())
    }

    /// Refuses options other than these, and those of every command.
    pub fn only(&self, known: &[&str], mode: &str) -> Result<(), Failure> {
        const ALWAYS: [&str; 4] = ["mount", "cfgFile", "cfgfile", "help"];
        let strange = self.names().find(|name| *name != mode && !known.contains(name) && !ALWAYS.contains(name));
        match strange {
            Some(name) => Err(Failure::usage(format!("Invalid argument: --{name}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: &str) -> CommandLine {
        CommandLine::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_and_operands() {
        let read = line("--setpattern --chunksize=1M -numtargets=4 /mnt/beegfs");
        assert!(read.has("setpattern") && !read.has("pattern"));
        assert_eq!((read.value("chunksize"), read.number("numtargets")), (Some("1M"), Ok(4)));
        assert_eq!(read.operands, ["/mnt/beegfs"]);
        assert_eq!(read.only(&["chunksize", "numtargets"], "setpattern"), Ok(()));
        let strange = read.only(&["chunksize"], "setpattern").unwrap_err();
        assert!(strange.message.contains("--numtargets"), "{strange}");
    }

    #[test]
    fn what_is_missing_or_no_number_is_named() {
        let read = line("--primary=x --group= --id=70000 --zero=0 -");
        assert!(read.need("secondary", "ID").unwrap_err().message.contains("--secondary=<ID>"));
        for name in ["primary", "group", "id", "zero", "none"] {
            assert!(read.number(name).unwrap_err().message.contains(&format!("--{name}")), "{name}");
        }
        assert_eq!(read.operands, ["-"]);
    }
}
