//! The way back from a stateless call that may ask: to the request that it belongs to at the time, or to its task. A
//! question is part of the answer to that request.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use protomcp_types::{Level, Progress, RawJson};

use crate::call::call_info::CallInfo;
use crate::call::client_request::ProgressCallback;
use crate::call::mrtr::task::notify;
use crate::call::mrtr::{MultiRoundTrip, ReplyTarget, Waiting};
use crate::call::outlet::{Answers, Outlet};
use protomcp_session::{AskError, InputRequest, TaskOptions};

impl Outlet for MultiRoundTrip {
    fn send_progress(&self, _: &CallInfo, progress: &Progress) -> bool {
        self.progress(progress)
    }

    fn send_log(&self, _: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson) {
        self.with_reply_target(|ReplyTarget { queue, info }| queue.send_log(info, level, logger, data));
    }

    fn ask_client(
        self: Arc<Self>,
        _: &CallInfo,
        questions: Vec<InputRequest>,
        timeout: Duration,
        _: Option<ProgressCallback>,
    ) -> Answers {
        let until = tokio::time::Instant::now() + timeout;
        let waiting = self.ask(questions, until.into_std());
        let waiting = waiting.map(|waiting| {
            let pending = |waiting| Pending { rounds: Arc::clone(&self), waiting };
            waiting.into_iter().map(pending).collect::<Vec<_>>()
        });
        async move {
            let mut answers = Vec::new();
            for mut pending in waiting? {
                match tokio::time::timeout_at(until, &mut pending.waiting.answer).await {
                    Ok(Ok(answer)) => answers.push(answer?),
                    Ok(Err(_)) => return Err(AskError::Gone),
                    Err(_) => return Err(AskError::TimedOut(timeout)),
                }
            }
            Ok(answers)
        }
        .boxed()
    }

    fn can_be_task(&self) -> bool {
        self.may_be_task
    }

    /// Also true if the call asks to become a task.
    fn is_task(&self) -> bool {
        self.inner().trips.is_task()
    }

    fn continue_as_task(&self, options: TaskOptions) {
        if self.may_be_task {
            self.inner().want_task(options);
        }
    }

    fn set_task_message(&self, message: &str) {
        let mut inner = self.inner();
        if inner.trips.set_message(message, SystemTime::now()) {
            notify(inner);
        }
    }
}

/// A question that was asked. Dropping it takes the question back.
struct Pending {
    rounds: Arc<MultiRoundTrip>,
    waiting: Waiting,
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Without effect when the answer is there.
        self.rounds.withdraw(self.waiting.number);
    }
}
