//! Errors and reports: the texts for clients, and those for the log of the author.

pub(crate) mod advice;
pub(crate) mod cause;
pub(crate) mod failure;
pub(crate) mod report;
pub(crate) mod setting;
pub(crate) mod start_error;
