//! Admits calls of tools up to a number of concurrent ones: of the whole server, of each principal, and of each tool.
//!
//! `Admission` is a value that counts; `AdmissionLayer` asks it before each call, and tells it of the end. Calls count from
//! their arrival to their end, while they wait for their turn, too. No other request counts: lists, pings and cancellations
//! pass while calls are refused.

mod admitted;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use protomcp_fair::Owner;
use protomcp_session::{ServerRequest, ServerResult};
use protomcp_types::{CallTool, ErrorObject};

use crate::call::context::Context;
use crate::records::clock::now;
use crate::service::{Layer, Service};

pub use crate::layer::admission::admitted::{Admission, AdmissionLimits, AdmissionScope, Refusal};

/// The name of the setting of a limit, for errors: a flag, or a field.
pub type SettingNames = fn(AdmissionScope) -> &'static str;

/// Refuses calls beyond these limits. Services that one layer wraps share its counts.
///
/// A refused call has a result with `is_error` and the code `OVERLOADED`. It has not begun; the result names the limit,
/// its setting and the time after which the call is worth another try (`retry_after_ms`).
///
/// ```
/// use protomcp_server::layer::admission::{AdmissionLayer, AdmissionLimits};
/// use protomcp_server::{Handler, Server, ServerInfo};
///
/// struct Busy;
///
/// impl Handler for Busy {
///     fn info(&self) -> ServerInfo {
///         ServerInfo::new("busy", "1.0")
///     }
/// }
///
/// let limits = AdmissionLimits { server: Some(1000), principal: Some(100), tool: None };
/// let server = Server::from_handler(Busy).layer(AdmissionLayer::new(limits));
/// ```
#[derive(Debug, Clone)]
pub struct AdmissionLayer(Arc<Shared>);

/// A service behind an [`AdmissionLayer`].
#[derive(Debug)]
pub struct Admitting<S> {
    inner: S,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    is_limited: bool,
    names: SettingNames,
    admission: Mutex<Admission>,
}

/// The slot of a call that was admitted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    shared: Arc<Shared>,
    owner: Owner,
    tool: String,
    since: Instant,
}

impl AdmissionLayer {
    /// A layer with these limits, whose errors name the fields of [`AdmissionLimits`].
    #[must_use]
    pub fn new(limits: AdmissionLimits) -> Self {
        Self::with_setting_names(limits, AdmissionScope::field)
    }

    /// A layer whose errors name these settings.
    #[must_use]
    pub fn with_setting_names(limits: AdmissionLimits, names: SettingNames) -> Self {
        let is_limited = limits != AdmissionLimits::default();
        Self(Arc::new(Shared { is_limited, names, admission: Mutex::new(Admission::new(limits)) }))
    }

    /// The calls that were refused because of this limit, from the start on.
    #[must_use]
    pub fn refused(&self, scope: AdmissionScope) -> u64 {
        self.0.admission().refused(scope)
    }
}

impl<S: Service> Layer<S> for AdmissionLayer {
    type Service = Admitting<S>;

    fn layer(&self, inner: S) -> Admitting<S> {
        Admitting { inner, shared: Arc::clone(&self.0) }
    }
}

impl<S: Service> Service for Admitting<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let slot = match &request {
            ServerRequest::CallTool(call) if self.shared.is_limited => match self.shared.admit(call, &context) {
                Ok(slot) => Some(Arc::new(slot)),
                Err(refusal) => return self.shared.refuse(call, refusal),
            },
            _ => None,
        };
        if let (ServerRequest::CallTool(CallTool { task: Some(_), .. }), Some(slot)) = (&request, &slot) {
            // Its answer comes before its end.
            context.keep(Arc::clone(slot) as _);
        }
        self.inner.call(request, context).await
    }
}

impl Shared {
    fn admission(&self) -> MutexGuard<'_, Admission> {
        self.admission.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(self: &Arc<Self>, call: &CallTool, context: &Context) -> Result<Slot, Refusal> {
        let (owner, tool) = (context.caller().owner.clone(), call.name.to_string());
        self.admission().enter(&owner, &tool)?;
        Ok(Slot { shared: Arc::clone(self), owner, tool, since: now() })
    }

    fn refuse(&self, call: &CallTool, refusal: Refusal) -> Result<ServerResult, ErrorObject> {
        tracing::debug!(tool = %call.name, ?refusal, "a call was refused");
        match call.task {
            // A client that wants a task cannot read a result.
            Some(_) => Err(refusal.to_error(&call.name, (self.names)(refusal.scope))),
            None => Ok(refusal.to_result(&call.name, (self.names)(refusal.scope)).into()),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let took = now().saturating_duration_since(self.since);
        self.shared.admission().leave(&self.owner, &self.tool, took);
    }
}
