//! A server whose requests can be refused, lost or left without an answer on their way.

use protomcp_gateway::Upstream;
use protomcp_transport::memory::{self, Memory};
use protomcp_transport::{Sink, Source, Transport, boxed::Boxed};
use protomcp_types::{ErrorObject, Incoming, Message, Request};

use crate::stage::Backend;

/// The fate of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    /// The answer is an error.
    Refused,
    /// The connection ends.
    Ends,
    /// It has no answer.
    Hangs,
}

/// The server, behind a connection that decides about each request.
pub(crate) fn upstream(
    backend: &Backend,
    name: &str,
    judge: impl Fn(&Request) -> Fate + Clone + Send + Sync + 'static,
) -> Upstream {
    let server = backend.registry.server();
    Upstream::new(name.to_owned(), move || {
        let (server, judge) = (server.clone(), judge.clone());
        async move {
            let ((ours, near), (far, theirs)) = (memory::pair(), memory::pair());
            tokio::spawn(server.serve_inline(theirs));
            tokio::spawn(pump(near, far, judge));
            Ok(Boxed::new(ours))
        }
    })
}

async fn pump(gateway: Memory, server: Memory, judge: impl Fn(&Request) -> Fate) {
    let ((mut from_gateway, mut to_gateway), (mut from_server, mut to_server)) = (gateway.split(), server.split());
    loop {
        tokio::select! {
            request = from_gateway.next() => {
                let Ok(Some(received)) = request else { return };
                let fate = match &received {
                    Ok(Incoming::One(Message::Request(request))) => judge(request),
                    _ => Fate::Arrives,
                };
                match (fate, &received) {
                    (Fate::Refused, Ok(Incoming::One(Message::Request(request)))) => {
                        let error = ErrorObject::internal("not this one");
                        to_gateway.forward(Ok(Incoming::One(Message::error(Some(request.id.clone()), error))));
                        drop(to_gateway.flush().await);
                    }
                    (Fate::Ends, _) => return,
                    (Fate::Hangs | Fate::Refused, _) => {}
                    (Fate::Arrives, _) => {
                        to_server.forward(received);
                        drop(to_server.flush().await);
                    }
                }
            }
            answer = from_server.next() => {
                let Ok(Some(received)) = answer else { return };
                to_gateway.forward(received);
                drop(to_gateway.flush().await);
            }
        }
    }
}
