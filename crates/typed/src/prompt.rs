//! Prompts: texts that a server prepares for the user of a client.

use std::collections::BTreeMap;
use std::fmt;

use protomcp_server::Context;
use protomcp_types::{
    ContentBlock, ErrorObject, GetPrompt, GetPromptResult, Prompt as Definition, PromptMessage, RawJson, Role,
};

use crate::argument::{Argument, Arguments};
use crate::collection::{Define, Defined};
use crate::definition::DefinitionError;
use crate::failure;
use crate::function::{HandlerFn, Running};
use crate::schema::{Direction, infer, into_object};
use crate::setters::setters;
use crate::text;

/// A prompt that can be added to a [`crate::Registry`].
///
/// ```
/// use protomcp_typed::{JsonSchema, Prompt, argument};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Review {
///     code: String,
///     strictness: Option<u8>,
/// }
///
/// let prompt = Prompt::new("code_review", "Review code")
///     .handler(async |review: Review| format!("Please review:\n{}", review.code))
///     .argument(argument("code").describe("the code to review"));
/// ```
pub struct Prompt {
    definition: Definition,
    schema: Option<serde_json::Value>,
    handler: AnyHandler,
    options: Vec<Argument>,
}

/// A prompt without a handler.
#[derive(Debug)]
pub struct PromptBuilder(Definition);

type AnyHandler = Box<
    dyn Fn(Context, BTreeMap<String, String>) -> Result<Running<Result<GetPromptResult, ErrorObject>>, String>
        + Send
        + Sync,
>;

impl Prompt {
    /// Begins a prompt.
    #[expect(clippy::new_ret_no_self, reason = "without a handler it is not a prompt yet")]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> PromptBuilder {
        let mut definition = Definition::new(name);
        definition.description = Some(description.into());
        PromptBuilder(definition)
    }

    setters!(title icons meta);

    /// Describes an argument. A handler that takes any arguments, such as a map of strings, has the arguments that are
    /// named this way.
    #[must_use]
    pub fn argument(mut self, argument: Argument) -> Self {
        self.options.push(argument);
        self
    }
}

impl PromptBuilder {
    /// Sets the handler; see [`HandlerFn`]. Arguments are strings on the wire, and are parsed as their types require.
    pub fn handler<S: 'static, H>(self, handler: H) -> Prompt
    where
        H: HandlerFn<S, Output: IntoPromptResult>,
    {
        let schema = H::HAS_ARGUMENTS.then(|| infer::<H::Arguments>(Direction::In));
        let handler: AnyHandler = Box::new(move |context, values| {
            let running = handler.call(context, text::read(values)?);
            Ok(Box::pin(async move { running.await.into_prompt_result() }))
        });
        Prompt { definition: self.0, schema, handler, options: Vec::new() }
    }
}

/// Serves a prompt.
#[doc(hidden)]
pub struct PromptContent {
    pub(crate) arguments: Arguments,
    description: Option<String>,
    handler: AnyHandler,
}

impl PromptContent {
    pub(crate) async fn run(&self, request: &GetPrompt, context: Context) -> Result<GetPromptResult, ErrorObject> {
        let invalid = |why: String| ErrorObject::invalid_params(format!("invalid params: {why}"));
        let values: BTreeMap<String, String> =
            request.arguments_or_empty().to().map_err(|error| invalid(error.to_string()))?;
        self.arguments.check(&values).map_err(invalid)?;
        let running = (self.handler)(context, values).map_err(invalid)?;
        let mut result = running.await?;
        result.description = result.description.or_else(|| self.description.clone());
        Ok(result)
    }
}

impl Define for Prompt {
    type Content = PromptContent;

    fn define(self) -> Result<Defined<PromptContent>, DefinitionError> {
        let Self { mut definition, schema, handler, options } = self;
        if definition.name.is_empty() {
            return Err(DefinitionError::NoName);
        }
        let not_an_object = || DefinitionError::NotAnObject { owner: definition.name.clone() };
        let schema = schema.map(|schema| into_object(schema).ok_or_else(not_an_object)).transpose()?;
        let mut arguments = Arguments::of(schema.as_ref());
        arguments.apply(options, &definition.name)?;
        definition.arguments = arguments.definitions();
        Ok(Defined {
            key: definition.name.as_str().into(),
            definition: definition.to_raw(),
            content: PromptContent { arguments, description: definition.description, handler },
        })
    }
}

/// A value that becomes a prompt: text or a content block of the user, messages, a [`GetPromptResult`], or a `Result`
/// of one of them. An error fails the request.
pub trait IntoPromptResult {
    /// The result.
    ///
    /// # Errors
    /// If there is none.
    fn into_prompt_result(self) -> Result<GetPromptResult, ErrorObject>;
}

impl IntoPromptResult for GetPromptResult {
    fn into_prompt_result(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(self)
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(GetPromptResult::of(&self))
    }
}

impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(GetPromptResult::of([&self]))
    }
}

impl IntoPromptResult for ContentBlock {
    fn into_prompt_result(self) -> Result<GetPromptResult, ErrorObject> {
        PromptMessage::new(Role::User, self.to_raw()).into_prompt_result()
    }
}

impl IntoPromptResult for String {
    fn into_prompt_result(self) -> Result<GetPromptResult, ErrorObject> {
        ContentBlock::text(self).into_prompt_result()
    }
}

impl IntoPromptResult for &'static str {
    fn into_prompt_result(self) -> Result<GetPromptResult, ErrorObject> {
        ContentBlock::text(self).into_prompt_result()
    }
}

impl<T: IntoPromptResult, E: fmt::Display + 'static> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Result<GetPromptResult, ErrorObject> {
        self.map_err(failure::of_request)?.into_prompt_result()
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("name", &self.definition.name).finish_non_exhaustive()
    }
}
