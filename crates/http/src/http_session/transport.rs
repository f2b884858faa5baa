//! An `HttpSession` as the transport of the task that serves it.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use protomcp_server::{Extensions, Reservation, Reserved, RestoredSession, SessionState};
use protomcp_transport::{Delivery, DeliveryFailures, Received, Sink, Source, Transport, TransportError};
use protomcp_types::{Message, ProtocolVersion, RequestId};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::{HttpSession, Posted};
use crate::body::SourceRequest;
use crate::caller::{Connection, Principal};

/// The end of an [`HttpSession`] that its task reads and writes.
#[derive(Debug)]
pub(crate) struct SessionTransport(pub(crate) Arc<HttpSession>);

pub(crate) struct SessionSource {
    session: Arc<HttpSession>,
    /// The request that brought the last message.
    source: Option<SourceRequest>,
    /// The time to check for an idle session.
    expiry: Pin<Box<Sleep>>,
    /// Over when another process may serve the session; `None`: none can, or one may.
    lost: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

pub(crate) struct SessionSink(Arc<HttpSession>);

impl Transport for SessionTransport {
    type Source = SessionSource;
    type Sink = SessionSink;

    fn principal(&self) -> Option<Arc<str>> {
        self.0.caller.principal.as_ref().map(|Principal(who)| Arc::clone(who))
    }

    fn address(&self) -> Option<IpAddr> {
        self.0.caller.address
    }

    fn connection(&self) -> Option<u64> {
        self.0.caller.connection.map(|Connection(number)| number)
    }

    fn split(self) -> (SessionSource, SessionSink) {
        let expiry = Box::pin(tokio::time::sleep(self.0.idle));
        let lost = self.0.holding.as_ref().map(|holding| Box::pin(holding.lost().clone().cancelled_owned()));
        (SessionSource { session: Arc::clone(&self.0), source: None, expiry, lost }, SessionSink(self.0))
    }
}

impl Source for SessionSource {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn extensions(&mut self) -> Extensions {
        self.source.take().map(SourceRequest::extensions).unwrap_or_default()
    }
}

impl SessionSource {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Received>, TransportError>> {
        if self.lost.as_mut().is_some_and(|lost| lost.as_mut().poll(cx).is_ready()) {
            self.lost = None;
            self.session.lose();
        }
        if let Poll::Ready(arrived) = self.session.poll_received(cx.waker()) {
            return Poll::Ready(Ok(arrived.map(|Posted { received, source }| {
                self.source = source;
                received
            })));
        }
        let loss = self.session.give_up();
        if let Some(loss) = loss.filter(|loss| *loss < self.expiry.deadline()) {
            self.expiry.as_mut().reset(loss);
        }
        while self.expiry.as_mut().poll(cx).is_ready() {
            let idle = self.session.idle;
            let left = match self.session.idle_for() {
                Some(time) if time >= idle => {
                    tracing::info!("a session was not used for {idle:?}: closed");
                    self.session.end();
                    return Poll::Ready(Ok(None));
                }
                Some(time) => idle.saturating_sub(time),
                None => idle,
            };
            let end = Instant::now() + left;
            self.expiry.as_mut().reset(self.session.give_up().map_or(end, |loss| loss.min(end)));
        }
        Poll::Pending
    }
}

impl Sink for SessionSink {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        self.0.route(message.into(), during);
        Ok(())
    }

    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        reservation: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        self.0.route(Reserved { message, reservation: Some(reservation) }, during);
        Ok(None)
    }

    fn delivery(&mut self) -> Option<&mut dyn Delivery> {
        Some(self)
    }

    /// Each stream has its own bound, so that an unread one does not block the others.
    async fn flush(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    fn unwritten(&self) -> usize {
        0
    }
}

impl Delivery for SessionSink {
    fn negotiated(&mut self, version: ProtocolVersion) {
        // A session has one handshake.
        self.0.version.get_or_init(|| version);
    }

    fn restored(&mut self) -> Option<RestoredSession> {
        self.0.holding.as_ref()?.take_restored()
    }

    fn keeps_state(&self) -> bool {
        self.0.holding.is_some()
    }

    fn keep(&mut self, state: SessionState) {
        if let Some(holding) = &self.0.holding {
            holding.keep(state);
        }
    }

    fn request_cancelled(&mut self, request: &RequestId) {
        self.0.request_cancelled(request);
    }

    fn close_stream(&mut self, request: &RequestId) {
        // A client that cannot reconnect would lose the answer.
        if !self.0.can_open_empty() {
            return;
        }
        let waker = self.0.state().streams.close_stream(request);
        waker.into_iter().for_each(Waker::wake);
    }

    fn on_undeliverable(&mut self, failures: DeliveryFailures) {
        // A session is served once.
        drop(self.0.delivery_failures.set(failures));
    }

    fn can_send_unsolicited(&self) -> bool {
        self.0.state().streams.has_listener()
    }

    fn is_deliverable(&self, request: &RequestId) -> bool {
        self.0.state().streams.is_deliverable(request)
    }
}

impl Drop for SessionSink {
    fn drop(&mut self) {
        self.0.close();
    }
}
