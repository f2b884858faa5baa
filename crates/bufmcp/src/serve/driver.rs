//! The task of one conversation: it owns the stream, the clock and the machines, and decides nothing.

mod starved;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::future::Aborted;
use protomcp_server::{ClientInfo, MemberNotice, Membership, Peer, Server, Service};
use protomcp_types::{ClientCapabilities, Implementation, Notification, ProtocolVersion, RequestId, method};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;

use crate::authorization::Authorization;
use crate::code;
use crate::fault::Fault;
use crate::frame::Decoder;
use crate::message::ListChanged;
use crate::serve::account::{Account, hold};
use crate::serve::answers::Answers;
use crate::serve::catalog::Catalog;
use crate::serve::error::BinaryServeError;
use crate::serve::large_values::Values;
use crate::serve::mcp::{Client, Mcp};
use crate::serve::peer::BinaryPeer;
use crate::serve::running::{Answered, Running};
use crate::serve::shared::Shared;
use crate::serve::turn::{TURN, spend};
use crate::session::BinarySession;
use crate::session::config::SessionLimits;
use crate::session::inbound::{BinaryInbound, BinaryRequest};
use crate::session::token_verifier::{Grant, Verifying};
use crate::stream::{BATCH, Incoming, Outgoing, now, until};

/// The bytes whose reading takes as long as the work on the smallest frame.
const FRAME: usize = 256;

/// One conversation.
pub(super) struct Driver<S> {
    server: Server<S>,
    shared: Arc<Shared>,
    peer: BinaryPeer,
    session: BinarySession,
    /// From the first request on, until the server shuts down.
    membership: Option<Membership>,
    answers: Option<Arc<Answers>>,
    running: Running,
    /// The check of a token.
    verifying: Option<Verifying>,
    incoming: Incoming,
    outgoing: Outgoing,
    /// The time by which the last frames must be written.
    stalled_at: Option<Instant>,
    account: Option<Account>,
    /// The client has closed its end.
    has_ended: bool,
    is_shutting_down: bool,
    failure: Option<BinaryServeError>,
}

enum Event {
    Read(io::Result<usize>),
    Written(io::Result<()>),
    Notice(Option<MemberNotice>),
    Answered(Answered),
    Reported,
    Verified(Result<Grant, Fault>),
    Shutdown,
    Time,
}

impl<S: Service> Driver<S> {
    pub(super) fn new(server: Server<S>, shared: Arc<Shared>, peer: BinaryPeer) -> Self {
        let config = Arc::clone(&shared.session);
        let decoder = Decoder::new(config.frames.clone()).with_numbering(config.numbering);
        Self {
            account: Account::open(server.handle(), &peer),
            server,
            shared,
            session: BinarySession::new(config, peer.principal.clone()),
            peer,
            membership: None,
            answers: None,
            running: Running::default(),
            verifying: None,
            incoming: Incoming::new(decoder),
            outgoing: Outgoing::default(),
            stalled_at: None,
            has_ended: false,
            is_shutting_down: false,
            failure: None,
        }
    }

    pub(super) async fn run<R, W>(mut self, mut reader: R, mut writer: W) -> Result<(), BinaryServeError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let mut events = 0;
        loop {
            self.pump();
            let decoded = self.decode(now());
            self.hold()?;
            if decoded > 0 {
                // Other connections have their turn between the frames of this one.
                spend(decoded).await;
                continue;
            }
            if self.session.is_closed() && self.outgoing.is_done() {
                break;
            }
            let event = self.wait(&mut reader, &mut writer).await;
            // A write is one of them: a client that reads its answers floods as well.
            events += 1;
            self.handle(event)?;
            if events >= BATCH {
                events = 0;
                self.poll_starved(&mut reader, &mut writer)?;
            }
        }
        // The client may be gone by now, or not read.
        drop(tokio::time::timeout(self.shared.session.limits.drain_timeout, writer.shutdown()).await);
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        drop(self.running);
        if let Some(membership) = self.membership {
            membership.close().await;
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        [self.session.poll_timeout(), self.stalled_at].into_iter().flatten().min()
    }

    /// Waits for the next event. It writes when nothing else is ready, so that a burst of answers is one write.
    async fn wait(&mut self, reader: &mut (impl AsyncRead + Unpin), writer: &mut (impl AsyncWrite + Unpin)) -> Event {
        let deadline = self.deadline();
        let (reads, takes_notices) = (self.reads(), self.takes_notices());
        let notice = async {
            match &mut self.membership {
                Some(membership) => membership.next().await,
                None => std::future::pending().await,
            }
        };
        let verified = async {
            match &mut self.verifying {
                Some(verifying) => verifying.await,
                None => std::future::pending().await,
            }
        };
        let streams = self.running.reports.is_some();
        let reported = async {
            match &self.running.reports {
                Some(reports) => reports.arrived().await,
                None => std::future::pending().await,
            }
        };
        let shutdown = self.server.handle().shutdown_token();
        let has_output = !self.outgoing.is_done();
        tokio::select! {
            biased;
            outcome = verified => Event::Verified(outcome),
            Some(answered) = self.running.answers.next() => Event::Answered(answered),
            read = self.incoming.read(reader), if reads => Event::Read(read),
            // Behind what the client sends: a server may log without end.
            notice = notice, if takes_notices => Event::Notice(notice),
            () = reported, if streams => Event::Reported,
            written = self.outgoing.write(writer), if has_output => Event::Written(written),
            () = shutdown.cancelled(), if !self.is_shutting_down => Event::Shutdown,
            () = until(deadline) => Event::Time,
        }
    }

