//! Talks to servers with the transport of MCP 2024-11-05 alone, which the first event of a GET shows.

use std::sync::Arc;

use http::{Method, StatusCode};
use protomcp_session::Extensions;
use protomcp_transport::NoAnswer;
use tokio_util::sync::CancellationToken;

use crate::client_request::{ClientRequest, Kind};
use crate::conversation::Conversation;
use crate::failure::Failure;
use crate::old_connection::OldConnection;
use crate::reply;
use crate::request::{self, SessionFields};
use crate::response::Content;
use crate::response_body::{BodyError, EventStream};
use crate::sse::EventKind;

/// Opens the stream of a server, and waits for the address of POSTs.
pub(crate) async fn open(conversation: &Arc<Conversation>) -> Result<Arc<OldConnection>, Failure> {
    let headers = request::stream_get(&SessionFields::default(), None);
    let response = conversation.client.send(conversation.outgoing(Method::GET, headers, Vec::new())).await?;
    let status = response.status();
    if status != StatusCode::OK || Content::of(response.headers()) != Content::Events {
        let why = format!("the server replies with {status} to GET, and not with a stream of events");
        return Err(Failure::new(NoAnswer::Status(status.as_u16()), why));
    }
    let mut events = EventStream::new(response.into_body(), &conversation.limits);
    let address = async {
        while let Some((event, _)) = events.next(&conversation.budget).await? {
            if event.kind == EventKind::Endpoint {
                return Ok(Some(event.data));
            }
        }
        Ok(None)
    };
    let timeout = conversation.limits.head_timeout;
    let address = tokio::time::timeout(timeout, address)
        .await
        .map_err(|_| Failure::incomplete(format!("the server names no address for POSTs within {timeout:?}")))?
        .map_err(|error: BodyError| Failure::incomplete(error.to_string()))?
        .ok_or_else(|| Failure::incomplete("the stream ended before the server named an address for POSTs"))?;
    let address = String::from_utf8_lossy(&address);
    let server = &conversation.client.server;
    let endpoint = server
        .resolve(server.uri(), address.trim())
        .map_err(|error| Failure::incomplete(format!("the address for POSTs cannot be used: {error}")))?;
    let (lost, over) = (CancellationToken::new(), CancellationToken::new());
    let connection = Arc::new(OldConnection { endpoint, lost: lost.clone(), over: over.clone() });
    conversation.speak_old(Arc::clone(&connection));
    let reader = Arc::clone(conversation);
    conversation.spawn(async move {
        let is_over = over.run_until_cancelled_owned(read(&reader, events)).await.is_none();
        lost.cancel();
        if !is_over {
            reader.deliver_session_lost().await;
        }
    });
    Ok(connection)
}

async fn read(conversation: &Conversation, mut events: EventStream) {
    loop {
        match events.next(&conversation.budget).await {
            Ok(Some((event, taken))) if event.kind == EventKind::Message && !event.data.is_empty() => {
                let delivered = conversation.deliver(event.data, taken, None, Extensions::default()).await;
                if let Err(malformed) = delivered {
                    conversation.deliver_malformed(malformed).await;
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(error) => return tracing::warn!("the stream of the server ended: {error}"),
        }
    }
}

/// Sends a request, and waits until the stream has brought its answer, which ends this exchange.
pub(crate) async fn exchange(
    conversation: &Conversation,
    request: &ClientRequest,
    connection: &OldConnection,
) -> Result<(), Failure> {
    if connection.lost.is_cancelled() {
        return Err(Failure::session_lost());
    }
    let mut outgoing = request.outgoing(conversation);
    outgoing.target = connection.endpoint.clone();
    let response = conversation.client.send(outgoing).await?;
    match response.status() {
        StatusCode::NOT_FOUND if request.kind != Kind::Handshake => Err(Failure::session_lost()),
        StatusCode::BAD_REQUEST | StatusCode::GONE if request.kind == Kind::Stateful => {
            reply::session_lost(conversation, request, response).await
        }
        status if status.is_success() => {
            drop(response);
            connection.lost.cancelled().await;
            Err(Failure::incomplete("the stream of the server ended before the answer"))
        }
        _ => reply::refused(conversation, request, response).await,
    }
}
