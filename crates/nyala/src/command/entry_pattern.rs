// SPDX-License-Identifier: Apache-2.0

//! How files are striped, as flags say it: for `nyala entry set` and `nyala entry create`.

use super::entry_code::{self, CodeArgs, EntryPattern};
use super::json_name::json_name;
use super::pool_table::named;
use crate::exit::Failure;
use crate::units::Size;
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::{Pattern, StripePattern};

/// Flags that change a stripe pattern; what is not named stays as it was.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PatternArgs {
    /// Chunk size: a power of two from 64k to 1g
    #[arg(long, value_name = "SIZE")]
    pub chunk_size: Option<Size>,
    /// Number of targets, or of mirror groups, 1 to 1024
    #[arg(long, value_name = "N")]
    pub num_targets: Option<u16>,
    /// How data is spread
    #[arg(long, value_enum)]
    pub pattern: Option<EntryPattern>,
    /// Storage pool, by its id or alias
    #[arg(long, value_name = "POOL")]
    pub pool: Option<String>,
    /// Largest content kept with the inode, at most 64k; 0 turns it off
    #[arg(long, value_name = "SIZE")]
    pub inline_size: Option<Size>,
    /// The erasure code of the pattern ec.
    #[command(flatten)]
    pub code: CodeArgs,
}

impl PatternArgs {
    /// Whether nothing is asked for.
    pub fn sets_nothing(&self) -> bool {
        self.chunk_size.is_none()
            && self.num_targets.is_none()
            && self.pattern.is_none()
            && self.pool.is_none()
            && self.inline_size.is_none()
            && self.code == CodeArgs::default()
    }

    /// The old pattern with what the flags change.
    fn changes(&self, old: StripePattern, map: &ClusterMap) -> Result<StripePattern, Failure> {
        // What does not fit into 32 bits is refused by the same sentence as what is merely too large.
        let bytes = |size: Option<Size>, old: u32| size.map_or(old, |s| u32::try_from(s.0).unwrap_or(u32::MAX));
        let pool = self.pool.as_ref().map(|name| named(map, name)).transpose()?;
        let pattern = self.pattern.map_or(old.pattern, Pattern::from);
        let new = StripePattern {
            pattern,
            code: self.code.of_pattern(pattern, old.code)?,
            chunk_bytes: bytes(self.chunk_size, old.chunk_bytes),
            num_targets: self.num_targets.unwrap_or(old.num_targets),
            pool: pool.map_or(old.pool, |pool| pool.id),
            inline_bytes: bytes(self.inline_size, old.inline_bytes),
        };
        new.check()?;
        Ok(new)
    }

    /// The new pattern, if the cluster has room for it.
    pub fn wanted(&self, old: StripePattern, map: &ClusterMap) -> Result<StripePattern, Failure> {
        let new = self.changes(old, map)?;
        let groups = map.groups.iter().filter(|group| group.kind == TargetKind::Storage).count();
        if new.of_new_files().pattern == Pattern::Mirror && groups == 0 {
            return Err(Failure::failed("there are no mirror groups yet; make some first: nyala mirror create --auto"));
        }
        entry_code::has_room(&new, map)?;
        let there = match new.pattern {
            Pattern::Mirror | Pattern::Ec => groups,
            Pattern::Raid0 => map.targets_of(TargetKind::Storage).filter(|t| t.pool == new.pool).count(),
        };
        match self.num_targets {
            Some(wanted) if usize::from(wanted) > there => Err(Failure::failed(format!(
                "--num-targets {wanted}: there are only {there} {} in pool {}",
                unit(new.pattern),
                new.pool
            ))),
            _ => Ok(new),
        }
    }

    /// What was changed, a line for each flag.
    pub fn report(&self, new: &StripePattern) -> String {
        let mut lines = Vec::new();
        lines.extend(self.chunk_size.map(|_| format!("New chunksize: {}", new.chunk_bytes)));
        lines.extend(self.num_targets.map(|_| format!("New number of {}: {}", unit(new.pattern), new.num_targets)));
        lines.extend(self.pattern.map(|_| format!("New pattern: {}", json_name(&new.pattern))));
        let code = self.code.data.and(new.code);
        lines.extend(code.map(|code| format!("New erasure code: {}", entry_code::code_text(code))));
        lines.extend(self.pool.as_ref().map(|_| format!("New storage pool: {}", new.pool)));
        lines.extend(self.inline_size.map(|_| format!("New inline size: {}", new.inline_bytes)));
        lines.join("\n") + "\n"
    }
}

/// What a stripe of a pattern lies on.
pub(super) fn unit(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Raid0 => "storage targets",
        // Mirrored until it is encoded.
        Pattern::Mirror | Pattern::Ec => "mirror groups",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::PoolId;
    use nyala_wire::map::Pool;

    #[test]
    fn only_what_is_named_changes() {
        let (old, map) = (StripePattern::default(), ClusterMap::default());
        let args = PatternArgs { chunk_size: Some(Size(1 << 20)), num_targets: Some(2), ..PatternArgs::default() };
        let new = args.changes(old, &map).unwrap();
        assert_eq!(new, StripePattern { chunk_bytes: 1 << 20, num_targets: 2, ..old });
        assert_eq!(args.report(&new), "New chunksize: 1048576\nNew number of storage targets: 2\n");
        let mirror = PatternArgs { pattern: Some(EntryPattern::Mirror), ..args };
        let new = mirror.changes(old, &map).unwrap();
        assert_eq!(new.pattern, Pattern::Mirror);
        assert!(mirror.report(&new).ends_with("New number of mirror groups: 2\nNew pattern: mirror\n"));
    }

    #[test]
    fn the_servers_sentences_refuse() {
        let refused =
            |args: PatternArgs| args.changes(StripePattern::default(), &ClusterMap::default()).unwrap_err().message;
        let args = PatternArgs::default;
        assert!(refused(PatternArgs { chunk_size: Some(Size(100_000)), ..args() }).contains("power of two"));
        assert!(refused(PatternArgs { chunk_size: Some(Size(1 << 33)), ..args() }).contains("power of two"));
        assert!(refused(PatternArgs { num_targets: Some(0), ..args() }).contains("1 to 1024"));
        assert!(refused(PatternArgs { inline_size: Some(Size(1 << 20)), ..args() }).contains("64 KiB"));
        assert!(refused(PatternArgs { pool: Some("flash".into()), ..args() }).contains("pool list"));
    }

    #[test]
    fn pools_have_ids_and_aliases() {
        let map = ClusterMap { pools: vec![Pool { id: PoolId(7), alias: "flash".into() }], ..ClusterMap::default() };
        for name in ["7", "flash"] {
            let args = PatternArgs { pool: Some(name.into()), ..PatternArgs::default() };
            assert_eq!(args.changes(StripePattern::default(), &map).unwrap().pool, PoolId(7), "{name}");
        }
    }
}
