//! The mark of a secret.

/// The text in place of a secret. It equals every value when traces are compared.
pub const REDACTED: &str = "[redacted]";
