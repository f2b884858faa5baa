//! Failures as statuses of gRPC, and back.
//!
//! The failure of a tool call has its own message. Every other one of a request that was read is a status, whose
//! details hold the error of proto-mcp: a `google.rpc.Status` with an `ErrorResponse` inside it.

use bytes::Bytes;
use http::{Response, StatusCode};
use prost::Message;
use protomcp_bufmcp::message::ErrorResponse;
use protomcp_bufmcp::{Fault, FrameLimits, code};
use protomcp_http::{Body, Unread};
use tonic::{Code, Status};

/// `google.rpc.Status`, as far as it is used.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// The type of the details.
const ERROR_RESPONSE: &str = "type.googleapis.com/buf.mcp.v1.ErrorResponse";

/// The most bytes of a message in a header, where each may take three.
const MAX_MESSAGE: usize = 512;

/// The most bytes of details, which a header has in base64.
const MAX_DETAILS: usize = 3 << 10;

/// The status of a failure. Clients take a few KiB of trailers, and end the connection over larger ones: a long message
/// is cut, and large details have no data.
pub(crate) fn of_fault(fault: &Fault) -> Status {
    let (status, message) = (status_code(fault), cut(&fault.message));
    let mut details = encode(status, &message, &fault.to_response());
    if details.len() > MAX_DETAILS {
        let error = ErrorResponse { code: fault.code, message: message.clone(), data: None };
        details = encode(status, &message, &error);
    }
    Status::with_details(status, message, details)
}

/// The details of a status.
fn encode(status: Code, message: &str, error: &ErrorResponse) -> Bytes {
    let error = prost_types::Any { type_url: ERROR_RESPONSE.to_owned(), value: error.encode_to_vec() };
    Details { code: status.into(), message: message.to_owned(), details: vec![error] }.encode_to_vec().into()
}

/// The text, with an ellipsis in place of what is beyond [`MAX_MESSAGE`].
fn cut(text: &str) -> String {
    if text.len() <= MAX_MESSAGE {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(MAX_MESSAGE)])
}

/// The failure that a status stands for.
pub(crate) fn to_fault(status: &Status) -> Fault {
    let details = Details::decode(status.details()).unwrap_or_default().details;
    let own = details.iter().find(|any| any.type_url == ERROR_RESPONSE);
    if let Some(Ok(error)) = own.map(|any| ErrorResponse::decode(&*any.value)) {
        return error.into();
    }
    Fault::new(fault_code(status.code()), status.message()).with("grpc_status", i32::from(status.code()))
}

fn status_code(fault: &Fault) -> Code {
    match fault.code {
        code::INTERNAL_ERROR if fault.data.contains_key("timeout_ms") => Code::DeadlineExceeded,
        code::INTERNAL_ERROR if fault.data.get("reason").is_some_and(|reason| reason == "shutdown") => {
            Code::Unavailable
        }
        code::INTERNAL_ERROR => Code::Internal,
        code::PARSE_ERROR | code::INVALID_REQUEST | code::INVALID_PARAMS | code::SCHEMA_VIOLATED => {
            Code::InvalidArgument
        }
        code::METHOD_NOT_FOUND => Code::Unimplemented,
        code::RESOURCE_NOT_FOUND => Code::NotFound,
        code::UNAUTHENTICATED => Code::Unauthenticated,
        code::PERMISSION_DENIED => Code::PermissionDenied,
        code::RATE_LIMITED | code::TOO_LARGE => Code::ResourceExhausted,
        code::NOT_INITIALIZED | code::UNSUPPORTED_VERSION | code::SCHEMA_UNRESOLVED => Code::FailedPrecondition,
        code::OVERLOADED => Code::Unavailable,
        code::TIMED_OUT => Code::DeadlineExceeded,
        _ => Code::Unknown,
    }
}

fn fault_code(status: Code) -> i32 {
    match status {
        Code::InvalidArgument | Code::OutOfRange => code::INVALID_PARAMS,
        Code::Unimplemented => code::METHOD_NOT_FOUND,
        Code::NotFound => code::RESOURCE_NOT_FOUND,
        Code::Unauthenticated => code::UNAUTHENTICATED,
        Code::PermissionDenied => code::PERMISSION_DENIED,
        Code::ResourceExhausted => code::RATE_LIMITED,
        Code::FailedPrecondition => code::INVALID_REQUEST,
        Code::Unavailable => code::OVERLOADED,
        Code::DeadlineExceeded => code::TIMED_OUT,
        _ => code::INTERNAL_ERROR,
    }
}

