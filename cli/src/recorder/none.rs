//! Takes the place of the trace in a program without the feature `trace`: no message is ever recorded.

#[cfg(feature = "http")]
use http::request;
use protomcp_bridge::Builder;
#[cfg(feature = "http")]
use protomcp_http::{Exchange, Observer};
use protomcp_transport::Transport;

/// There is none.
#[derive(Debug, Clone)]
pub(crate) enum Recorder {}

impl Recorder {
    /// Is never called.
    pub(crate) fn announce(&self) {
        match *self {}
    }

    /// Is never called.
    pub(crate) fn observed<T: Transport>(&self, _: T) -> T {
        match *self {}
    }
}

#[cfg(feature = "http")]
impl Observer for Recorder {
    fn begin(&self, _: &request::Parts) -> Option<Box<dyn Exchange>> {
        match *self {}
    }
}

/// The bridge as it is.
pub(crate) fn recorded(builder: Builder, _: Option<&Recorder>) -> Builder {
    builder
}
