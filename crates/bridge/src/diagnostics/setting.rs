//! Settings that a suggestion names.

/// A setting whose value made a call fail. A program with its own names for settings, such as flags, shows those: see
/// [`Builder::setting_names`](crate::Builder::setting_names).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Setting {
    /// [`Builder::call_timeout`](crate::Builder::call_timeout).
    CallTimeout,
    /// [`Builder::max_result`](crate::Builder::max_result).
    MaxResult,
    /// [`Builder::max_frame`](crate::Builder::max_frame).
    MaxFrame,
}

/// The name of each setting.
pub(crate) type SettingNames = fn(Setting) -> &'static str;

impl Setting {
    /// The default name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CallTimeout => "the call timeout",
            Self::MaxResult => "the maximum result size",
            Self::MaxFrame => "the maximum frame size",
        }
    }
}
