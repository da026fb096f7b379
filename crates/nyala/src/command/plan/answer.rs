// SPDX-License-Identifier: Apache-2.0

//! From flags to the answer. Pure, but for a look whether directories that are to be measured exist.

use super::args::PlanArgs;
use crate::exit::Failure;
use nyala_plan::measured::Measured;
use nyala_plan::{Cable, Estimate, Fabric, PlanError, Site, cabling};
use serde::Serialize;

/// What was asked and what came of it.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// What is to be bought.
    pub site: Site,
    /// What connects it.
    pub fabric: Fabric,
    /// What can be expected.
    pub estimate: Estimate,
    /// Cables from hosts to switches.
    pub cables_to_switches: usize,
    /// Cables from enclosures to servers.
    pub cables_to_drives: usize,
    /// All cables, where they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cables: Option<Vec<Cable>>,
    /// What this machine was measured to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// The arithmetic.
pub fn answer(args: &PlanArgs, measured: Option<Measured>) -> Result<Answer, Failure> {
    let usage = |error: PlanError| Failure::usage(error.to_string());
    args.check().map_err(Failure::usage)?;
    let (site, fabric) = (args.site(), args.fabric());
    let site = match &measured {
        None => site,
        Some(found) => found.of(site).ok_or_else(|| {
            Failure::failed("the measurement was too short to say anything: write a larger number, as in --seconds 10")
        })?,
    };
    let estimate = Estimate::of(&site).map_err(usage)?;
    let cables = cabling::cables(&site, &fabric).map_err(usage)?;
    let to_drives = cables.iter().filter(|cable| cable.carries == cabling::Carries::Drives).count();
    Ok(Answer {
        site,
        fabric,
        estimate,
        cables_to_switches: cables.len() - to_drives,
        cables_to_drives: to_drives,
        cables: args.cables.then_some(cables),
        measured,
    })
}
