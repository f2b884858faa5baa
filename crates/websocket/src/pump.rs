//! Carries messages between a connection and the stream of a conversation, and decides nothing about either.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::ready;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt, StreamExt};
use protomcp_bufmcp::FrameLimits;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, copy, duplex, sink, split,
};
use tokio::time::{sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::close::WebSocketError;
use crate::counts::{Counted, Counts};
use crate::heartbeat::{Beat, Heartbeat};
use crate::messages::{InboundFrame, MAX_UNWRITTEN, Outbound, PIECE, Piece, frame};
use crate::options::WebSocketOptions;

/// A connection that counts its bytes.
pub(crate) type Socket<IO> = WebSocketStream<Counted<IO>>;

/// One connection.
pub(crate) struct Pump<IO> {
    sink: SplitSink<Socket<IO>, Message>,
    stream: SplitStream<Socket<IO>>,
    counts: Counts,
    /// From the conversation.
    reader: ReadHalf<DuplexStream>,
    /// To the conversation.
    writer: WriteHalf<DuplexStream>,
    /// The rest of a message of the peer.
    inbound: InboundFrame,
    outbound: Outbound,
    /// Messages that are being sent.
    queue: VecDeque<Message>,
    /// The bytes of pongs that the library may hold.
    pongs: usize,
    /// The time by which messages and pongs must be sent, or the next 64 KiB of them.
    stalled_at: Option<Instant>,
    heartbeat: Heartbeat,
    /// The end of a pause of reading.
    paused_until: Option<Instant>,
    options: WebSocketOptions,
    max_message: MaxMessage,
    /// The conversation has ended.
    has_ended: bool,
}

enum Event {
    Received(Option<Result<Message, Error>>),
    Delivered(io::Result<usize>),
    Taken(io::Result<usize>),
    Sent(Result<(), Error>),
    Time,
}

/// The end that has closed first.
#[derive(Debug)]
pub(crate) enum Finished {
    /// The peer, for this reason.
    ByPeer(Option<CloseFrame>),
    /// The conversation. Everything it has written is sent.
    ByConversation,
}

/// The largest message: a frame with its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MaxMessage {
    pub(crate) bytes: usize,
    /// The name of the setting that raises it.
    pub(crate) setting: Option<&'static str>,
}

impl MaxMessage {
    pub(crate) fn of(limits: &FrameLimits) -> Self {
        Self { bytes: limits.max_frame.min(FrameLimits::LARGEST) + PREFIX, setting: limits.setting }
    }
}

