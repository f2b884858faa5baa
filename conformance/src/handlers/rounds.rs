//! Tools and a prompt that ask first, in the revision where asking takes its own round. To the handlers it is one
//! await, whatever the revision.

use protomcp_server::{AskError, Context, InputRequests};
use protomcp_typed::{Builder, Prompt, Tool};
use protomcp_types::{
    ContentBlock, CreateMessage, Elicit, ListRoots, PromptMessage, RawJson, RequiredCapability, Role,
};
use serde_json::json;

pub(crate) fn add(builder: Builder) -> Builder {
    builder
        .tool(
            Tool::new("test_input_required_result_elicitation", "Asks the user for a name")
                .handler(async |context: Context| ask_name(&context, "user_name").await),
        )
        .tool(Tool::new("test_input_required_result_sampling", "Asks the model").handler(sampling))
        .tool(Tool::new("test_input_required_result_list_roots", "Asks for the roots").handler(roots))
        .tool(Tool::new("test_input_required_result_request_state", "Asks and remembers").handler(state))
        .tool(
            Tool::new("test_input_required_result_multiple_inputs", "Asks three things concurrently").handler(several),
        )
        .tool(Tool::new("test_input_required_result_multi_round", "Asks twice").handler(twice))
        .tool(
            Tool::new("test_input_required_result_tampered_state", "Asks, and wants its state back as it was")
                .handler(async |context: Context| ask_name(&context, "confirm").await),
        )
        .tool(Tool::new("test_input_required_result_capabilities", "Asks what the host can answer").handler(able))
        .prompt(
            Prompt::new("test_input_required_result_prompt", "A prompt that asks first")
                .handler(async |context: Context| ask_name(&context, "user_context").await),
        )
}

fn name_form(message: &str) -> Elicit {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    Elicit::form(message, RawJson::of(&schema).expect("a value is JSON"))
}

fn capital_question() -> CreateMessage {
    let message = PromptMessage::new(Role::User, ContentBlock::text("What is the capital of France?").to_raw());
    CreateMessage::of([&message], 100)
}

async fn ask_name(context: &Context, key: &str) -> Result<String, AskError> {
    let answer = context.ask::<Elicit>(&name_form("What is your name?")).key(key).await?;
    Ok(format!("The user answered {}", answer.content.unwrap_or(RawJson::EMPTY_OBJECT)))
}

async fn sampling(context: Context) -> Result<String, AskError> {
    let answer = context.ask::<CreateMessage>(&capital_question()).key("capital_question").await?;
    Ok(format!("The model answered {}", answer.content))
}

async fn roots(context: Context) -> Result<String, AskError> {
    let answer = context.ask::<ListRoots>(&ListRoots::default()).key("client_roots").await?;
    let uris: Vec<_> = answer.roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("The roots are {uris:?}"))
}

async fn state(context: Context) -> Result<String, AskError> {
    // State from before the question is still there after it.
    let before = "state-ok";
    let answer = ask_name(&context, "confirm").await?;
    Ok(format!("{before}: {answer}"))
}

async fn several(context: Context) -> Result<String, AskError> {
    let questions = InputRequests::new()
        .with::<Elicit>("user_name", &name_form("What is your name?"))
        .with::<CreateMessage>("greeting", &capital_question())
        .with::<ListRoots>("client_roots", &ListRoots::default());
    let answers = context.ask_all(questions).await?;
    let name = answers.to::<Elicit>("user_name")?;
    let greeting = answers.to::<CreateMessage>("greeting")?;
    let roots = answers.to::<ListRoots>("client_roots")?;
    Ok(format!("{:?} {} {}", name.action, greeting.content, roots.roots.len()))
}

async fn twice(context: Context) -> Result<String, AskError> {
    let first = ask_name(&context, "step1").await?;
    let second = ask_name(&context, "step2").await?;
    Ok(format!("{first}, then {second}"))
}

async fn able(context: Context) -> Result<String, AskError> {
    if context.can_ask(RequiredCapability::Sampling) {
        sampling(context).await
    } else {
        ask_name(&context, "user_name").await
    }
}
