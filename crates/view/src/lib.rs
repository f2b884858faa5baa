#![doc = include_str!("../README.md")]

mod keys;
mod line;
mod prompt;
mod screen;
mod units;
mod view;

pub use keys::{Key, Keys};
pub use line::{Line, Span, Tone};
pub use screen::{Screen, Size};
pub use view::{Fact, Outcome, State, View, Wish};
