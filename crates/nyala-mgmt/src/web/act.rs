// SPDX-License-Identifier: Apache-2.0

//! Actions: first what will happen, then, once somebody has confirmed it, the command to the cluster.
//!
//! **Failure model.** The same as of the orders themselves ([`crate::groups`]): all may be repeated, and what the state says by then decides. Another
//! node may lead: it is said which. Somebody may send a form that none of our pages had: without the session's word nothing is done.

use super::pages::made;
use super::render::Known;
use super::state::WebState;
use super::visitor::Visitor;
use crate::audit;
use crate::core::Refusal;
use crate::groups::carry_out;
use axum::extract::{Form, Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use nyala_cluster::Command;
use nyala_web::{Action, Span};
use nyala_wire::mgmt::GroupOrder;

/// Whether a form has the session's word.
pub(super) fn knows(visitor: &Visitor, fields: &[(String, String)]) -> bool {
    fields.iter().any(|(name, value)| name == "csrf" && *value == visitor.session.csrf)
}

fn notice(status: StatusCode, title: &str, text: &str) -> Response {
    (status, Html(nyala_web::notice(title, text))).into_response()
}

fn viewer() -> Response {
    let text = "You came with the token for looking. The one in rest.token in the directory of the management service changes things too.";
    notice(StatusCode::FORBIDDEN, "Only administrators do that", text)
}

/// Says what will happen.
pub(super) async fn ask(
    State(state): State<WebState>,
    visitor: Visitor,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Response {
    if !visitor.may_act() {
        return viewer();
    }
    let action = match Action::parse(&pairs) {
        Ok(action) => action,
        Err(why) => return notice(StatusCode::BAD_REQUEST, "That is no action", &why),
    };
    made(move || {
        match nyala_web::consequences(&action, &Known::now(&state.core, &state.sampled).facts(Span::Hour, true)) {
            Ok(asked) => nyala_web::confirmation(&action, &asked, &visitor.session.csrf),
            Err(why) => nyala_web::notice("This cannot be done", &why),
        }
    })
    .await
    .into_response()
}

/// Does it.
pub(super) async fn act(
    State(state): State<WebState>,
    visitor: Visitor,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    if !visitor.may_act() {
        return viewer();
    }
    if !knows(&visitor, &fields) {
        let text = "The form is of another session, or of another page. Begin again at the overview.";
        return notice(StatusCode::FORBIDDEN, "Nothing was done", text);
    }
    let action = match Action::parse(&fields) {
        Ok(action) => action,
        Err(why) => return notice(StatusCode::BAD_REQUEST, "That is no action", &why),
    };
    let outcome = carry(&state, &visitor, action).await;
    tracing::info!(?action, ?outcome, "an administrator acted on the page");
    let (done, text) = match outcome {
        Ok(()) => (true, "Done.".to_owned()),
        Err(refusal) => (false, format!("Nothing was done: {refusal}")),
    };
    state.sessions.lock().flash(&visitor.id, done, text);
    Redirect::to("/mirrors").into_response()
}

async fn carry(state: &WebState, visitor: &Visitor, action: Action) -> Result<(), Refusal> {
    let said = |what| (format!("web page, {}", visitor.session.name), visitor.host.clone(), what);
    let order = match action {
        Action::Declare { target, consistency } => GroupOrder::Declare { target, consistency },
        Action::StopResync { group, stopped } => GroupOrder::StopResync { group, stopped },
        Action::Switch { group, target } => GroupOrder::Switch { group, target },
        Action::CancelMoves => {
            let cancel = state.core.propose(Command::CancelMoves { slots: Vec::new() });
            return audit::audited(&state.core, said("meta cancel: all moves".to_owned()), cancel).await.map(|_| ());
        }
    };
    state.core.check_leading()?;
    let what = audit::group(&order);
    audit::audited(&state.core, said(what), carry_out(&state.core, order)).await
}
