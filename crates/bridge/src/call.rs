//! One call of a tool, from its turn to the result for the client.

mod arguments;
mod progress;
pub(crate) mod result;
mod task_poll;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use protomcp_envelope::{CallAnswer, CallToolRequest, CallToolResponse};
use protomcp_link::{CallError, Options};
use protomcp_server::{Context, LargeWork, SessionId, TaskOptions};
use protomcp_types::{CallTool, CallToolResult, RawJson};
use protomcp_wire::metadata;
use tokio::sync::{mpsc, oneshot};

use crate::call::progress::{OnProgress, on_progress};
use crate::call::task_poll::{Ended, poll_task};
use crate::catalog::arguments::{Admitted, ArgumentPolicy};
use crate::catalog::published::Published;
use crate::catalog::tool::Tool;
use crate::core::io::Input;
use crate::diagnostics::failure::Failure;
use crate::diagnostics::setting::SettingNames;
use crate::dispatcher::Dispatcher;
use crate::dispatcher::attribution::Caller;
use crate::dispatcher::permit::Permit;
use crate::driver::message::{Attachment, Message};
use crate::from_tool::list_control;
use crate::metrics::Metrics;
use crate::process::deadline::Deadline;
use crate::process::middleware::{MiddlewareChain, Target};
use crate::process::request_context;

/// The default terms of tasks, unless clients request others.
pub(crate) const TASK_TERMS: TaskOptions =
    TaskOptions { ttl: Duration::from_secs(60 * 60), poll_interval: Duration::from_millis(500) };
/// The longest time of a task.
pub(crate) const LONGEST_TASK: Duration = Duration::from_secs(24 * 60 * 60);

/// The parts that every call uses.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) dispatcher: Arc<Dispatcher>,
    /// The tools of the process in service.
    pub(crate) snapshot: Arc<Published>,
    pub(crate) inputs: mpsc::Sender<Message>,
    pub(crate) timeout: Duration,
    /// `None`: the policy of the process in service.
    pub(crate) arguments: Option<ArgumentPolicy>,
    pub(crate) settings: SettingNames,
    pub(crate) metrics: Arc<Metrics>,
    /// The threads that check large arguments.
    pub(crate) large_work: LargeWork,
}

impl Calls {
    /// Makes a call. Dropping the future removes it from the queue, or cancels it at the process.
    ///
    /// The middleware before the call, the call and the middleware after it share one time, which begins with its turn.
    /// If the process makes a task of the call, it is also a task for clients that know tasks. For others the bridge
    /// polls it within that time, as if it were the call.
    pub(crate) async fn call(&self, tool: &Tool, call: CallTool, context: &Context) -> Result<CallToolResult, Failure> {
        let measured = self.metrics.call(tool.name().as_str());
        let result = self.make(tool, call, context).await;
        measured.end(&result);
        result
    }

    /// Work that few calls have is in boxes: the future of each call would hold it, and is moved several times.
    async fn make(&self, tool: &Tool, mut call: CallTool, context: &Context) -> Result<CallToolResult, Failure> {
        let (name, session) = (tool.name().as_str(), context.session());
        let listener = on_progress(context);
        let arguments = call.arguments.take().unwrap_or(RawJson::EMPTY_OBJECT);
        let Admitted { json, matches } = self.check(tool, arguments, context).await?;
        let mut arguments_json = json.into_bytes();
        let mut permit = self.dispatcher.acquire(Caller::of(context), name).await?;
        let current = self.registered(name)?;
        let is_same = std::ptr::eq(&*current, tool);
        let matches = matches && (is_same || current.input() == tool.input());
        // Of two tools with the same output schema, the one that the client has seen says if it shows the schema.
        let tool: &Tool = if is_same || current.output() == tool.output() { tool } else { &current };
        let process = Arc::clone(permit.process());
        let (link, chain) = (process.link(), process.chain());
        let mut time = Deadline::new(self.timeout);
        permit.mark_called(tool.name());
        let turn = Turn { permit: &permit, chain: &chain, time: &time, context, matches };
        let mut answer = self.ask(turn, call, &mut arguments_json, listener.clone()).await;
        if matches!(answer, Ok(CallAnswer::Task(_))) {
            permit.mark_task();
        } else if !answer.as_ref().is_err_and(Failure::leaves_busy) {
            permit.mark_answered();
        } else if matches!(answer, Err(Failure::Middleware { .. })) {
            permit.mark_intercepted();
        }
        if let Ok(CallAnswer::Task(task)) = answer {
            permit.detach();
            // It has become a task for the client already, if it may. Tasks have their own time, and are cancelled when
            // it ends.
            if context.continue_as_task(TASK_TERMS) {
                time = Deadline::new(LONGEST_TASK);
            }
            let polled = Box::pin(poll_task(link, name, task.task_id, listener));
            let polled = tokio::time::timeout(time.remaining(), polled).await;
            answer = match polled.unwrap_or(Err(Ended::Link(CallError::TimedOut(time.total())))) {
                Ok(response) => {
                    permit.mark_answered();
                    Ok(CallAnswer::Result(response))
                }
                Err(Ended::Link(error)) => {
                    Err(Box::pin(process.call_failure(name, error, &context.caller().owner)).await)
                }
                Err(Ended::Task(failure)) => {
                    permit.mark_answered();
                    Err(failure)
                }
            };
        }
        let mut response = match answer? {
            CallAnswer::Result(response) => response,
            CallAnswer::Task(_) => unreachable!("it has been polled to its result"),
        };
        if !chain.is_empty() {
            permit.mark_intercepted();
            let target = Target { process: &process, call: permit.call(), tool: name, time: &time, context };
            if Box::pin(chain.after(target, &arguments_json, &mut response)).await {
                permit.mark_answered();
            }
        }
        Ok(self.finish(tool, response, &permit, session).await)
    }