    /// True if the client may send more.
    fn reads(&self) -> bool {
        !self.has_ended && self.session.has_room()
    }

    /// True if there is room for a notice of the server; at its end there is.
    fn takes_notices(&self) -> bool {
        self.session.has_room_for_notices() || self.is_shutting_down
    }

    fn handle(&mut self, event: Event) -> Result<(), BinaryServeError> {
        let now = now();
        match event {
            Event::Read(Ok(0)) => {
                self.has_ended = true;
                if self.incoming.undecoded() > 0 {
                    // Requests before the broken frame have their answers.
                    self.failure = Some(BinaryServeError::Truncated);
                    self.incoming.clear();
                }
                self.session.close_input(now);
            }
            Event::Read(Ok(_)) => {}
            Event::Read(Err(error)) | Event::Written(Err(error)) => return Err(error.into()),
            Event::Written(Ok(())) => {}
            Event::Notice(Some(notice)) => self.notice(notice),
            Event::Notice(None) => {
                // The server shuts down: running requests have their answers by now.
                self.membership = None;
                self.session.close_input(now);
            }
            Event::Answered((id, Ok(outcome))) => {
                self.running.pass_reports(&mut self.session);
                self.running.end(id);
                self.session.reply(now, id, outcome);
            }
            // Its id may belong to another request by now.
            Event::Answered((_, Err(Aborted))) => {}
            Event::Reported => self.running.pass_reports(&mut self.session),
            Event::Verified(outcome) => {
                self.verifying = None;
                let inbound = self.session.verified(now, outcome);
                self.take(now, inbound);
            }
            Event::Shutdown => {
                self.is_shutting_down = true;
                // The end of a membership is the end of the conversation.
                if self.membership.is_none() {
                    self.session.close_input(now);
                }
            }
            Event::Time => {
                if self.stalled_at.is_some_and(|until| until <= now) {
                    return Err(BinaryServeError::Stalled);
                }
                self.running.pass_reports(&mut self.session);
                for id in self.session.handle_timeout(now) {
                    self.running.abort(id);
                }
            }
        }
        Ok(())
    }

