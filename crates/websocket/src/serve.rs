//! Serves one connection after its handshake.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use protomcp_bufmcp::{BinaryPeer, BinaryServeError, BinaryServer};
use protomcp_server::{Owner, Service};
use tokio::io::{AsyncRead, AsyncWrite, split};
use tokio::time::sleep;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use crate::close::WebSocketError;
use crate::counts::{Counted, Counts};
use crate::options::WebSocketOptions;
use crate::pump::{Finished, MaxMessage, Pump, settings};

/// Serves a client over a connection that has become one of WebSocket: each binary message is one message of proto-mcp,
/// with its length prefix or without, and is answered in its form.
///
/// Ends when the client closes the connection, which cancels its requests, when the server shuts down, or when
/// `revoked` resolves: the client may no longer use the connection then, and is told so (1008). Must be called inside a
/// tokio runtime with timers. Dropping the future cancels everything immediately.
///
/// # Errors
/// If the connection fails, or the client does not keep to the protocol. It has been told why, if it can be reached.
pub async fn serve<S, IO>(
    server: &BinaryServer<S>,
    io: IO,
    peer: BinaryPeer,
    options: WebSocketOptions,
    revoked: impl Future<Output = ()>,
) -> Result<(), WebSocketError>
where
    S: Service,
    IO: AsyncRead + AsyncWrite + Unpin + Send,
{
    let owner = Owner::of(peer.principal.clone(), peer.address);
    let handle = server.handle();
    let counts = Counts::new(Some(handle.inbound_budget().empty(&owner)), Some(handle.outbound_budget().empty(&owner)));
    let max_message = MaxMessage::of(&server.config().frames);
    let counted = Counted::new(io, &counts);
    let socket = WebSocketStream::from_raw_socket(counted, Role::Server, Some(settings(max_message))).await;
    let (mut pump, conversation) = Pump::new(socket, counts, max_message, options);
    let outcome = {
        let (reader, writer) = split(conversation);
        let mut serving = pin!(server.serve(reader, writer, peer));
        let mut running = pin!(pump.run());
        let mut ended = None;
        let overdue = pin!(drain(server));
        let finished = tokio::select! {
            finished = both(running.as_mut(), serving.as_mut(), overdue, &mut ended) => finished,
            () = revoked => Ok(End::Revoked),
        };
        match finished {
            Ok(End::Finished(Finished::ByConversation)) => match ended {
                Some(ended) => End::of(ended),
                None => End::of(serving.await),
            },
            Ok(other) => other,
            Err(error) => End::Failed(error),
        }
    };
    let is_shut_down = handle.is_shut_down();
    match outcome {
        End::Finished(Finished::ByPeer(_)) => {
            pump.leave().await;
            Ok(())
        }
        End::Finished(Finished::ByConversation) => {
            let code = if is_shut_down { CloseCode::Away } else { CloseCode::Normal };
            pump.close(CloseFrame { code, reason: "".into() }).await;
            Ok(())
        }
        End::Revoked => {
            pump.close(CloseFrame { code: CloseCode::Policy, reason: "the token has expired".into() }).await;
            Ok(())
        }
        End::Failed(error) => {
            if let Some(frame) = error.close_frame() {
                pump.close(frame).await;
            }
            Err(error)
        }
    }
}

/// The end of a connection.
enum End {
    Finished(Finished),
    Revoked,
    Failed(WebSocketError),
}

impl End {
    fn of(conversation: Result<(), BinaryServeError>) -> Self {
        match conversation {
            Ok(()) => Self::Finished(Finished::ByConversation),
            Err(error) => Self::Failed(error.into()),
        }
    }
}

/// Waits until the server shuts down, and then for the time that clients have to read the last answers.
async fn drain<S: Service>(server: &BinaryServer<S>) -> Duration {
    let time = server.config().limits.drain_timeout;
    server.handle().shutdown_token().cancelled().await;
    sleep(time).await;
    time
}

/// Waits for the connection; the conversation runs concurrently with it, and leaves its outcome. `overdue` counts from
/// its end.
async fn both<R, C>(
    mut running: Pin<&mut R>,
    mut conversation: Pin<&mut C>,
    mut overdue: Pin<&mut impl Future<Output = Duration>>,
    ended: &mut Option<Result<(), BinaryServeError>>,
) -> Result<End, WebSocketError>
where
    R: Future<Output = Result<Finished, WebSocketError>>,
    C: Future<Output = Result<(), BinaryServeError>>,
{
    loop {
        tokio::select! {
            finished = running.as_mut() => return finished.map(End::Finished),
            outcome = conversation.as_mut(), if ended.is_none() => *ended = Some(outcome),
            time = overdue.as_mut(), if ended.is_some() => return Err(WebSocketError::Stalled(time)),
        }
    }
}
