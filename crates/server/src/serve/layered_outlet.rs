//! The layers for outgoing messages between a call and an outlet that is not of this crate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protomcp_toollist::Command;
use protomcp_types::{Level, Notification, Progress, RawJson};

use crate::call::call_info::CallInfo;
use crate::call::client_request::ProgressCallback;
use crate::call::outlet::{Answers, Outlet};
use crate::call::session_queue::log_message;
use crate::service::outgoing_layer::OutgoingLayer;
use protomcp_session::{AskError, InputRequest, SessionId, TaskOptions};

/// An outlet whose reports pass the layers first.
pub(super) struct LayeredOutlet {
    outlet: Arc<dyn Outlet>,
    layers: Vec<Arc<dyn OutgoingLayer>>,
    session: SessionId,
}

impl LayeredOutlet {
    /// The outlet behind these layers, if there are any.
    pub(super) fn around(
        outlet: Arc<dyn Outlet>,
        layers: &[Arc<dyn OutgoingLayer>],
        session: SessionId,
    ) -> Arc<dyn Outlet> {
        if layers.is_empty() { outlet } else { Arc::new(Self { outlet, layers: layers.to_vec(), session }) }
    }

    /// The notification that the layers leave; `None`: one of them withholds it.
    fn pass(&self, notification: Notification) -> Option<Notification> {
        self.layers.iter().try_fold(notification, |sent, layer| layer.notification(self.session, sent))
    }
}

impl Outlet for LayeredOutlet {
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool {
        let Some(notification) = info.progress(progress) else { return false };
        match self.pass(notification).as_ref().and_then(Progress::from_notification) {
            Some((_, progress)) => self.outlet.send_progress(info, &progress),
            None => true,
        }
    }

    fn send_log(&self, info: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson) {
        let Some(notification) = self.pass(log_message(level, logger, data)) else { return };
        let text = |name: &str| notification.params.member(name).and_then(|value| value.to::<String>().ok());
        let level = text("level").and_then(|name| Level::parse(&name)).unwrap_or(level);
        let data = notification.params.member("data").unwrap_or(data);
        self.outlet.send_log(info, level, text("logger").as_deref(), data);
    }

    fn ask_client(
        self: Arc<Self>,
        info: &CallInfo,
        questions: Vec<InputRequest>,
        timeout: Duration,
        progress: Option<ProgressCallback>,
    ) -> Answers {
        Arc::clone(&self.outlet).ask_client(info, questions, timeout, progress)
    }

    fn can_be_task(&self) -> bool {
        self.outlet.can_be_task()
    }

    fn is_task(&self) -> bool {
        self.outlet.is_task()
    }

    fn continue_as_task(&self, options: TaskOptions) {
        self.outlet.continue_as_task(options);
    }

    fn set_task_message(&self, message: &str) {
        self.outlet.set_task_message(message);
    }

    fn is_remote(&self) -> bool {
        self.outlet.is_remote()
    }

    fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        self.outlet.select_tools(change)
    }

    fn lists_hidden_tools(&self) -> bool {
        self.outlet.lists_hidden_tools()
    }
}

impl fmt::Debug for LayeredOutlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayeredOutlet").field("outlet", &self.outlet).finish_non_exhaustive()
    }
}
