//! Turns saves into inputs of the core.

use protomcp_watch::{Backend, Watch, Watcher};
use tokio::sync::mpsc;

use crate::core::io::Input;
use crate::driver::message::Message;

/// Watches until the bridge has ended. The first scan may take a while in a large folder, so it happens on a blocking
/// thread, beside the start of the tool process.
pub(crate) async fn watch_files(watch: Watch, inputs: mpsc::Sender<Message>) {
    let (watcher, mut batches) = match tokio::task::spawn_blocking(|| Watcher::spawn(watch)).await {
        Ok(Ok(watching)) => watching,
        Ok(Err(error)) => return tracing::error!("changes of the tool file will not be noticed: {error}"),
        Err(error) => return tracing::error!("changes of the tool file will not be noticed: {error}"),
    };
    if let Backend::Poll { every, because: Some(why) } = watcher.backend() {
        tracing::warn!("looking for changes every {every:?}: {why}");
    }
    while let Some(batch) = batches.recv().await {
        tracing::debug!(paths = ?batch.paths, "files changed");
        if inputs.send(Input::Changed.into()).await.is_err() {
            return;
        }
    }
}
