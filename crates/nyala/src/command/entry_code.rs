// SPDX-License-Identifier: Apache-2.0

//! Erasure codes as flags say them. Pure.

use crate::exit::Failure;
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::{ErasureCode, Pattern, StripePattern};

/// How the data of files is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EntryPattern {
    /// Striped over targets without redundancy.
    Raid0,
    /// Striped over mirror groups: every target of a group holds the same.
    Mirror,
    /// Mirrored while it is written to, then erasure coded over targets.
    Ec,
}

impl From<EntryPattern> for Pattern {
    fn from(pattern: EntryPattern) -> Pattern {
        match pattern {
            EntryPattern::Raid0 => Pattern::Raid0,
            EntryPattern::Mirror => Pattern::Mirror,
            EntryPattern::Ec => Pattern::Ec,
        }
    }
}

/// Flags that say a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct CodeArgs {
    /// Erasure code: parts with data, 2 to 16
    #[arg(long, value_name = "K", requires = "parity")]
    pub data: Option<u8>,
    /// Erasure code: parts with parity, 1 to 4; so many may be lost
    #[arg(long, value_name = "M", requires = "data")]
    pub parity: Option<u8>,
}

impl CodeArgs {
    /// The code, if one is said and can be.
    pub(super) fn code(self) -> Result<Option<ErasureCode>, Failure> {
        let (Some(data), Some(parity)) = (self.data, self.parity) else { return Ok(None) };
        let code = ErasureCode { data, parity };
        code.check()?;
        Ok(Some(code))
    }

    /// What a pattern has, where it had `old` before.
    pub(super) fn of_pattern(self, pattern: Pattern, old: Option<ErasureCode>) -> Result<Option<ErasureCode>, Failure> {
        match (pattern, self.code()?) {
            (Pattern::Ec, said) => {
                let code = said.or(old);
                code.ok_or_else(|| Failure::usage("an erasure code has parts: say --data K and --parity M")).map(Some)
            }
            (_, None) => Ok(None),
            (_, Some(_)) => Err(Failure::usage("--data and --parity belong to the pattern ec; give --pattern ec too")),
        }
    }
}

/// Refuses a code that a pool has not enough targets for.
pub(super) fn has_room(pattern: &StripePattern, map: &ClusterMap) -> Result<(), Failure> {
    let Some(code) = pattern.code.filter(|_| pattern.pattern == Pattern::Ec) else { return Ok(()) };
    let there = map.targets_of(TargetKind::Storage).filter(|target| target.pool == pattern.pool).count();
    let (needed, text) = (usize::from(code.width()), code_text(code));
    match needed <= there {
        true => Ok(()),
        false => {
            let pool = pattern.pool;
            Err(Failure::failed(format!("{text} needs {needed} storage targets, and pool {pool} has {there}")))
        }
    }
}

/// As people write it.
pub(super) fn code_text(code: ErasureCode) -> String {
    format!("{}+{}", code.data, code.parity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::entry_info::tests::info;
    use crate::command::entry_info::{describe, render};
    use crate::command::mirror_list::tests::mirrored;
    use nyala_wire::meta::EntryInfo;
    use nyala_wire::{FileKind, Layout, TargetId};
    use std::path::Path;

    #[test]
    fn codes_belong_to_their_pattern() {
        let said = CodeArgs { data: Some(4), parity: Some(2) };
        let code = ErasureCode { data: 4, parity: 2 };
        assert_eq!(said.of_pattern(Pattern::Ec, None).unwrap(), Some(code));
        assert_eq!(CodeArgs::default().of_pattern(Pattern::Ec, Some(code)).unwrap(), Some(code));
        assert!(CodeArgs::default().of_pattern(Pattern::Ec, None).unwrap_err().message.contains("--data K"));
        assert_eq!(CodeArgs::default().of_pattern(Pattern::Mirror, Some(code)).unwrap(), None);
        assert!(said.of_pattern(Pattern::Raid0, None).unwrap_err().message.contains("--pattern ec"));
        assert!(CodeArgs { data: Some(1), parity: Some(1) }.code().is_err());
        assert_eq!(code_text(code), "4+2");
    }

    #[test]
    fn a_code_needs_a_target_for_each_part() {
        let map = mirrored();
        let there =
            map.targets_of(TargetKind::Storage).filter(|target| target.pool == StripePattern::default().pool).count();
        let ec = |data, parity| StripePattern {
            pattern: Pattern::Ec,
            code: Some(ErasureCode { data, parity }),
            ..StripePattern::default()
        };
        let most = there as u8 - 1;
        assert!(has_room(&ec(most, 1), &map).is_ok() && has_room(&ec(most, 2), &map).is_err());
        assert!(has_room(&StripePattern::default(), &map).is_ok());
    }

    #[test]
    fn what_is_shown_of_a_file_names_its_code_and_the_targets_with_parity() {
        let (code, targets) = (Some(ErasureCode { data: 2, parity: 1 }), [101, 201, 102].map(TargetId).to_vec());
        let encoded = Layout { pattern: Pattern::Ec, chunk_bytes: 1 << 20, targets, moves: 1, code };
        let waits = Layout { pattern: Pattern::Mirror, targets: vec![TargetId(1)], ..encoded.clone() };
        let shown = |layout| {
            let info = EntryInfo { layout: Some(layout), ..info(FileKind::File) };
            render(&describe(Path::new("/a"), &info, &mirrored()), &mirrored(), false)
        };
        let text = shown(encoded);
        assert!(text.contains("+ Type: EC\n") && text.contains("+ Erasure code: 2+1\n"), "{text}");
        assert!(text.contains("+ Number of storage targets: actual: 3\n"), "{text}");
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("  + ")).collect();
        assert!(lines.len() == 3 && lines.iter().filter(|line| line.ends_with(", parity")).eq([&lines[2]]), "{text}");
        let text = shown(waits);
        assert!(text.contains("+ To be encoded: 2+1\n") && text.contains("+ Mirror groups:\n"), "{text}");
    }
}
