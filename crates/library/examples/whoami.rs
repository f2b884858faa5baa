//! A server of one tool on stdio, with this crate as the only dependency in addition to the runtime.
//!
//! Try it with `npx @modelcontextprotocol/inspector cargo run -p protomcp-library --features typed --example whoami`.

use protomcp_library::{Context, Registry, Tool, stdio};

async fn whoami(context: Context) -> String {
    format!("You use {}.", context.client().name)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tool = Tool::new("whoami", "The client of this conversation").handler(whoami).read_only();
    Registry::builder("whoami", "1.0").tool(tool).build()?.serve(stdio()?).await?;
    Ok(())
}
