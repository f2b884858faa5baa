//! Resources, prompts and completion: requests of clients to a tool process other than calls.
//!
//! These requests change nothing, so they wait neither for a turn nor for the end of a reload: they go to the process
//! in service, and again to its successor if it is replaced before it answers. While a process has still to send its
//! lists, requests for a list or for an unknown entry wait for it.

use protomcp_envelope::{GetPromptRequest, ReadResourceRequest, Rpc};
use protomcp_link::{CallError, Options};
use protomcp_server::{Context, Owner};
use protomcp_types::{
    Complete, CompleteResult, ErrorObject, GetPrompt, GetPromptResult, ReadResource, ReadResourceResult, Reference,
};
use protomcp_wire::{completion, metadata, prompt, resource};

use crate::catalog::definition::Prompt;
use crate::catalog::resources_and_prompts::{Catalog, Kind};
use crate::diagnostics::failure::Failure;
use crate::pool::worker::Worker;
use crate::process::request_context;
use crate::process::tool_process::ToolProcess;
use protomcp_schema::GoDuration;
use protomcp_schema::Page;

/// Contents of more bytes are converted on a blocking thread, so that other tasks are not delayed.
const CONVERT_INLINE: usize = 1 << 20;

/// The lists in which a URI is looked up.
pub(super) const RESOURCES: [Kind; 2] = [Kind::Resources, Kind::Templates];

impl Worker {
    pub(crate) async fn list(&self, kind: Kind, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        self.started().await?;
        let page = |catalog: &Catalog| catalog.page(kind, cursor);
        let listed = self.snapshot.look_up(&[kind], |catalog| (!catalog.awaits(&[kind])).then(|| page(catalog))).await;
        listed.unwrap_or_else(|| page(self.snapshot.load().catalog()))
    }

    /// The media type of this URI; −32002 if the lists have no match.
    pub(crate) async fn media_type(&self, uri: &str) -> Result<String, ErrorObject> {
        self.started().await?;
        let found = self.snapshot.look_up(&RESOURCES, |catalog| catalog.media_type(uri).map(str::to_owned)).await;
        found.ok_or_else(|| ErrorObject::resource_not_found(uri))
    }

    pub(crate) async fn read(&self, read: ReadResource, context: &Context) -> Result<ReadResourceResult, ErrorObject> {
        let media_type = self.media_type(&read.uri).await?;
        let request = ReadResourceRequest { uri: read.uri.clone(), metadata_json: metadata::to_envelope(read.meta) };
        let response = self.ask(&format!("read resource \"{}\"", read.uri), request, context).await?;
        let size: usize = response.contents.iter().map(|content| content.text.len() + content.blob.len()).sum();
        if size <= CONVERT_INLINE {
            return resource::to_mcp(&read.uri, &media_type, response);
        }
        let converted = tokio::task::spawn_blocking(move || resource::to_mcp(&read.uri, &media_type, response));
        converted.await.unwrap_or_else(|_| Err(internal(&Failure::ShuttingDown)))
    }

    pub(crate) async fn prompt(&self, get: GetPrompt, context: &Context) -> Result<GetPromptResult, ErrorObject> {
        self.started().await?;
        let missing = |prompt: &Prompt| {
            let given = get.members();
            prompt.missing(|name| given.member(name).is_some()).map(str::to_owned)
        };
        let known = self.snapshot.look_up(&[Kind::Prompts], |catalog| catalog.prompt(&get.name).map(missing)).await;
        if let Some(missing) = known.ok_or_else(|| ErrorObject::unknown_prompt(&get.name))? {
            let why = format!("prompt \"{}\" needs the argument \"{missing}\"", get.name);
            return Err(ErrorObject::invalid_params(why));
        }
        let arguments_json = get.arguments_or_empty().into_bytes();
        let request =
            GetPromptRequest { name: get.name.clone(), arguments_json, metadata_json: metadata::to_envelope(get.meta) };
        let response = self.ask(&format!("get prompt \"{}\"", get.name), request, context).await?;
        prompt::to_mcp(&get.name, response)
    }

