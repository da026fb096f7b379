// SPDX-License-Identifier: Apache-2.0

//! `nyala audit`: the last orders of operators, and what came of them.

use crate::cluster::ClusterArgs;
use crate::exit::Outcome;
use crate::output::{Output, Table, show};
use crate::role::block_on;
use nyala_transport::member::MgmtError;
use nyala_wire::audit::AuditRecord;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::time::utc;

/// Flags of `nyala audit`.
#[derive(Clone, Debug, clap::Args)]
pub struct AuditArgs {
    /// Only so many of the last ones
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Lists orders, the newest last.
pub fn run(args: AuditArgs, output: Output) -> Outcome {
    let mut orders = block_on(async {
        match args.cluster.find()?.ask(MgmtRequest::Audit).await? {
            MgmtReply::Audit(orders) => Ok(orders),
            _ => Err(MgmtError::UnexpectedReply.into()),
        }
    })?;
    if let Some(last) = args.last {
        orders.drain(..orders.len().saturating_sub(last));
    }
    show(output, &orders, |orders| table(orders))
}

fn table(orders: &[AuditRecord]) -> String {
    let mut table = Table::new(&["NUMBER", "TIME_UTC", "KEY", "HOST", "ORDER", "OUTCOME"]);
    for order in orders {
        table.row([
            order.number.to_string(),
            utc(order.at_ms / 1000),
            order.key.clone(),
            order.host.clone(),
            order.what.clone(),
            order.outcome.clone().unwrap_or_else(|| "not known".to_owned()),
        ]);
    }
    table.render()
}
