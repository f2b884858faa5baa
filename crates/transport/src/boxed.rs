//! A transport whose kind is chosen at run time.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use protomcp_types::{Message, RequestId};

use crate::transport::{Losses, Received, Sink, Source, Transport, TransportError};
use protomcp_session::{Extensions, Reservation};

/// Any transport. Each message costs an allocation more than it would otherwise.
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

type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, TransportError>> + Send + 'a>>;

trait AnySource: Send {
    fn next(&mut self) -> Later<'_, Option<Received>>;
    fn extensions(&mut self) -> Extensions;
    fn text_len(&self) -> usize;
}

trait AnySink: Send {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError>;
    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        room: Reservation,
    ) -> Result<Option<Reservation>, TransportError>;
    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError>;
    fn unanswered(&mut self, request: &RequestId);
    fn pause(&mut self, request: &RequestId);
    fn watch(&mut self, losses: Losses);
    fn has_way(&self) -> bool;
    fn reaches(&self, request: &RequestId) -> bool;
    fn flush(&mut self) -> Later<'_, ()>;
    fn unwritten(&self) -> usize;
    fn is_shared(&self) -> bool;
}

impl Boxed {
    /// Forgets which transport it is.
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
    fn next(&mut self) -> Later<'_, Option<Received>> {
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
        room: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        Sink::send_reserved(self, message, during, room)
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        Sink::send_batch(self, messages)
    }

    fn unanswered(&mut self, request: &RequestId) {
        Sink::unanswered(self, request);
    }

    fn pause(&mut self, request: &RequestId) {
        Sink::pause(self, request);
    }

    fn watch(&mut self, losses: Losses) {
        Sink::watch(self, losses);
    }

    fn has_way(&self) -> bool {
        Sink::has_way(self)
    }

    fn reaches(&self, request: &RequestId) -> bool {
        Sink::reaches(self, request)
    }

    fn flush(&mut self) -> Later<'_, ()> {
        Box::pin(Sink::flush(self))
    }

    fn unwritten(&self) -> usize {
        Sink::unwritten(self)
    }

    fn is_shared(&self) -> bool {
        Sink::is_shared(self)
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
        room: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        self.0.send_reserved(message, during, room)
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        self.0.send_batch(messages)
    }

    fn unanswered(&mut self, request: &RequestId) {
        self.0.unanswered(request);
    }

    fn pause(&mut self, request: &RequestId) {
        self.0.pause(request);
    }

    fn watch(&mut self, losses: Losses) {
        self.0.watch(losses);
    }

    fn has_way(&self) -> bool {
        self.0.has_way()
    }

    fn reaches(&self, request: &RequestId) -> bool {
        self.0.reaches(request)
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        self.0.flush().await
    }

    fn unwritten(&self) -> usize {
        self.0.unwritten()
    }

    fn is_shared(&self) -> bool {
        self.0.is_shared()
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
