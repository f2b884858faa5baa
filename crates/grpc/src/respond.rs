//! The response to a request, by its method.

use http::{Request, Response};
use protomcp_bufmcp::message::{
    CallToolRequest, CompleteRequest, GetPromptRequest, InitializeRequest, ListPromptsRequest, ListResourcesRequest,
    ListTemplatesRequest, ListToolsRequest, ReadResourceRequest,
};
use protomcp_http::{Body, BoxBody};
use tokio::time::Instant;
use tonic::Status;

use crate::call::{Caller, call};
use crate::method::Method;
use crate::services::Services;
use crate::whole::Whole;
use crate::{health, reflection, streams};

/// Responds to a request. A stream ends at the deadline; the caller looks after other responses.
pub(crate) async fn respond(
    services: &Services,
    request: Request<BoxBody>,
    deadline: Option<Instant>,
) -> Response<Body> {
    let Some(method) = Method::of(request.uri().path()) else { return unimplemented() };
    let (head, body) = request.into_parts();
    if method == Method::Reflection {
        return if services.reflects {
            reflection::serve(services, Request::from_parts(head, body)).await
        } else {
            unimplemented()
        };
    }
    let caller = Caller::of(&head);
    let whole = match Whole::read(head, body, &services.endpoint.config().frames).await {
        Ok(whole) => whole,
        Err(status) => return status.into_http(),
    };
    let endpoint = &services.endpoint;
    match method {
        Method::Initialize => call::<InitializeRequest>(endpoint, caller, whole).await,
        Method::ListTools => call::<ListToolsRequest>(endpoint, caller, whole).await,
        Method::CallTool => call::<CallToolRequest>(endpoint, caller, whole).await,
        Method::ListResources => call::<ListResourcesRequest>(endpoint, caller, whole).await,
        Method::ReadResource => call::<ReadResourceRequest>(endpoint, caller, whole).await,
        Method::ListPrompts => call::<ListPromptsRequest>(endpoint, caller, whole).await,
        Method::GetPrompt => call::<GetPromptRequest>(endpoint, caller, whole).await,
        Method::Complete => call::<CompleteRequest>(endpoint, caller, whole).await,
        Method::ListTemplates => call::<ListTemplatesRequest>(endpoint, caller, whole).await,
        Method::CallToolStream => streams::call_tool(endpoint.clone(), caller, whole, deadline).await,
        Method::Listen => streams::listen(endpoint.clone(), caller, whole, deadline).await,
        Method::HealthCheck => health::check(services, whole).await,
        Method::HealthList => health::list(services, whole).await,
        Method::HealthWatch => health::watch(services, whole).await,
        Method::Reflection => unimplemented(),
    }
}

fn unimplemented() -> Response<Body> {
    Status::unimplemented("there is no such method").into_http()
}
