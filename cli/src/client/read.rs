//! `pmcp read`: one resource.

use futures_util::TryStreamExt;
use protomcp_client::RequestError;

use crate::args::get::ReadOptions;
use crate::client::connection::Connection;
use crate::client::content;
use crate::client::refusal::{self, meant};
use crate::exit::{self, Failure};

/// Reads the resource, and prints it.
pub(super) async fn read(options: ReadOptions) -> Result<(), Failure> {
    let ReadOptions { target, uri, json, answers, server } = options;
    let connection = Connection::open_to_call(target, &server, &answers).await?;
    let outcome = connection.session.read_resource(&uri).timeout(server.timeout).raw().await;
    let meant = match &outcome {
        Err(RequestError::Refused(_)) => {
            meant(&uri, connection.session.resources().map_ok(|resource| resource.uri)).await
        }
        _ => None,
    };
    let asking = connection.asking();
    connection.close().await;
    let result = outcome.map_err(|error| refusal::failure(&format!("reading {uri:?}"), &error, meant, asking))?;
    let text = if json { format!("{result}\n") } else { content::of_resource(&result.to_value()) };
    exit::print(&exit::for_stdout(text))
}
