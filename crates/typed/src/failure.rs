//! Converts errors of handlers where no model reads them.

use std::any::Any;
use std::fmt;

use protomcp_types::{ErrorObject, code};

/// An [`ErrorObject`] is returned unchanged; any other error is an internal one (−32603) with its text.
pub(crate) fn of_request<E: fmt::Display + 'static>(error: E) -> ErrorObject {
    let mut error = Some(error);
    let any: &mut dyn Any = &mut error;
    match any.downcast_mut::<Option<ErrorObject>>().and_then(Option::take) {
        Some(error) => error,
        None => {
            let text = error.map(|error| error.to_string()).unwrap_or_default();
            ErrorObject::new(code::INTERNAL_ERROR, text)
        }
    }
}
