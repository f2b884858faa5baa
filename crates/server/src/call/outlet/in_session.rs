//! Calls whose client has a connection for their messages: its queue takes them. A question is a request to the client.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready, try_join_all};
use protomcp_types::{Level, Progress, RawJson};

use crate::call::ask::ask_raw;
use crate::call::call_info::CallInfo;
use crate::call::client_request::{OutgoingRequest, ProgressCallback};
use crate::call::outlet::{Answers, Outlet};
use crate::call::session_queue::SessionQueue;
use crate::call::session_task::SessionTask;
use protomcp_session::{AskError, InputRequest, StatelessInfo};

/// The request of the call waits for the answer all the while.
impl Outlet for SessionQueue {
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool {
        let Some(notification) = info.progress(progress) else { return false };
        self.progress(&info.key, notification);
        true
    }

    fn send_log(&self, info: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson) {
        match info.stateless {
            None => self.log(Some(&info.key), level, logger, data),
            Some(StatelessInfo { log_level: Some(least) }) if level >= least => {
                self.log_during(&info.key, level, logger, data);
            }
            Some(_) => {}
        }
    }

    fn ask_client(
        self: Arc<Self>,
        info: &CallInfo,
        questions: Vec<InputRequest>,
        timeout: Duration,
        progress: Option<ProgressCallback>,
    ) -> Answers {
        if info.stateless.is_some() {
            return ready(Err(AskError::OutOfPlace)).boxed();
        }
        let ask = |InputRequest { method, params, .. }: InputRequest| {
            let during = Some(info.key.clone());
            let request = OutgoingRequest { during, method, params: params.into(), progress: progress.clone() };
            ask_raw(&self, request, timeout)
        };
        let asked: Vec<_> = questions.into_iter().map(ask).collect();
        try_join_all(asked).boxed()
    }
}

/// The request of the call was answered with the task.
impl Outlet for SessionTask {
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool {
        let Some(notification) = info.progress(progress) else { return false };
        if self.is_running() {
            self.queue().notice(self.notice(notification));
        }
        true
    }

    fn send_log(&self, info: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson) {
        self.queue().send_log(info, level, logger, data);
    }

    fn ask_client(
        self: Arc<Self>,
        _: &CallInfo,
        questions: Vec<InputRequest>,
        timeout: Duration,
        progress: Option<ProgressCallback>,
    ) -> Answers {
        let ask = |asked| ask_in_task(&self, asked, timeout, progress.clone());
        let asked: Vec<_> = questions.into_iter().map(ask).collect();
        try_join_all(asked).boxed()
    }

    fn can_be_task(&self) -> bool {
        true
    }

    fn is_task(&self) -> bool {
        true
    }

    fn set_task_message(&self, message: &str) {
        self.set_message(message);
    }
}

/// Sends a question with the request that waits for the task, if one does.
fn ask_in_task(
    task: &Arc<SessionTask>,
    asked: InputRequest,
    timeout: Duration,
    progress: Option<ProgressCallback>,
) -> BoxFuture<'static, Result<RawJson, AskError>> {
    let Some(guard) = task.ask() else { return ready(Err(AskError::Gone)).boxed() };
    let InputRequest { method, params, .. } = asked;
    let params = task.mark(params.into());
    let queue = Arc::clone(task.queue());
    let ask = move |during, params| {
        ask_raw(&queue, OutgoingRequest { during, method, params, progress: progress.clone() }, timeout)
    };
    let answer = ask(guard.during.clone(), params.clone());
    let answer = async move {
        let answer = async {
            match answer.await {
                // The request that waited for the task is gone, and the task is not.
                Err(AskError::Gone) if guard.during.is_some() => ask(None, params).await,
                answer => answer,
            }
        };
        tokio::select! {
            biased;
            // The answer is no longer needed.
            () = guard.task.ended() => Err(AskError::Gone),
            answer = answer => answer,
        }
    };
    answer.boxed()
}
