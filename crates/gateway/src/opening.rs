//! One attempt to open a session with a server.

use std::error::Error;

use protomcp_client::{Client, ClientSession, CloseReason, Mode};

use crate::upstream::Upstream;

/// Opens a session. The error is the reason in words.
pub(crate) async fn open(upstream: &Upstream, client: &Client) -> Result<ClientSession, String> {
    match connect(upstream, &client.clone().mode(upstream.eras())).await? {
        Ok(session) => Ok(session),
        // Some servers end at a request that they do not know; a handshake they all know.
        Err(CloseReason::ByServer(_)) if upstream.eras() == Mode::Auto => {
            connect(upstream, &client.clone().mode(Mode::Stateful)).await?.map_err(|reason| reason.to_string())
        }
        Err(reason) => Err(reason.to_string()),
    }
}

async fn connect(upstream: &Upstream, client: &Client) -> Result<Result<ClientSession, CloseReason>, String> {
    let transport = upstream.connect().await.map_err(|error| describe(&*error))?;
    Ok(client.connect(transport).await)
}

fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
