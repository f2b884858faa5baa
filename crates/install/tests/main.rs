//! The tests of this crate: each module is one topic, and all are one program, so that they are linked once.

mod installer;
mod links;
mod places;
mod replaced;
mod round_trip;
mod shown;
mod systems;
mod user;
