// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala meta list`, `rebalance`, `drain` and `cancel`.

use crate::cluster::ClusterArgs;
use crate::exit::Failure;
use crate::units::Span;
use nyala_wire::TargetId;
use nyala_wire::map::Rebalance;

/// Flags of `nyala meta list` and `nyala meta cancel`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaListArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `nyala meta rebalance`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaRebalanceArgs {
    /// Do it; without this it is only shown
    #[arg(long)]
    pub yes: bool,
    /// Wait until it is done
    #[arg(long, requires = "yes")]
    pub wait: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// By itself.
    On,
    /// By hand only.
    Off,
}

/// Flags of `nyala meta automatic`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaAutomaticArgs {
    /// Whether that happens by itself
    #[arg(value_name = "WHETHER")]
    pub switch: Switch,
    /// How long a server must have been good before, with nothing on its way between servers [default: as it is, at first 60s]
    #[arg(long, value_name = "TIME")]
    pub settle: Option<Span>,
    /// Slots on their way to it at once [default: as it is, at first 1]
    #[arg(long, value_name = "N")]
    pub at_once: Option<u16>,
    /// Pause after a slot has arrived [default: as it is, at first 1s]
    #[arg(long, value_name = "TIME")]
    pub pause: Option<Span>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `nyala meta drain`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaDrainArgs {
    /// The metadata server that is to serve nothing
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    #[command(flatten)]
    pub how: MetaRebalanceArgs,
}

impl MetaAutomaticArgs {
    /// The settings, if they were others before.
    pub fn replacing(&self, before: &Rebalance) -> Result<Rebalance, Failure> {
        let millis = |span: Option<Span>, before: u32| match span {
            Some(span) => u32::try_from(span.0.as_millis()).map_err(|_| Failure::usage(format!("{span} is too long"))),
            None => Ok(before),
        };
        Ok(Rebalance {
            automatic: self.switch == Switch::On,
            settle_ms: millis(self.settle, before.settle_ms)?,
            at_once: self.at_once.unwrap_or(before.at_once),
            pause_ms: millis(self.pause, before.pause_ms)?,
        })
    }
}
