//! An exchange as the transport of its session's task.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use protomcp_server::{Extensions, Reservation};
use protomcp_transport::{Losses, Received, Sink, Source, Transport, TransportError};
use protomcp_types::{Message, RequestId};
use tokio::time::{Instant, Sleep};

use super::{Arrived, Exchange, Kind};
use crate::body::Origin;
use crate::caller::{Connection, Principal};
use crate::reserved::Reserved;

/// The session's task's end of an exchange.
#[derive(Debug)]
pub(crate) struct Served(pub(crate) Arc<Exchange>);

pub(crate) struct ExchangeSource {
    exchange: Arc<Exchange>,
    /// The request that brought the last message.
    origin: Option<Origin>,
    /// When to look whether the session is used at all.
    expiry: Pin<Box<Sleep>>,
}

pub(crate) struct ExchangeSink(Arc<Exchange>);

impl Transport for Served {
    type Source = ExchangeSource;
    type Sink = ExchangeSink;

    fn principal(&self) -> Option<Arc<str>> {
        self.0.caller.principal.as_ref().map(|Principal(who)| Arc::clone(who))
    }

    fn address(&self) -> Option<IpAddr> {
        self.0.caller.address
    }

    fn connection(&self) -> Option<u64> {
        self.0.caller.connection.map(|Connection(number)| number)
    }

    fn split(self) -> (ExchangeSource, ExchangeSink) {
        let expiry = Box::pin(tokio::time::sleep(self.0.idle));
        (ExchangeSource { exchange: Arc::clone(&self.0), origin: None, expiry }, ExchangeSink(self.0))
    }
}

impl Source for ExchangeSource {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn extensions(&mut self) -> Extensions {
        let Some(Origin { head, room }) = self.origin.take() else { return Extensions::default() };
        Extensions::default().with(head).with(room)
    }
}

impl ExchangeSource {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Received>, TransportError>> {
        if let Poll::Ready(arrived) = self.exchange.poll_received(cx.waker()) {
            return Poll::Ready(Ok(arrived.map(|Arrived { received, origin }| {
                self.origin = origin;
                received
            })));
        }
        if self.exchange.kind == Kind::Single {
            return Poll::Pending;
        }
        let loss = self.exchange.give_up();
        if let Some(loss) = loss.filter(|loss| *loss < self.expiry.deadline()) {
            self.expiry.as_mut().reset(loss);
        }
        while self.expiry.as_mut().poll(cx).is_ready() {
            let idle = self.exchange.idle;
            let left = match self.exchange.idle_for() {
                Some(time) if time >= idle => {
                    tracing::info!("a session was not used for {idle:?}: closed");
                    return Poll::Ready(Ok(None));
                }
                Some(time) => idle.saturating_sub(time),
                None => idle,
            };
            let end = Instant::now() + left;
            self.expiry.as_mut().reset(self.exchange.give_up().map_or(end, |loss| loss.min(end)));
        }
        Poll::Pending
    }
}

impl Sink for ExchangeSink {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        self.0.route(message.into(), during);
        Ok(())
    }

    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        room: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        self.0.route(Reserved { message, room: Some(room) }, during);
        Ok(None)
    }

    /// The end of a stream says that nothing more comes.
    fn is_shared(&self) -> bool {
        false
    }

    fn unanswered(&mut self, request: &RequestId) {
        self.0.unanswered(request);
    }

    fn watch(&mut self, losses: Losses) {
        // A session is served once.
        drop(self.0.losses.set(losses));
    }

    fn has_way(&self) -> bool {
        self.0.state().streams.has_listener()
    }

    fn reaches(&self, request: &RequestId) -> bool {
        self.0.state().streams.reaches(request)
    }

    fn pause(&mut self, request: &RequestId) {
        // A host that cannot come back would lose the answer.
        if !self.0.can_open_empty() {
            return;
        }
        let waker = self.0.state().streams.pause(request);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Each stream has a bound of its own, so that one that is not read does not hold up the others.
    async fn flush(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    fn unwritten(&self) -> usize {
        0
    }
}

impl Drop for ExchangeSink {
    fn drop(&mut self) {
        self.0.close();
    }
}
