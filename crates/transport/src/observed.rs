//! A transport whose messages are shown on their way, such as for a trace.

use std::net::IpAddr;
use std::sync::Arc;

use protomcp_fair::Reservation;
use protomcp_session::{CallerKey, Extensions};
use protomcp_types::{Incoming, Message, RequestId};

use crate::delivery::Delivery;
use crate::request_streams::RequestStreams;
use crate::transport::{Received, Sink, Source, Transport, TransportError};

/// The direction of a message, seen from the end that has the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It was received, and is returned next.
    Received,
    /// It is sent: the transport has not taken it yet.
    Sent,
}

/// A transport that shows each message once. `see` runs where the messages are read and sent, so it must neither wait nor
/// panic. Malformed text is not shown.
#[derive(Debug)]
pub struct Observed<T, F> {
    inner: T,
    see: F,
}

impl<T, F> Observed<T, F>
where
    F: Fn(Direction, &Message) + Clone + Send + 'static,
{
    /// Shows the messages of `transport` to `see`.
    pub fn new(transport: T, see: F) -> Self {
        Self { inner: transport, see }
    }
}

impl<T, F> Transport for Observed<T, F>
where
    T: Transport,
    F: Fn(Direction, &Message) + Clone + Send + 'static,
{
    type Source = Observed<T::Source, F>;
    type Sink = Observed<T::Sink, F>;

    fn principal(&self) -> Option<Arc<str>> {
        self.inner.principal()
    }

    fn address(&self) -> Option<IpAddr> {
        self.inner.address()
    }

    fn connection(&self) -> Option<u64> {
        self.inner.connection()
    }

    fn split(self) -> (Self::Source, Self::Sink) {
        let (source, sink) = self.inner.split();
        (Observed { inner: source, see: self.see.clone() }, Observed { inner: sink, see: self.see })
    }
}

impl<S, F> Source for Observed<S, F>
where
    S: Source,
    F: Fn(Direction, &Message) + Clone + Send + 'static,
{
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        let received = self.inner.next().await;
        match &received {
            Ok(Some(Ok(Incoming::One(message)))) => (self.see)(Direction::Received, message),
            Ok(Some(Ok(Incoming::Batch(messages)))) => {
                messages.iter().flatten().for_each(|message| (self.see)(Direction::Received, message));
            }
            Ok(_) | Err(_) => {}
        }
        received
    }

    fn extensions(&mut self) -> Extensions {
        self.inner.extensions()
    }

    fn text_len(&self) -> usize {
        self.inner.text_len()
    }
}

impl<S, F> Sink for Observed<S, F>
where
    S: Sink,
    F: Fn(Direction, &Message) + Clone + Send + 'static,
{
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        (self.see)(Direction::Sent, &message);
        self.inner.send(message, during)
    }

    fn send_for(&mut self, request: Message, caller: &Arc<CallerKey>) -> Result<(), TransportError> {
        (self.see)(Direction::Sent, &request);
        self.inner.send_for(request, caller)
    }

    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        reservation: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        (self.see)(Direction::Sent, &message);
        self.inner.send_reserved(message, during, reservation)
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        messages.iter().for_each(|message| (self.see)(Direction::Sent, message));
        self.inner.send_batch(messages)
    }

    fn delivery(&mut self) -> Option<&mut dyn Delivery> {
        self.inner.delivery()
    }

    fn request_streams(&mut self) -> Option<&mut dyn RequestStreams> {
        self.inner.request_streams()
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        self.inner.flush().await
    }

    fn unwritten(&self) -> usize {
        self.inner.unwritten()
    }
}