/// The settings of a connection whose messages have this limit.
pub(crate) fn settings(max_message: MaxMessage) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(PIECE - HEAD)
        .max_write_buffer_size(MAX_UNWRITTEN)
        .max_message_size(Some(max_message.bytes))
        .max_frame_size(Some(max_message.bytes))
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Pump<IO> {
    /// A connection after its handshake, and the other end of the stream of its conversation.
    pub(crate) fn new(
        socket: Socket<IO>,
        counts: Counts,
        max_message: MaxMessage,
        options: WebSocketOptions,
    ) -> (Self, DuplexStream) {
        let options = options.bounded();
        let (near, far) = duplex(PIECE);
        let (reader, writer) = split(near);
        let (sink, stream) = socket.split();
        let pump = Self {
            sink,
            stream,
            counts,
            reader,
            writer,
            inbound: Bytes::new().chain(Bytes::new()),
            outbound: Outbound::new(),
            queue: VecDeque::new(),
            pongs: 0,
            stalled_at: None,
            heartbeat: Heartbeat::new(now(), options.ping_interval, options.max_missed),
            paused_until: None,
            options,
            max_message,
            has_ended: false,
        };
        (pump, far)
    }

    /// Carries messages until one end closes.
    pub(crate) async fn run(&mut self) -> Result<Finished, WebSocketError> {
        loop {
            self.fill();
            if self.has_ended && self.queue.is_empty() && self.stalled_at.is_none() {
                return Ok(Finished::ByConversation);
            }
            let event = self.wait().await;
            if let Some(finished) = self.handle(event)? {
                return Ok(finished);
            }
        }
    }

    /// Takes the next messages if those before are sent.
    fn fill(&mut self) {
        let mut size = 0;
        while self.stalled_at.is_none()
            && size < PIECE
            && let Some(piece) = self.outbound.next_piece()
        {
            size += piece.data.len();
            self.queue.push_back(message(piece));
        }
        if !self.queue.is_empty() {
            self.begin_sending();
        }
    }

    /// The peer has time from now on, unless it has some already.
    fn begin_sending(&mut self) {
        if self.stalled_at.is_none() {
            self.stalled_at = Some(now() + self.options.write_timeout);
            self.counts.taken.reset();
        }
    }

    async fn wait(&mut self) -> Event {
        let deadline = [self.stalled_at, self.paused_until, Some(self.heartbeat.poll_timeout())];
        let deadline = deadline.into_iter().flatten().min();
        let delivers = self.inbound.has_remaining();
        let receives = !delivers && self.paused_until.is_none();
        let sends = self.stalled_at.is_some();
        let takes = !self.has_ended && !sends;
        let bytes = &mut self.outbound.bytes;
        if takes {
            bytes.reserve(PIECE);
        }
        tokio::select! {
            received = self.stream.next(), if receives => Event::Received(received),
            delivered = self.writer.write_buf(&mut self.inbound), if delivers => Event::Delivered(delivered),
            taken = self.reader.read_buf(bytes), if takes => Event::Taken(taken),
            sent = send(&mut self.sink, &mut self.queue), if sends => Event::Sent(sent),
            () = until(deadline) => Event::Time,
        }
    }

    fn handle(&mut self, event: Event) -> Result<Option<Finished>, WebSocketError> {
        match event {
            Event::Received(Some(Ok(message))) => return self.received(message),
            Event::Received(None) => return Ok(Some(Finished::ByPeer(None))),
            Event::Received(Some(Err(error))) | Event::Sent(Err(error)) => {
                return match WebSocketError::of(error, self.max_message) {
                    Some(error) => Err(error),
                    None => Ok(Some(Finished::ByPeer(None))),
                };
            }
            Event::Delivered(Ok(_)) => {
                if !self.inbound.has_remaining() {
                    // An empty one would keep the memory of the message.
                    self.inbound = Bytes::new().chain(Bytes::new());
                    self.counts.arriving.release();
                }
            }
            // The conversation reads no more; its end says why.
            Event::Delivered(Err(_)) => self.inbound = Bytes::new().chain(Bytes::new()),
            Event::Taken(Ok(0) | Err(_)) => self.has_ended = true,
            Event::Taken(Ok(bytes)) => self.count(bytes)?,
            Event::Sent(Ok(())) => {
                self.stalled_at = None;
                self.pongs = 0;
                self.paused_until = None;
                self.counts.waiting.keep(self.outbound.bytes.len());
            }
            Event::Time => self.beat()?,
        }
        Ok(None)
    }

    fn received(&mut self, message: Message) -> Result<Option<Finished>, WebSocketError> {
        self.heartbeat.reset();
        self.counts.arrived.reset();
        match message {
            Message::Binary(bytes) => {
                let (frame, form) = frame(bytes);
                form.into_iter().for_each(|form| self.outbound.answer_in(form));
                self.inbound = frame;
            }
            Message::Text(_) => return Err(WebSocketError::Text),
            Message::Close(frame) => return Ok(Some(Finished::ByPeer(frame))),
            Message::Ping(data) => {
                self.counts.arriving.give_back(data.len() + CONTROL_HEAD);
                self.owe_pong(data.len() + CONTROL_HEAD)?;
            }
            Message::Pong(data) => self.counts.arriving.give_back(data.len() + CONTROL_HEAD),
            Message::Frame(_) => unreachable!("only whole messages are received"),
        }
        Ok(None)
    }

    /// The library has a pong of at most this many bytes for the peer. Of pongs without room in its buffer it keeps the
    /// newest (RFC 6455, section 5.5.3).
    fn owe_pong(&mut self, bytes: usize) -> Result<(), WebSocketError> {
        self.begin_sending();
        if self.pongs == MAX_UNWRITTEN {
            // The peer sends pings and does not read: reading at full speed would keep a processor busy. To stop reading
            // could stop both ends for ever, if the other one waits for its own pings to be read in the same way.
            self.paused_until = Some(now() + PAUSE);
        }
        let bytes = bytes.min(MAX_UNWRITTEN - self.pongs);
        self.pongs += bytes;
        self.count(bytes)
    }

    /// This many bytes wait until the peer takes them.
    fn count(&self, bytes: usize) -> Result<(), WebSocketError> {
        self.counts.waiting.take(bytes).map_err(|_| WebSocketError::Overloaded)
    }

    fn beat(&mut self) -> Result<(), WebSocketError> {
        let now = now();
        self.paused_until = self.paused_until.filter(|until| now < *until);
        if self.stalled_at.is_some_and(|until| until <= now) {
            if self.counts.taken.reset() < PIECE {
                return Err(WebSocketError::Stalled(self.options.write_timeout));
            }
            // The peer reads slowly. If it sends pings as well it may never take everything.
            self.stalled_at = Some(now + self.options.write_timeout);
            self.heartbeat.reset();
        }
        if self.inbound.has_remaining() {
            // Answers to pings are not read while a message waits for its turn.
            self.heartbeat.reset();
        }
        if self.counts.arrived.bytes() >= PIECE {
            // A large message is on its way, and a peer cannot answer a ping inside a frame.
            self.counts.arrived.reset();
            self.heartbeat.reset();
        }
        match self.heartbeat.handle_timeout(now) {
            None => Ok(()),
            Some(Beat::Ping) => {
                self.queue.push_back(Message::Ping(Bytes::new()));
                self.begin_sending();
                Ok(())
            }
            Some(Beat::Dead) => {
                Err(WebSocketError::Dead(self.options.ping_interval.saturating_mul(self.options.max_missed)))
            }
        }
    }

    /// Sends a close message, and waits for the peer to answer it.
    pub(crate) async fn close(self, frame: CloseFrame) {
        let Ok(mut socket) = self.sink.reunite(self.stream) else { unreachable!("they are of one connection") };
        let closed = async {
            // Pongs in the buffer would leave no room for the close message.
            socket.flush().await.ok()?;
            socket.send(Message::Close(Some(frame))).await.ok()?;
            let mut answered = false;
            while let Some(Ok(message)) = socket.next().await {
                answered |= message.is_close();
            }
            let io = &mut socket.get_mut().io;
            io.shutdown().await.ok()?;
            if !answered {
                // Closing over bytes that were not read would lose the message.
                copy(io, &mut sink()).await.ok()?;
            }
            Some(())
        };
        // A peer that is gone is not told.
        drop(timeout(CLOSE_TIMEOUT, closed).await);
    }

    /// Ends a connection that the peer has closed: its close message is answered.
    pub(crate) async fn leave(self) {
        let Ok(mut socket) = self.sink.reunite(self.stream) else { unreachable!("they are of one connection") };
        let left = async {
            // The answer is in the buffer.
            drop(socket.flush().await);
            socket.get_mut().io.shutdown().await
        };
        drop(timeout(CLOSE_TIMEOUT, left).await);
    }
}

