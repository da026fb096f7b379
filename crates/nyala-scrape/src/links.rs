// SPDX-License-Identifier: Apache-2.0

//! What servers say of the ways to other servers.

use nyala_metrics::Page;
use nyala_metrics::catalog::link as metrics;
use nyala_transport::links::Links;

/// How each address that is watched is; no samples where none are.
pub fn links(page: &mut Page, links: Option<&Links>) {
    let figures = links.map(Links::figures).unwrap_or_default();
    let mut answers = page.family(&metrics::ANSWERS);
    figures.iter().for_each(|link| answers.value(&[&link.node, &link.address], link.answers.into()));
    let mut breaks = page.family(&metrics::BREAKS);
    figures.iter().for_each(|link| breaks.value(&[&link.node, &link.address], link.breaks));
}
