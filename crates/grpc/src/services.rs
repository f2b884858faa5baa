//! The parts that the services share.

use protomcp_bufmcp::BinaryEndpoint;
use protomcp_http::Readiness;

/// The parts of the services.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    pub(crate) endpoint: BinaryEndpoint,
    pub(crate) readiness: Option<Readiness>,
    pub(crate) reflects: bool,
}