/// A piece as a message, or a fragment of one.
fn message(piece: Piece) -> Message {
    let Piece { data, is_first, is_last } = piece;
    if is_first && is_last {
        return Message::Binary(data);
    }
    let code = if is_first { Data::Binary } else { Data::Continue };
    Message::Frame(Frame::message(data, OpCode::Data(code), is_last))
}

/// Sends all messages, and the pongs of the library. Nothing is lost if the future is dropped.
async fn send(
    sink: &mut (impl Sink<Message, Error = Error> + Unpin),
    queue: &mut VecDeque<Message>,
) -> Result<(), Error> {
    poll_fn(|cx| {
        // Pongs in the buffer would leave no room for the first message. From there on each message waits until the one
        // before is written, or both fit.
        ready!(Pin::new(&mut *sink).poll_flush(cx))?;
        while !queue.is_empty() {
            ready!(Pin::new(&mut *sink).poll_ready(cx))?;
            queue.pop_front().into_iter().try_for_each(|message| Pin::new(&mut *sink).start_send(message))?;
        }
        Pin::new(&mut *sink).poll_flush(cx)
    })
    .await
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// The time, which tests can stop.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The prefix of a frame.
const PREFIX: usize = 4;

/// The least bytes of a connection's buffer for reading.
const BUFFER: usize = 16 << 10;

/// The longest head of a message (RFC 6455, section 5.2).
const HEAD: usize = 14;

/// The head of a ping of a client (RFC 6455, section 5.2).
const CONTROL_HEAD: usize = 6;

/// The pause after a ping whose pong has no room.
const PAUSE: Duration = Duration::from_millis(5);

/// The time for the peer to answer a close message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
