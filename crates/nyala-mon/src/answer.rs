// SPDX-License-Identifier: Apache-2.0

//! What one service or mount answers in a round.

use crate::ask::{ANSWER, Asked, Instance};
use crate::round::Answered;
use nyala_transport::HandshakeConfig;

/// Figures of one of them, and what it says of itself if that is asked for. Who does not say that does not say figures either; the other way round there
/// may be a reason, and it is said.
pub(crate) async fn ask(
    asked: &mut Asked,
    instance: &Instance,
    handshake: &HandshakeConfig,
    ask_stats: bool,
) -> Answered {
    let late = || format!("no reply within {ANSWER:?}");
    let failed = |why| Answered { failed: Some(why), ..Answered::default() };
    let mut stats = None;
    if ask_stats {
        let said = tokio::time::timeout(ANSWER, asked.stats(instance, handshake)).await;
        match said.unwrap_or_else(|_| Err(late())) {
            Ok(said) => stats = said,
            Err(why) => return failed(why),
        }
    }
    let sampled = tokio::time::timeout(ANSWER, asked.sample(instance, handshake)).await;
    match sampled.unwrap_or_else(|_| Err(late())) {
        Ok(values) => Answered { values, failed: None, stats },
        Err(why) => Answered { stats, ..failed(why) },
    }
}
