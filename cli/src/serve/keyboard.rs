//! The keyboard of the live view, and the terminal that it changes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use protomcp_view::{Keys, Wish as Pressed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::log::live::LiveView;
use crate::log::queue::{hide_view, show_view};
use crate::serve::calls::Calls;
use crate::serve::questions::Questions;
use crate::serve::run::Wish;
use crate::serve::typed::{SECOND, has_input, is_in_foreground, words};

/// The time after which an escape is a key: the bytes of others follow sooner.
const ESCAPE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A terminal that passes on each key. It has its settings back when this is dropped, and no view.
pub(super) struct Keyboard {
    terminal: Arc<Terminal>,
    _followed: JoinSet<()>,
}

/// The terminal of standard input.
struct Terminal {
    file: File,
    before: Termios,
}

impl Terminal {
    fn open() -> io::Result<Self> {
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let before = tcgetattr(&file)?;
        Ok(Self { file, before })
    }

    /// Keys arrive without Enter, and are not shown. Ctrl-C, Ctrl-Z and Ctrl-\ stay signals.
    fn take_keys(&self) -> io::Result<()> {
        let mut settings = self.before.clone();
        settings.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        settings.special_codes[SpecialCodeIndex::VMIN] = 1;
        settings.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(&self.file, OptionalActions::Now, &settings)?)
    }

    fn restore(&self) {
        // A terminal that is gone needs no settings.
        let _gone = tcsetattr(&self.file, OptionalActions::Now, &self.before);
    }
}

impl Keyboard {
    /// Takes the keys of the terminal of standard input, and passes on what they mean. Must be called within a runtime.
    pub(super) fn open(
        view: LiveView,
        calls: Arc<Calls>,
        questions: Questions,
    ) -> io::Result<(Self, mpsc::Receiver<Wish>)> {
        let terminal = Arc::new(Terminal::open()?);
        let mut followed = JoinSet::new();
        followed.spawn(resized(view.clone())?);
        followed.spawn(suspended(Arc::clone(&terminal))?);
        terminal.take_keys()?;
        let (wishes, receiver) = mpsc::channel(1);
        let reader = Reader { view, calls, questions, wishes };
        let file = terminal.file.try_clone()?;
        // Dropped on an error, it restores the terminal.
        let keyboard = Self { terminal, _followed: followed };
        thread::Builder::new().name("keyboard".into()).spawn(move || reader.read(file))?;
        // For the rest of the program: its signal has no other effect from now on.
        tokio::spawn(quit(Arc::clone(&keyboard.terminal))?);
        Ok((keyboard, receiver))
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        hide_view();
        self.terminal.restore();
    }
}

/// Draws the view for each size of the terminal.
fn resized(view: LiveView) -> io::Result<impl Future<Output = ()> + Send> {
    let mut sizes = signal(SignalKind::window_change())?;
    Ok(async move {
        while sizes.recv().await.is_some() {
            view.redraw();
        }
    })
}

/// Gives the terminal back for as long as Ctrl-Z stops this program, and takes it when the program goes on.
fn suspended(terminal: Arc<Terminal>) -> io::Result<impl Future<Output = ()> + Send> {
    let mut stops = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
    let mut continues = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    Ok(async move {
        loop {
            tokio::select! {
                Some(()) = stops.recv() => {
                    hide_view();
                    terminal.restore();
                    // The signal is for the whole program, of which another thread may take it: this one goes on in between.
                    let _stopped = kill_process(getpid(), Signal::STOP);
                }
                Some(()) = continues.recv() => {
                    // In the background it would be stopped again.
                    while !is_in_foreground(&terminal.file) {
                        tokio::time::sleep(SECOND).await;
                    }
                    let _gone = terminal.take_keys();
                    show_view();
                }
                else => return,
            }
        }
    })
}

/// Gives the terminal back when Ctrl-\ ends this program.
fn quit(terminal: Arc<Terminal>) -> io::Result<impl Future<Output = ()> + Send> {
    let mut quits = signal(SignalKind::quit())?;
    Ok(async move {
        if quits.recv().await.is_some() {
            hide_view();
            terminal.restore();
            // The status that shells give to a program which this signal has ended.
            std::process::exit(128 + Signal::QUIT.as_raw());
        }
    })
}

/// The thread that reads the keys.
struct Reader {
    view: LiveView,
    calls: Arc<Calls>,
    questions: Questions,
    wishes: mpsc::Sender<Wish>,
}

impl Reader {
    /// Reads until the terminal is gone, or the server.
    fn read(&self, mut terminal: File) {
        let mut keys = Keys::default();
        let mut bytes = [0; 1024];
        while !self.wishes.is_closed() {
            let pressed = if keys.is_incomplete() && !follows(&terminal) {
                keys.end().into_iter().collect()
            } else if !has_input(&terminal) {
                continue;
            } else {
                match terminal.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(length) => keys.read(&bytes[..length]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                }
            };
            for wish in pressed.iter().filter_map(|key| self.view.key(key)) {
                self.act(wish);
            }
        }
    }

    fn act(&self, wish: Pressed) {
        match wish {
            // The server may be gone.
            Pressed::Reload => drop(self.wishes.blocking_send(Wish::Reload)),
            Pressed::Quit => drop(self.wishes.blocking_send(Wish::Stop)),
            Pressed::Names => self.calls.list(),
            Pressed::Call(line) => self.calls.start(words(&line)),
            Pressed::Answer(line) => self.questions.typed(Some(line)),
            Pressed::Dismiss => self.questions.typed(None),
        }
    }
}

/// True if more bytes come soon.
fn follows(terminal: &File) -> bool {
    let mut ready = [PollFd::new(terminal, PollFlags::IN)];
    poll(&mut ready, Some(&ESCAPE)).is_ok_and(|count| count > 0)
}
