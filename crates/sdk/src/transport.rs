//! The link as a transport of the server: envelopes are read from the socket, and messages of the session are written.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use protomcp_codec::{Decoder, Frame};
use protomcp_proto::RequestContext;
use protomcp_server::{Extensions, ListsHidden, Relayed};
use protomcp_transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_types::{Incoming, Message, RequestId, method};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::call::{self, Call};
use crate::relay::{Delivery, Relay};

/// The connection to the bridge.
pub(crate) struct LinkTransport<R> {
    pub(crate) source: LinkSource<R>,
    pub(crate) sink: LinkSink,
}

/// Reads envelopes.
pub(crate) struct LinkSource<R> {
    io: R,
    buffer: BytesMut,
    decoder: Decoder,
    relay: Relay,
    /// Messages for the server that follow from others.
    messages: mpsc::UnboundedReceiver<Delivery>,
    /// The request that was returned last.
    last: Option<(RequestId, Option<Box<RequestContext>>)>,
    /// False until the server has answered the handshake.
    is_open: bool,
    /// Cancelled when the bridge has closed the connection.
    open: CancellationToken,
}

/// Writes envelopes.
pub(crate) struct LinkSink(Relay);

impl<R> LinkSource<R> {
    pub(crate) fn new(
        io: R,
        decoder: Decoder,
        (relay, messages): (Relay, mpsc::UnboundedReceiver<Delivery>),
        open: CancellationToken,
    ) -> Self {
        Self { io, buffer: BytesMut::new(), decoder, relay, messages, last: None, is_open: false, open }
    }

    /// Handles the frames that are complete.
    fn decode(&mut self) -> Result<bool, TransportError> {
        match self.decoder.decode(&mut self.buffer) {
            Ok(None) => return Ok(false),
            Ok(Some(Frame::Envelope(envelope))) => self.relay.turn(|exchange| exchange.received(envelope)),
            Ok(Some(Frame::Raw(_))) => tracing::debug!("the bridge has sent a payload, which is ignored"),
            Ok(Some(Frame::TooLarge(frame))) => {
                tracing::error!(message = frame.message, size = frame.size, "a message is too large and was skipped");
                self.relay.turn(|exchange| exchange.skipped(frame.message, &frame.request_id));
            }
            Err(error) if error.is_fatal() => {
                return Err(TransportError::Io(io::Error::new(io::ErrorKind::InvalidData, error)));
            }
            Err(error) => tracing::error!(%error, "a message of the bridge cannot be read"),
        }
        Ok(true)
    }

    fn returned(&mut self, delivery: Delivery) -> Received {
        let Delivery { message, about } = delivery;
        self.last = match &message {
            Message::Request(request) => Some((request.id.clone(), about)),
            Message::Notification(notification) => {
                self.is_open |= notification.method == method::INITIALIZED;
                None
            }
            Message::Response(_) => None,
        };
        Ok(Incoming::One(message))
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Source for LinkSource<R> {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        loop {
            if let Ok(delivery) = self.messages.try_recv() {
                return Ok(Some(self.returned(delivery)));
            }
            if self.is_open && self.decode()? {
                continue;
            }
            let want = self.decoder.want().max(8 * 1024);
            tokio::select! {
                biased;
                delivery = self.messages.recv() => match delivery {
                    Some(delivery) => return Ok(Some(self.returned(delivery))),
                    None => return Ok(None),
                },
                read = read(&mut self.io, &mut self.buffer, want), if self.is_open => if read? == 0 {
                    self.open.cancel();
                    return Ok(None);
                },
            }
        }
    }

    fn extensions(&mut self) -> Extensions {
        let Some((id, about)) = self.last.take() else { return Extensions::default() };
        let is_of_bridge = id.as_str().is_some();
        let about = about.map(|about| Arc::new(*about));
        let call = Call::new(id, about.as_deref(), self.relay.clone());
        let mut known = Extensions::default().with(Arc::new(Arc::clone(&call)));
        if let Some(about) = about {
            if let Some(principal) = &about.principal {
                known = known.with(Arc::new(call::identity(principal)));
            }
            known = known.with(about);
        }
        if is_of_bridge { known.with(Arc::new(Relayed::new(call))) } else { known.with(Arc::new(ListsHidden)) }
    }
}

/// Reads more into the buffer. Cancel safe.
async fn read(io: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut, want: usize) -> io::Result<usize> {
    buffer.reserve(want);
    io.read_buf(buffer).await
}

impl Sink for LinkSink {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        self.0.turn(|exchange| exchange.sent(message, during));
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        self.0.bridge().written().await;
        Ok(())
    }

    fn unwritten(&self) -> usize {
        self.0.bridge().len()
    }
}

impl LinkSink {
    pub(crate) fn new(relay: Relay) -> Self {
        Self(relay)
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport for LinkTransport<R> {
    type Source = LinkSource<R>;
    type Sink = LinkSink;

    fn split(self) -> (LinkSource<R>, LinkSink) {
        (self.source, self.sink)
    }
}
