//! The receiver of the lines that a program writes to its standard error.

use std::fmt;
use std::sync::Arc;

/// A function that gets the lines of standard error; without one they go to the log of the crate that starts the program.
#[derive(Clone, Default)]
pub struct StderrHandler(Option<LineFn>);

type LineFn = Arc<dyn Fn(&str) + Send + Sync>;

impl StderrHandler {
    /// Gets the lines. The function must not block.
    pub fn new(handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(handler)))
    }

    /// Passes a line on; `log` gets it if there is no function. A panic of the function stays inside.
    pub fn line(&self, text: &str, log: impl FnOnce(&str)) {
        let Some(handler) = &self.0 else { return log(text) };
        let call = std::panic::AssertUnwindSafe(|| handler(text));
        if std::panic::catch_unwind(call).is_err() {
            tracing::error!("a handler of standard error panicked");
        }
    }
}

impl fmt::Debug for StderrHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrHandler").field("is_set", &self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn lines_go_to_the_function_or_to_the_log() {
        let logged = Mutex::new(Vec::new());
        let log = |text: &str| logged.lock().unwrap().push(text.to_owned());
        StderrHandler::default().line("a", log);
        let taken = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&taken);
        StderrHandler::new(move |text| lines.lock().unwrap().push(text.to_owned())).line("b", log);
        StderrHandler::new(|_| panic!("inside")).line("c", log);
        assert_eq!(
            (logged.into_inner().unwrap(), &*taken.lock().unwrap()),
            (vec!["a".to_owned()], &vec!["b".to_owned()])
        );
    }
}
