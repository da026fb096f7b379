// SPDX-License-Identifier: Apache-2.0

//! The page about files: where one lies, by its path, and checks of the file system.

use super::pages::{made, span};
use super::render::{Known, View};
use super::state::WebState;
use super::visitor::Visitor;
use axum::extract::{Query, State};
use axum::response::Html;
use nyala_web::{Looked, Page};
use nyala_wire::WireError;

/// With a path in the query, what is there.
pub(super) async fn files(
    State(state): State<WebState>,
    visitor: Visitor,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Html<String> {
    state.sampled.looked();
    let path = pairs.iter().find(|(name, _)| name == "path").map(|(_, path)| path.clone());
    let looked = match path.filter(|path| !path.is_empty()) {
        None => None,
        Some(path) => {
            let found = state.locator.find(&path, || state.core.view.map()).await;
            Some(Looked { path, found: found.map_err(said) })
        }
    };
    let view = View { page: Page::Files, span: span(&pairs), may_act: visitor.may_act() };
    let flash = state.sessions.lock().take_flash(&visitor.id);
    let shown = nyala_web::Visitor { csrf: visitor.session.csrf.clone(), may_act: view.may_act, flash };
    made(move || {
        let known = Known::now(&state.core, &state.sampled);
        let parts = state.rendered.parts(view, &known);
        let facts = known.facts(view.span, view.may_act);
        let parts = nyala_web::with_file(&facts, &parts, looked.as_ref());
        nyala_web::document(Page::Files, &facts, &parts, &shown)
    })
    .await
}

/// An error in words; a server may give its code alone.
fn said(error: WireError) -> String {
    if error.message.is_empty() { error.code.to_string() } else { error.message }
}
