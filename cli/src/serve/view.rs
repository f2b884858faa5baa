//! Serves the author of the tools, in a view below the log. No client is at the terminal of standard input.

use std::convert::Infallible;

use protomcp_server::{Server, Service};
use protomcp_transport::memory;

use crate::args::options::Source;
use crate::args::tool::ToolFlags;
use crate::exit::Failure;
use crate::log::{self, Status};
use crate::serve::console::Console;
#[cfg(feature = "upstream")]
use crate::serve::gateway;
use crate::serve::live;
use crate::serve::run::{Signals, failure, prepare};
use crate::serve::terms::Terms;

/// Serves the person at the terminal, who calls the tools in its view. There is no other client.
pub(super) async fn serve(source: Source, tool: &ToolFlags, status: Status) -> Result<(), Failure> {
    log::start_with(tool.log_level, tool.log, status.clone());
    let mut signals = Signals::new()?;
    let console = Console::open(&status, &mut signals);
    match source {
        Source::File { path, watch } => {
            tracing::info!("{}", live::advice(&path));
            let (bridge, starting) = Terms::new(tool)?.launch(tool.bridge(&path, watch));
            let server = bridge.server();
            console.serve(server.clone());
            let run = prepare(bridge, starting, signals, path.display().to_string(), console.ready());
            let run = run.on_drain(console.draining());
            let serving = console.with_calls(until_shutdown(server), tool.limits.drain_timeout);
            run.serve(serving).await.map_err(|error| failure(&error))
        }
        #[cfg(feature = "upstream")]
        Source::Servers(servers) => {
            gateway::note(&servers);
            gateway::check(&servers)?;
            let remote = Terms::new(tool)?.remote(servers.limits.timeout);
            let gateway = gateway::open(&servers, &remote, |builder| builder, &mut signals).await?;
            let server = gateway::server(&gateway, &servers);
            console.serve(server.clone());
            console.ready()();
            let serving = console.with_calls(until_shutdown(server), tool.limits.drain_timeout);
            gateway::serve(gateway, serving, signals, console.draining()).await.map_err(|never| match never {})
        }
    }
}

/// Waits until the server shuts down, whose calls have ended then.
async fn until_shutdown<S: Service>(server: Server<S>) -> Result<(), Infallible> {
    let (_client, end) = memory::pair();
    // A session without a request ends with the server alone.
    let _ended = server.serve(end).await;
    Ok(())
}