    /// The tool as it is registered now, hidden or not: a reload may have replaced it while its call waited.
    fn registered(&self, name: &str) -> Result<Arc<Tool>, Failure> {
        let snapshot = self.snapshot.load();
        snapshot.base().registered(name).cloned().ok_or_else(|| Failure::UnknownTool { tool: name.to_owned() })
    }

    /// Runs the middleware before the call, and the call.
    async fn ask(
        &self,
        turn: Turn<'_>,
        call: CallTool,
        arguments_json: &mut Bytes,
        listener: Option<OnProgress>,
    ) -> Result<CallAnswer, Failure> {
        let Turn { permit, chain, time, context, mut matches } = turn;
        let (process, mut left) = (permit.process(), time.total());
        if !chain.is_empty() {
            let target = Target { process, call: permit.call(), tool: &call.name, time, context };
            let rewritten = Box::pin(chain.before(target, arguments_json.clone())).await?;
            matches &= rewritten == *arguments_json;
            *arguments_json = rewritten;
            left = time.remaining();
        }
        let request = CallToolRequest {
            arguments_json: arguments_json.clone(),
            name: call.name.clone(),
            metadata_json: metadata::to_envelope(call.meta),
            arguments_match: matches && process.sdk().wants_match,
            ..Default::default()
        };
        // A request that the process sends right after it has made a task of the call belongs to the task.
        let becoming = context.clone();
        let on_task = move || {
            becoming.continue_as_task(TASK_TERMS);
        };
        let known = request_context::for_process(process.sdk(), context, left);
        let mut options = Options::default().named(permit.call()).context(known).on_task(on_task);
        if let Some(listener) = listener {
            options = options.on_progress(move |progress| listener(progress));
        }
        match process.link().call_tool(request, left, options).await {
            Ok(answer) => Ok(answer),
            Err(CallError::TimedOut(_)) => Err(Failure::TimedOut { tool: call.name, after: time.total() }),
            Err(error) => Err(Box::pin(process.call_failure(&call.name, error, &context.caller().owner)).await),
        }
    }

    /// The result for the client, after the tool's list changes are applied: the next `tools/list` sees them.
    async fn finish(
        &self,
        tool: &Tool,
        mut response: CallToolResponse,
        permit: &Permit,
        session: SessionId,
    ) -> CallToolResult {
        let generation = permit.process().generation();
        let enable = std::mem::take(&mut response.enable_tools);
        let disable = std::mem::take(&mut response.disable_tools);
        if let Some(command) = list_control::inline(enable, disable) {
            let input = Input::Control { generation, session: Some(session), command: Ok(command), reply: None };
            Box::pin(self.apply(input)).await;
        }
        let converted = result::convert(tool, response, self.settings);
        if converted.proven {
            Box::pin(self.apply(Input::Proven(generation, tool.name().clone()))).await;
        }
        converted.result
    }

    /// Sends an input to the core, and waits until its effects are applied.
    async fn apply(&self, input: Input) {
        let (done, applied) = oneshot::channel();
        // A bridge that is shutting down applies no effects, and its list is not read again.
        if self.inputs.send(Message { input, attached: Attachment::Acknowledge(done) }).await.is_ok() {
            let _ended = applied.await;
        }
    }
}

/// A call that has a permit.
#[derive(Clone, Copy)]
struct Turn<'a> {
    permit: &'a Permit,
    chain: &'a MiddlewareChain,
    time: &'a Deadline,
    context: &'a Context,
    /// The arguments match the input schema of the tool.
    matches: bool,
}
