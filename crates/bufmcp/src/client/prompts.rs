//! The requests of the extension `prompts`: prompts, completions, and templates of resources.

use crate::client::error::BinaryCallError;
use crate::client::handle::{BinaryClient, all_pages, mismatch};
use crate::message::mcp_message::Payload;
use crate::message::{
    CompleteRequest, CompleteResponse, GetPromptRequest, GetPromptResponse, ListPromptsRequest, ListPromptsResponse,
    ListTemplatesRequest, ListTemplatesResponse, Prompt, ResourceTemplate,
};

impl BinaryClient {
    /// One page of the prompts. A server has them if its capabilities have
    /// [`prompts`](crate::message::ServerCapabilities::prompts).
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn list_prompts(&self, request: ListPromptsRequest) -> Result<ListPromptsResponse, BinaryCallError> {
        match self.send(Payload::ListPromptsRequest(request), None).await? {
            Payload::ListPromptsResponse(response) => Ok(response),
            _ => Err(mismatch()),
        }
    }

    /// All prompts.
    ///
    /// # Errors
    /// See [`BinaryClient::all_tools`].
    pub async fn all_prompts(&self) -> Result<Vec<Prompt>, BinaryCallError> {
        all_pages(|cursor| async move {
            let page = self.list_prompts(ListPromptsRequest { cursor }).await?;
            Ok((page.prompts, page.next_cursor))
        })
        .await
    }

    /// The messages of a prompt.
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn get_prompt(&self, request: GetPromptRequest) -> Result<GetPromptResponse, BinaryCallError> {
        match self.send(Payload::GetPromptRequest(request), None).await? {
            Payload::GetPromptResponse(response) => Ok(response),
            _ => Err(mismatch()),
        }
    }

    /// Values of an argument of a prompt or of a template. A server completes arguments if its capabilities have
    /// [`supports_completion`](crate::message::ServerCapabilities::supports_completion).
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn complete(&self, request: CompleteRequest) -> Result<CompleteResponse, BinaryCallError> {
        match self.send(Payload::CompleteRequest(request), None).await? {
            Payload::CompleteResponse(response) => Ok(response),
            _ => Err(mismatch()),
        }
    }

    /// One page of the templates of resources. A server lists them if its capabilities have
    /// [`supports_templates`](crate::message::ResourceCapabilities::supports_templates).
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn list_templates(
        &self,
        request: ListTemplatesRequest,
    ) -> Result<ListTemplatesResponse, BinaryCallError> {
        match self.send(Payload::ListTemplatesRequest(request), None).await? {
            Payload::ListTemplatesResponse(response) => Ok(response),
            _ => Err(mismatch()),
        }
    }

    /// All templates of resources.
    ///
    /// # Errors
    /// See [`BinaryClient::all_tools`].
    pub async fn all_templates(&self) -> Result<Vec<ResourceTemplate>, BinaryCallError> {
        all_pages(|cursor| async move {
            let page = self.list_templates(ListTemplatesRequest { cursor }).await?;
            Ok((page.templates, page.next_cursor))
        })
        .await
    }
}
