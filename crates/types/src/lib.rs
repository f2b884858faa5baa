#![doc = include_str!("../README.md")]

mod absent;
mod byte_order_mark;
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
pub mod header;
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
mod meta_names;
pub mod method;
mod name;
mod one_line;
mod output;
mod params;
mod parse;
mod progress;
mod prompt;
mod quoted;
mod raw;
mod request_meta;
mod required_capability;
mod resource;
mod roots;
mod sampling;
mod surrogates;
mod task;
mod task_extension;
mod tool;
mod ui;
mod uri_template;
mod value;
mod version;

pub use absent::null_as_default;
pub use byte_order_mark::{BYTE_ORDER_MARK, without_byte_order_mark};
pub use cache::{CacheHint, CacheScope};
pub use call::{CallTool, CallToolResult};
pub use capability::{
    ClientCapabilities, ListCapability, SKILLS_EXTENSION, ServerCapabilities, TASKS_EXTENSION, TaskRequests, TaskTools,
    TasksCapability,
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
pub use one_line::{is_shown, one_line};
pub use output::{Output, SHARE_FROM, put_text};
pub use params::Params;
pub use parse::{Incoming, MAX_BATCH, MAX_DEPTH, Malformed};
pub use progress::{Amount, Progress};
pub use prompt::{GetPrompt, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
pub use quoted::Quoted;
pub use raw::{Kind, RawJson};
pub use request_meta::RequestMeta;
pub use required_capability::RequiredCapability;
pub use resource::{
    MAX_SUBSCRIBED_URI, ReadResource, ReadResourceResult, Resource, ResourceContents, ResourceData, ResourceTemplate,
    Subscribe, Unsubscribe,
};
pub use roots::{ListRoots, ListRootsResult, Root};
pub use sampling::{CreateMessage, CreateMessageResult};
pub use surrogates::replace_lone_surrogates;
pub use task::{CancelTask, CreateTaskResult, GetTask, GetTaskPayload, Task, TaskStatus, TaskSupport, timestamp};
pub use task_extension::TaskRequest;
pub use tool::{Tool, ToolAnnotations};
pub use ui::{UI_EXTENSION, UI_MIME_TYPE, UI_SCHEME, UiCsp, UiPermissions, UiResource, UiTool, UiVisibility};
pub use uri_template::{UriTemplate, UriTemplateError, UriVariables, is_same_uri};
pub use version::ProtocolVersion;
