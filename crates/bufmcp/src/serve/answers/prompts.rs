//! The messages of prompts, and the completion of arguments.

use protomcp_types::{Complete, GetPrompt};

use crate::code;
use crate::convert::prompts::{complete_from_proto, completion_to_proto, get_from_proto, prompt_result_to_proto};
use crate::fault::Fault;
use crate::message::{CompleteRequest, CompleteResponse, GetPromptRequest, GetPromptResponse};
use crate::serve::answers::Answers;
use crate::serve::mcp::Outcome;
use crate::session::inbound::metadata_weight;

impl Answers {
    pub(super) async fn get_prompt(&self, request: GetPromptRequest) -> Result<GetPromptResponse, Fault> {
        let bytes = metadata_weight(&request.arguments) + metadata_weight(&request.metadata);
        let get = self.mcp.worker.run(bytes, move || get_from_proto(request)).await;
        let Outcome { result, reservation: _reservation } = self.mcp.request::<GetPrompt>(get).await?;
        self.mcp.worker.run(result.messages.len(), move || prompt_result_to_proto(result)).await
    }

    pub(super) async fn complete(&self, request: CompleteRequest) -> Result<CompleteResponse, Fault> {
        let missing = || Fault::new(code::INVALID_PARAMS, "the request names neither a prompt nor a template");
        let bytes = request.value.len() + metadata_weight(&request.context);
        let complete = self.mcp.worker.run(bytes, move || complete_from_proto(request)).await.ok_or_else(missing)?;
        let Outcome { result, reservation: _reservation } = self.mcp.request::<Complete>(complete).await?;
        let bytes = result.completion.values.iter().map(String::len).sum();
        Ok(self.mcp.worker.run(bytes, move || completion_to_proto(result.completion)).await)
    }
}
