// SPDX-License-Identifier: Apache-2.0

//! `nyala raid modify`: what a set may be told while it is in use.

use super::ask::Sets;
use super::show::render;
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use crate::units::{Size, Span};
use nyala_wire::TargetId;
use nyala_wire::raid::RaidOrder;
use std::str::FromStr;

/// Flags of `nyala raid modify`.
#[derive(Clone, Debug, clap::Args)]
pub struct RaidModifyArgs {
    /// The storage target
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    /// Bytes a second for rebuilds and checks; 0: as fast as it goes; auto: what leaves room for work
    #[arg(long, value_name = "SIZE|auto")]
    pub rate: Option<Rate>,
    /// Errors of a drive after which it leaves the set, if the others can do without it
    #[arg(long, value_name = "N")]
    pub errors: Option<u32>,
    /// The time within which those are counted
    #[arg(long, value_name = "TIME")]
    pub within: Option<Span>,
    /// A spare that the set may take from now on: an empty directory of the storage host, or net://HOST:PORT/NAME
    #[arg(long, value_name = "DIR")]
    pub add_spare: Vec<String>,
    /// A spare that the set may not take any more
    #[arg(long, value_name = "DIR")]
    pub remove_spare: Vec<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// A rate, as the service has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        match text {
            "auto" => Ok(Rate(u64::MAX)),
            size => size.parse::<Size>().map(|size| Rate(size.0)).map_err(|error| format!("{error}, or auto")),
        }
    }
}

impl RaidModifyArgs {
    fn order(&self) -> Result<RaidOrder, Failure> {
        let within_ms = self.within.map(|span| u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX));
        let is_something = self.rate.is_some() || self.errors.is_some() || within_ms.is_some();
        if !is_something && self.add_spare.is_empty() && self.remove_spare.is_empty() {
            return Err(Failure::usage(
                "say what to change: --rate, --errors, --within, --add-spare or --remove-spare; level, drives and strips never change",
            ));
        }
        let (add_spares, remove_spares) = (self.add_spare.clone(), self.remove_spare.clone());
        let bytes_per_s = self.rate.map(|rate| rate.0);
        Ok(RaidOrder::Modify { bytes_per_s, errors: self.errors, within_ms, add_spares, remove_spares })
    }
}

/// Changes it. What is kept with the set stays; spares have to follow in the settings.
pub fn run(args: RaidModifyArgs, output: Output) -> Outcome {
    let order = args.order()?;
    let spares = !args.add_spare.is_empty() || !args.remove_spare.is_empty();
    let found = block_on(async { Sets::of(&args.cluster.find()?).await?.order(args.target, order).await })?;
    let text = |all: &[super::ask::TargetSet; 1]| {
        let follow = "\nSpares are those of the settings when the storage service is started again: change `spares` of the target there too.\n";
        render(all) + if spares { follow } else { "" }
    };
    show(output, &[found], text).map(|_| Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: RaidModifyArgs,
    }

    fn order(line: &str) -> Result<RaidOrder, Failure> {
        Line::try_parse_from(format!("x {line}").split_whitespace()).unwrap().args.order()
    }

    #[test]
    fn what_is_changed_is_ordered_and_nothing_is_no_order() {
        let RaidOrder::Modify { bytes_per_s, errors, within_ms, add_spares, remove_spares } =
            order("101 --rate auto --errors 5 --within 1h --add-spare /s1 --add-spare net://h:1/d --remove-spare /s2")
                .unwrap()
        else {
            panic!("another order")
        };
        assert_eq!((bytes_per_s, errors, within_ms), (Some(u64::MAX), Some(5), Some(3_600_000)));
        assert_eq!((add_spares.len(), remove_spares.as_slice()), (2, &["/s2".to_owned()][..]));
        assert!(order("101").unwrap_err().message.contains("--add-spare"));
        assert_eq!("50m".parse(), Ok(Rate(50 << 20)));
        assert!("fast".parse::<Rate>().unwrap_err().contains("or auto"));
    }
}
