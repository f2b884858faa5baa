//! The caller's handle to a driven connection.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use protomcp_codec::Limits;
use protomcp_envelope::{CallAnswer, CallToolRequest, Envelope, Msg, RequestContext, Rpc};
use tokio::sync::{mpsc, oneshot};

use crate::answer::Answer;
use crate::config::Config;
use crate::error::{CallError, Closed};
use crate::event::Progress;
use crate::id::{CallId, CallIds};

/// Larger answers are inflated on a blocking thread. 1 MiB takes about 1 ms.
const INFLATE_INLINE: u64 = 1 << 20;

/// Called with each progress report of a call, in order and before the call's answer.
pub(crate) type OnProgress = Box<dyn FnMut(Progress) + Send>;
/// Called when the answer of a call is a task, before the next message of the process is handled.
pub(crate) type OnTask = Box<dyn FnOnce() + Send>;

/// The listeners of a call.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) on_progress: Option<OnProgress>,
    pub(crate) on_task: Option<OnTask>,
}

/// A command from a [`Link`] to its driver.
pub(crate) enum Command {
    Call {
        call: CallId,
        request: Envelope,
        timeout: Duration,
        answer: oneshot::Sender<Result<Answer, CallError>>,
        listeners: Listeners,
    },
    Cancel(CallId),
    CancelTask(String),
    Reply {
        id: String,
        message: Msg,
    },
    WorkAroundTwoReaders,
    KeepAlive,
    Begin,
    Reload,
    Interrupt,
    Close,
}

/// A cheap handle to a driven connection. Clones share the link.
///
/// The queue to the driver needs no bound: the driver always empties it, and refuses calls that exceed
/// [`Config::max_pending`] or [`Config::max_unwritten`].
#[derive(Debug, Clone)]
pub struct Link {
    commands: mpsc::UnboundedSender<Command>,
    ids: CallIds,
    limits: Arc<Limits>,
    /// The reason why the driver has ended, for later calls.
    ended: Arc<OnceLock<Closed>>,
}

/// The name, surroundings and listeners of one request.
#[derive(Default)]
pub struct Options {
    id: Option<CallId>,
    for_call: Option<CallId>,
    context: Option<Box<RequestContext>>,
    listeners: Listeners,
}

impl Options {
    /// The name of the call, from [`Link::new_call`]. Requests that the process makes for the call carry this name.
    pub fn named(mut self, id: CallId) -> Self {
        self.id = Some(id);
        self
    }

    /// The call that the request is part of, for an interception.
    pub fn for_call(mut self, call: CallId) -> Self {
        self.for_call = Some(call);
        self
    }

    /// The client and the time of the request, for a process that has asked for them. `None` sends nothing.
    pub fn context(mut self, context: Option<RequestContext>) -> Self {
        self.context = context.map(Box::new);
        self
    }

    /// Receives the progress of the call; without a listener the process is asked to send none.
    ///
    /// The listener runs on the link's own task, so it must neither wait nor panic.
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        self.listeners.on_progress = Some(Box::new(listener));
        self
    }

    /// Called when the process answers the call with a task, before later messages of the process are handled. The
    /// answer itself may reach the caller much later, since its task must be woken first.
    ///
    /// The listener runs on the link's own task, like the listener of [`Options::on_progress`].
    pub fn on_task(mut self, listener: impl FnOnce() + Send + 'static) -> Self {
        self.listeners.on_task = Some(Box::new(listener));
        self
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Listeners { on_progress, on_task } = &self.listeners;
        f.debug_struct("Options")
            .field("id", &self.id)
            .field("for_call", &self.for_call)
            .field("context", &self.context)
            .field("on_progress", &on_progress.is_some())
            .field("on_task", &on_task.is_some())
            .finish()
    }
}

