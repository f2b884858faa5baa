//! Prints what changes next to a file: `cargo run -p protomcp-watch --example watch -- tools.py`.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use protomcp_watch::{Watch, WatchError, Watcher};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), WatchError> {
    let entry = std::env::args().nth(1).unwrap_or_else(|| "tools.py".to_owned());
    let (watcher, mut batches) = Watcher::spawn(Watch::file(entry))?;
    println!("{:?}", watcher.backend());
    while let Some(batch) = batches.recv().await {
        println!("{:?}{}", batch.paths, if batch.overflow { " and more" } else { "" });
    }
    Ok(())
}
