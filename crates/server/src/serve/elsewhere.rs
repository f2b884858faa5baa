//! Finds the process that a request without a session is for, if it is another one.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use protomcp_session::{RequestBinding, RequestState};
use protomcp_types::{CallTool, GetPrompt, Method, Params, ReadResource, Request, TaskRequest};
use tokio::time::timeout;

use crate::records::clock::now;
use crate::records::lease_name::LeaseName;
use crate::records::live_leases::LiveLeases;
use crate::records::node::NodeId;
use crate::records::store_future::StoreFuture;
use crate::records::task_record::TaskKey;
use crate::state::handle::ServerHandle;

/// The time that the stores may take to answer.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// The methods whose calls may ask their clients.
const MAY_ASK: [&str; 3] = [CallTool::NAME, GetPrompt::NAME, ReadResource::NAME];

impl ServerHandle {
    /// The process that a request without a session is for, if it may be another one: it has parked the call that the
    /// request takes up, or runs the task that the request is about (MCP 2026-07-28, basic/patterns/mrtr, and the
    /// extension `io.modelcontextprotocol/tasks`). `principal`: the principal of the request.
    ///
    /// `None`, without a lookup: it is for this process. The future resolves to `None` if it is for this process, and
    /// if the other process has ended or is not known: then this process has the error that answers the request.
    #[must_use]
    pub fn holder_of(
        &self,
        request: &Request,
        principal: Option<Arc<str>>,
    ) -> Option<StoreFuture<'static, Option<LeaseName>>> {
        let leases = self.leases()?;
        if TaskRequest::is_method(&request.method) {
            return self.holder_of_task(leases, request, principal);
        }
        let state = request.params.member("requestState")?;
        let Params::Named(params) = &request.params else { return None };
        let method = MAY_ASK.into_iter().find(|method| *method == request.method)?;
        let binding = RequestBinding::new(method, params.clone(), principal);
        let state = self.keys().open(&state.to::<String>().ok()?, || *binding.bound(), SystemTime::now()).ok()?;
        let RequestState::Parked(parked) = state else { return None };
        let keys = self.keys().clone();
        let is_in = move |node: &NodeId| keys.is_parked_in(&parked, node.as_str());
        if is_in(self.node()) {
            return None;
        }
        let leases = Arc::clone(leases);
        Some(Box::pin(async move { find(&leases, is_in).await }))
    }

    /// A task is answered and cancelled where it runs, and read everywhere, unless its scopes are known there alone.
    fn holder_of_task(
        &self,
        leases: &Arc<LiveLeases>,
        request: &Request,
        principal: Option<Arc<str>>,
    ) -> Option<StoreFuture<'static, Option<LeaseName>>> {
        let request = TaskRequest::read(&request.method, &request.params).ok()?;
        let is_read = matches!(request, TaskRequest::Get { .. });
        let has_own_only = self.has_own_tasks_only();
        let (id, key) = (request.task_id().to_owned(), TaskKey::Principal(principal));
        if is_read && !has_own_only || self.tasks().call(&id, &key, now()).is_some() {
            return None;
        }
        let (sessions, leases) = (self.clone(), Arc::clone(leases));
        Some(Box::pin(async move {
            let record = timeout(WAIT_LIMIT, sessions.tasks().find(&id, key)).await.ok()?.ok()??;
            let is_for_there = record.node != *sessions.node() && (has_own_only || record.state.is_running());
            if is_for_there { find(&leases, |node| *node == record.node).await } else { None }
        }))
    }
}

/// The lease of the process for which this is true; `None`: it has ended, or the store has not answered.
async fn find(leases: &LiveLeases, is_wanted: impl Fn(&NodeId) -> bool) -> Option<LeaseName> {
    timeout(WAIT_LIMIT, leases.find(is_wanted)).await.ok()?.ok()?
}
