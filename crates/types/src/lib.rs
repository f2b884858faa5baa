//! The vocabulary of MCP: JSON-RPC messages, names, tools, content, versions.
//!
//! Nothing here does I/O or keeps state. Two ideas shape the crate:
//!
//! * **Text stays text.** A line is scanned once ([`Incoming::parse`]); arguments, results and schemas are slices of it
//!   ([`RawJson`]) and are forwarded byte for byte, with their big integers, key order and escapes. A [`JsonBuf`] is
//!   assembled from such parts, and shares the big ones.
//! * **Parse at the edge, pass the proof along.** A [`ToolName`] is never empty, a [`RequestId`] is always a string or
//!   an exact integer, [`Malformed`] text carries the reply for its sender.
//!
//! ```
//! use protomcp_types::{CallTool, Incoming, Message};
//!
//! let line = bytes::Bytes::from_static(
//!     br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#,
//! );
//! let Ok(Incoming::One(Message::Request(request))) = Incoming::parse(&line) else { panic!() };
//! let call = CallTool::try_from(request.params).unwrap();
//! assert_eq!(call.arguments.unwrap().as_str(), r#"{"a":1}"#);
//! ```

mod cache;
mod call;
mod capability;
mod complete;
mod content;
mod depth;
mod discover;
mod elicit;
mod empty;
mod error;
mod id;
mod implementation;
mod initialize;
mod json_buf;
mod json_object;
mod level;
mod list;
mod listen;
mod message;
pub mod meta;
pub mod method;
mod name;
mod output;
mod params;
mod parse;
mod progress;
mod prompt;
mod raw;
mod request_meta;
mod required_capability;
mod resource;
mod roots;
mod sampling;
mod task;
mod task_extension;
mod tool;
mod uri_template;
mod version;

pub use cache::{CacheHint, CacheScope};
pub use call::{CallTool, CallToolResult};
pub use capability::{
    ClientCapabilities, ListCapability, ServerCapabilities, TASKS_EXTENSION, TaskRequests, TaskTools, TasksCapability,
};
pub use complete::{Complete, CompleteArgument, CompleteContext, CompleteResult, Completion, Reference};
pub use content::{ContentBlock, Extra};
pub use discover::{Discover, DiscoverResult};
pub use elicit::{Elicit, ElicitAction, ElicitResult, ElicitWay};
pub use empty::Empty;
pub use error::{ErrorObject, code};
pub use id::{MAX_TOKEN, ProgressToken, RequestId};
pub use implementation::Implementation;
pub use initialize::{Initialize, InitializeResult, Ping, SetLevel};
pub use json_buf::{JsonBuf, ObjectWriter};
pub use json_object::{JsonObject, MAX_MEMBERS};
pub use level::Level;
pub use list::{
    ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult, ListResources,
    ListResourcesResult, ListTasks, ListTasksResult, ListTools, ListToolsResult, array,
};
pub use listen::{Listen, SubscriptionFilter};
pub use message::{Message, Notification, Request, Response};
pub use method::{ClientMethod, Method};
pub use name::{EmptyToolName, ToolName};
pub use output::{Output, SHARE_FROM, put_text};
pub use params::Params;
pub use parse::{Incoming, MAX_BATCH, MAX_DEPTH, Malformed};
pub use progress::{Amount, Progress};
pub use prompt::{GetPrompt, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
pub use raw::{Kind, RawJson};
pub use request_meta::RequestMeta;
pub use required_capability::RequiredCapability;
pub use resource::{
    MAX_SUBSCRIBED_URI, ReadResource, ReadResourceResult, Resource, ResourceContents, ResourceData, ResourceTemplate,
    Subscribe, Unsubscribe,
};
pub use roots::{ListRoots, ListRootsResult, Root};
pub use sampling::{CreateMessage, CreateMessageResult};
pub use task::{CancelTask, CreateTaskResult, GetTask, GetTaskPayload, Task, TaskStatus, TaskSupport, timestamp};
pub use task_extension::TaskRequest;
pub use tool::{Tool, ToolAnnotations};
pub use uri_template::{UriTemplate, UriTemplateError, UriVariables};
pub use version::ProtocolVersion;