impl Link {
    /// A handle and the receiver of its driver.
    pub(crate) fn new(
        config: &Config,
        ids: CallIds,
        ended: Arc<OnceLock<Closed>>,
    ) -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        (Self { commands, ids, limits: Arc::new(config.limits.clone()), ended }, receiver)
    }

    /// A name for a future call; see [`Options::named`].
    pub fn new_call(&self) -> CallId {
        self.ids.next()
    }

    /// Sends a request and waits for its answer, at most `timeout` from the moment it is written. Dropping the future
    /// cancels the call.
    ///
    /// # Errors
    /// See [`CallError`]; the link stays open unless it is [`CallError::Closed`].
    pub async fn call<R: Rpc>(&self, request: R, timeout: Duration) -> Result<R::Response, CallError> {
        self.call_with(request, timeout, Options::default()).await
    }

    /// Sends a request like [`call`](Self::call), with options.
    ///
    /// # Errors
    /// Like [`call`](Self::call).
    pub async fn call_with<R: Rpc>(
        &self,
        request: R,
        timeout: Duration,
        options: Options,
    ) -> Result<R::Response, CallError> {
        let message = self.exchange(request.into(), timeout, options).await?;
        Ok(R::Response::try_from(message)?)
    }

    /// Calls a tool, like [`call`](Self::call), with listeners.
    ///
    /// # Errors
    /// Like [`call`](Self::call).
    pub async fn call_tool(
        &self,
        mut request: CallToolRequest,
        timeout: Duration,
        options: Options,
    ) -> Result<CallAnswer, CallError> {
        // Any token asks for progress; the connection replaces it with its own.
        request.progress_token = if options.listeners.on_progress.is_some() { "listen".into() } else { String::new() };
        let message = self.exchange(request.into(), timeout, options).await?;
        Ok(CallAnswer::try_from(message)?)
    }

    /// Replies to an [`Event::Request`](crate::Event::Request) with its id.
    pub fn reply(&self, id: impl Into<String>, message: impl Into<Msg>) {
        self.send(Command::Reply { id: id.into(), message: message.into() });
    }

    /// Requests the tool list, once, where the driver does not ([`Config::requests_list`]). Ends in
    /// [`Event::Ready`](crate::Event::Ready) or [`Event::HandshakeFailed`](crate::Event::HandshakeFailed).
    pub fn begin(&self) {
        self.send(Command::Begin);
    }

    /// Requests a reload. Ends in [`Event::Ready`](crate::Event::Ready) or
    /// [`Event::ReloadFailed`](crate::Event::ReloadFailed).
    pub fn reload(&self) {
        self.send(Command::Reload);
    }

    /// Works around a process that reads its socket from two threads; see
    /// [`Connection::work_around_two_readers`](crate::Connection::work_around_two_readers).
    pub fn work_around_two_readers(&self) {
        self.send(Command::WorkAroundTwoReaders);
    }

    /// Sends pings to the process while it is silent; see [`Connection::keep_alive`](crate::Connection::keep_alive).
    pub fn keep_alive(&self) {
        self.send(Command::KeepAlive);
    }

    /// Fails the tool calls in flight, and middleware before one, with [`CallError::Interrupted`], and cancels the calls at
    /// the process.
    pub fn interrupt(&self) {
        self.send(Command::Interrupt);
    }

    /// Closes the socket. Pending calls fail, and the process reads the end of its input.
    pub fn close(&self) {
        self.send(Command::Close);
    }

    /// Waits until the driver has ended.
    pub async fn closed(&self) {
        self.commands.closed().await;
    }

    /// True if the driver has ended.
    pub fn is_closed(&self) -> bool {
        self.commands.is_closed()
    }

    async fn exchange(&self, request: Msg, timeout: Duration, options: Options) -> Result<Msg, CallError> {
        let Options { id, for_call, context, listeners } = options;
        let call = id.unwrap_or_else(|| self.ids.next());
        let for_call = for_call.map(|call| call.to_string()).unwrap_or_default();
        let request = Envelope { for_call, context, ..Envelope::new("", request) };
        let (sender, answer) = oneshot::channel();
        let mut guard = CancelOnDrop { link: self, call, answer, armed: true };
        self.send(Command::Call { call, request, timeout, answer: sender, listeners });
        let outcome = (&mut guard.answer).await;
        guard.armed = false;
        let answer = outcome.unwrap_or_else(|_| Err(self.too_late()))?;
        if answer.inflated_size() <= INFLATE_INLINE {
            return answer.finish(&self.limits);
        }
        let limits = Arc::clone(&self.limits);
        match tokio::task::spawn_blocking(move || answer.finish(&limits)).await {
            Ok(finished) => finished,
            // The runtime is shutting down.
            Err(_) => Err(self.too_late()),
        }
    }

    fn too_late(&self) -> CallError {
        CallError::Closed(self.ended.get().cloned().unwrap_or(Closed::Here))
    }

    /// A driver that has ended answers nothing; its callers see a closed channel.
    fn send(&self, command: Command) {
        let _ended = self.commands.send(command);
    }
}

/// Cancels a call when its future is dropped.
struct CancelOnDrop<'a> {
    link: &'a Link,
    call: CallId,
    answer: oneshot::Receiver<Result<Answer, CallError>>,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        self.answer.close();
        match self.answer.try_recv() {
            Ok(answer) => {
                // The call has become a task, and its caller has not seen that.
                if let Some(task) = answer.iter().find_map(Answer::task) {
                    self.link.send(Command::CancelTask(task.task_id.clone()));
                }
            }
            Err(_) => self.link.send(Command::Cancel(self.call)),
        }
    }
}
