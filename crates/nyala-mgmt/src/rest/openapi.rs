// SPDX-License-Identifier: Apache-2.0

//! `GET /openapi.json`: the description of the API. It holds no secret and needs no token.

use axum::Json;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi as Description, SecurityRequirement};

#[derive(OpenApi)]
#[openapi(
    info(title = "Nyala management", version = "1", description = "State and settings of a Nyala cluster."),
    paths(
        super::cluster::get,
        super::map::get,
        super::mgmt::get,
        super::mgmt::delete,
        super::nodes::get,
        super::nodes::delete,
        super::rename_node::patch,
        super::targets::get,
        super::targets::delete,
        super::rename_target::patch,
        super::target_state::post,
        super::pools::get,
        super::pools::post,
        super::pools::patch,
        super::pools::delete,
        super::pools::put,
        super::groups::get,
        super::groups::post,
        super::groups::auto,
        super::groups::delete,
        super::group_orders::resync,
        super::group_orders::primary,
        super::group_members::put,
        super::group_members::delete,
        super::rules::get,
        super::rules::put,
        super::rules::delete,
        super::keys::get,
        super::keys::put,
        super::keys::delete,
        super::capacities::get,
        super::health::get,
        super::settings::put,
    )
)]
struct Api;

/// The description, with the token that every path wants.
pub(super) fn description() -> Description {
    let mut api = Api::openapi();
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    api.components.get_or_insert_default().add_security_scheme("token", scheme);
    api.security = Some(vec![SecurityRequirement::new("token", Vec::<String>::new())]);
    api
}

pub(super) async fn get() -> Json<Description> {
    Json(description())
}