    pub(crate) async fn completion(
        &self,
        complete: Complete,
        context: &Context,
    ) -> Result<CompleteResult, ErrorObject> {
        self.started().await?;
        let what = match &complete.reference {
            Reference::Prompt { name } => {
                let known = self.snapshot.look_up(&[Kind::Prompts], |catalog| catalog.prompt(name).map(drop)).await;
                known.ok_or_else(|| ErrorObject::unknown_prompt(name))?;
                format!("complete prompt \"{name}\"")
            }
            Reference::Resource { uri } => {
                let has = |catalog: &Catalog| catalog.has_template_or_uri(uri).then_some(());
                let known = self.snapshot.look_up(&RESOURCES, has).await;
                known.ok_or_else(|| ErrorObject::invalid_params(format!("unknown resource {uri:?}")))?;
                format!("complete resource \"{uri}\"")
            }
        };
        completion::to_mcp(self.ask(&what, completion::to_envelope(complete), context).await?)
    }

    /// Sends a request to the process in service. `what` begins the text of a failure.
    async fn ask<R: Rpc + Clone>(&self, what: &str, request: R, context: &Context) -> Result<R::Response, ErrorObject> {
        let (timeout, owner) = (self.calls.timeout, &context.caller().owner);
        let mut process = tokio::time::timeout(timeout, self.calls.dispatcher.serving(owner))
            .await
            .map_err(|_| ErrorObject::internal(format!("{what}: the tool process is not back yet; try again later")))?
            .map_err(|failure| internal(&failure))?;
        let mut outcome = self.exchange(&process, request.clone(), context).await;
        if let Err(CallError::Closed(_)) = outcome
            && let Some(successor) = self.calls.dispatcher.successor(&process, owner)
        {
            process = successor;
            outcome = self.exchange(&process, request, context).await;
        }
        match outcome {
            Ok(answer) => Ok(answer),
            Err(error) => Err(ErrorObject::internal(unanswered(what, &error, &process, owner).await)),
        }
    }

    /// Sends a request to this process. While it has no answer the process may ask its client.
    async fn exchange<R: Rpc>(
        &self,
        process: &ToolProcess,
        request: R,
        context: &Context,
    ) -> Result<R::Response, CallError> {
        let mut running = self.calls.dispatcher.begin_request(process, context);
        let known = request_context::for_process(process.sdk(), context, self.calls.timeout);
        let options = Options::default().named(running.name()).context(known);
        let outcome = process.link().call_with(request, self.calls.timeout, options).await;
        // A process that has not answered in time may still be working on the request.
        if !matches!(outcome, Err(CallError::TimedOut(_))) {
            running.mark_answered();
        }
        outcome
    }
}

/// The outcome of a request, unless its client cancels it or the server ends. Dropping a request to a process withdraws it.
pub(super) async fn unless_cancelled<T>(
    context: &Context,
    request: impl Future<Output = Result<T, ErrorObject>>,
) -> Result<T, ErrorObject> {
    tokio::select! {
        biased;
        () = context.cancelled() => Err(internal(&Failure::ShuttingDown)),
        outcome = request => outcome,
    }
}

fn internal(failure: &Failure) -> ErrorObject {
    ErrorObject::internal(failure.to_string())
}

async fn unanswered(what: &str, error: &CallError, process: &ToolProcess, owner: &Owner) -> String {
    match error {
        CallError::TimedOut(after) => format!("{what} timed out after {}", GoDuration(*after)),
        CallError::Closed(closed) => match process.end_for(owner).await {
            Some(how) => format!("{what}: {how}"),
            None => format!("{what}: the tool process broke its link: {closed}"),
        },
        other => format!("{what}: {other}"),
    }
}