    /// Takes the frames that have arrived, as far as there is room for them, and as many as one turn may have. Returns
    /// their bytes, and more if there were any.
    fn decode(&mut self, now: Instant) -> usize {
        let mut taken = 0;
        while self.session.has_room() && taken < TURN {
            let before = self.incoming.undecoded();
            match self.incoming.decode() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    let inbound = self.session.receive(now, frame);
                    self.take(now, inbound);
                    if self.session.is_closed() {
                        self.failure = Some(BinaryServeError::Garbage);
                    }
                }
                Err(error) => {
                    self.session.too_large(error);
                    self.failure = Some(error.into());
                }
            }
            taken += before.saturating_sub(self.incoming.undecoded()).max(FRAME);
        }
        taken
    }

    /// Acts on a message.
    fn take(&mut self, now: Instant, inbound: Option<BinaryInbound>) {
        match inbound {
            Some(BinaryInbound::Request(request)) => self.begin(now, request),
            Some(BinaryInbound::Verify(authorization)) => self.verifying = self.verify(authorization),
            Some(BinaryInbound::Cancelled(id)) => self.running.abort(id),
            Some(BinaryInbound::Initialized(agreed)) if agreed.declared.streaming => {
                let reservation = self.account.as_ref().map(|account| account.outbound.sibling());
                self.running.stream(Arc::clone(&self.shared.session), reservation);
            }
            Some(BinaryInbound::Initialized(_)) | None => {}
        }
    }

    /// Begins the check of a token, which has the time of a request.
    fn verify(&self, authorization: Authorization) -> Option<Verifying> {
        let session = &self.shared.session;
        let verifying = session.verifier.as_ref()?.verify(authorization, self.peer.address);
        let time = session.limits.request_timeout;
        Some(Box::pin(async move {
            let late = |_| Err(Fault::new(code::OVERLOADED, "the token could not be checked in time"));
            tokio::time::timeout(time, verifying).await.unwrap_or_else(late)
        }))
    }

    /// Keeps account of the bytes that wait. A client whose frames find no room is told so, unless it does not read.
    fn hold(&mut self) -> Result<(), BinaryServeError> {
        let Some(account) = &mut self.account else { return Ok(()) };
        let (written, unsent) = (self.outgoing.held(), self.session.unsent());
        if hold(&mut account.outbound, unsent + written).is_err() {
            // Reports are the first that a client misses.
            self.session.drop_reports();
            let unread = self.session.unsent() + written;
            hold(&mut account.outbound, unread).map_err(|_| BinaryServeError::Overloaded)?;
        }
        if hold(&mut account.inbound, self.incoming.held()).is_err() {
            self.session.overloaded();
            self.failure.get_or_insert(BinaryServeError::Overloaded);
            self.incoming.clear();
            self.pump();
        }
        Ok(())
    }

    fn begin(&mut self, now: Instant, request: BinaryRequest) {
        let BinaryRequest { id, call } = request;
        let reservation = self.account.as_ref().map_or(Ok(None), |account| account.request(&call));
        let Ok(reservation) = reservation else {
            let fault = Fault::new(code::OVERLOADED, "there is no room for this request; try again later");
            return self.session.reply(now, id, Err(fault));
        };
        let answers = self.answers();
        let answers = match self.session.known(id) {
            Some(known) => answers.for_bearer(known.clone()),
            None => answers,
        };
        let reports = self.running.reports_of(id, &call);
        if let (Some(least), Some(membership)) = (reports.as_ref().and_then(|one| one.least), &self.membership)
            && self.running.lowers(least)
        {
            // Handlers ask for the level of their session.
            membership.set_log_level(least);
        }
        self.running.begin(id, async move {
            let answer = answers.answer(call, reports).await;
            drop(reservation);
            answer
        });
    }

    /// The membership begins with the first request: only then the principal is known.
    fn answers(&mut self) -> Arc<Answers> {
        if let Some(answers) = &self.answers {
            return Arc::clone(answers);
        }
        let peer = BinaryPeer { principal: self.session.principal().cloned(), ..self.peer.clone() };
        let client = ClientInfo {
            version: ProtocolVersion::NEWEST_STATEFUL,
            implementation: self.identity(),
            capabilities: ClientCapabilities::new(),
        };
        let membership = self.server.join(Peer::new(peer.principal.clone(), peer.address, None), client);
        let mut facts = membership.facts(RequestId::from(0));
        facts.known = peer.known.clone();
        let server: Server<S> = self.server.clone();
        let client = Client::Member { facts, last: Arc::default() };
        let caller = peer.rate_key(|| CONNECTIONS.fetch_add(1, Ordering::Relaxed));
        let imports = self.session.agreement().map(|agreed| agreed.imports).unwrap_or_default();
        let (shared, catalog) = (Arc::clone(&self.shared), Arc::new(Catalog::default()));
        let outbound = self.account.as_ref().map(|account| account.outbound.sibling());
        let worker = Values::new(shared.large_work.worker(peer.owner()));
        let mcp = Mcp { server: Arc::new(server), client, worker, outbound };
        let answers = Answers {
            shared,
            mcp,
            catalog,
            caller,
            permission: peer.permission,
            imports,
            lists: Arc::new(Semaphore::new(1)),
        };
        let answers = Arc::new(answers);
        self.membership = Some(membership);
        self.answers = Some(Arc::clone(&answers));
        answers
    }

    /// The client, as the MCP server sees it.
    fn identity(&self) -> Implementation {
        let metadata = self.session.agreement().map(|agreement| &agreement.metadata);
        let member = |key: &str| metadata.and_then(|metadata| metadata.get(key)).cloned();
        Implementation::new(
            member("name").unwrap_or_else(|| "proto-mcp client".to_owned()),
            member("version").unwrap_or_default(),
        )
    }

    /// Lets the client know that a list or a resource has changed, or what the server logs. It declares nothing that it
    /// could be asked.
    fn notice(&mut self, notice: MemberNotice) {
        let MemberNotice::Notification(Notification { method, params }) = notice else { return };
        if method == method::LOG {
            match self.running.log_of(&params, &self.shared) {
                Some(Ok(log)) => _ = self.session.pass(0, log),
                Some(Err(_)) => self.session.add_dropped_reports(1),
                None => {}
            }
            return;
        }
        if method == method::RESOURCE_UPDATED {
            let uri = params.member("uri").and_then(|uri| uri.to::<String>().ok());
            if let Some(uri) = uri {
                self.session.resource_updated(&uri);
            }
            return;
        }
        let changed = ListChanged {
            tools: method == method::TOOLS_CHANGED,
            resources: method == method::RESOURCES_CHANGED,
            prompts: method == method::PROMPTS_CHANGED,
        };
        if let (true, Some(answers)) = (changed.tools, &self.answers) {
            answers.catalog.forget();
        }
        self.session.list_changed(changed);
    }

    /// Carries out what the machine has decided.
    fn pump(&mut self) {
        // Frames that the client does not read stay in the session, which then takes no more requests.
        self.outgoing.fill(|| self.session.poll_transmit());
        self.running.dropped.add(now, self.session.take_dropped_reports());
        if self.session.is_closed() && !self.outgoing.is_done() && self.stalled_at.is_none() {
            self.stalled_at = Some(now() + self.shared.session.limits.drain_timeout.min(SessionLimits::LONGEST));
        }
    }
}

/// The number of connections without principal and address.
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);
