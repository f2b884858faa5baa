//! The live view, which several threads share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use protomcp_view::{Fact, Key, Line, Size, View, Wish};

/// The view of a server below its log. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct LiveView(Arc<Shared>);

struct Shared {
    view: Mutex<View>,
    began: Instant,
    /// Draws the view again.
    wake: fn(),
}

impl LiveView {
    /// A server that is starting. `title`: the file or the command. `wake` has the view drawn again.
    pub(crate) fn new(title: &str, wake: fn()) -> Self {
        Self(Arc::new(Shared { view: Mutex::new(View::new(title)), began: Instant::now(), wake }))
    }

    /// Shows something that has happened.
    pub(crate) fn note(&self, fact: Fact) {
        self.lock().note(fact, self.0.began.elapsed());
        self.redraw();
    }

    /// Takes a key.
    pub(crate) fn key(&self, key: &Key) -> Option<Wish> {
        let wish = self.lock().key(key);
        self.redraw();
        wish
    }

    /// Asks for a line.
    pub(crate) fn ask(&self, label: &str) {
        self.lock().ask(label);
        self.redraw();
    }

    /// Takes back the question.
    pub(crate) fn withdraw(&self) {
        self.lock().withdraw();
        self.redraw();
    }

    /// Draws it again: the terminal has changed.
    pub(crate) fn redraw(&self) {
        (self.0.wake)();
    }

    /// The lines now.
    pub(super) fn lines(&self, size: Size) -> Vec<Line> {
        self.lock().lines(size, self.0.began.elapsed())
    }

    /// True if the lines differ from second to second.
    pub(super) fn is_moving(&self) -> bool {
        self.lock().is_moving()
    }

    /// Held for as long as a fact or a key takes, and never while something is written.
    fn lock(&self) -> MutexGuard<'_, View> {
        self.0.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
