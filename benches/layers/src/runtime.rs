//! A runtime with one thread, on which the count of an operation does not depend on the load of the machine.

use std::future::Future;

/// Runs a future and the tasks that it starts on this thread.
///
/// # Panics
/// If the runtime cannot be made.
pub fn on_one_thread(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(work);
}
