//! The pmcp command.
