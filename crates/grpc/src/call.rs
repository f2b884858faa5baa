//! The methods of proto-mcp with one response: the five of version 1.0, and the four of its extension `prompts`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use http::Response;
use http::request::Parts;
use protomcp_bufmcp::message::{
    CallToolRequest, CallToolResponse, CompleteRequest, CompleteResponse, GetPromptRequest, GetPromptResponse,
    InitializeRequest, InitializeResponse, ListPromptsRequest, ListPromptsResponse, ListResourcesRequest,
    ListResourcesResponse, ListTemplatesRequest, ListTemplatesResponse, ListToolsRequest, ListToolsResponse, Payload,
    ReadResourceRequest, ReadResourceResponse,
};
use protomcp_bufmcp::{BareMessage, BinaryAnswer, BinaryCall, BinaryCaller, BinaryEndpoint, BinaryPeer, Fault, code};
use protomcp_http::{Admission, Body};
use protomcp_server::Reservation;
use tonic::server::Grpc;
use tonic::{Code, Status};
use tower_service::Service;

use crate::codec::Bounded;
use crate::reserved_body::ReservedBody;
use crate::status;
use crate::whole::Whole;

/// The sender of a request.
pub(crate) struct Caller {
    head: Arc<Parts>,
    admission: Option<Admission>,
}

impl Caller {
    pub(crate) fn of(head: &Parts) -> Self {
        Self { admission: head.extensions.get().cloned(), head: Arc::new(head.clone()) }
    }

    /// Checks that the token of the request grants what a method of MCP needs.
    pub(crate) fn authorize(&self, method: &str, name: Option<&str>) -> Result<(), Status> {
        let Some(admission) = &self.admission else { return Ok(()) };
        admission.authorize(&self.head, method, name).map_err(|rejection| {
            let mut status = Status::new(Code::PermissionDenied, rejection.why.to_string());
            if let Some(challenge) = rejection.challenge.as_ref().and_then(|value| value.to_str().ok())
                && let Ok(challenge) = challenge.parse()
            {
                status.metadata_mut().insert("www-authenticate", challenge);
            }
            status
        })
    }

    /// The end of the token of the request; `None`: it has no end, or there is no token.
    pub(crate) fn valid_until(&self) -> Option<SystemTime> {
        self.admission.as_ref().and_then(Admission::valid_until)
    }

    /// The sender as the server of proto-mcp knows it. Handlers see the head of the request.
    pub(crate) fn binary(&self) -> BinaryCaller {
        let admission = self.admission.as_ref();
        let peer = BinaryPeer {
            principal: admission.and_then(|admission| admission.principal().cloned()),
            address: admission.and_then(Admission::address),
            // Scopes are checked before, so that the refusal is a status.
            permission: None,
            known: admission.map(Admission::known).unwrap_or_default().with(Arc::clone(&self.head)),
        };
        BinaryCaller { peer, connection: admission.and_then(Admission::connection) }
    }
}

/// A request of the service.
pub(crate) trait Method: BareMessage {
    type Response: prost::Message + Send + 'static;

    fn answer(
        self,
        endpoint: BinaryEndpoint,
        caller: Caller,
    ) -> impl Future<Output = Result<Answered<Self::Response>, Status>> + Send;
}

/// A response, with the bytes that it holds of the outbound budget.
pub(crate) struct Answered<R> {
    response: R,
    reservations: Vec<Reservation>,
}

impl Method for InitializeRequest {
    type Response = InitializeResponse;

    async fn answer(self, endpoint: BinaryEndpoint, _: Caller) -> Result<Answered<InitializeResponse>, Status> {
        let response = endpoint.initialize(self).map_err(|fault| status::of_fault(&fault))?;
        Ok(Answered { response, reservations: Vec::new() })
    }
}

/// `tools/list` and so on: the method of MCP by which scopes are checked, and the name in it.
macro_rules! methods {
    ($($request:ident, $response:ident, $call:ident, $mcp:literal, $name:expr;)*) => {
        $(impl Method for $request {
            type Response = $response;

            async fn answer(self, endpoint: BinaryEndpoint, caller: Caller) -> Result<Answered<$response>, Status> {
                let name: fn(&Self) -> Option<&str> = $name;
                caller.authorize($mcp, name(&self))?;
                let answer = endpoint.answer(BinaryCall::$call(self), caller.binary()).await;
                let BinaryAnswer { outcome, reservations } = answer;
                match outcome {
                    Ok(Payload::$response(response)) => Ok(Answered { response, reservations }),
                    Ok(_) => Err(status::of_fault(&Fault::new(code::INTERNAL_ERROR, "the answer is of another kind"))),
                    Err(fault) => Err(status::of_fault(&fault)),
                }
            }
        })*
    };
}

methods! {
    ListToolsRequest, ListToolsResponse, ListTools, "tools/list", |_| None;
    CallToolRequest, CallToolResponse, CallTool, "tools/call", |call| Some(&call.name);
    ListResourcesRequest, ListResourcesResponse, ListResources, "resources/list", |_| None;
    ReadResourceRequest, ReadResourceResponse, ReadResource, "resources/read", |read| Some(&read.uri);
    ListPromptsRequest, ListPromptsResponse, ListPrompts, "prompts/list", |_| None;
    GetPromptRequest, GetPromptResponse, GetPrompt, "prompts/get", |get| Some(&get.name);
    CompleteRequest, CompleteResponse, Complete, "completion/complete", |_| None;
    ListTemplatesRequest, ListTemplatesResponse, ListTemplates, "resources/templates/list", |_| None;
}

/// Answers a request.
pub(crate) async fn call<M: Method>(endpoint: &BinaryEndpoint, caller: Caller, whole: Whole) -> Response<Body> {
    // Bytes that have arrived were counted, so tonic needs no bound.
    let codec = Bounded::<M::Response, M>::new(endpoint);
    let mut grpc = Grpc::new(codec).max_decoding_message_size(usize::MAX);
    let unary = Unary { endpoint: endpoint.clone(), caller: Some(caller) };
    let mut response = grpc.unary(unary, whole.request).await;
    let reservations = response.extensions_mut().remove::<Arc<Vec<Reservation>>>();
    response.map(|body| Body::new(ReservedBody::new(body, reservations)))
}

/// One request, as tonic calls it.
struct Unary {
    endpoint: BinaryEndpoint,
    caller: Option<Caller>,
}

impl<M: Method> Service<tonic::Request<M>> for Unary {
    type Response = tonic::Response<M::Response>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: tonic::Request<M>) -> Self::Future {
        let (endpoint, caller) = (self.endpoint.clone(), self.caller.take());
        Box::pin(async move {
            let caller = caller.ok_or_else(|| Status::internal("the request was answered already"))?;
            let Answered { response, reservations } = request.into_inner().answer(endpoint, caller).await?;
            let mut response = tonic::Response::new(response);
            response.extensions_mut().insert(Arc::new(reservations));
            Ok(response)
        })
    }
}
