//! The handlers of `everything_server` as a tool process, started by `pmcp`.

use std::error::Error;

use protomcp_conformance::handlers::everything;
use protomcp_typed::PAGE_SIZE;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    Ok(protomcp_sdk::run(everything(PAGE_SIZE)?.server()).await?)
}
