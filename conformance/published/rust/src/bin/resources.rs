//! Resources, a template, a prompt and a completion: cargo build, then pmcp dev target/debug/resources.

use protomcp::{
    register_completion, register_prompt, register_resource, register_resource_template, CompletionResult, PromptArg,
    PromptDef, PromptMessage, ResourceContent, ResourceDef, ResourceTemplateDef,
};

#[tokio::main]
async fn main() {
    register_resource(ResourceDef {
        uri: "notes://all".into(),
        name: "all".into(),
        description: "The names of all notes.".into(),
        mime_type: "text/plain".into(),
        handler: Box::new(|uri| vec![ResourceContent::text(uri, "tea, cake")]),
    });
    register_resource_template(ResourceTemplateDef {
        uri_template: "notes://one/{name}".into(),
        name: "one".into(),
        description: "One note.".into(),
        mime_type: "text/plain".into(),
        handler: Box::new(|uri| match uri.rsplit('/').next() {
            Some(name @ ("tea" | "cake")) => vec![ResourceContent::text(uri, &format!("all about {name}"))],
            // An empty result means that the resource does not exist.
            _ => Vec::new(),
        }),
    });
    register_prompt(PromptDef {
        name: "summarize".into(),
        description: "Asks for a summary of a note.".into(),
        arguments: vec![PromptArg { name: "name".into(), description: "Which note.".into(), required: true }],
        handler: Box::new(|args| {
            let name = args["name"].as_str().unwrap_or("?");
            vec![PromptMessage { role: "user".into(), content: format!("Summarize the note {name}.") }]
        }),
    });
    register_completion(
        "ref/prompt",
        "summarize",
        "name",
        // SDK 0.3.1 does not pass on the text typed so far, so all names are offered.
        Box::new(|_| CompletionResult { values: vec!["cake".into(), "tea".into()], total: 2, has_more: false }),
    );
    protomcp::run().await;
}
