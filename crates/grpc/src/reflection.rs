//! `grpc.reflection.v1.ServerReflection`: the proto files, for clients that have none.

use std::future::Ready;
use std::task::{Context, Poll};

use futures_util::stream::{BoxStream, StreamExt};
use http::{Request, Response};
use prost::{Message, Oneof};
use protomcp_http::{Body, BoxBody};
use tonic::server::Grpc;
use tonic::{Code, Status, Streaming};
use tower_service::Service;

use crate::codec::PlainCodec;
use crate::descriptors::FILES;
use crate::method::SERVICES;
use crate::services::Services;

/// The largest request, in bytes: a name.
const MAX_REQUEST: usize = 64 << 10;

/// `ServerReflectionRequest`
#[derive(Clone, PartialEq, Message)]
struct Ask {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 5, 6, 7")]
    question: Option<Question>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Question {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(message, tag = "5")]
    FileContainingExtension(Extension),
    #[prost(string, tag = "6")]
    AllExtensionNumbersOfType(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

/// `ExtensionRequest`
#[derive(Clone, PartialEq, Message)]
struct Extension {
    #[prost(string, tag = "1")]
    containing_type: String,
    #[prost(int32, tag = "2")]
    extension_number: i32,
}

/// `ServerReflectionResponse`
#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(string, tag = "1")]
    valid_host: String,
    #[prost(message, optional, tag = "2")]
    original_request: Option<Ask>,
    #[prost(oneof = "Reply", tags = "4, 5, 6, 7")]
    reply: Option<Reply>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Reply {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "5")]
    ExtensionNumbers(ExtensionNumbers),
    #[prost(message, tag = "6")]
    Services(ServiceList),
    #[prost(message, tag = "7")]
    Error(Problem),
}

/// `FileDescriptorResponse`
#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file_descriptor_proto: Vec<Vec<u8>>,
}

/// `ExtensionNumberResponse`
#[derive(Clone, PartialEq, Message)]
struct ExtensionNumbers {
    #[prost(string, tag = "1")]
    base_type_name: String,
    #[prost(int32, repeated, tag = "2")]
    extension_number: Vec<i32>,
}

/// `ListServiceResponse`
#[derive(Clone, PartialEq, Message)]
struct ServiceList {
    #[prost(message, repeated, tag = "1")]
    service: Vec<ServiceName>,
}

/// `ServiceResponse`
#[derive(Clone, PartialEq, Message)]
struct ServiceName {
    #[prost(string, tag = "1")]
    name: String,
}

/// `ErrorResponse`
#[derive(Clone, PartialEq, Message)]
struct Problem {
    #[prost(int32, tag = "1")]
    error_code: i32,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// Answers questions one by one, until the client has no more or the server shuts down.
pub(crate) async fn serve(services: &Services, request: Request<BoxBody>) -> Response<Body> {
    let shutdown = services.endpoint.handle().shutdown_token();
    let mut grpc = Grpc::new(PlainCodec::new()).max_decoding_message_size(MAX_REQUEST);
    let reflection = Reflection { ended: Some(Box::pin(shutdown.cancelled_owned())) };
    grpc.streaming(reflection, request).await.map(Body::new)
}

struct Reflection {
    ended: Option<futures_util::future::BoxFuture<'static, ()>>,
}

impl Service<tonic::Request<Streaming<Ask>>> for Reflection {
    type Response = tonic::Response<BoxStream<'static, Result<Answer, Status>>>;
    type Error = Status;
    type Future = Ready<Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: tonic::Request<Streaming<Ask>>) -> Self::Future {
        let answers = request.into_inner().map(|ask| ask.map(answer));
        let ended = self.ended.take();
        let answers = answers.take_until(async move {
            if let Some(ended) = ended {
                ended.await;
            }
        });
        std::future::ready(Ok(tonic::Response::new(answers.boxed())))
    }
}

fn answer(ask: Ask) -> Answer {
    let files = |found: Option<Vec<Vec<u8>>>| match found {
        Some(file_descriptor_proto) => Reply::Files(Files { file_descriptor_proto }),
        None => missing(),
    };
    let reply = match &ask.question {
        Some(Question::ListServices(_)) => {
            let service = SERVICES.map(|name| ServiceName { name: name.to_owned() }).into();
            Reply::Services(ServiceList { service })
        }
        Some(Question::FileByFilename(name)) => files(FILES.by_name(name)),
        Some(Question::FileContainingSymbol(symbol)) => files(FILES.by_symbol(symbol)),
        Some(Question::AllExtensionNumbersOfType(name)) if FILES.by_symbol(name).is_some() => {
            Reply::ExtensionNumbers(ExtensionNumbers { base_type_name: name.clone(), extension_number: Vec::new() })
        }
        // No file here defines an extension.
        Some(Question::FileContainingExtension(_) | Question::AllExtensionNumbersOfType(_)) => missing(),
        None => problem(Code::InvalidArgument, "the request asks for nothing"),
    };
    Answer { valid_host: ask.host.clone(), original_request: Some(ask), reply: Some(reply) }
}

fn missing() -> Reply {
    problem(Code::NotFound, "there is no such symbol or file")
}

fn problem(code: Code, message: &str) -> Reply {
    Reply::Error(Problem { error_code: code.into(), error_message: message.to_owned() })
}
