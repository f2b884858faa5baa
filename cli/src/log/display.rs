//! The live view on the terminal of stderr.

use std::io::{self, IsTerminal, Write};

use protomcp_view::{Screen, Size};
use rustix::termios::tcgetwinsize;

use crate::color;
use crate::log::live::LiveView;

/// The size of a terminal that does not say it.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// A view, and the place where it is drawn.
pub(super) struct Display {
    view: LiveView,
    screen: Screen,
}

impl Display {
    pub(super) fn new(view: LiveView) -> Self {
        Self { view, screen: Screen::new(color::is_wanted(io::stderr().is_terminal())) }
    }

    /// Writes these lines, and the view below them.
    pub(super) fn draw(&mut self, lines: &str, to: &mut impl Write) {
        let size = size();
        let bytes = self.screen.draw(lines, &self.view.lines(size), size);
        // A terminal that is gone shows nothing.
        let _gone = to.write_all(bytes.as_bytes());
    }

    /// Removes the view.
    pub(super) fn erase(&mut self, to: &mut impl Write) {
        let _gone = to.write_all(self.screen.erase(size()).as_bytes());
    }

    /// True if the view differs from second to second.
    pub(super) fn is_moving(&self) -> bool {
        self.view.is_moving()
    }
}

fn size() -> Size {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size { columns: size.ws_col, rows: size.ws_row },
        _ => USUAL,
    }
}
