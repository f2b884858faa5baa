//! Workarounds for published SDKs, which can be deleted once those are no longer in use.
//!
//! A process that announces itself with `SdkInfo` needs none of them. The link itself has one more,
//! `two_reader_workaround`.

pub(crate) mod python_bootstrap;
pub(crate) mod registration_settle;
pub(crate) mod socket_readers;
