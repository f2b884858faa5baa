//! The variables of the environment.

/// An environment variable; a value that is not UTF-8 is ignored.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The names of all variables of the environment.
pub(super) fn variables() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}
