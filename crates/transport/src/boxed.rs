//! A transport whose kind is chosen at run time.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use protomcp_types::{Message, RequestId};

use crate::delivery::Delivery;
use crate::request_streams::RequestStreams;
use crate::transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_fair::Reservation;
use protomcp_session::{CallerKey, Extensions};

/// Any transport. Each message costs one allocation more than with a transport of a fixed kind.
///
/// ```
/// use protomcp_transport::{boxed::Boxed, lines::Lines, memory};
///
/// fn choose(in_memory: bool) -> Boxed {
///     if in_memory { Boxed::new(memory::pair().0) } else { Boxed::new(Lines::new(tokio::io::empty(), tokio::io::sink())) }
/// }
/// ```
#[derive(Debug)]
pub struct Boxed {
    principal: Option<Arc<str>>,
    address: Option<IpAddr>,
    connection: Option<u64>,
    source: BoxedSource,
    sink: BoxedSink,
}

/// The receiving half.
pub struct BoxedSource(Box<dyn AnySource>);

/// The sending half.
pub struct BoxedSink(Box<dyn AnySink>);

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, TransportError>> + Send + 'a>>;

trait AnySource: Send {
    fn next(&mut self) -> BoxFuture<'_, Option<Received>>;
    fn extensions(&mut self) -> Extensions;
    fn text_len(&self) -> usize;
}

trait AnySink: Send {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError>;
    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        reservation: Reservation,
    ) -> Result<Option<Reservation>, TransportError>;
    fn send_for(&mut self, request: Message, caller: &Arc<CallerKey>) -> Result<(), TransportError>;
    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError>;
    fn delivery(&mut self) -> Option<&mut dyn Delivery>;
    fn request_streams(&mut self) -> Option<&mut dyn RequestStreams>;
    fn flush(&mut self) -> BoxFuture<'_, ()>;
    fn unwritten(&self) -> usize;
}

impl Boxed {
    /// Erases the type of a transport.
    pub fn new(transport: impl Transport) -> Self {
        let (principal, address, connection) = (transport.principal(), transport.address(), transport.connection());
        let (source, sink) = transport.split();
        Self { principal, address, connection, source: BoxedSource(Box::new(source)), sink: BoxedSink(Box::new(sink)) }
    }
}

impl Transport for Boxed {
    type Source = BoxedSource;
    type Sink = BoxedSink;

    fn principal(&self) -> Option<Arc<str>> {
        self.principal.clone()
    }

    fn address(&self) -> Option<IpAddr> {
        self.address
    }

    fn connection(&self) -> Option<u64> {
        self.connection
    }

    fn split(self) -> (BoxedSource, BoxedSink) {
        (self.source, self.sink)
    }
}

impl<S: Source> AnySource for S {
    fn next(&mut self) -> BoxFuture<'_, Option<Received>> {
        Box::pin(Source::next(self))
    }

    fn extensions(&mut self) -> Extensions {
        Source::extensions(self)
    }

    fn text_len(&self) -> usize {
        Source::text_len(self)
    }
}

impl<S: Sink> AnySink for S {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        Sink::send(self, message, during)
    }

    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        reservation: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        Sink::send_reserved(self, message, during, reservation)
    }

    fn send_for(&mut self, request: Message, caller: &Arc<CallerKey>) -> Result<(), TransportError> {
        Sink::send_for(self, request, caller)
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        Sink::send_batch(self, messages)
    }

    fn delivery(&mut self) -> Option<&mut dyn Delivery> {
        Sink::delivery(self)
    }

    fn request_streams(&mut self) -> Option<&mut dyn RequestStreams> {
        Sink::request_streams(self)
    }

    fn flush(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(Sink::flush(self))
    }

    fn unwritten(&self) -> usize {
        Sink::unwritten(self)
    }
}

impl Source for BoxedSource {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        self.0.next().await
    }

    fn extensions(&mut self) -> Extensions {
        self.0.extensions()
    }

    fn text_len(&self) -> usize {
        self.0.text_len()
    }
}

impl Sink for BoxedSink {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        self.0.send(message, during)
    }

    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        reservation: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        self.0.send_reserved(message, during, reservation)
    }

    fn send_for(&mut self, request: Message, caller: &Arc<CallerKey>) -> Result<(), TransportError> {
        self.0.send_for(request, caller)
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        self.0.send_batch(messages)
    }

    fn delivery(&mut self) -> Option<&mut dyn Delivery> {
        self.0.delivery()
    }

    fn request_streams(&mut self) -> Option<&mut dyn RequestStreams> {
        self.0.request_streams()
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        self.0.flush().await
    }

    fn unwritten(&self) -> usize {
        self.0.unwritten()
    }
}

impl fmt::Debug for BoxedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxedSource").finish_non_exhaustive()
    }
}

impl fmt::Debug for BoxedSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxedSink").finish_non_exhaustive()
    }
}
