//! Requests of one message.

use bytes::Bytes;
use http::Request;
use http::request::Parts;
use http_body_util::{BodyExt, Full, Limited};
use protomcp_bufmcp::FrameLimits;
use protomcp_http::{Admission, BoxBody};
use protomcp_server::Reservation;
use tonic::Status;

use crate::status;

/// A request of which the whole message has arrived. The bytes count in the inbound budget until it is dropped.
pub(crate) struct Whole {
    pub(crate) request: Request<Full<Bytes>>,
    pub(crate) reservation: Option<Reservation>,
}

impl Whole {
    /// Reads the message of a request, in its frame of five bytes. Every method but reflection takes one.
    pub(crate) async fn read(head: Parts, body: BoxBody, frames: &FrameLimits) -> Result<Self, Status> {
        let (body, reservation) = match head.extensions.get::<Admission>() {
            Some(admission) => {
                let read = admission.read(body, frames.max_frame.saturating_add(FRAME)).await;
                let (body, reservation) = read.map_err(|unread| status::of_unread(unread, frames))?;
                (body, Some(reservation))
            }
            // A probe, which has passed no check.
            None => {
                let body = Limited::new(body, MAX_PROBE).collect();
                let body = body.await.map_err(|_| Status::invalid_argument("the message cannot be read"))?;
                (body.to_bytes(), None)
            }
        };
        Ok(Self { request: Request::from_parts(head, Full::new(body)), reservation })
    }
}

/// The bytes around a message: a flag and the length.
const FRAME: usize = 5;

/// The largest message of a health check without authentication, in bytes.
const MAX_PROBE: usize = 1024;
