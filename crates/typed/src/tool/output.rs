//! Values that a tool can return.

use std::any::Any;
use std::fmt;

use protomcp_types::{CallToolResult, ContentBlock, ErrorObject, RawJson};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::json::Json;
use crate::schema::{Direction, infer};
use crate::tool::error::{self, TaskError};

/// A value that becomes the result of a tool: nothing, text, a number, content blocks, [`Json`], content with JSON, a
/// [`CallToolResult`], or a `Result` of one of them whose error can be displayed.
pub trait IntoToolResult {
    /// The result. Structured content may be any value here; one that is not an object is wrapped later.
    ///
    /// # Errors
    /// If the request itself failed, and not the tool.
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject>;

    /// The failure that this value stands for, if a task ends with it. In a call that is not a task the result is a
    /// [`ToolError`](crate::ToolError) with the same text.
    #[must_use]
    fn task_error(&self) -> Option<&TaskError> {
        None
    }

    /// The schema of the structured content, if the type determines one.
    #[must_use]
    fn output_schema() -> Option<Value> {
        None
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::new(RawJson::EMPTY_ARRAY))
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::of([self]))
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::of(self))
    }
}

/// Values with a text.
macro_rules! text {
    ($($kind:ty),* $(,)?) => {
        $(impl IntoToolResult for $kind {
            fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
                Ok(CallToolResult::text(self.to_string()))
            }
        })*
    };
}

text!(String, &'static str, bool, char, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

/// Structured content, and its text for clients and revisions without it.
impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        let raw = self.to_raw()?;
        Ok(CallToolResult::text(raw.as_str()).with_structured(raw))
    }

    fn output_schema() -> Option<Value> {
        Some(infer::<T>(Direction::Out))
    }
}

/// Content for the model, and structured content for programs.
impl<C: Into<Vec<ContentBlock>>, T: Serialize + JsonSchema> IntoToolResult for (C, Json<T>) {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::of(self.0.into()).with_structured(self.1.to_raw()?))
    }

    fn output_schema() -> Option<Value> {
        Json::<T>::output_schema()
    }
}

impl<T: IntoToolResult, E: fmt::Display + 'static> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        match self {
            Ok(result) => result.into_tool_result(),
            Err(error) => error::read(error),
        }
    }

    fn task_error(&self) -> Option<&TaskError> {
        let error: &dyn Any = self.as_ref().err()?;
        error.downcast_ref()
    }

    fn output_schema() -> Option<Value> {
        T::output_schema()
    }
}
