//! The steps that random lives of a link are made of, see [`super::world`].

use std::time::Duration;

/// One step, from four bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    /// The bridge calls a tool.
    Call {
        listens: bool,
        timeout: Duration,
        size: usize,
    },
    /// The bridge asks for something else.
    Ask {
        timeout: Duration,
    },
    /// The bridge gives a call up.
    Cancel {
        which: usize,
    },
    Interrupt,
    /// The bridge answers tool list control with silence.
    TwoReaders,
    Reload,
    /// The tool process answers what it was asked.
    Answer {
        which: usize,
        form: u8,
        size: usize,
    },
    /// It reports how far a call is, under some id.
    Progress {
        id: u8,
    },
    /// It asks for something.
    Question {
        timeout: Duration,
        sampling: bool,
    },
    /// It gives its question up.
    Forget {
        which: usize,
    },
    /// It says something of the handshake, in or out of turn.
    List,
    Register {
        long: bool,
    },
    Done {
        success: bool,
    },
    /// It says something out of turn, with some id.
    Stray {
        id: u8,
        form: u8,
        size: usize,
    },
    /// It sends bytes that mean nothing.
    Noise {
        form: u8,
        size: usize,
    },
    /// Bytes arrive.
    Carry {
        to_tool: bool,
        bytes: usize,
    },
    /// Time passes.
    Pass {
        time: Duration,
    },
    /// The bridge, or the process, ends it.
    Close {
        by_tool: bool,
    },
}

impl From<[u8; 4]> for Operation {
    fn from([kind, a, b, c]: [u8; 4]) -> Self {
        let size = usize::from(b) * usize::from(b) / 30;
        let timeout = Duration::from_millis(u64::from(a) * 40);
        match kind % 48 {
            0..=5 => Self::Call { listens: c.is_multiple_of(2), timeout, size },
            6 => Self::Ask { timeout },
            7 | 8 => Self::Cancel { which: a.into() },
            9 if a.is_multiple_of(2) => Self::Interrupt,
            9 => Self::TwoReaders,
            10 => Self::Reload,
            11..=16 => Self::Answer { which: a.into(), form: c, size },
            17 => Self::Progress { id: a % 24 },
            18 => Self::Question { timeout, sampling: c.is_multiple_of(2) },
            19 => Self::Forget { which: a.into() },
            20 => Self::List,
            21 => Self::Register { long: a == 0 },
            22 => Self::Done { success: !a.is_multiple_of(4) },
            23..=25 => Self::Stray { id: if a < 250 { a % 32 } else { a }, form: c, size },
            26 => Self::Noise { form: c, size },
            27..=36 => Self::Carry { to_tool: a.is_multiple_of(2), bytes: usize::from(b) * usize::from(c) / 16 + 1 },
            37..=44 => Self::Carry { to_tool: a.is_multiple_of(2), bytes: usize::MAX },
            45 | 46 => Self::Pass { time: Duration::from_millis(u64::from(a) * u64::from(b) / 32) },
            _ if a < 16 => Self::Close { by_tool: a.is_multiple_of(2) },
            _ => Self::Pass { time: Duration::from_millis(1) },
        }
    }
}
