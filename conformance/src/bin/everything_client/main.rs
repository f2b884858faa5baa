//! The client that the official conformance suite starts, once for each scenario, written as any author would write one.
//!
//! Usage: everything_client [--auto] URL        (--auto: find the era of the server out; the environment says the rest)

mod assignment;
mod authorization;
mod calls;
mod sign_in;
mod user;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use protomcp_client::{Client, Mode};
use protomcp_http_client::HttpTransport;

use crate::assignment::Assignment;

/// The time for the server to confirm the end of the session.
const END: Duration = Duration::from_secs(2);

// One thread: the suite starts forty of these programs concurrently.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            tell(&why.to_string());
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let assignment = Assignment::read()?;
    let mut transport = HttpTransport::new(&assignment.url)?;
    if assignment.needs_authorization() {
        transport = transport.authorizer(Arc::new(authorization::client(&assignment)?));
    }
    let session = client(&assignment).connect(transport).await?;
    calls::make(&assignment, &session).await?;
    session.close(END).await;
    Ok(())
}

/// A client that answers everything that servers may ask.
fn client(assignment: &Assignment) -> Client {
    let client = Client::new("everything", env!("CARGO_PKG_VERSION"))
        .with_roots(["file:///srv/project"])
        .on_elicit(|form, _| async move { user::fill_in(&form) })
        .on_sample(|_, _| async { Ok(user::sample()) });
    if assignment.is_auto {
        return client;
    }
    // A revision without sessions implies the other mode.
    client.mode(Mode::Stateful).version(assignment.version)
}

/// Writes to standard error, which the suite shows with the results.
#[expect(clippy::print_stderr, reason = "a program may talk to its user")]
fn tell(text: &str) {
    eprintln!("{text}");
}
