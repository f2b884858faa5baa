//! A tool process at the other end of a byte stream, played by the test.

use std::future::Future;

use bytes::BytesMut;
use protomcp_codec::{Decoder, Encoder, Frame, Limits, Raw};
use protomcp_envelope::{Envelope, Msg, ReloadResponse, ToolDefinition, ToolListResponse, message_name};
use protomcp_link::{Config, Event, Link, drive};
use protomcp_testing::in_time;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;

pub(crate) type Events = mpsc::Receiver<Event>;

/// A link in service over memory that holds `room` bytes each way.
pub(crate) async fn connected(config: Config, room: usize) -> (Link, Events, Peer<DuplexStream>) {
    let (ours, theirs) = tokio::io::duplex(room);
    serve(ours, theirs, config).await
}

/// A link in service over two ends of a stream.
pub(crate) async fn serve<A, B>(ours: A, theirs: B, config: Config) -> (Link, Events, Peer<B>)
where
    A: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let (link, mut events) = drive(ours, config);
    let mut peer = Peer::new(theirs);
    peer.registers().await;
    let Some(Event::Ready(ready)) = soon(events.recv()).await else { panic!("it registered") };
    assert_eq!(ready.tools.unwrap().len(), 1);
    (link, events, peer)
}

pub(crate) struct Peer<IO> {
    pub(crate) io: IO,
    decoder: Decoder,
    encoder: Encoder,
    input: BytesMut,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Peer<IO> {
    pub(crate) fn new(io: IO) -> Self {
        Self {
            io,
            decoder: Decoder::new(Limits::default()),
            encoder: Encoder::new(Limits::default()),
            input: BytesMut::new(),
        }
    }

    pub(crate) async fn registers(&mut self) {
        let id = self.reads("list_tools").await;
        let echo = ToolDefinition { name: "echo".into(), ..Default::default() };
        self.says(&id, ToolListResponse { tools: vec![echo] }).await;
        self.says("", ReloadResponse { success: true, ..Default::default() }).await;
    }

    /// The next envelope, or nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Envelope> {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.input).unwrap() {
                let Frame::Envelope(envelope) = frame else { panic!("{frame:?}") };
                return Some(envelope);
            }
            if soon(self.io.read_buf(&mut self.input)).await.ok()? == 0 {
                return None;
            }
        }
    }

    /// The id of the next envelope, which says `kind`.
    #[track_caller]
    pub(crate) fn reads(&mut self, kind: &'static str) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        async move {
            let envelope = self.next().await.unwrap_or_else(|| panic!("the link ended, at {caller}"));
            assert_eq!(envelope.name(), kind, "at {caller}");
            match envelope.msg {
                // Its own id is empty; the one it names is of interest.
                Some(Msg::Cancel(cancel)) => cancel.request_id,
                _ => envelope.request_id,
            }
        }
    }

    pub(crate) async fn says(&mut self, id: &str, message: impl Into<Msg>) {
        let mut bytes = Vec::new();
        self.encoder.encode_envelope(&Envelope::new(id, message), &mut bytes).unwrap();
        self.io.write_all(&bytes).await.unwrap();
        self.io.flush().await.unwrap();
    }

    pub(crate) async fn says_raw(&mut self, raw: &Raw) {
        let mut bytes = Vec::new();
        self.encoder.encode_raw(raw, &mut bytes).unwrap();
        self.io.write_all(&bytes).await.unwrap();
    }
}

/// Fails if the future takes longer than any test waits; with paused time it passes immediately.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    in_time(future).await.expect("it is over in time")
}

/// `tokio::join!`, [`soon`].
macro_rules! join {
    ($($future:expr),+ $(,)?) => {
        $crate::driver::peer::soon(async { tokio::join!($($future),+) }).await
    };
}
pub(crate) use join;

/// The next event, in short.
pub(crate) async fn heard(events: &mut Events) -> String {
    line(soon(events.recv()).await)
}

/// An event in short form.
pub(crate) fn line(event: Option<Event>) -> String {
    match event {
        None => "nothing more".into(),
        Some(Event::Ready(ready)) => format!("ready after {:?}", ready.phase),
        Some(Event::Closed(reason)) => format!("closed: {reason}"),
        Some(Event::Request { id, message, .. }) => format!("asked {}[{id}]", message_name(&message)),
        Some(Event::Notification { message: Msg::Log(log), .. }) => format!("log {}", log.level),
        Some(other) => format!("{other:?}"),
    }
}
