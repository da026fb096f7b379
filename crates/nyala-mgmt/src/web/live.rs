// SPDX-License-Identifier: Apache-2.0

//! Parts of a page as they change, as server-sent events: `event: part`, with `{"id", "html"}`.
//!
//! **Failure model.** Readers may be slow: nothing is made for them before they have read what came before, and then only the latest. A connection
//! ends after a while ([`crate::rest`]); browsers come back by themselves and get what is different then.

use super::pages::span;
use super::render::{Known, View, leadership};
use super::sampled::Watcher;
use super::state::WebState;
use super::visitor::Visitor;
use crate::clock::wall_ms;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use nyala_web::{Leadership, Page, Part};
use nyala_wire::map::ClusterMap;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Several changes of the map in so short a time are shown at once.
const COALESCE_TIME: Duration = Duration::from_millis(150);
/// Longest time without a word. Whether this node leads shows only by looking.
const LOOK: Duration = Duration::from_secs(1);
/// The events end after this time, before their connection does: browsers come back at once.
const OPEN: Duration = Duration::from_secs(50);
/// After so many looks a word that means nothing is sent, which shows that the connection still is there.
const QUIET_LOOKS: u32 = 15;

pub(super) async fn live(
    State(state): State<WebState>,
    visitor: Visitor,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Response {
    let path = pairs.iter().find(|(name, _)| name == "page").map_or("/", |(_, path)| path.as_str());
    let page = Page::at(path).unwrap_or(Page::Overview);
    let view = View { page, span: span(&pairs), may_act: visitor.may_act() };
    let reader = Reader {
        maps: state.core.view.watch(),
        rounds: state.sampled.rounds(),
        _watcher: state.sampled.watch(),
        leadership: None,
        sent: BTreeMap::new(),
        opened: Instant::now(),
        session: visitor.id,
        state,
        view,
    };
    let body = Body::from_stream(stream::unfold(reader, next));
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// Somebody who looks.
struct Reader {
    state: WebState,
    view: View,
    session: String,
    maps: watch::Receiver<Arc<ClusterMap>>,
    rounds: watch::Receiver<u64>,
    leadership: Option<Leadership>,
    opened: Instant,
    /// What the browser has.
    sent: BTreeMap<&'static str, String>,
    _watcher: Watcher,
}

/// The next events, once something has changed; `None` when the session or the time for one reply is over.
async fn next(mut reader: Reader) -> Option<(Result<Bytes, Infallible>, Reader)> {
    let first = reader.sent.is_empty();
    let mut quiet = 0;
    loop {
        if reader.leadership.is_some() && !reader.changed().await {
            quiet += 1;
            if quiet < QUIET_LOOKS {
                continue;
            }
            return Some((Ok(Bytes::from_static(b": still here\n\n")), reader));
        }
        let over = reader.state.sessions.lock().find(wall_ms(), &reader.session).is_none();
        if over || reader.opened.elapsed() > OPEN {
            return None;
        }
        reader.leadership = Some(leadership(&reader.state.core));
        let (state, view) = (reader.state.clone(), reader.view);
        let made = tokio::task::spawn_blocking(move || {
            let known = Known::now(&state.core, &state.sampled);
            state.rendered.parts(view, &known)
        });
        let parts = made.await.ok()?;
        let mut text = if first { "retry: 300\n\n".to_owned() } else { String::new() };
        for part in parts.iter() {
            if reader.sent.get(part.id) != Some(&part.html) {
                text += &event(part);
                reader.sent.insert(part.id, part.html.clone());
            }
        }
        if !text.is_empty() {
            return Some((Ok(Bytes::from(text)), reader));
        }
    }
}

impl Reader {
    /// Waits for a change, not for ever: whether there was one.
    async fn changed(&mut self) -> bool {
        tokio::select! {
            // The senders live as long as the state that this holds.
            _ = self.maps.changed() => tokio::time::sleep(COALESCE_TIME).await,
            _ = self.rounds.changed() => {}
            () = tokio::time::sleep(LOOK) => {
                let now = leadership(&self.state.core);
                let changed = self.leadership.as_ref() != Some(&now);
                self.leadership = Some(now);
                return changed;
            }
        }
        self.maps.borrow_and_update();
        self.rounds.borrow_and_update();
        true
    }
}

/// An event. JSON has no line breaks, so it is one line of data.
fn event(part: &Part) -> String {
    let data = serde_json::json!({ "id": part.id, "html": part.html });
    format!("event: part\ndata: {data}\n\n")
}
