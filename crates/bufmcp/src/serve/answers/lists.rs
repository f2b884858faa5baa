//! Lists that are fetched from the MCP server for each page: resources, their templates, and prompts.

use prost::Message;
use protomcp_types::{ListPrompts, ListResourceTemplates, ListResources};

use crate::convert::prompts::prompt_to_proto;
use crate::convert::resources::{resource_to_proto, template_to_proto};
use crate::cursor::{Cursor, ListDigest};
use crate::fault::Fault;
use crate::message::{
    ListPromptsRequest, ListPromptsResponse, ListResourcesRequest, ListResourcesResponse, ListTemplatesRequest,
    ListTemplatesResponse,
};
use crate::selection::PageBudget;
use crate::serve::answers::{Answers, ENTRY};
use crate::serve::catalog::{self, ListMethod};
use crate::serve::turn::spend;

impl Answers {
    pub(super) async fn list_resources(&self, request: &ListResourcesRequest) -> Result<ListResourcesResponse, Fault> {
        let (resources, next_cursor) = self.page::<ListResources, _>(&request.cursor, resource_to_proto).await?;
        Ok(ListResourcesResponse { resources, next_cursor })
    }

    pub(super) async fn list_templates(&self, request: &ListTemplatesRequest) -> Result<ListTemplatesResponse, Fault> {
        let (templates, next_cursor) =
            self.page::<ListResourceTemplates, _>(&request.cursor, template_to_proto).await?;
        Ok(ListTemplatesResponse { templates, next_cursor })
    }

    pub(super) async fn list_prompts(&self, request: &ListPromptsRequest) -> Result<ListPromptsResponse, Fault> {
        let (prompts, next_cursor) = self.page::<ListPrompts, _>(&request.cursor, prompt_to_proto).await?;
        Ok(ListPromptsResponse { prompts, next_cursor })
    }

    /// The entries of the page at this cursor, and the cursor of the next one. A position holds for one list with these
    /// entries.
    async fn page<M: ListMethod, T: Message>(
        &self,
        cursor: &str,
        convert: fn(&M::Entry) -> T,
    ) -> Result<(Vec<T>, String), Fault> {
        // It is never closed.
        let _turn = self.lists.acquire().await;
        let mut all = Vec::new();
        for entry in catalog::all::<M>(&self.mcp).await? {
            let entry = convert(&entry);
            spend(ENTRY / 8 + entry.encoded_len()).await;
            all.push(entry);
        }
        let digest = ListDigest::of(all.iter().map(Message::encode_to_vec)).and([M::NAME]);
        let start = self.shared.cursors.open(cursor, digest)?;
        let (mut page, mut next) = (Vec::new(), String::new());
        let mut budget = PageBudget::new(self.shared.pages, 0);
        for (position, entry) in all.into_iter().enumerate().skip(start as usize) {
            if !budget.takes(entry.encoded_len()) {
                let position = u32::try_from(position).unwrap_or(u32::MAX);
                next = self.shared.cursors.seal(Cursor { list: digest, position });
                break;
            }
            page.push(entry);
        }
        Ok((page, next))
    }
}