/// The status of a request whose body was not read.
pub(crate) fn of_unread(unread: Unread, frames: &FrameLimits) -> Status {
    let why = match unread {
        Unread::TooLong => {
            let raise = frames.setting.map(|name| format!("; raise {name} of the server")).unwrap_or_default();
            format!("the message is larger than the limit of {} bytes{raise}", frames.max_frame)
        }
        other => other.to_string(),
    };
    let code = match unread {
        Unread::TooLong => code::TOO_LARGE,
        Unread::NoRoom => code::OVERLOADED,
        Unread::TimedOut => return Status::deadline_exceeded(why),
        _ => return Status::cancelled(why),
    };
    of_fault(&Fault::new(code, why))
}

/// The response of gRPC to a request that the server has refused with a status of HTTP.
pub(crate) fn of_refusal(refusal: &Response<Body>, reason: &str) -> Response<Body> {
    let code = match refusal.status() {
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::REQUEST_TIMEOUT => Code::DeadlineExceeded,
        StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        _ => Code::Unknown,
    };
    let mut response = Status::new(code, reason).into_http::<Body>();
    for name in [http::header::WWW_AUTHENTICATE, http::header::RETRY_AFTER] {
        if let Some(value) = refusal.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_status_and_its_details() {
        for (code, status) in [
            (code::PARSE_ERROR, Code::InvalidArgument),
            (code::INVALID_REQUEST, Code::InvalidArgument),
            (code::METHOD_NOT_FOUND, Code::Unimplemented),
            (code::INVALID_PARAMS, Code::InvalidArgument),
            (code::INTERNAL_ERROR, Code::Internal),
            (code::RESOURCE_NOT_FOUND, Code::NotFound),
            (code::UNAUTHENTICATED, Code::Unauthenticated),
            (code::PERMISSION_DENIED, Code::PermissionDenied),
            (code::RATE_LIMITED, Code::ResourceExhausted),
            (code::TOO_LARGE, Code::ResourceExhausted),
            (code::NOT_INITIALIZED, Code::FailedPrecondition),
            (code::OVERLOADED, Code::Unavailable),
            (code::UNSUPPORTED_VERSION, Code::FailedPrecondition),
            (code::SCHEMA_UNRESOLVED, Code::FailedPrecondition),
            (code::SCHEMA_VIOLATED, Code::InvalidArgument),
            (code::TIMED_OUT, Code::DeadlineExceeded),
            (-32050, Code::Unknown),
        ] {
            let fault = Fault::new(code, "why").with("reason", "stale_cursor");
            let made = of_fault(&fault);
            assert_eq!((made.code(), made.message()), (status, "why"), "{code}");
            assert_eq!(to_fault(&made), fault);
        }
        let late = Fault::new(code::INTERNAL_ERROR, "late").with("timeout_ms", 5);
        assert_eq!(of_fault(&late).code(), Code::DeadlineExceeded);
        let ending = Fault::new(code::INTERNAL_ERROR, "bye").with("reason", "shutdown");
        assert_eq!(of_fault(&ending).code(), Code::Unavailable);
    }

    /// Clients of gRPC take 8 KiB of headers or more.
    #[test]
    fn a_large_failure_fits_the_headers_of_any_client() {
        for (message, uri) in [("x", "y"), ("\u{1f980}", "é"), (" ", "%"), ("why", "y")] {
            let fault = Fault::new(code::RESOURCE_NOT_FOUND, message.repeat(100_000)).with("uri", uri.repeat(100_000));
            let headers = of_fault(&fault).into_http::<()>().into_parts().0.headers;
            let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
            assert!(bytes <= 8 << 10, "{message}: {bytes}");
            let read = Status::from_header_map(&headers).expect("the headers have a status");
            assert_eq!(read.code(), Code::NotFound);
            assert!(read.message().ends_with('…') && read.message().starts_with(message), "{}", read.message());
            let Fault { code, message: kept, data } = to_fault(&read);
            assert_eq!((code, data.len()), (code::RESOURCE_NOT_FOUND, 0));
            assert_eq!(kept, read.message());
        }
    }

    #[test]
    fn a_failure_of_a_few_kib_keeps_its_message_and_data() {
        let fault = Fault::new(code::INVALID_PARAMS, "x".repeat(1_000)).with("uri", "y".repeat(1_000));
        let made = of_fault(&fault);
        assert_eq!(made.message(), format!("{}…", "x".repeat(512)));
        assert_eq!(to_fault(&made), fault);
    }

    #[test]
    fn a_status_of_another_server_keeps_its_meaning() {
        for (status, expected) in [
            (Code::NotFound, code::RESOURCE_NOT_FOUND),
            (Code::Unauthenticated, code::UNAUTHENTICATED),
            (Code::DeadlineExceeded, code::TIMED_OUT),
            (Code::Aborted, code::INTERNAL_ERROR),
        ] {
            let fault = to_fault(&Status::new(status, "why"));
            assert_eq!((fault.code, &*fault.message), (expected, "why"));
            assert_eq!(fault.data["grpc_status"], i32::from(status));
        }
    }
}
