//! Tools, results and resources of proto-mcp converted back to MCP.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_types::{
    CallToolResult, ContentBlock, JsonObject, RawJson, ResourceContents, Tool, ToolAnnotations, ToolName,
};

use crate::convert::agreement::Agreement;
use crate::convert::results::{CONTENT_BLOCK, JSON};
use crate::message::{
    self, CallToolResponse, ToolContent, call_tool_response, resource_content, tool_content::Content,
};
use crate::metadata::{ANNOTATIONS, CLIENT_METADATA, INEXACT, INEXACT_META, META, SIZE, TITLE, TRACE};
use crate::schemas::ToolMessages;

/// The definition of a tool; `None` if it has no name.
pub(crate) fn tool_from_proto(tool: &message::Tool, messages: &dyn ToolMessages) -> Option<Tool> {
    let mut read = Tool::new(ToolName::new(tool.name.as_str()).ok()?);
    read.title = tool.metadata.get(TITLE).cloned();
    read.description = (!tool.description.is_empty()).then(|| tool.description.clone());
    read.input_schema = messages.input_schema();
    read.output_schema = messages.output_schema();
    let hint = |name: &str| tool.metadata.get(&format!("{ANNOTATIONS}{name}"))?.parse().ok();
    let annotations = ToolAnnotations {
        title: None,
        read_only_hint: hint("readOnlyHint"),
        destructive_hint: hint("destructiveHint"),
        idempotent_hint: hint("idempotentHint"),
        open_world_hint: hint("openWorldHint"),
    };
    read.annotations = (annotations != ToolAnnotations::default()).then_some(annotations);
    Some(read)
}

/// The metadata of a call, from `_meta`: trace context, and what another client of proto-mcp has sent.
pub(crate) fn call_metadata(meta: Option<&RawJson>) -> BTreeMap<String, String> {
    let members = meta.and_then(|meta| JsonObject::from_raw(meta).ok()).unwrap_or_default();
    let texts = members.member(CLIENT_METADATA).and_then(|raw| raw.to::<BTreeMap<String, String>>().ok());
    let trace = TRACE.iter().filter_map(|key| Some(((*key).to_owned(), members.member(key)?.to().ok()?)));
    texts.unwrap_or_default().into_iter().chain(trace).collect()
}

/// The result of a call. The first data becomes the structured content and, as MCP asks of servers, a text as well.
pub(crate) async fn result_from_proto(response: CallToolResponse, messages: &dyn ToolMessages) -> CallToolResult {
    let result = match response.result {
        Some(call_tool_response::Result::Success(result)) => result,
        Some(call_tool_response::Result::Error(error)) => return CallToolResult::error(error.message),
        None => message::ToolResult::default(),
    };
    let mut read = Read::default();
    for ToolContent { content, mime_type } in result.content {
        match content {
            Some(Content::Text(text)) if mime_type == JSON && read.is_behind_data() => read.exact(text).await,
            Some(Content::Text(text)) => read.push(ContentBlock::text(text)),
            Some(Content::Image(bytes)) => {
                let mime_type = if mime_type.is_empty() { DEFAULT_IMAGE.to_owned() } else { mime_type };
                read.push(ContentBlock::image(STANDARD.encode(bytes), mime_type));
            }
            Some(Content::Data(any)) => match messages.result_to_json(&any).await {
                Ok(json) if mime_type == CONTENT_BLOCK => read.push(ContentBlock::from_raw(json.value)),
                Ok(json) => read.data(json.value),
                Err(error) => {
                    let size = any.value.len();
                    read.push(ContentBlock::text(format!("[{size} bytes of {}: {error}]", any.type_name())));
                }
            },
            None => {}
        }
    }
    let mut whole = CallToolResult::of(read.blocks);
    whole.meta = result_meta(&response.metadata, read.is_exact);
    whole.structured_content = read.structured;
    whole.is_error = result.is_error;
    whole
}

/// The content of a result, as far as it is read.
#[derive(Default)]
struct Read {
    blocks: Vec<ContentBlock>,
    structured: Option<RawJson>,
    /// The value of the last block, if it was data.
    data: Option<RawJson>,
    /// True if the structured content is the JSON of the server.
    is_exact: bool,
    /// The number of blocks of data.
    values: usize,
}

impl Read {
    fn push(&mut self, block: ContentBlock) {
        self.data = None;
        self.blocks.push(block);
    }

    fn data(&mut self, json: RawJson) {
        self.push(ContentBlock::text(json.as_str()));
        self.structured.get_or_insert_with(|| json.clone());
        self.data = Some(json);
        self.values += 1;
    }

    fn is_behind_data(&self) -> bool {
        self.data.is_some()
    }

    /// A text behind data: the value as the server has it, if it agrees with the message.
    async fn exact(&mut self, text: String) {
        let (data, json) = (self.data.take(), RawJson::parse(text.clone()).ok());
        let block = ContentBlock::text(text);
        match (data, json, self.blocks.last_mut()) {
            (Some(data), Some(json), Some(last)) if Agreement::of_any_size(&json, &data).await != Agreement::None => {
                *last = block;
                if self.values == 1 {
                    (self.structured, self.is_exact) = (Some(json), true);
                }
            }
            _ => self.push(block),
        }
    }
}

/// `_meta` of a result: the `_meta` of the tool, and the places of numbers that the server could not pass on exactly.
fn result_meta(metadata: &BTreeMap<String, String>, is_exact: bool) -> Option<RawJson> {
    let meta = metadata.get(META).and_then(|text| RawJson::parse(text.clone()).ok());
    let Some(Ok(places)) =
        metadata.get(INEXACT).filter(|_| !is_exact).map(|text| serde_json::from_str::<Vec<String>>(text))
    else {
        return meta;
    };
    let members = meta.as_ref().and_then(|meta| meta.to::<serde_json::Map<_, _>>().ok());
    let mut members = members.unwrap_or_default();
    members.insert(INEXACT_META.to_owned(), places.into());
    RawJson::of(&members).ok()
}

/// The definition of a resource.
pub(crate) fn resource_from_proto(resource: message::Resource) -> protomcp_types::Resource {
    let some = |text: String| (!text.is_empty()).then_some(text);
    let mut read = protomcp_types::Resource::new(resource.uri, resource.name);
    read.title = resource.metadata.get(TITLE).cloned();
    read.size = resource.metadata.get(SIZE).and_then(|size| size.parse().ok());
    read.description = some(resource.description);
    read.mime_type = some(resource.mime_type);
    read
}

/// The contents of a resource.
pub(crate) fn contents_from_proto(contents: message::ResourceContent) -> ResourceContents {
    let message::ResourceContent { uri, mime_type, content } = contents;
    let read = match content {
        Some(resource_content::Content::Blob(bytes)) => ResourceContents::blob(uri, STANDARD.encode(bytes)),
        Some(resource_content::Content::Text(text)) => ResourceContents::text(uri, text),
        None => ResourceContents::text(uri, ""),
    };
    if mime_type.is_empty() { read } else { read.with_mime_type(mime_type) }
}

/// The media type of an image without one.
const DEFAULT_IMAGE: &str = "image/png";
